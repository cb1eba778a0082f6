//! A job in a process of its own: a folder with a description goes in, files and a line per event come out.

mod description;
mod event;
mod run;

pub use description::{
    CacheFolder, ChildJob, ChildLimits, ChildTask, DESCRIPTION_FILE, PackageTask, RenderTask, TaskOutputs,
};
pub use event::{AdapterFound, ChildEvent, ChildFailure};
pub use run::run_child;
