//! Multipart forms, which contain files.

use axum::body::Body;
use axum::extract::multipart::{Field, MultipartError};
use axum::extract::{FromRequest as _, Multipart, Request};
use axum::http::StatusCode;
use axum::http::header::CONTENT_LENGTH;
use bytes::Bytes;
use plinth_service::PartHeads;
use plinth_spec::limits;

use crate::error::{PageError, Result};

/// A form with files that is read field by field.
pub(crate) struct FileForm {
    parts: Multipart,
    heads: PartHeads,
    length: Option<u64>,
    /// Number of fields that were read so far.
    fields: usize,
}

impl FileForm {
    pub(crate) async fn from(request: Request) -> Result<Self> {
        let heads = PartHeads::default();
        let length = request.headers().get(CONTENT_LENGTH).and_then(|value| value.to_str().ok()?.parse().ok());
        let request = request.map(|body| Body::from_stream(heads.limit(body.into_data_stream())));
        let parts = Multipart::from_request(request, &()).await;
        let parts = parts.map_err(|error| PageError::new(error.status(), &error.body_text()))?;
        Ok(Self { parts, heads, length, fields: 0 })
    }

    /// Returns the size of the request's body, if its headers state the size.
    pub(crate) const fn length(&self) -> Option<u64> {
        self.length
    }

    /// Returns the next field; `None` at the end of the form. The previous field must have been read or skipped.
    pub(crate) async fn next(&mut self) -> Result<Option<Field<'_>>> {
        let heads = &self.heads;
        let field = heads.read(self.parts.next_field()).await.map_err(|error| {
            let too_long = |problem: String| PageError::new(StatusCode::BAD_REQUEST, &problem);
            heads.problem().map_or_else(|| broken(&error), too_long)
        })?;
        self.fields += usize::from(field.is_some());
        if self.fields > limits::FORM_FIELDS {
            let message = format!("the form has more than {} fields", limits::FORM_FIELDS);
            return Err(PageError::new(StatusCode::BAD_REQUEST, &message));
        }
        Ok(field)
    }
}

/// Returns the next chunk of a field's content; `None` at the end of the field.
pub(crate) async fn chunk(field: &mut Field<'_>) -> Result<Option<Bytes>> {
    field.chunk().await.map_err(|error| broken(&error))
}

/// Reads and discards an unknown field. Errors: the field is too large.
pub(crate) async fn skip(mut field: Field<'_>) -> Result<()> {
    let mut skipped = 0;
    while let Some(piece) = chunk(&mut field).await? {
        skipped += piece.len();
        if skipped > limits::FORM_UNKNOWN_BYTES {
            let message = format!("an unknown field of the form has more than {} bytes", limits::FORM_UNKNOWN_BYTES);
            return Err(PageError::new(StatusCode::BAD_REQUEST, &message));
        }
    }
    Ok(())
}

fn broken(error: &MultipartError) -> PageError {
    PageError::new(error.status(), &format!("the form cannot be read: {}", error.body_text()))
}

#[cfg(test)]
mod tests {
    use axum::http::header::CONTENT_TYPE;

    use super::*;

    /// Reads a form with this number of fields. Returns the number of fields that were read.
    async fn read(fields: usize) -> Result<usize> {
        let field = "--x\r\nContent-Disposition: form-data; name=\"a\"\r\n\r\n\r\n".repeat(fields);
        let request = Request::post("/").header(CONTENT_TYPE, "multipart/form-data; boundary=x");
        let mut form = FileForm::from(request.body(Body::from(format!("{field}--x--\r\n"))).unwrap()).await?;
        let mut read = 0;
        while let Some(field) = form.next().await? {
            skip(field).await?;
            read += 1;
        }
        Ok(read)
    }

    #[tokio::test]
    async fn a_form_has_a_maximum_number_of_fields() {
        assert_eq!(read(256).await, Ok(256));
        let expected = PageError::new(StatusCode::BAD_REQUEST, "the form has more than 256 fields");
        assert_eq!(read(257).await, Err(expected));
    }
}
