//! States of a model.

use crate::named::named;

named! {
    /// Where a model stands.
    ModelStatus {
        /// Listed, and matched when the same file comes again.
        Active = "active",
        /// Hidden from the default list.
        Archived = "archived",
        /// Gone for its users; its renders remain.
        Deleted = "deleted",
    }
}

named! {
    /// What happens to a model.
    ModelEvent {
        /// Hide it.
        Archive = "archive",
        /// Show it again.
        Unarchive = "unarchive",
        /// Remove it.
        Delete = "delete",
    }
}

impl ModelStatus {
    /// The state after an event; `None` when the event is refused.
    // Spec, Model status.
    pub const fn after(self, event: ModelEvent) -> Option<Self> {
        match (self, event) {
            (Self::Active, ModelEvent::Archive) => Some(Self::Archived),
            (Self::Archived, ModelEvent::Unarchive) => Some(Self::Active),
            (Self::Active | Self::Archived, ModelEvent::Delete) => Some(Self::Deleted),
            (Self::Active, ModelEvent::Unarchive) => None,
            (Self::Archived, ModelEvent::Archive) => None,
            (Self::Deleted, _) => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exactly_four_moves_are_allowed() {
        let allowed: Vec<_> = ModelStatus::ALL
            .iter()
            .flat_map(|s| ModelEvent::ALL.iter().filter_map(|e| Some((s.as_str(), e.as_str(), s.after(*e)?.as_str()))))
            .collect();
        assert_eq!(
            allowed,
            [
                ("active", "archive", "archived"),
                ("active", "delete", "deleted"),
                ("archived", "unarchive", "active"),
                ("archived", "delete", "deleted"),
            ]
        );
    }
}
