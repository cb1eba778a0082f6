//! Looks as a resource of the API.

use plinth_spec::wire::{CreateLook, LookRow, Page, Timestamp, UpdateLook};
use serde_json::{Map, Value};

use super::Look;
use crate::access::Caller;
use crate::body_memory::BodyMemory;
use crate::error::{Result, ServiceError};
use crate::service::Service;

impl Service {
    /// Lists the looks of the workspace, newest first, and then the looks of the program. The caller keeps the reservation of
    /// memory until the response is sent.
    /// Errors: those of [`Self::looks`].
    pub async fn list_looks(&self, caller: &Caller) -> Result<(Page<LookRow>, BodyMemory)> {
        let start = self.start_look_id(caller).await?;
        let (looks, memory) = self.looks(caller).await?;
        Ok((Page::whole(looks.into_iter().map(|look| row(look, start.as_deref())).collect()), memory))
    }

    /// Returns a look of the workspace or of the program.
    pub async fn get_look(&self, caller: &Caller, id: &str) -> Result<LookRow> {
        Ok(row(self.look(caller, id).await?, self.start_look_id(caller).await?.as_deref()))
    }

    /// Saves settings as a look.
    /// Errors: the name is missing, or those of [`Self::save_look`].
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

/// Converts a look for a response. `start` identifies the look with which the composer of the workspace starts.
fn row(look: Look, start: Option<&str>) -> LookRow {
    LookRow {
        is_start: start == Some(look.id.as_str()),
        id: look.id,
        name: look.name,
        description: look.description,
        render_settings: Value::Object(look.settings),
        is_built_in: look.is_built_in,
        updated_at: look.updated_at.map(Timestamp),
    }
}
