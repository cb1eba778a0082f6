//! Environment maps. Each consists of an SDR image, a gain map, and the metadata for combining the image and the gain
//! map.

use std::io::Read as _;
use std::path::PathBuf;

use plinth_db::envs::{self, Env};
use plinth_spec::id::EnvId;
use plinth_spec::wire::{AssetCreated, AssetDeleted, AssetRow, Page, Timestamp};
use plinth_spec::{EnvPart, ErrorCode, limits};
use plinth_store::{ObjectKey, env_prefix};
use serde::de::IgnoredAny;

use super::{asset_name, check_usage, found, not_found, page};
use crate::access::Caller;
use crate::error::{Result, ServiceError};
use crate::ids::New as _;
use crate::models::{Incoming, ReceivedFile};
use crate::service::Service;
use crate::write::Inserted;

/// Maximum width or height of an environment, in pixels.
const MAX_SIDE: u32 = 65_536;

/// An uploaded part of an environment.
#[derive(Debug)]
pub struct EnvPartFile {
    /// Kind of part.
    pub part: EnvPart,
    /// Content of the part.
    pub file: Incoming,
}

/// Form fields of an uploaded environment.
#[derive(Debug, Default)]
pub struct NewEnv {
    /// Uploaded parts.
    pub files: Vec<EnvPartFile>,
    /// Display name.
    pub name: Option<String>,
    /// Width in pixels.
    pub width: Option<String>,
    /// Height in pixels.
    pub height: Option<String>,
}

impl Service {
    /// Returns an error if the account has reached its limit of environments. Handlers call this method before they
    /// read the upload.
    pub async fn check_env_count(&self, caller: &Caller) -> Result<()> {
        check_quota(envs::usage(&mut self.db.read().await?, &caller.workspace_id).await?, 0)
    }

    /// Stores an environment.
    pub async fn create_env(&self, caller: &Caller, new: NewEnv) -> Result<AssetCreated> {
        check_names(&new.files)?;
        let env = Env {
            id: EnvId::new_random(),
            workspace_id: caller.workspace_id.clone(),
            name: asset_name(new.name.as_deref())?,
            file_size: new.files.iter().map(|part| part.file.size()).sum(),
            width: side("width", new.width.as_deref())?,
            height: side("height", new.height.as_deref())?,
            has_thumb: new.files.iter().any(|file| file.part == EnvPart::Thumb),
            is_system: false,
            created_at: 0,
        };
        check_quota(envs::usage(&mut self.db.read().await?, &env.workspace_id).await?, env.file_size)?;
        let mut parts = Vec::new();
        for EnvPartFile { part, file } in new.files {
            let file = file.finish().await?;
            self.check_part(caller, part, &file).await?;
            parts.push((part, file));
        }
        self.store_env(caller, env, &parts).await
    }

    /// Stores the checked parts of an environment, if the quota allows it.
    pub(super) async fn store_env(
        &self,
        caller: &Caller,
        env: Env,
        parts: &[(EnvPart, ReceivedFile)],
    ) -> Result<AssetCreated> {
        let row = env.clone();
        let files: Vec<_> = parts.iter().map(|(part, file)| (ObjectKey::Env(&env.id, *part), file.path())).collect();
        let inserting = self.store_referenced(caller, env_prefix(&env.id), &files, move |tx, now| {
            Box::pin(async move {
                check_quota(envs::usage(tx, &row.workspace_id).await?, row.file_size)?;
                let id = row.id.to_string();
                envs::insert(tx, &Env { created_at: now, ..row }).await?;
                Ok(Inserted::Referenced(AssetCreated { id, deduped: None }))
            })
        });
        inserting.await
    }

    /// Lists the workspace's environments and the system environments.
    pub async fn list_envs(&self, caller: &Caller) -> Result<Page<AssetRow>> {
        Ok(page(envs::list(&mut self.db.read().await?, &caller.workspace_id).await?, row))
    }

    /// Deletes an environment of the workspace and its files.
    /// Errors: the environment does not exist, or it is a system environment.
    pub async fn delete_env(&self, caller: &Caller, id: &str) -> Result<AssetDeleted> {
        let id = EnvId::parse(id).ok_or_else(|| not_found("environment"))?;
        let (workspace, prefix) = (caller.workspace_id.clone(), env_prefix(&id));
        let deleted = self.delete_asset(caller, id.to_string(), prefix, move |tx| {
            Box::pin(async move {
                let env = envs::find(tx, &workspace, &id).await?.ok_or_else(|| not_found("environment"))?;
                check_is_own(&env)?;
                found(envs::delete(tx, &workspace, &id).await?, "environment")
            })
        });
        deleted.await
    }
}

/// Returns an error for a system environment, which a workspace cannot delete.
pub(super) fn check_is_own(env: &Env) -> Result<()> {
    if env.is_system {
        let message = "this environment is available to all workspaces; an administrator must withdraw it first";
        return Err(ServiceError::new(ErrorCode::Forbidden, message));
    }
    Ok(())
}

fn row(env: Env) -> AssetRow {
    AssetRow {
        id: env.id.to_string(),
        name: env.name,
        file_size: env.file_size,
        width: env.width,
        height: env.height,
        is_system: env.is_system.then_some(true),
        created_at: Timestamp(env.created_at),
    }
}

// Source: Spec, Environment asset.
fn check_names(files: &[EnvPartFile]) -> Result<()> {
    for part in EnvPart::required() {
        if !files.iter().any(|sent| sent.part == part && sent.file.size() > 0) {
            return Err(ServiceError::new(
                ErrorCode::NoFile,
                format!("send a part of the environment in the field '{}'", part.as_str()),
            ));
        }
    }
    Ok(())
}

impl Service {
    // Source: Spec, Environment asset.
    pub(super) async fn check_part(&self, caller: &Caller, part: EnvPart, file: &ReceivedFile) -> Result<()> {
        let path = file.path().to_owned();
        // The whole metadata file is parsed to check its syntax, but no JSON values are built.
        let is_json = part.is_json();
        let bytes = if is_json { usize::try_from(file.size).unwrap_or(usize::MAX) } else { 0 };
        let memory = self.body_memory(caller, bytes).await?;
        let checking = tokio::task::spawn_blocking(move || {
            let is_right = if is_json { is_json_object(path) } else { is_webp(path) };
            drop(memory);
            is_right
        });
        if checking.await.map_err(ServiceError::internal)?? {
            return Ok(());
        }
        Err(ServiceError::bad_request("sdr, gainmap and thumb must be WebP files, metadata a JSON object"))
    }
}

fn is_json_object(path: PathBuf) -> std::io::Result<bool> {
    let text = std::fs::read(path)?;
    let is_object = text.trim_ascii_start().first() == Some(&b'{');
    // The encoding is checked first, because `IgnoredAny` skips values without checking that they are valid UTF-8.
    let text = std::str::from_utf8(&text);
    Ok(is_object && text.is_ok_and(|text| serde_json::from_str::<IgnoredAny>(text).is_ok()))
}

fn is_webp(path: PathBuf) -> std::io::Result<bool> {
    let mut head = Vec::new();
    std::fs::File::open(path)?.take(12).read_to_end(&mut head)?;
    Ok(head.get(..4) == Some(b"RIFF") && head.get(8..12) == Some(b"WEBP"))
}

fn side(what: &str, text: Option<&str>) -> Result<Option<u32>> {
    let Some(text) = text.filter(|text| !text.is_empty()) else { return Ok(None) };
    let value = text.parse().ok().filter(|side| (1..=MAX_SIDE).contains(side));
    value
        .map(Some)
        .ok_or_else(|| ServiceError::bad_request(format!("{what} must be a whole number from 1 to {MAX_SIDE}")))
}

pub(super) fn check_quota(kept: (u64, u64), more: u64) -> Result<()> {
    check_usage("environments", kept, more, (limits::ENVS, limits::ENVS_BYTES))
}
