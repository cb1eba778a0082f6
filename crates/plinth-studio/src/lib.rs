//! The web UI: models, renders, looks, credits, teams, accounts and API keys. Its HTML pages work without scripts. All
//! business rules are in `plinth-service`.
//!
//! A request passes three layers of middleware. [`response`] renders errors as pages and sets the security headers.
//! [`csrf`] rejects requests from pages of other sites. [`session`] identifies the user by the session cookie. In
//! addition, [`form`] checks that a form of a signed-in user contains the CSRF token of the session.

mod assets;
mod composer;
mod cookie;
mod csrf;
mod destination;
mod error;
mod form;
mod format;
mod frame;
mod live;
mod look_pictures;
mod multipart;
mod pages;
mod response;
mod router;
mod session;
mod setting_pictures;
mod studio;

pub use router::router;
pub use studio::{Studio, sign_in_url};
