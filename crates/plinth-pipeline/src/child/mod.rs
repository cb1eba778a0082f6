//! Jobs in child processes. A child process reads the description of its job from a folder, writes its files to the
//! same folder, and prints events to its standard output, one per line.

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
