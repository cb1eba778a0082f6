//! Limits of requests, files and accounts, and their defaults. Each is defined only here.

mod accounts;
mod assets;
mod bodies;
mod ingest;
mod links;
mod models;
mod previews;
mod renders;
mod requests;

pub use accounts::*;
pub use assets::*;
pub use bodies::*;
pub use ingest::*;
pub use links::*;
pub use models::*;
pub use previews::*;
pub use renders::*;
pub use requests::*;
