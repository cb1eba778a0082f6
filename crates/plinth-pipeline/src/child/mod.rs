//! Jobs in child processes. A child reads the description in the job's folder, writes its files there, and prints one event per
//! line.

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
