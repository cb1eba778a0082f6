//! Limits of accounts, keys, sessions, teams and purchases.

/// Maximum length of an e-mail address, in bytes.
pub const EMAIL_BYTES: usize = 254;
/// Minimum length of a password, in characters.
pub const PASSWORD_MIN_CHARS: usize = 8;
/// Maximum number of passwords that one client may try for one account in ten minutes.
pub const PASSWORDS_PER_CLIENT_AND_ACCOUNT: u32 = 10;
/// Maximum number of passwords that one client may try in ten minutes.
pub const PASSWORDS_PER_CLIENT: u32 = 60;
/// Maximum number of passwords that all clients of one untrusted reverse proxy together may try in ten minutes.
pub const PASSWORDS_PER_UNTRUSTED_PROXY: u32 = 600;
/// Maximum number of passwords that may be tried for one account in ten minutes, by all clients together.
pub const PASSWORDS_PER_ACCOUNT: u32 = 100;
/// Lifetime of a link that sets a new password, in seconds.
pub const PASSWORD_LINK_SECS: i64 = 3600;
/// Maximum number of links for a new password that are mailed to one address in an hour.
pub const PASSWORD_LINKS_PER_ADDRESS: u32 = 3;
/// Maximum number of links for a new password that one client may request in an hour.
pub const PASSWORD_LINKS_PER_CLIENT: u32 = 20;
/// Default lifetime of a sign-in link, in seconds.
pub const SIGN_IN_LINK_SECS: i64 = 24 * 3600;
/// Longest lifetime of a sign-in link, in seconds.
pub const SIGN_IN_LINK_MAX_SECS: i64 = 30 * 24 * 3600;
/// Lifetime of a browser session, in seconds.
pub const SESSION_SECS: i64 = 14 * 24 * 3600;
/// Time in seconds without a request after which a browser session expires.
pub const SESSION_IDLE_SECS: i64 = 3 * 24 * 3600;
/// Maximum number of active API keys per account. Because the number of keys is limited, each limit per key also limits
/// the account.
pub const KEYS: u64 = 50;
/// Maximum length of an API key's name, in characters.
pub const KEY_NAME_CHARS: usize = 100;
/// Longest lifetime of an API key that expires, in seconds.
pub const KEY_MAX_SECS: i64 = 10 * 365 * 24 * 3600;
/// Maximum number of teams that an account may own.
pub const TEAMS: u64 = 20;
/// Maximum length of a team's name, in characters.
pub const TEAM_NAME_CHARS: usize = 100;
/// Maximum number of members of a team.
pub const TEAM_MEMBERS: usize = 100;
/// Maximum number of open invitations to a team.
pub const INVITATIONS: usize = 50;
/// Maximum number of invitations that an account may create in an hour.
pub const INVITATIONS_PER_HOUR: u32 = 30;
/// Lifetime of an invitation to a team, in seconds.
pub const INVITATION_SECS: i64 = 7 * 24 * 3600;
/// Credits that a new account receives.
pub const SIGNUP_BONUS: u64 = 100;
/// Default balance below which the web UI suggests buying credits.
pub const LOW_BALANCE: u64 = 50;
/// Maximum number of purchases that one account may start in ten minutes.
pub const PURCHASES: u32 = 20;
/// Largest event of the payment provider, in bytes.
pub const PAYMENT_EVENT_BYTES: usize = 256 << 10;
/// Maximum age of an event of the payment provider, in seconds.
pub const PAYMENT_EVENT_SECS: i64 = 300;
/// Maximum number of credits that an administrator can grant or remove at once.
pub const GRANT_CREDITS: u64 = 1_000_000_000;
/// Maximum length of the reason that an administrator gives for an action, in characters.
pub const ADMIN_REASON_CHARS: usize = 500;
