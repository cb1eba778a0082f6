//! Creating, listing, cancelling and deleting renders.

mod counts;
mod create;
mod end;
mod insert;
mod list;
mod of_deleted_workspaces;
mod progress;
mod settings;
mod view;

pub(crate) use end::cancel_pending;
pub(crate) use insert::{
    Wanted, check_free_uploads, check_funds, free_uploads_since, insert_renders, insert_system_preview,
};
pub use list::RenderQuery;
pub(crate) use list::instant;
pub use progress::RenderProgress;
pub(crate) use settings::parse_settings;
pub(crate) use view::echoed_settings;
