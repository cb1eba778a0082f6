//! States of a model.

use crate::named::named;

named! {
    /// The state of a model.
    ModelStatus {
        /// The model is in the default list. An upload of the same file uses this model.
        Active = "active",
        /// The model is hidden from the default list.
        Archived = "archived",
        /// The model was deleted by its owner; its renders remain.
        Deleted = "deleted",
    }
}

named! {
    /// An event that changes the state of a model.
    ModelEvent {
        /// The owner archives the model, which hides it from the default list.
        Archive = "archive",
        /// The owner makes an archived model active again.
        Unarchive = "unarchive",
        /// The owner deletes the model.
        Delete = "delete",
    }
}

impl ModelStatus {
    /// Returns the state after an event, or `None` if the event is not allowed in this state.
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
    use crate::state::transitions;

    #[test]
    fn exactly_four_moves_are_allowed() {
        let names =
            |(from, event, to): (ModelStatus, ModelEvent, ModelStatus)| (from.as_str(), event.as_str(), to.as_str());
        let allowed: Vec<_> = transitions(ModelStatus::ALL, ModelEvent::ALL, ModelStatus::after).map(names).collect();
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
