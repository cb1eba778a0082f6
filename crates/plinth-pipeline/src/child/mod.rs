//! A job in a process of its own: a folder with a description goes in, files and a line per event come out.

mod description;
mod event;
mod run;

pub use description::{
    CacheFolder, ChildJob, ChildLimits, ChildTask, DESCRIPTION_FILE, PackageTask, ProbeTask, RenderTask,
};
pub use event::{ChildEvent, ChildFailure, MachineFound};
pub use run::run_child;
