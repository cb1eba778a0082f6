//! Authentication and authorization: accounts, workspaces, API keys and sessions.

mod account;
mod caller;
mod client;
mod current_rights;
mod invitation;
mod key;
mod password;
mod recovery;
mod session;
mod sign_in;
mod team;
mod token;
mod workspace;

pub use account::NewAccount;
pub(crate) use account::post_entry;
pub use caller::Caller;
pub use client::ClientAddress;
pub(crate) use current_rights::{check_current_rights, check_is_signed_in};
pub use invitation::{InvitationView, NewInvitation};
pub use key::{Key, NewKey, NewKeyMade};
pub use password::hash_password;
pub use plinth_db::invitations::Invitation;
pub use plinth_db::workspaces::Member;
pub(crate) use session::IDLE_MS;
pub use session::{SessionView, SignedIn};
pub(crate) use sign_in::SECRET_CHARS;
pub use team::Team;
