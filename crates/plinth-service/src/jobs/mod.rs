//! The interface of workers: they claim, report and release renders. Also requeues the renders of workers that stopped
//! responding.

mod assets;
mod claim;
mod expired_leases;
mod files;
mod listen;
mod packaging;
mod progress;
mod queue;
mod report;

pub use assets::{AssetMissing, ImageAsset, RenderAssets};
pub use claim::{Claim, LeaseLost};
pub use expired_leases::Reclaimed;
pub use files::{RenderFiles, StoredFile};
pub use plinth_db::leases::Worker;
pub use plinth_db::workers::WorkerRow;
pub use queue::Queue;
pub(crate) use report::{LATE_MS, first_line};
