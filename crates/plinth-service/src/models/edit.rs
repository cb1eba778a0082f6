//! Editing, archiving and deleting models.

use plinth_db::models::{self, Model};
use plinth_spec::id::ModelId;
use plinth_spec::state::ModelEvent;
use plinth_spec::wire::{Archived, ModelDeleted, ModelEdited, UpdateModel};
use plinth_store::ObjectKey;

use super::unneeded_files::schedule_deletion;
use crate::access::Caller;
use crate::error::{Result, ServiceError};
use crate::service::Service;

/// A model whose state has changed.
struct Moved {
    id: ModelId,
    /// Whether the deletion of the model's file is scheduled.
    is_file_unneeded: bool,
}

impl Service {
    /// Changes the title, the product code and the tags of a model.
    pub async fn update_model(&self, caller: &Caller, id: &str, edit: UpdateModel) -> Result<ModelEdited> {
        let edit = edit.normalized().map_err(|error| ServiceError::bad_request(error.to_string()))?;
        self.edit_model(caller, id, move |_old| Ok(edit)).await
    }

    /// Adds tags to the tags of a model.
    pub async fn add_model_tags(&self, caller: &Caller, id: &str, added: &[String]) -> Result<ModelEdited> {
        let added = added.to_vec();
        let with_tags = move |old: &Model| {
            let tags = old.tags.iter().cloned().chain(added).collect();
            let edit = UpdateModel { tags: Some(tags), ..UpdateModel::default() };
            edit.normalized().map_err(|error| ServiceError::bad_request(error.to_string()))
        };
        self.edit_model(caller, id, with_tags).await
    }

    /// Reads a model, computes its changes with `edit`, and writes the changes. All of this is one transaction, so that no
    /// concurrent change is lost.
    async fn edit_model(
        &self,
        caller: &Caller,
        id: &str,
        edit: impl FnOnce(&Model) -> Result<UpdateModel> + Send + 'static,
    ) -> Result<ModelEdited> {
        let id = ModelId::parse(id).ok_or_else(ServiceError::model_not_found)?;
        let workspace = caller.workspace_id.clone();
        let edited = self.write_in_workspace(caller, caller.payer_id.clone(), move |tx, now| {
            Box::pin(async move {
                let old = models::find(tx, &workspace, &id).await?.ok_or_else(ServiceError::model_not_found)?;
                let edit = edit(&old)?;
                let (title, sku) = (edit.title.applied_to(old.title), edit.sku.applied_to(old.sku));
                let tags = edit.tags.unwrap_or(old.tags);
                models::update(tx, &id, title.as_deref(), sku.as_deref(), &tags, now).await?;
                Ok(ModelEdited { id, title, sku, tags })
            })
        });
        edited.await
    }

    /// Archives a model. The default list does not show archived models.
    pub async fn archive_model(&self, caller: &Caller, id: &str) -> Result<Archived> {
        let Moved { id, .. } = self.move_model(caller, id, ModelEvent::Archive).await?;
        Ok(Archived { id, archived: true })
    }

    /// Makes an archived model active again.
    pub async fn unarchive_model(&self, caller: &Caller, id: &str) -> Result<Archived> {
        let Moved { id, .. } = self.move_model(caller, id, ModelEvent::Unarchive).await?;
        Ok(Archived { id, archived: false })
    }

    /// Marks a model as deleted, and deletes its file. Its renders remain. If some of them have not ended, the file is deleted by a
    /// cleanup after their end, because they need it.
    pub async fn delete_model(&self, caller: &Caller, id: &str) -> Result<ModelDeleted> {
        let Moved { id, is_file_unneeded } = self.move_model(caller, id, ModelEvent::Delete).await?;
        if is_file_unneeded {
            self.remove_marked(&ObjectKey::Model(&id).path()).await;
        }
        Ok(ModelDeleted { id, deleted: true })
    }

    /// Applies an event to a model. Returns `model_not_found` if the state of the model does not allow the event.
    // Source: Spec, Model status.
    async fn move_model(&self, caller: &Caller, id: &str, event: ModelEvent) -> Result<Moved> {
        let id = ModelId::parse(id).ok_or_else(ServiceError::model_not_found)?;
        let workspace = caller.workspace_id.clone();
        // During a hold, the file remains in the store and continues to count; a later cleanup deletes it.
        let may_delete = !self.is_held().await?;
        let moved = self.write_in_workspace(caller, caller.payer_id.clone(), move |tx, now| {
            Box::pin(async move {
                // The paying account is locked. An upload of the same file takes this lock, too: it waits, and then reads the
                // new state of the model.
                let model = models::find(tx, &workspace, &id).await?;
                let model = model.ok_or_else(ServiceError::model_not_found)?;
                let to = model.status.after(event).ok_or_else(ServiceError::model_not_found)?;
                if !models::set_status(tx, &id, model.status, to, now).await? {
                    return Err(ServiceError::model_not_found());
                }
                let is_file_unneeded = may_delete && schedule_deletion(tx, &id, now).await?;
                Ok(Moved { id, is_file_unneeded })
            })
        });
        moved.await
    }
}
