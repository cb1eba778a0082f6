//! Jobs in child processes. A child process reads the description from the folder of its job, writes files to the same
//! folder, and prints one event per line to its standard output.

mod description;
mod event;
mod preview;
mod run;

pub use description::{
    CacheFolder, ChildJob, ChildLimits, ChildTask, DESCRIPTION_FILE, PackageTask, ProbeTask, RenderTask,
};
pub use event::{ChildEvent, ChildFailure, MachineFound};
pub use preview::{PreviewRequest, PreviewTask};
pub use run::run_child;
