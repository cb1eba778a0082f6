//! Administration of the installation: accounts, assets for all workspaces, the state of workers, and the log of
//! administrative actions.
//!
//! Each use case that changes something takes the [`Actor`] and writes an entry of the log in the same transaction.

mod accounts;
mod actor;
mod assets;
mod credits;
mod log;
mod overview;
mod view;
mod workers;

pub use accounts::AccountQuery;
pub use actor::Actor;
pub use assets::{AssetKind, SystemAsset};
pub use credits::Grant;
pub use log::LogPage;
pub use overview::{FailureCount, Overview, QueueRow, Rate, Storage};
pub use plinth_db::accounts::{Account, ListedAccount};
pub use plinth_db::admin_log::LogEntry;
pub use plinth_db::outcomes::HourCount;
pub use plinth_db::queue::Kind;
pub use plinth_db::storage::StorageOfAccount;
pub use plinth_db::workers::WorkerRow;
pub use plinth_db::workload::RunningJob;
pub use plinth_db::workspaces::WorkspaceSummary;
pub use view::{AccountRender, AccountView};
pub(crate) use workers::FORGOTTEN_MS;
pub use workers::{Fleet, WorkerView};
