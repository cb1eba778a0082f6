//! Serves signed links to files of a local store. Links to an S3 store lead to S3 directly.

use std::borrow::Cow;

use plinth_spec::{ErrorCode, limits};
use plinth_store::{Link, LinkError, LinkMethod};

use super::file::Delivery;
use super::link_secrets::find_secret;
use crate::error::{Result, ServiceError};
use crate::models::{Incoming, too_many_bytes};
use crate::service::Service;

/// The parts of the signed link that a client requested.
#[derive(Clone, Debug)]
pub struct LocalLink {
    /// Path of the object in the store.
    pub path: String,
    /// Expiry, as Unix time in seconds.
    pub expires_at_secs: i64,
    /// MIME type with which the content is served.
    pub content_type: String,
    /// Value of the header `Content-Disposition` of the response.
    pub disposition: String,
    /// Identifier of the secret that signed the link. Empty for a link that was signed before secrets had identifiers.
    pub secret_id: String,
    pub signature: String,
}

impl Service {
    /// Checks a download link and returns its file.
    pub async fn local_file(&self, link: LocalLink) -> Result<Delivery> {
        self.check_local_link(&link, LinkMethod::Get).await?;
        let found = self.store.find_path(&link.path).await?;
        let blob = found.ok_or_else(|| ServiceError::new(ErrorCode::NotFound, "this file was deleted"))?;
        Ok(Delivery {
            path: link.path,
            blob,
            content_type: Cow::Owned(link.content_type),
            disposition: Some(link.disposition).filter(|text| !text.is_empty()),
        })
    }

    /// Checks an upload link and starts to receive its file. `length` is the size of the request, if it is known.
    pub async fn begin_local_put(&self, link: &LocalLink, length: Option<u64>) -> Result<Incoming> {
        self.check_local_link(link, LinkMethod::Put).await?;
        self.begin_staged(&link.path, length).await
    }

    /// Appends a chunk to the file that an upload link receives.
    /// Errors: the file is larger than a model may be (finalizing the upload then returns this error, too), or the account
    /// would exceed its limit of staged bytes.
    pub async fn write_local_put(&self, link: &LocalLink, file: &mut Incoming, bytes: &[u8]) -> Result<()> {
        let written = file.write(bytes).await;
        if file.size() > limits::MODEL_FILE_BYTES {
            self.record_too_large(&link.path).await?;
            return written;
        }
        written.map_err(|error| if error.code == ErrorCode::FileTooLarge { too_many_bytes() } else { error })
    }

    /// Stores the received file of an upload link.
    pub async fn finish_local_put(&self, link: &LocalLink, file: Incoming) -> Result<()> {
        let file = file.finish().await?;
        self.record_staged(&link.path, file.size).await?;
        self.store.put_path(&link.path, file.path()).await?;
        self.settle_staged(&link.path).await
    }

    async fn check_local_link(&self, link: &LocalLink, method: LinkMethod) -> Result<()> {
        let signer = self.store.local_signer();
        let signer =
            signer.ok_or_else(|| ServiceError::new(ErrorCode::NotFound, "this server has no local file store"))?;
        let mut conn = self.db.read().await?;
        let now = self.options.clock.now_ms(&mut conn).await?;
        let secret = find_secret(&mut conn, &link.secret_id, now).await?;
        drop(conn);
        // A link of a revoked secret gets the same error as a forged link.
        let secret = secret.ok_or_else(|| ServiceError::new(ErrorCode::Forbidden, "this link is not valid"))?;
        let signed = Link {
            method,
            key: &link.path,
            expires_at_secs: link.expires_at_secs,
            content_type: &link.content_type,
            disposition: &link.disposition,
        };
        signer.check(&secret, &signed, &link.signature, now / 1000).map_err(|rejected| match rejected {
            LinkError::Signature => ServiceError::new(ErrorCode::Forbidden, "this link is not valid"),
            LinkError::Expired => ServiceError::new(ErrorCode::Forbidden, "this link has expired"),
        })
    }
}
