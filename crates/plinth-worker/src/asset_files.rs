//! Downloads the images and the environment of a render to the folder of its job.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use plinth_pipeline::EnvironmentFiles;
use plinth_service::jobs::{Claim, RenderAssets};
use plinth_spec::id::EnvId;
use plinth_spec::{EnvPart, FailureCode, RenderSettings};
use plinth_store::{ObjectKey, StoreError};

use crate::fetch::download;
use crate::inputs::{environment_file, environment_files};
use crate::job_error::JobError;
use crate::node::Node;
use crate::outage::{retry_database, retry_store};

/// The files of downloaded assets. Paths are relative to the folder of the job.
pub(crate) struct AssetFiles {
    pub(crate) environment: Option<EnvironmentFiles>,
    /// The keys are the identifiers in the settings. Textures that were deleted are left out.
    pub(crate) images: BTreeMap<String, PathBuf>,
}

/// A render whose assets are downloaded. An asset can be deleted after its row was found and before its object is
/// downloaded. Therefore, if an object does not exist, the rows are read again.
pub(crate) struct AssetDownload<'a> {
    pub(crate) node: &'a Node,
    pub(crate) claim: &'a Claim,
    pub(crate) settings: &'a RenderSettings,
    /// Folder of the job.
    pub(crate) folder: &'a Path,
}

impl AssetDownload<'_> {
    /// Downloads all assets of the settings.
    /// Errors: an overlay or the environment was deleted or belongs to another workspace, or an asset cannot be
    /// downloaded.
    pub(crate) async fn run(&self) -> Result<AssetFiles, JobError> {
        let RenderAssets { env, images } = self.find().await?;
        let mut files = BTreeMap::new();
        for (id, image) in images {
            let file = PathBuf::from(format!("image-{id}"));
            match self.download(&image.key(), &file, "an image").await {
                Ok(()) => {
                    files.insert(id, file);
                }
                Err(error) => {
                    let was_deleted = error.is_not_found() && !self.find().await?.images.contains_key(&id);
                    if !was_deleted {
                        return Err(JobError::fetching(FailureCode::OverlayDownloadFailed, "an image", &error));
                    }
                }
            }
        }
        let environment = match env {
            Some(id) => Some(self.fetch_environment(&id).await?),
            None => None,
        };
        Ok(AssetFiles { environment, images: files })
    }

    /// Finds the assets of the settings. Textures that do not exist are left out.
    /// Errors: another asset does not exist or belongs to another workspace, or the database does not respond.
    async fn find(&self) -> Result<RenderAssets, JobError> {
        let Node { service, options, .. } = self.node;
        retry_database(options.outage, "the assets", || service.find_render_assets(self.claim, self.settings))
            .await
            .map_err(|error| {
                JobError::fetching(
                    FailureCode::OverlayDownloadFailed,
                    "an image or environment of the settings",
                    &error,
                )
            })?
            .map_err(|missing| JobError::failed(missing.code, missing.message))
    }

    async fn fetch_environment(&self, id: &EnvId) -> Result<EnvironmentFiles, JobError> {
        for part in EnvPart::required() {
            let file = PathBuf::from(environment_file(part));
            let Err(error) = self.download(&ObjectKey::Env(id, part), &file, "the environment").await else { continue };
            if error.is_not_found() {
                // If the environment was deleted, the error says so.
                self.find().await?;
            }
            return Err(JobError::fetching(FailureCode::EnvDownloadFailed, "the environment", &error));
        }
        Ok(environment_files(""))
    }

    async fn download(&self, key: &ObjectKey<'_>, file: &Path, what: &str) -> Result<(), StoreError> {
        let Node { service, options, .. } = self.node;
        let place = self.folder.join(file);
        retry_store(options.outage, what, || download(service.store(), key, &place)).await
    }
}
