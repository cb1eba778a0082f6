//! Saves, renames, deletes and lists the looks of a workspace, and chooses the look with which its composer starts.

use plinth_db::looks::{self, Look as Row};
use plinth_db::{Tx, renders};
use plinth_spec::id::{LookId, WorkspaceId};
use plinth_spec::limits;
use plinth_spec::settings::ParseOptions;
use plinth_spec::wire::{LookDeleted, UpdateLook};
use plinth_spec::{ErrorCode, OutputFile, RenderSettings};
use serde_json::{Map, Value};

use super::{Look, built_in, not_found};
use crate::access::Caller;
use crate::body_memory::BodyMemory;
use crate::error::{Result, ServiceError};
use crate::hash::sha256_hex;
use crate::ids::New as _;
use crate::renders::parse_settings;
use crate::service::Service;

/// Maximum number of renders with the settings of a look that are searched for a picture.
const SEARCHED: u32 = 4;

impl Service {
    /// Lists the looks of the workspace, newest first, and then the looks of the program. The caller keeps the reservation of
    /// memory until the response with the looks is sent.
    /// Errors: `rate_limited` if the looks are large and their memory is not available within 30 s.
    pub async fn looks(&self, caller: &Caller) -> Result<(Vec<Look>, BodyMemory)> {
        // The connection is not kept, because other requests need it while this request waits for memory.
        let characters = looks::characters(&mut self.db.read().await?, &caller.workspace_id).await?;
        let memory = self.body_memory(caller, usize::try_from(characters).unwrap_or(usize::MAX)).await?;
        let saved = looks::list(&mut self.db.read().await?, &caller.workspace_id).await?;
        let saved = saved.into_iter().map(view).collect::<Result<Vec<_>>>()?;
        Ok((saved.into_iter().chain(built_in::all().iter().cloned()).collect(), memory))
    }

    /// Finds a look of the workspace or of the program.
    pub async fn look(&self, caller: &Caller, id: &str) -> Result<Look> {
        if let Some(look) = built_in::find(id) {
            return Ok(look.clone());
        }
        let id = LookId::parse(id).ok_or_else(not_found)?;
        let row = looks::find(&mut self.db.read().await?, &caller.workspace_id, &id).await?;
        view(row.ok_or_else(not_found)?)
    }

    /// Returns the identifier of the look with which the composer of the workspace starts.
    pub async fn start_look_id(&self, caller: &Caller) -> Result<Option<String>> {
        Ok(looks::start(&mut self.db.read().await?, &caller.workspace_id).await?)
    }

    /// Returns the look with which the composer of the workspace starts.
    pub async fn start_look(&self, caller: &Caller) -> Result<Option<Look>> {
        match self.start_look_id(caller).await? {
            Some(id) => self.look(caller, &id).await.map(Some),
            None => Ok(None),
        }
    }

    /// Chooses the look with which the composer of the workspace starts. With `None`, the composer starts with the default
    /// settings.
    pub async fn choose_start_look(&self, caller: &Caller, id: Option<&str>) -> Result<()> {
        let workspace = caller.workspace_id.clone();
        let id = id.map(str::to_owned);
        let chosen = self.write_in_workspace(caller, caller.payer_id.clone(), move |tx, _now| {
            Box::pin(async move {
                let id = id.as_deref();
                if let Some(saved) = id.filter(|id| built_in::find(id).is_none()) {
                    let saved = LookId::parse(saved).ok_or_else(not_found)?;
                    looks::find(tx, &workspace, &saved).await?.ok_or_else(not_found)?;
                }
                Ok(looks::set_start(tx, &workspace, id).await?)
            })
        });
        chosen.await
    }

    /// Saves settings as a look. With `replaces`, replaces the settings of an existing look with this name.
    /// Errors: the name is empty, too long or in use, the settings are invalid, or the workspace has too many or too large
    /// looks.
    pub async fn save_look(&self, caller: &Caller, name: &str, settings: &Value, replaces: bool) -> Result<Look> {
        let name = checked_name(name)?;
        let settings = parse_settings(caller, Some(settings))?.canonical();
        let workspace = caller.workspace_id.clone();
        let saved = self.write_in_workspace(caller, caller.payer_id.clone(), move |tx, now| {
            Box::pin(async move {
                if let Some(existing) = looks::find_by_name(tx, &workspace, &name).await? {
                    if !replaces {
                        return Err(name_taken(&name));
                    }
                    check_total(tx, &workspace, &settings, Some(&existing)).await?;
                    looks::set_settings(tx, &existing.id, &settings, now).await?;
                    return Ok(Row { settings, updated_at: now, ..existing });
                }
                if looks::count(tx, &workspace).await? >= limits::LOOKS {
                    let message = format!("a workspace can have at most {} looks; delete some first", limits::LOOKS);
                    return Err(ServiceError::new(ErrorCode::LimitReached, message));
                }
                check_total(tx, &workspace, &settings, None).await?;
                let id = LookId::new_random();
                let row = Row { id, workspace_id: workspace, name, settings, created_at: now, updated_at: now };
                looks::insert(tx, &row).await?;
                Ok(row)
            })
        });
        view(saved.await?)
    }

    /// Changes the name or the settings of a look of the workspace, or chooses a look as the start of the composer.
    /// Errors: the look does not exist, the program contains it (such a look can only be chosen as the start), the change is
    /// empty, the name is empty, too long or in use by another look, or the settings are invalid.
    pub async fn change_look(&self, caller: &Caller, id: &str, change: UpdateLook) -> Result<()> {
        if change == UpdateLook::default() {
            return Err(ServiceError::bad_request("send at least one of name, renderSettings and isStart"));
        }
        if change.render_settings.as_ref().is_some_and(Value::is_null) {
            return Err(ServiceError::bad_request("renderSettings must be an object"));
        }
        let name = change.name.as_deref().map(checked_name).transpose()?;
        let settings = change.render_settings.map(|settings| parse_settings(caller, Some(&settings))).transpose()?;
        let settings = settings.map(|settings| settings.canonical());
        let saved = match (built_in::find(id), name.is_some() || settings.is_some()) {
            (Some(_), true) => return Err(is_built_in_error()),
            (Some(_), false) => None,
            (None, _) => Some(LookId::parse(id).ok_or_else(not_found)?),
        };
        let (id, workspace) = (id.to_owned(), caller.workspace_id.clone());
        let changed = self.write_in_workspace(caller, caller.payer_id.clone(), move |tx, now| {
            Box::pin(async move {
                if let Some(saved) = &saved {
                    let existing = looks::find(tx, &workspace, saved).await?.ok_or_else(not_found)?;
                    if let Some(name) = &name {
                        if looks::find_by_name(tx, &workspace, name).await?.is_some_and(|other| other.id != *saved) {
                            return Err(name_taken(name));
                        }
                        looks::rename(tx, &workspace, saved, name, now).await?;
                    }
                    if let Some(settings) = &settings {
                        check_total(tx, &workspace, settings, Some(&existing)).await?;
                        looks::set_settings(tx, saved, settings, now).await?;
                    }
                }
                match change.is_start {
                    Some(true) => looks::set_start(tx, &workspace, Some(&id)).await?,
                    Some(false) => clear_start(tx, &workspace, &id).await?,
                    None => {}
                }
                Ok(())
            })
        });
        changed.await
    }

    /// Deletes a look of the workspace. If the composer started with this look, it starts with the default settings afterwards.
    /// Errors: the look does not exist, or the program contains it.
    pub async fn delete_look(&self, caller: &Caller, id: &str) -> Result<LookDeleted> {
        if built_in::find(id).is_some() {
            return Err(is_built_in_error());
        }
        let id = LookId::parse(id).ok_or_else(not_found)?;
        let workspace = caller.workspace_id.clone();
        let deleted = self.write_in_workspace(caller, caller.payer_id.clone(), move |tx, _now| {
            Box::pin(async move {
                clear_start(tx, &workspace, id.as_str()).await?;
                if !looks::delete(tx, &workspace, &id).await? {
                    return Err(not_found());
                }
                Ok(LookDeleted { id: id.to_string(), deleted: true })
            })
        });
        deleted.await
    }

    /// Returns for each look a link to the poster of the workspace's newest finished video with exactly the settings of the
    /// look; `None` if there is no such video.
    pub async fn look_pictures(&self, caller: &Caller, looks: &[Look]) -> Result<Vec<Option<String>>> {
        let hashes = looks.iter().map(settings_sha256).collect::<Result<Vec<_>>>()?;
        let done =
            renders::newest_done_with(&mut self.db.read().await?, &caller.workspace_id, &hashes, SEARCHED).await?;
        let mut links = Vec::new();
        for hash in &hashes {
            let mut link = None;
            for render in done.iter().filter(|render| render.settings_sha256 == *hash) {
                link = self.picture_link(render, OutputFile::Poster).await?;
                if link.is_some() {
                    break;
                }
            }
            links.push(link);
        }
        Ok(links)
    }
}

/// Checks that the settings of the workspace's looks are not too large in total if `settings` replaces those of the look
/// `existing`, or belongs to a new look. Allows replacing settings by shorter ones in any case.
async fn check_total(tx: &mut Tx, workspace: &WorkspaceId, settings: &str, existing: Option<&Row>) -> Result<()> {
    let length = |text: &str| text.chars().count() as u64;
    let (new, old) = (length(settings), existing.map_or(0, |look| length(&look.settings)));
    let total = looks::characters(tx, workspace).await?.saturating_sub(old) + new;
    if new <= old || total <= limits::LOOKS_CHARACTERS {
        return Ok(());
    }
    let message = format!(
        "the settings of the looks of a workspace can have at most {} characters in total, with this look they would have \
         {total}; delete some looks first",
        limits::LOOKS_CHARACTERS
    );
    Err(ServiceError::new(ErrorCode::LimitReached, message))
}

/// Makes the composer of the workspace start with the default settings if it starts with this look.
async fn clear_start(tx: &mut Tx, workspace: &WorkspaceId, id: &str) -> Result<()> {
    if looks::start(tx, workspace).await?.as_deref() == Some(id) {
        looks::set_start(tx, workspace, None).await?;
    }
    Ok(())
}

fn is_built_in_error() -> ServiceError {
    let message = "this look comes with Plinth; save its settings as a look of another name, and change that";
    ServiceError::new(ErrorCode::Forbidden, message)
}

/// Returns the hash of the settings of a look. A render with the same settings has the same `settings_sha256`.
fn settings_sha256(look: &Look) -> Result<String> {
    let settings =
        RenderSettings::from_json(&Value::Object(look.settings.clone()), ParseOptions { uncapped_length: true })?;
    Ok(sha256_hex(settings.canonical()))
}

fn view(row: Row) -> Result<Look> {
    let settings: Map<String, Value> = serde_json::from_str(&row.settings).map_err(ServiceError::internal)?;
    Ok(Look {
        id: row.id.to_string(),
        name: row.name,
        description: String::new(),
        settings,
        is_built_in: false,
        updated_at: Some(row.updated_at),
    })
}

/// Trims and checks the name of a look.
fn checked_name(name: &str) -> Result<String> {
    let name = name.trim();
    if name.is_empty() {
        return Err(ServiceError::bad_request("give the look a name"));
    }
    if name.chars().count() > limits::LOOK_NAME_CHARS {
        let message = format!("the name of a look may have at most {} characters", limits::LOOK_NAME_CHARS);
        return Err(ServiceError::bad_request(message));
    }
    if name.contains(char::is_control) {
        return Err(ServiceError::bad_request("the name of a look must not contain control characters"));
    }
    Ok(name.to_owned())
}

fn name_taken(name: &str) -> ServiceError {
    ServiceError::bad_request(format!(
        "there is a look with the name “{name}” already; choose another name, or replace it"
    ))
}
