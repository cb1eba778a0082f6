//! Overlays, textures and environment maps: uploaded files that render settings refer to by identifier.

mod env_picture;
mod envs;
mod images;
mod of_deleted_workspaces;
mod overlays;
mod panorama;
mod picture;
mod textures;

pub use envs::{EnvPartFile, NewEnv};
pub use images::ImageUsage;
pub use overlays::NewOverlay;
pub use panorama::NewPanorama;
pub use textures::NewTexture;

use futures_util::future::BoxFuture;
use plinth_db::{Tx, unreferenced_objects};
use plinth_spec::ErrorCode;
use plinth_spec::limits;
use plinth_spec::wire::{AssetDeleted, Page};

use crate::access::Caller;
use crate::error::{Result, ServiceError};
use crate::service::Service;

impl Service {
    /// Deletes the row of an asset with `delete`, and schedules the objects under `prefix` for deletion.
    async fn delete_asset<F>(&self, caller: &Caller, id: String, prefix: String, delete: F) -> Result<AssetDeleted>
    where
        F: for<'t> FnOnce(&'t mut Tx) -> BoxFuture<'t, Result<()>> + Send + 'static,
    {
        let deleted = self.write_in_workspace(caller, caller.payer_id.clone(), move |tx, now| {
            Box::pin(async move {
                delete(tx).await?;
                unreferenced_objects::insert(tx, &prefix, now).await?;
                Ok(AssetDeleted { id, deleted: true })
            })
        });
        deleted.await
    }
}

/// Trims and checks a text field; returns an empty string if it is missing.
fn bounded(what: &str, text: Option<&str>, most: usize) -> Result<String> {
    let text = text.unwrap_or_default().trim();
    if text.chars().count() > most {
        return Err(ServiceError::bad_request(format!("{what} may have at most {most} characters")));
    }
    if text.contains(|c: char| c.is_control() && !c.is_whitespace()) {
        return Err(ServiceError::bad_request(format!("{what} must not contain control characters")));
    }
    Ok(text.to_owned())
}

fn asset_name(text: Option<&str>) -> Result<String> {
    bounded("name", text, limits::ASSET_NAME_CHARS)
}

/// Returns a list on a single page, with an item for each row.
fn page<R, T>(rows: Vec<R>, item: impl Fn(R) -> T) -> Page<T> {
    Page::whole(rows.into_iter().map(item).collect())
}

/// Returns an error if no row was found.
fn found(was_found: bool, what: &str) -> Result<()> {
    if was_found { Ok(()) } else { Err(not_found(what)) }
}

fn not_found(what: &str) -> ServiceError {
    ServiceError::new(ErrorCode::NotFound, format!("this {what} does not exist"))
}

/// Returns an error if one more asset of `more` bytes would exceed a limit. `kept` is the current usage and `most` the
/// limits, each as a pair of the number of assets and their total bytes.
fn check_usage(what: &str, kept: (u64, u64), more: u64, most: (u64, u64)) -> Result<()> {
    if kept.0 >= most.0 {
        return Err(limit_reached(what, most.0));
    }
    if kept.1 + more > most.1 {
        return Err(limit_reached(&format!("bytes of {what}"), most.1));
    }
    Ok(())
}

fn limit_reached(what: &str, most: u64) -> ServiceError {
    ServiceError::new(ErrorCode::LimitReached, format!("an account can have at most {most} {what}; delete some first"))
}
