//! What a member may do in a workspace.

use crate::named::named;

named! {
    /// What a member may do in a workspace.
    Role {
        /// May do everything.
        Owner = "owner",
        /// May change resources and create renders.
        Editor = "editor",
        /// May only read.
        Viewer = "viewer",
    }
}

impl Role {
    /// Returns whether a member with this role may change resources and own API keys that are bound to the workspace.
    // Spec, Authentication, 6.
    pub const fn can_edit(self) -> bool {
        matches!(self, Self::Owner | Self::Editor)
    }
}
