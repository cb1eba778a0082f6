//! Whether a file is a model, and what is in it.

use std::path::Path;
use std::sync::Arc;

use plinth_model::obj_zip::{self, ImportError};
use plinth_model::{Inventory, LoadOptions, inspect};
use plinth_spec::ErrorCode;
use plinth_spec::wire::Animation;

use super::incoming::Arrived;
use crate::error::{Result, ServiceError};
use crate::service::Service;

/// A file that is a model.
#[derive(Debug)]
pub(crate) struct Checked {
    pub glb: Arrived,
    pub animations: Vec<Animation>,
    pub mesh_names: Vec<String>,
    pub material_names: Vec<String>,
}

/// What a file claims to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Format {
    Glb,
    Zip,
}

impl Format {
    /// By the name's extension.
    pub(crate) fn of_name(name: &str, zip_conversion: bool) -> Result<Self> {
        let extension = name.rsplit_once('.').map(|(_, e)| e.to_ascii_lowercase()).unwrap_or_default();
        match extension.as_str() {
            "glb" => Ok(Self::Glb),
            "zip" if zip_conversion => Ok(Self::Zip),
            _ => {
                let accepted = if zip_conversion { ".glb or .zip" } else { ".glb" };
                Err(ServiceError::new(ErrorCode::InvalidFormat, format!("the file's name must end in {accepted}")))
            }
        }
    }
}

impl Service {
    /// Reads a file as a renderer will, converting a ZIP first. Few at a time: each takes memory as large as the model.
    /// Errors: `code`, 422 for a file that is no model, 400 for a ZIP that unpacks to too much.
    pub(super) async fn check_model(&self, file: Arrived, format: Format, code: ErrorCode) -> Result<Checked> {
        let permit = Arc::clone(&self.checks).acquire_owned().await.map_err(ServiceError::internal)?;
        let folder = self.options.incoming.clone();
        // The permit goes along: a caller that goes away does not let more in while this one still works.
        let checking = tokio::task::spawn_blocking(move || {
            let checked = check(file, format, code, &folder);
            drop(permit);
            checked
        });
        // A reader that panics is a bug, and the file that found it is refused.
        checking.await.map_err(|panic| {
            ServiceError::new(code, "the file could not be processed").with_status(500).with_cause(panic)
        })?
    }
}

fn check(file: Arrived, format: Format, code: ErrorCode, folder: &Path) -> Result<Checked> {
    let bytes = std::fs::read(file.path())?;
    let options = LoadOptions::default();
    let (glb, bytes) = match format {
        Format::Glb => (file, bytes),
        Format::Zip => {
            let converted =
                obj_zip::glb_from_zip(&bytes, &options.limits).map_err(|error| refused_zip(&error, code))?;
            (Arrived::from_bytes(folder, &converted.glb)?, converted.glb)
        }
    };
    let inventory = inspect(&bytes, &options).map_err(|error| ServiceError::new(code, error.to_string()))?;
    let Inventory { animations, mesh_names, material_names, .. } = inventory;
    let animations = animations.into_iter().map(|clip| Animation {
        name: clip.name,
        duration: f64::from(clip.duration),
        channels: clip.channels as u64,
    });
    Ok(Checked { glb, animations: animations.collect(), mesh_names, material_names })
}

fn refused_zip(error: &ImportError, code: ErrorCode) -> ServiceError {
    let status = if matches!(error, ImportError::TooLarge { .. }) { 400 } else { 422 };
    ServiceError::new(code, error.to_string()).with_status(status)
}
