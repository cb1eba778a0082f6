//! The web UI: sign-in, models, renders and API keys, as HTML that works without scripts. All business rules are in `plinth-service`.
//!
//! A request passes three layers of middleware. [`response`] renders errors as pages and sets the security headers.
//! [`csrf`] rejects requests that another site sent. [`session`] identifies the user by the session cookie. A form of a
//! signed-in user must also carry the CSRF token of the session ([`form`]).

mod assets;
mod composer;
mod cookie;
mod csrf;
mod error;
mod form;
mod format;
mod frame;
mod pages;
mod response;
mod router;
mod session;
mod studio;

pub use router::router;
pub use studio::{Studio, sign_in_url};
