//! The role of a member in a workspace, which determines what the member may do.

use crate::named::named;

named! {
    /// The role of a member in a workspace, which determines what the member may do.
    Role {
        /// The owner may do everything.
        Owner = "owner",
        /// An editor may change resources and create renders.
        Editor = "editor",
        /// A viewer may only read.
        Viewer = "viewer",
    }
}

impl Role {
    /// Returns whether a member with this role may change resources, and may own API keys of the workspace.
    // Spec, Authentication, 6.
    pub const fn can_edit(self) -> bool {
        matches!(self, Self::Owner | Self::Editor)
    }
}
