//! The error type of the store.

/// An error of the store.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The address is malformed, or its scheme is unknown.
    #[error("the store address is not usable; give file:///FOLDER or s3://BUCKET/PREFIX: {problem}")]
    Address {
        /// The reason why the address cannot be used.
        problem: String,
    },
    /// The object does not exist.
    #[error("the object {key} is not in the store")]
    NotFound {
        /// Path of the object.
        key: String,
    },
    /// The object was replaced while it was read.
    #[error("the object {key} has changed while it was read")]
    Changed {
        /// Path of the object.
        key: String,
    },
    /// S3 has forgotten a multipart upload before the object was stored, for example because a lifecycle rule has removed it.
    #[error("the multipart upload of the object {key} does not exist any more")]
    UploadLost {
        /// Path of the object.
        key: String,
    },
    /// The store failed.
    #[error("the store failed")]
    Objects(#[source] object_store::Error),
    /// A local file failed.
    #[error("a local file could not be read or written")]
    File(#[from] std::io::Error),
}

impl From<object_store::Error> for StoreError {
    fn from(error: object_store::Error) -> Self {
        match error {
            object_store::Error::NotFound { path, .. } => Self::NotFound { key: path },
            object_store::Error::Precondition { path, .. } => Self::Changed { key: path },
            other => Self::Objects(other),
        }
    }
}

impl StoreError {
    /// Returns whether the error is [`Self::NotFound`].
    pub const fn is_not_found(&self) -> bool {
        matches!(self, Self::NotFound { .. })
    }

    /// Returns whether the same request may succeed later. This is the case if the store could not be reached, had an
    /// internal error, has forgotten a multipart upload, or rejected the credentials. Credentials may be rejected for a
    /// short time while they are replaced.
    pub const fn may_pass(&self) -> bool {
        use object_store::Error;
        let error = match self {
            Self::Objects(error) => error,
            Self::UploadLost { .. } => return true,
            Self::Address { .. } | Self::NotFound { .. } | Self::Changed { .. } | Self::File(_) => return false,
        };
        !matches!(
            error,
            Error::InvalidPath { .. }
                | Error::NotSupported { .. }
                | Error::NotImplemented { .. }
                | Error::AlreadyExists { .. }
                | Error::NotModified { .. }
                | Error::UnknownConfigurationKey { .. }
        )
    }
}
