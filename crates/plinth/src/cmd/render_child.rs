//! `plinth render-child`: runs one job of a worker in this process.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use anyhow::{Context as _, Result};
use clap::{Arg, ArgMatches, Command, value_parser};
use plinth_pipeline::child::{ChildJob, ChildLimits, ChildTask, run_child};

use super::confine::{
    JOB_NICENESS, bound, bound_memory, bound_open_files, bound_processor_time, end_with_parent, enter_fence, fence_arg,
};
use crate::system::{Resource, lower_priority, name_process, start_session};

/// Time that a job has to stop after its worker has ended. After this time, the process ends itself.
const LEAVE: Duration = Duration::from_secs(5);
/// Added to the nice value of packagings, previews and the free videos of uploads.
const LOW_NICENESS: i32 = 10;

pub(crate) fn command() -> Command {
    Command::new("render-child")
        .about("Runs the job that a worker has described in a folder; stops when its standard input is closed")
        .hide(true)
        .arg(
            Arg::new("folder")
                .value_name("FOLDER")
                .required(true)
                .value_parser(value_parser!(PathBuf))
                .help("Folder of the job"),
        )
        .arg(fence_arg())
}

pub(crate) fn run(args: &ArgMatches, out: &mut dyn Write) -> Result<()> {
    let folder: &PathBuf = args.get_one("folder").context("FOLDER is missing")?;
    name_process();
    plinth_fence::close_inherited_files();
    std::env::set_current_dir(folder).context("the job's folder cannot be entered")?;
    let job = ChildJob::read(Path::new(".")).context("the job's description cannot be read")?;
    confine(&job)?;
    match &job.task {
        // Packagings use the processors when paid renders beside them do not. So do the free videos of uploads, and previews, which
        // would otherwise hold up a render as long as people turn models.
        ChildTask::Package(_) | ChildTask::Preview(_) => lower_priority(LOW_NICENESS),
        ChildTask::Render(task) if task.draft => lower_priority(LOW_NICENESS),
        ChildTask::Render(_) | ChildTask::Probe(_) => lower_priority(JOB_NICENESS),
    }
    enter_fence(args)?;
    end_with_parent("the job cannot be set to end with the worker")?;
    let cancel = Arc::new(AtomicBool::new(false));
    let requests = read_requests(Arc::clone(&cancel));
    let mut written = Ok(());
    let mut tell = |event| {
        if written.is_ok() {
            written = serde_json::to_writer(&mut *out, &event).map_err(Into::into).and_then(|()| {
                out.write_all(b"\n")?;
                out.flush()
            });
        }
        if written.is_err() {
            // Writing fails if the worker has ended. Then the job must stop.
            cancel.store(true, Ordering::Relaxed);
        }
    };
    run_child(&job.task, &mut requests.into_iter(), &mut tell, &cancel);
    Ok(written?)
}

/// Starts a new session for this process and its later children, and sets resource limits. The worker measures and
/// kills the processes of a job by their session.
fn confine(job: &ChildJob) -> Result<()> {
    let ChildLimits { cpu_secs, file_bytes, memory_bytes } = job.limits;
    start_session().context("the job cannot start a session")?;
    bound_memory(memory_bytes)?;
    bound_open_files()?;
    bound(Resource::FileSize, file_bytes, "the size of files")?;
    bound_processor_time(cpu_secs, matches!(job.task, ChildTask::Render(_) | ChildTask::Preview(_)))
}

/// Returns a channel with the lines of standard input. The worker keeps standard input open as long as it lives. When
/// standard input ends, the job is cancelled.
fn read_requests(cancel: Arc<AtomicBool>) -> Receiver<String> {
    let (send, requests) = channel();
    std::thread::spawn(move || {
        for line in std::io::stdin().lines().map_while(Result::ok) {
            // Sending fails if the job does not read requests. Then they are ignored.
            let _unread = send.send(line);
        }
        cancel.store(true, Ordering::Relaxed);
        drop(send);
        // If the job has not stopped by now, for example because a driver hangs, the process ends itself.
        std::thread::sleep(LEAVE);
        signal_hook::low_level::exit(1);
    });
    requests
}
