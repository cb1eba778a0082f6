//! The pages, one file per subject.

pub(crate) mod account;
pub(crate) mod admin;
pub(crate) mod bulk;
pub(crate) mod composer;
pub(crate) mod credits;
mod dataset;
pub(crate) mod environments;
pub(crate) mod events;
pub(crate) mod images;
pub(crate) mod join;
pub(crate) mod keys;
mod ledger_entry;
pub(crate) mod library;
pub(crate) mod links;
pub(crate) mod look_order;
pub(crate) mod looks;
pub(crate) mod media;
pub(crate) mod model;
pub(crate) mod overview;
pub(crate) mod preview;
pub(crate) mod recovery;
pub(crate) mod render;
pub(crate) mod render_delete;
pub(crate) mod session;
pub(crate) mod sign_in;
pub(crate) mod teams;
pub(crate) mod upload;
