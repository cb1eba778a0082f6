//! A picture as it was sent.

use plinth_spec::ErrorCode;
use plinth_spec::id::AccountId;

use crate::check::{CheckError, ImageReport};
use crate::error::{Result, ServiceError};
use crate::models::{Arrived, Incoming};
use crate::service::Service;

/// What a picture is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Picture {
    pub width: u32,
    pub height: u32,
    pub content_type: String,
}

/// The file of a form.
/// Errors: none at all, an empty one.
pub(super) async fn arrived(file: Option<Incoming>) -> Result<Arrived> {
    let file = file.ok_or_else(|| ServiceError::new(ErrorCode::NoFile, "give 'file', an image"))?;
    if file.size() == 0 {
        return Err(unusable("it is empty"));
    }
    file.finish().await
}

impl Service {
    /// Decodes a picture as a whole, so that none is accepted that fails in a render later.
    /// Errors: one that is too large, of another kind, or broken.
    pub(super) async fn check_picture(&self, payer: &AccountId, file: &Arrived) -> Result<Picture> {
        let report = self.check(payer, file.path().to_owned(), None).await?.map_err(|error| match error {
            CheckError::TooMuch(message) => unusable(&message),
            CheckError::Failed(cause) => unusable("it cannot be read").with_cause(cause),
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
