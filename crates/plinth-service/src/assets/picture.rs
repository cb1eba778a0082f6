//! Checks of uploaded images.

use plinth_spec::ErrorCode;
use plinth_spec::id::AccountId;

use crate::check::{CheckError, ImageReport};
use crate::error::{Result, ServiceError};
use crate::models::{Incoming, ReceivedFile};
use crate::service::Service;

/// Properties of a checked image.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Picture {
    pub width: u32,
    pub height: u32,
    pub content_type: String,
}

/// Returns the uploaded file of a form.
/// Errors: the file is missing or empty.
pub(super) async fn received(file: Option<Incoming>) -> Result<ReceivedFile> {
    let file = file.ok_or_else(|| ServiceError::new(ErrorCode::NoFile, "send an image in the field 'file'"))?;
    if file.size() == 0 {
        return Err(unusable("it is empty"));
    }
    file.finish().await
}

impl Service {
    /// Checks an image by decoding it completely. Every later render can therefore decode an image that passes.
    /// Errors: the image is too large, corrupt, or of an unsupported type.
    pub(super) async fn check_picture(&self, payer: &AccountId, file: &ReceivedFile) -> Result<Picture> {
        let report = self.check(payer, file.path().to_owned(), Vec::new()).await?.map_err(|error| match error {
            CheckError::TooMuch(message) => unusable(&message),
            CheckError::Interrupted => CheckError::interrupted(ErrorCode::Internal),
            CheckError::Failed(cause) => ServiceError::internal(cause),
        })?;
        match report {
            ImageReport::Picture { width, height, content_type } => Ok(Picture { width, height, content_type }),
            ImageReport::Rejected { message } => Err(unusable(&message)),
        }
    }
}

fn unusable(problem: &str) -> ServiceError {
    ServiceError::bad_request(format!("the image cannot be used: {problem}"))
}
