//! Labels of actions, kinds of work and states on the pages for administrators.

use plinth_service::admin::{Kind, WorkerView};
use plinth_spec::{AdminAction, WorkClass, WorkerState};

/// Returns the label of an action.
pub(super) const fn action(action: AdminAction) -> &'static str {
    match action {
        AdminAction::GrantCredits => "Granted credits",
        AdminAction::Suspend => "Suspended",
        AdminAction::Reactivate => "Ended the suspension",
        AdminAction::MakeAdmin => "Made an administrator",
        AdminAction::RemoveAdmin => "Removed as an administrator",
        AdminAction::PublishOverlay => "Published an overlay",
        AdminAction::WithdrawOverlay => "Withdrew an overlay",
        AdminAction::PublishEnvironment => "Published an environment",
        AdminAction::WithdrawEnvironment => "Withdrew an environment",
    }
}

/// Returns the label of a kind and class of work.
pub(super) fn work(kind: Kind, class: Option<WorkClass>) -> String {
    match (kind, class) {
        (Kind::Package, _) => "Packaging for streaming".to_owned(),
        (Kind::Render, Some(WorkClass::Dataset)) => "Datasets".to_owned(),
        (Kind::Render, Some(class)) => format!("Videos, {}", class.as_str()),
        (Kind::Render, None) => "Without a class".to_owned(),
    }
}

/// Returns the label of the state of a worker, and the name of its colour.
pub(super) const fn worker_state(worker: &WorkerView) -> (&'static str, &'static str) {
    match worker.row.state {
        _ if worker.is_lost => ("Lost", "error"),
        WorkerState::Claiming if worker.jobs > 0 => ("Works", "done"),
        WorkerState::Claiming => ("Waits for renders", "done"),
        WorkerState::DiskFull => ("Disk full", "error"),
        WorkerState::CannotRender => ("Cannot render", "error"),
        WorkerState::StoreUnreachable => ("Store unreachable", "error"),
        WorkerState::Draining => ("Stops", "pending"),
    }
}
