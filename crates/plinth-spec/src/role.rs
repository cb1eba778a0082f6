//! What a member may do in a workspace.

use crate::named::named;

named! {
    /// What a member may do in a workspace.
    Role {
        /// Everything.
        Owner = "owner",
        /// Change and render.
        Editor = "editor",
        /// Look.
        Viewer = "viewer",
    }
}

impl Role {
    /// Whether this member may change anything, and may have keys bound to the workspace.
    // Spec, Authentication, 6.
    pub const fn can_edit(self) -> bool {
        matches!(self, Self::Owner | Self::Editor)
    }
}
