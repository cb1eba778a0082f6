//! The role of a member in a workspace, which determines what the member may do.

use crate::named::named;

named! {
    /// The role of a member in a workspace, which determines what the member may do.
    Role {
        /// The owner may do everything.
        Owner = "owner",
        /// An administrator may do what an editor may do, and may also invite and remove members, rename the workspace
        /// and buy credits.
        Admin = "admin",
        /// An editor may change resources and create renders.
        Editor = "editor",
        /// A viewer may only read.
        Viewer = "viewer",
    }
}

impl Role {
    /// Returns whether a member with this role may change resources, and may have API keys for the workspace.
    // Source: Spec, Authentication, 6.
    pub const fn can_edit(self) -> bool {
        matches!(self, Self::Owner | Self::Admin | Self::Editor)
    }

    /// Returns whether a member with this role may invite and remove members, rename the workspace and buy credits.
    pub const fn can_manage(self) -> bool {
        matches!(self, Self::Owner | Self::Admin)
    }

    /// Returns whether a member with this role may give the role `other` to members or take it from them. The role of
    /// the owner cannot be assigned: it only changes when the workspace is transferred.
    pub const fn can_assign(self, other: Self) -> bool {
        match other {
            Self::Owner => false,
            Self::Admin => matches!(self, Self::Owner),
            Self::Editor | Self::Viewer => self.can_manage(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_role_may_do_what_the_table_says() {
        use Role::{Admin, Editor, Owner, Viewer};
        // Role, may edit, may manage, and the roles that it may assign.
        for (role, edits, manages, assigns) in [
            (Owner, true, true, &[Admin, Editor, Viewer][..]),
            (Admin, true, true, &[Editor, Viewer]),
            (Editor, true, false, &[]),
            (Viewer, false, false, &[]),
        ] {
            assert_eq!((role.can_edit(), role.can_manage()), (edits, manages), "{role:?}");
            for other in Role::ALL {
                assert_eq!(role.can_assign(*other), assigns.contains(other), "{role:?} assigns {other:?}");
            }
        }
    }
}
