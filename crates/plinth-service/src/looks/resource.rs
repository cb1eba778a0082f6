//! Looks as a resource of the API.

use plinth_spec::wire::{CreateLook, LookRow, Page, Timestamp, UpdateLook};
use serde_json::{Map, Value};

use super::Look;
use crate::access::Caller;
use crate::error::{Result, ServiceError};
use crate::service::Service;

impl Service {
    /// Lists the looks of the workspace, newest first, and then the looks of the program.
    pub async fn list_looks(&self, caller: &Caller) -> Result<Page<LookRow>> {
        let start = self.start_look(caller).await?;
        Ok(Page::whole(self.looks(caller).await?.into_iter().map(|look| row(look, start.as_ref())).collect()))
    }

    /// Returns a look of the workspace or of the program.
    pub async fn get_look(&self, caller: &Caller, id: &str) -> Result<LookRow> {
        Ok(row(self.look(caller, id).await?, self.start_look(caller).await?.as_ref()))
    }

    /// Saves settings as a look.
    /// Errors: the name is missing, too long or in use, the settings are invalid, or the workspace has too many looks.
    pub async fn create_look(&self, caller: &Caller, new: CreateLook) -> Result<LookRow> {
        let name = new.name.ok_or_else(|| ServiceError::bad_request("send the name of the look"))?;
        let settings = new.render_settings.unwrap_or_else(|| Value::Object(Map::new()));
        Ok(row(self.save_look(caller, &name, &settings, false).await?, None))
    }

    /// Changes a look, and returns it.
    /// Errors: those of [`Self::change_look`].
    pub async fn update_look(&self, caller: &Caller, id: &str, change: UpdateLook) -> Result<LookRow> {
        self.change_look(caller, id, change).await?;
        self.get_look(caller, id).await
    }
}

/// Converts a look for a response. `start` is the look with which the composer of the workspace starts.
fn row(look: Look, start: Option<&Look>) -> LookRow {
    LookRow {
        is_start: start.is_some_and(|start| start.id == look.id),
        id: look.id,
        name: look.name,
        description: look.description,
        render_settings: Value::Object(look.settings),
        is_built_in: look.is_built_in,
        updated_at: look.updated_at.map(Timestamp),
    }
}
