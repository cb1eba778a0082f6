//! Creating, listing, cancelling and deleting renders.

mod counts;
mod create;
mod end;
mod list;
mod place;
mod progress;
mod settings;
mod view;

pub(crate) use end::cancel_pending;
pub use list::RenderQuery;
pub(crate) use list::instant;
pub(crate) use place::{Wanted, check_free_uploads, check_funds, free_uploads_since, place, place_system_preview};
pub use progress::RenderProgress;
pub(crate) use settings::parse_settings;
pub(crate) use view::echoed_settings;
