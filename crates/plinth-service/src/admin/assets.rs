//! Overlays and environments that are available to all workspaces.

use plinth_db::envs::{self, Env};
use plinth_db::overlays::{self, Overlay};
use plinth_db::{Conn, Tx, workspaces};
use plinth_spec::id::{AccountId, EnvId, OverlayId, WorkspaceId};
use plinth_spec::{AdminAction, ErrorCode, names};

use super::actor::{Actor, Done, reason};
use crate::access::Caller;
use crate::error::{Result, ServiceError};
use crate::service::Service;

names! {
    /// A kind of asset that can be available to all workspaces. URLs and messages contain the name of the kind.
    AssetKind {
        /// An overlay.
        Overlay = "overlay",
        /// An environment map.
        Environment = "environment",
    }
}

impl AssetKind {
    const fn action(self, is_system: bool) -> AdminAction {
        match (self, is_system) {
            (Self::Overlay, true) => AdminAction::PublishOverlay,
            (Self::Overlay, false) => AdminAction::WithdrawOverlay,
            (Self::Environment, true) => AdminAction::PublishEnvironment,
            (Self::Environment, false) => AdminAction::WithdrawEnvironment,
        }
    }
}

/// An asset that is available to all workspaces, or that an administrator can make available to all workspaces.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SystemAsset {
    pub kind: AssetKind,
    pub id: String,
    /// Display name; may be empty.
    pub name: String,
    /// Layer of an overlay; `None` for an environment.
    pub layer: Option<&'static str>,
    /// Width and height in pixels, if they are known.
    pub size: Option<(u32, u32)>,
    /// Size of the files of the asset, in bytes.
    pub file_size: u64,
    /// Whether the asset is available to all workspaces.
    pub is_system: bool,
    /// Workspace that owns the asset.
    pub workspace_id: WorkspaceId,
    /// Time of the upload.
    pub created_at: i64,
}

impl Service {
    /// Lists the assets that are available to all workspaces: overlays, then environments, newest first.
    pub async fn list_system_assets(&self) -> Result<Vec<SystemAsset>> {
        let mut conn = self.db.read().await?;
        let overlays = overlays::list_system(&mut conn).await?.into_iter().map(of_overlay);
        let envs = envs::list_system(&mut conn).await?.into_iter().map(of_env);
        Ok(overlays.chain(envs).collect())
    }

    /// Lists the assets of the caller's workspace that are not available to other workspaces.
    pub async fn list_private_assets(&self, caller: &Caller) -> Result<Vec<SystemAsset>> {
        let (mut conn, own) = (self.db.read().await?, &caller.workspace_id);
        let overlays = overlays::list(&mut conn, own, None).await?.into_iter().map(of_overlay);
        let envs = envs::list(&mut conn, own).await?.into_iter().map(of_env);
        Ok(overlays.chain(envs).filter(|asset| !asset.is_system).collect())
    }

    /// Makes an asset of any workspace available to all workspaces, or only to the workspace that owns it. Does nothing if
    /// nothing would change. Queued renders of other workspaces that use a withdrawn asset will fail and be refunded. A withdrawn asset
    /// of a deleted workspace is deleted.
    /// Errors: the asset does not exist.
    pub async fn set_system_asset(
        &self,
        actor: &Actor,
        kind: AssetKind,
        id: &str,
        is_system: bool,
        why: &str,
    ) -> Result<()> {
        let (actor, id, why) = (actor.clone(), id.trim().to_owned(), reason(why)?);
        let changed = self.write_at(move |tx, now| {
            Box::pin(async move {
                actor.check(tx, now).await?;
                let asset = find(tx, kind, &id).await?;
                if !change(tx, kind, &asset.id, is_system).await? {
                    return Ok(());
                }
                let owner = owner_of(tx, &asset.workspace_id).await?;
                let name = if asset.name.is_empty() { String::new() } else { format!(" '{}'", asset.name) };
                let subject = format!("{} {}{name}", kind.as_str(), asset.id);
                let done = Done { action: kind.action(is_system), account: owner.as_ref(), subject, reason: &why };
                actor.log(tx, done, now).await
            })
        });
        changed.await
    }
}

async fn find(conn: &mut Conn, kind: AssetKind, id: &str) -> Result<SystemAsset> {
    let found = match kind {
        AssetKind::Overlay => match OverlayId::parse(id) {
            Some(id) => overlays::find_anywhere(conn, &id).await?.map(of_overlay),
            None => None,
        },
        AssetKind::Environment => match EnvId::parse(id) {
            Some(id) => envs::find_anywhere(conn, &id).await?.map(of_env),
            None => None,
        },
    };
    found.ok_or_else(|| ServiceError::new(ErrorCode::NotFound, format!("there is no such {}", kind.as_str())))
}

async fn change(tx: &mut Tx, kind: AssetKind, id: &str, is_system: bool) -> Result<bool> {
    let changed = match kind {
        AssetKind::Overlay => match OverlayId::parse(id) {
            Some(id) => overlays::set_system(tx, &id, is_system).await?,
            None => false,
        },
        AssetKind::Environment => match EnvId::parse(id) {
            Some(id) => envs::set_system(tx, &id, is_system).await?,
            None => false,
        },
    };
    Ok(changed)
}

async fn owner_of(conn: &mut Conn, workspace: &WorkspaceId) -> Result<Option<AccountId>> {
    Ok(workspaces::find(conn, workspace).await?.map(|workspace| workspace.owner_id))
}

fn of_overlay(overlay: Overlay) -> SystemAsset {
    SystemAsset {
        kind: AssetKind::Overlay,
        id: overlay.id.to_string(),
        name: overlay.name,
        layer: Some(overlay.layer.as_str()),
        size: Some((overlay.width, overlay.height)),
        file_size: overlay.file_size,
        is_system: overlay.is_system,
        workspace_id: overlay.workspace_id,
        created_at: overlay.created_at,
    }
}

fn of_env(env: Env) -> SystemAsset {
    SystemAsset {
        kind: AssetKind::Environment,
        id: env.id.to_string(),
        name: env.name,
        layer: None,
        size: env.width.zip(env.height),
        file_size: env.file_size,
        is_system: env.is_system,
        workspace_id: env.workspace_id,
        created_at: env.created_at,
    }
}
