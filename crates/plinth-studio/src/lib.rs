//! Pages for browsers: signing in, API keys, renders. HTML that needs no script; every rule is the service's.
//!
//! A request passes three layers. The outermost ([`answer`]) turns refusals into pages and sets the headers that keep a page
//! to itself. The next ([`origin`]) refuses what another site sends in a visitor's name. The last ([`visitor`]) finds out by
//! the session's cookie who asks. A form of a visitor then has to carry the token of their session ([`sent`]).

mod answer;
mod cookie;
mod frame;
mod origin;
mod pages;
mod refusal;
mod router;
mod sent;
mod studio;
mod style;
mod visitor;
mod words;

pub use router::router;
pub use studio::{Studio, sign_in_url};
