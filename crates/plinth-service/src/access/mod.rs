//! Authentication and authorization: accounts, workspaces, API keys and sessions.

mod account;
mod caller;
mod client;
mod key;
mod password;
mod session;
mod sign_in;
mod token;
mod workspace;

pub use account::NewAccount;
pub use caller::Caller;
pub use client::ClientAddress;
pub use key::{Key, NewKey, NewKeyMade};
pub use password::hash_password;
pub(crate) use session::IDLE_MS;
pub use session::SignedIn;
