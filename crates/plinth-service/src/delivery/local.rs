//! Following a signed link to a local file. S3 serves its own links.

use std::borrow::Cow;

use plinth_spec::ErrorCode;
use plinth_spec::limits;
use plinth_store::{Link, LinkError, LinkMethod};

use super::file::Delivery;
use crate::error::{Result, ServiceError};
use crate::models::Incoming;
use crate::service::Service;

/// A link as it was followed.
#[derive(Clone, Debug)]
pub struct LocalLink {
    /// The object.
    pub path: String,
    /// When it ends, in seconds since 1970.
    pub expires_at_secs: i64,
    /// What the content is served as.
    pub content_type: String,
    /// `Content-Disposition` of the answer.
    pub disposition: String,
    /// What proves all of this.
    pub signature: String,
}

impl Service {
    /// The file that a link leads to.
    pub async fn local_file(&self, link: LocalLink) -> Result<Delivery> {
        self.check_local_link(&link, LinkMethod::Get).await?;
        let found = self.store.find_path(&link.path).await?;
        let blob = found.ok_or_else(|| ServiceError::new(ErrorCode::NotFound, "this file is gone"))?;
        Ok(Delivery {
            path: link.path,
            blob,
            content_type: Cow::Owned(link.content_type),
            disposition: Some(link.disposition).filter(|text| !text.is_empty()),
        })
    }

    /// Begins to take the file that a link is for.
    pub async fn begin_local_put(&self, link: &LocalLink) -> Result<Incoming> {
        self.check_local_link(link, LinkMethod::Put).await?;
        Incoming::new(&self.options.incoming, limits::MODEL_FILE_BYTES)
    }

    /// Stores the file that a link is for.
    pub async fn finish_local_put(&self, link: &LocalLink, file: Incoming) -> Result<()> {
        let file = file.finish().await?;
        self.store.put_path(&link.path, file.path()).await?;
        Ok(())
    }

    async fn check_local_link(&self, link: &LocalLink, method: LinkMethod) -> Result<()> {
        let signer = self.store.local_signer();
        let signer =
            signer.ok_or_else(|| ServiceError::new(ErrorCode::NotFound, "there are no files under this address"))?;
        let now = self.options.clock.now_ms(&mut self.db.read().await?).await?;
        let signed = Link {
            method,
            key: &link.path,
            expires_at_secs: link.expires_at_secs,
            content_type: &link.content_type,
            disposition: &link.disposition,
        };
        signer.check(&signed, &link.signature, now / 1000).map_err(|refused| match refused {
            LinkError::Signature => ServiceError::new(ErrorCode::Forbidden, "this link is not valid"),
            LinkError::Expired => ServiceError::new(ErrorCode::Forbidden, "this link has expired"),
        })
    }
}
