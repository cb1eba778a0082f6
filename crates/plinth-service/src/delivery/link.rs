//! Signed links, which work without an API key until they expire.

use plinth_spec::limits;
use plinth_spec::wire::{AssetUrl, SignedUrl};
use plinth_spec::{ErrorCode, OutputFile};
use plinth_store::{LinkMethod, NewLink, ObjectKey};

use super::disposition::attachment;
use super::file::locate;
use crate::access::Caller;
use crate::error::{Result, ServiceError};
use crate::service::Service;

impl Service {
    /// Creates a link to a model's GLB.
    pub async fn model_file_url(&self, caller: &Caller, id: &str, expires: Option<i64>) -> Result<SignedUrl> {
        let model = self.model_row(caller, id).await?;
        let key = ObjectKey::Model(&model.id);
        if self.store.find(&key).await?.is_none() {
            return Err(ServiceError::new(ErrorCode::FileNotFound, "the model's file is missing from storage"));
        }
        let (url, expires_in) = self.get_link(&key, expires, &attachment(&model.original_name)).await?;
        Ok(SignedUrl { url, expires_in })
    }

    /// Creates a link to a file of a render. `asset` is the name of the file in the API, such as `poster`.
    pub async fn download_url(
        &self,
        caller: &Caller,
        id: &str,
        asset: Option<&str>,
        expires: Option<i64>,
    ) -> Result<AssetUrl> {
        let asset = asset.map_or(Some(OutputFile::Video), OutputFile::from_name).ok_or_else(|| {
            ServiceError::bad_request(format!("asset must be one of {}", OutputFile::NAMES.join(", ")))
        })?;
        let render = self.render_row(caller, id).await?;
        let missing = || {
            ServiceError::new(
                ErrorCode::AssetNotFound,
                "the render does not have this file, or the file is not ready yet",
            )
        };
        let key = locate(&render, asset)?.ok_or_else(missing)?;
        let path = key.path();
        let name = path.rsplit('/').next().unwrap_or(&path);
        let (url, expires_in) = self.get_link(&key, expires, &attachment(&format!("{}-{name}", render.id))).await?;
        Ok(AssetUrl { url, asset, expires_in })
    }

    /// Returns the origin (scheme, host and port) that all links to files have.
    pub async fn files_origin(&self) -> Result<String> {
        Ok(self.store.link_origin().await?)
    }

    pub(super) async fn get_link(
        &self,
        key: &ObjectKey<'_>,
        expires: Option<i64>,
        disposition: &str,
    ) -> Result<(String, i64)> {
        let expires_in = limits::clamp_expires_secs(expires);
        let now = self.options.clock.read_ms(&self.db).await?;
        let link = NewLink {
            method: LinkMethod::Get,
            key,
            lifetime_secs: expires_in,
            disposition: Some(disposition),
            now_secs: now / 1000,
        };
        Ok((self.sign(link).await?, expires_in))
    }

    pub(crate) async fn sign(&self, link: NewLink<'_>) -> Result<String> {
        Ok(self.store.link(link, &self.signing_secret().await?).await?)
    }
}
