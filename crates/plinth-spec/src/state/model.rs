//! States of a model.

use super::events::events;
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
    /// The models that a list contains, by their state. Deleted models are in no list.
    ModelStates, default Active {
        /// Active models.
        Active = "active",
        /// Archived models.
        Archived = "archived",
        /// Active and archived models.
        Any = "any",
    }
}

impl ModelStates {
    /// Returns the state that all models in the list have. Returns `None` if their states may differ.
    pub const fn status(self) -> Option<ModelStatus> {
        match self {
            Self::Active => Some(ModelStatus::Active),
            Self::Archived => Some(ModelStatus::Archived),
            Self::Any => None,
        }
    }
}

// The transitions of the contract (Spec, Model status).
events! {
    /// An event that changes the state of a model.
    ModelEvent of ModelStatus {
        /// The owner archives the model, which hides it from the default list.
        Archive = "archive": Active => Archived;
        /// The owner makes an archived model active again.
        Unarchive = "unarchive": Archived => Active;
        /// The owner deletes the model.
        Delete = "delete": Active | Archived => Deleted;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_list_of_any_models_contains_several_states() {
        let states = ["active", "archived", "any"].map(|name| ModelStates::from_name(name).unwrap().status());
        assert_eq!(states, [Some(ModelStatus::Active), Some(ModelStatus::Archived), None]);
    }

    #[test]
    fn exactly_four_moves_are_allowed() {
        assert_eq!(
            transition_names(),
            [
                ("archive", "active", "archived"),
                ("unarchive", "archived", "active"),
                ("delete", "active", "deleted"),
                ("delete", "archived", "deleted"),
            ]
        );
    }
}
