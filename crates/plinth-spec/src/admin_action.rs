//! The actions of administrators of an installation, which are written to the administrators' log.

use crate::named::named;

named! {
    /// An action of an administrator of the installation.
    AdminAction {
        /// Credits were added to an account, or removed from it.
        GrantCredits = "grant_credits",
        /// An account was suspended.
        Suspend = "suspend",
        /// The suspension of an account was ended.
        Reactivate = "reactivate",
        /// An account was made an administrator.
        MakeAdmin = "make_admin",
        /// An account is no longer an administrator.
        RemoveAdmin = "remove_admin",
        /// An overlay was made available to all workspaces.
        PublishOverlay = "publish_overlay",
        /// An overlay is no longer available to other workspaces.
        WithdrawOverlay = "withdraw_overlay",
        /// An environment was made available to all workspaces.
        PublishEnvironment = "publish_environment",
        /// An environment is no longer available to other workspaces.
        WithdrawEnvironment = "withdraw_environment",
    }
}
