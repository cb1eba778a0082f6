//! Who calls, and what they may do.

mod account;
mod caller;
mod key;
mod password;
mod session;
mod token;
mod workspace;

pub use account::NewAccount;
pub use caller::Caller;
pub use key::{NewKey, NewKeyMade};
pub use password::hash_password;
pub use session::SESSION_SECS;
