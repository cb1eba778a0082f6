//! Runs the task of a render in a new process, or in a process that has already loaded the same model.

use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use plinth_pipeline::child::{ChildTask, RenderTask};
use plinth_spec::OutputPaths;
use plinth_spec::id::WorkspaceId;
use tokio_util::sync::CancellationToken;

use crate::child::Ended;
use crate::handover::{give_inputs, take_outputs};
use crate::job::{JobListener, JobPlan};
use crate::models::home_folder;
use crate::node::Node;
use crate::render_process::{ProcessKey, RenderProcess};
use crate::scratch::JobFolder;

/// A render whose input files are in its folder.
pub(crate) struct Fetched {
    pub(crate) task: RenderTask,
    /// Key of the process that draws the render; `None` if this process cannot be reused.
    pub(crate) process_key: Option<ProcessKey>,
    /// A process that has already loaded the model; `None` if there is none. With such a process, the model is not fetched.
    pub(crate) process: Option<RenderProcess>,
}

/// A render that is ready to be drawn.
pub(crate) struct Drawing<'a> {
    node: &'a Node,
    /// Folder of the render.
    folder: &'a Path,
    task: RenderTask,
    /// The process that draws the render; `None` if it cannot be reused and is started later, by [`run`](Self::run).
    process: Option<RenderProcess>,
    /// The task as a line of JSON, for a process that has drawn other renders; `None` if the task is in the job description.
    line: Option<String>,
    /// Names of the input files that were moved to the folder of the process, except the model.
    inputs: Vec<OsString>,
}

impl<'a> Drawing<'a> {
    /// If the process can be reused, moves the input files to its folder. If such a process cannot be started, adds its
    /// folder to `failed_files`, so that the folder is kept until the free disk space is checked.
    /// Errors: a file cannot be moved or written.
    pub(crate) fn prepare(
        node: &'a Node,
        fetched: Fetched,
        folder: &'a Path,
        failed_files: &Mutex<Vec<Arc<JobFolder>>>,
    ) -> io::Result<Self> {
        let Fetched { task, process_key, process } = fetched;
        let line = process.is_some().then(|| serde_json::to_string(&task)).transpose()?;
        let mut inputs = Vec::new();
        let process = match (process, process_key) {
            (Some(process), _) => {
                inputs = give_inputs(folder, process.folder())?;
                let given: Vec<PathBuf> = inputs.iter().map(|name| process.folder().join(name)).collect();
                node.options.fence.give(&given.iter().map(PathBuf::as_path).collect::<Vec<_>>())?;
                Some(process)
            }
            (None, Some(process_key)) => {
                let own = Arc::new(node.scratch.process()?);
                failed_files.lock().unwrap_or_else(PoisonError::into_inner).push(Arc::clone(&own));
                inputs = give_inputs(folder, own.path())?;
                inputs.retain(|name| Path::new(name) != task.model);
                let home = Some(home_folder(&node.scratch, &process_key.workspace));
                let child_task = ChildTask::Render(Box::new(task.clone()));
                let plan = JobPlan { task: child_task, time: node.options.timeout, folder: own.path(), home };
                let process = RenderProcess::start(node.options.clone(), process_key, node.describe(plan)?, own)?;
                failed_files.lock().unwrap_or_else(PoisonError::into_inner).pop();
                Some(process)
            }
            (None, None) => None,
        };
        Ok(Self { node, folder, task, process, line, inputs })
    }

    /// Returns the folder in which the output files are written.
    pub(crate) fn folder(&self) -> &Path {
        self.process.as_ref().map_or(self.folder, RenderProcess::folder)
    }

    /// Draws the frames and writes the files.
    pub(crate) async fn run(
        &self,
        workspace: &WorkspaceId,
        time: Duration,
        listener: JobListener,
        cut: &CancellationToken,
    ) -> Ended {
        let Some(process) = &self.process else {
            let home = Some(home_folder(&self.node.scratch, workspace));
            let task = ChildTask::Render(Box::new(self.task.clone()));
            return self.node.run_child(JobPlan { task, time, folder: self.folder, home }, cut, Some(listener)).await;
        };
        process.run(self.line.clone(), time, listener, cut).await
    }

    /// Returns a reference to the folder of the process if the process was started for this render and can be reused. The
    /// folder is kept while the reference exists.
    pub(crate) fn into_files(self) -> Option<Arc<JobFolder>> {
        self.process.and_then(RenderProcess::into_files)
    }

    /// Moves the output files to the folder of the render, and keeps the process for the next render.
    /// Errors: a file is missing or cannot be moved.
    pub(crate) fn finish(self, files: &OutputPaths) -> io::Result<()> {
        let Some(process) = self.process else { return Ok(()) };
        take_outputs(process.folder(), self.folder, files.values().filter_map(|place| place.file_name()))?;
        for input in self.inputs {
            std::fs::remove_file(process.folder().join(input))?;
        }
        self.node.idle_processes.keep(process);
        Ok(())
    }
}
