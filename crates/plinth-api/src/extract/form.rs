//! Multipart forms: small fields in memory, files as they come.

use axum::extract::multipart::{Field, MultipartError};
use axum::extract::{FromRequest, Multipart, Request};
use bytes::{Bytes, BytesMut};
use plinth_spec::{ErrorCode, limits};

use crate::error::{ApiError, Result};

/// A multipart form, read field by field.
pub(crate) struct Form {
    parts: Multipart,
    malformed: ErrorCode,
}

impl Form {
    /// Reads a request's form. What is malformed is answered with the given code and 400.
    pub(crate) async fn from(request: Request, malformed: ErrorCode) -> Result<Self> {
        let parts = Multipart::from_request(request, &()).await;
        let parts = parts.map_err(|_kind| refused(malformed, "send a form: Content-Type: multipart/form-data"))?;
        Ok(Self { parts, malformed })
    }

    /// The next field.
    pub(crate) async fn next(&mut self) -> Result<Option<Part<'_>>> {
        let malformed = self.malformed;
        let field = self.parts.next_field().await.map_err(|error| broken(malformed, &error))?;
        Ok(field.map(|field| Part { field, malformed }))
    }
}

/// A field of a form.
pub(crate) struct Part<'a> {
    field: Field<'a>,
    malformed: ErrorCode,
}

impl Part<'_> {
    /// Its name.
    pub(crate) fn name(&self) -> String {
        self.field.name().unwrap_or_default().to_owned()
    }

    /// The name of its file; empty when it has none.
    pub(crate) fn file_name(&self) -> String {
        self.field.file_name().unwrap_or_default().to_owned()
    }

    /// The next piece of its content.
    pub(crate) async fn chunk(&mut self) -> Result<Option<Bytes>> {
        self.field.chunk().await.map_err(|error| broken(self.malformed, &error))
    }

    /// Its whole content.
    pub(crate) async fn bytes(mut self, limit: u64) -> Result<Bytes> {
        let mut all = BytesMut::new();
        while let Some(piece) = self.chunk().await? {
            if (all.len() + piece.len()) as u64 > limit {
                return Err(ApiError::new(ErrorCode::FileTooLarge, format!("a part has more than {limit} bytes")));
            }
            all.extend_from_slice(&piece);
        }
        Ok(all.freeze())
    }

    /// The whole content of its file. None: a form in which no file was chosen has one without name and content.
    pub(crate) async fn file_bytes(self, limit: u64) -> Result<Option<Bytes>> {
        let is_named = !self.file_name().is_empty();
        let bytes = self.bytes(limit).await?;
        Ok((is_named || !bytes.is_empty()).then_some(bytes))
    }

    /// Its whole content as text.
    pub(crate) async fn text(self) -> Result<String> {
        let malformed = self.malformed;
        self.text_or(malformed).await
    }

    /// Its whole content as text; what is none is answered with this code.
    pub(crate) async fn text_or(self, malformed: ErrorCode) -> Result<String> {
        let name = self.name();
        let bytes = self.bytes(limits::JSON_BODY_BYTES as u64).await?;
        String::from_utf8(bytes.into()).map_err(|_not_text| refused(malformed, &format!("'{name}' is not text")))
    }
}

fn broken(code: ErrorCode, error: &MultipartError) -> ApiError {
    refused(code, &format!("the form cannot be read: {}", error.body_text()))
}

fn refused(code: ErrorCode, words: &str) -> ApiError {
    plinth_service::ServiceError::new(code, words).with_status(400).into()
}
