//! Multipart forms. Small fields are read into memory, and files are streamed to disk.

use std::ops::RangeInclusive;

use axum::body::{Body, to_bytes};
use axum::extract::multipart::{Field, MultipartError};
use axum::extract::{FromRequest, Multipart, Request};
use axum::http::HeaderMap;
use axum::http::header::{CONTENT_DISPOSITION, CONTENT_LENGTH, CONTENT_TYPE};
use bytes::{Bytes, BytesMut};
use percent_encoding::percent_decode_str;
use plinth_service::access::Caller;
use plinth_service::models::Incoming;
use plinth_service::{BodyMemory, FieldText, PartHeads, Service};
use plinth_spec::{ErrorCode, limits};

use crate::error::{ApiError, Result};

/// Maximum total size in bytes of all fields of a form that are not files.
const FIELDS_BYTES: u64 =
    (limits::JSON_RENDER_BYTES + limits::FORM_UNKNOWN_BYTES + 16 * limits::FORM_FIELD_BYTES) as u64;

/// A multipart form that is read field by field.
pub(crate) struct Form {
    /// `None` if the request has no body.
    parts: Option<Multipart>,
    heads: PartHeads,
    malformed: ErrorCode,
    /// Number of fields that were read so far.
    fields: usize,
    /// Number of bytes of unknown fields that were discarded so far.
    skipped: usize,
    /// Number of bytes that the remaining fields may have together.
    left: u64,
}

/// Returns the size of a request's body if its `Content-Length` header contains it.
pub(crate) fn content_length(headers: &HeaderMap) -> Option<u64> {
    headers.get(CONTENT_LENGTH)?.to_str().ok()?.parse().ok()
}

/// Returns the sizes that the file of a form may have. `length` is the size of the request's body, which contains the other fields of
/// the form, too.
pub(crate) const fn file_sizes(length: u64) -> RangeInclusive<u64> {
    length.saturating_sub(FIELDS_BYTES + limits::FORM_HEAD_BYTES as u64)..=length
}

impl Form {
    /// Starts to read the form of a request. An empty body without a `Content-Type` counts as an empty form, so that
    /// the error message names the first missing field. A malformed form is rejected with status 400 and the code
    /// `malformed`. A body of another type is rejected with `bad_request`. The files of the form may have at most
    /// `files_bytes` together.
    pub(crate) async fn from(request: Request, malformed: ErrorCode, files_bytes: u64) -> Result<Self> {
        let left = files_bytes + FIELDS_BYTES;
        let content_type = request.headers().get(CONTENT_TYPE).map(|value| value.to_str().unwrap_or_default());
        if !content_type.is_some_and(|kind| kind.to_ascii_lowercase().starts_with("multipart/form-data")) {
            let other = || rejected(ErrorCode::BadRequest, "send a form: Content-Type: multipart/form-data");
            if content_type.is_some() {
                return Err(other());
            }
            to_bytes(request.into_body(), 0).await.map_err(|_not_empty| other())?;
            return Ok(Self { parts: None, heads: PartHeads::default(), malformed, fields: 0, skipped: 0, left });
        }
        let heads = PartHeads::default();
        let request = request.map(|body| Body::from_stream(heads.limit(body.into_data_stream())));
        let parts = Multipart::from_request(request, &()).await;
        let parts =
            parts.map_err(|_kind| rejected(malformed, "the Content-Type of the form names no valid boundary"))?;
        Ok(Self { parts: Some(parts), heads, malformed, fields: 0, skipped: 0, left })
    }

    /// Returns the next field, or `None` at the end of the form. The previous field must have been read or skipped.
    pub(crate) async fn next(&mut self) -> Result<Option<Part<'_>>> {
        let malformed = self.malformed;
        let heads = &self.heads;
        let Some(parts) = &mut self.parts else { return Ok(None) };
        let field = heads.read(parts.next_field()).await.map_err(|error| {
            heads.problem().map_or_else(|| broken(malformed, &error), |problem| rejected(malformed, &problem))
        })?;
        self.fields += usize::from(field.is_some());
        if self.fields > limits::FORM_FIELDS {
            return Err(rejected(malformed, &format!("the form has more than {} fields", limits::FORM_FIELDS)));
        }
        let (skipped, left) = (&mut self.skipped, &mut self.left);
        Ok(field.map(|field| Part { field, malformed, skipped, left }))
    }
}

/// A field of a form.
pub(crate) struct Part<'a> {
    field: Field<'a>,
    malformed: ErrorCode,
    skipped: &'a mut usize,
    left: &'a mut u64,
}

impl Part<'_> {
    pub(crate) fn name(&self) -> String {
        self.field.name().unwrap_or_default().to_owned()
    }

    /// Returns the file name of the field, or an empty string if the field has no file name.
    pub(crate) fn file_name(&self) -> String {
        let disposition = self.field.headers().get(CONTENT_DISPOSITION).and_then(|value| value.to_str().ok());
        let quoted = self.field.file_name().or_else(|| disposition.and_then(name_before_last_quote)).map(str::to_owned);
        quoted.or_else(|| disposition.and_then(encoded_name)).unwrap_or_default()
    }

    /// Returns the next chunk of a file's content, or `None` at the end of the file.
    pub(crate) async fn chunk(&mut self) -> Result<Option<Bytes>> {
        self.chunk_or(ErrorCode::FileTooLarge).await
    }

    /// Returns the next chunk of the field's content, or `None` at the end of the field.
    /// Errors: `code` if the fields so far are too large together.
    async fn chunk_or(&mut self, code: ErrorCode) -> Result<Option<Bytes>> {
        let chunk = self.field.chunk().await.map_err(|error| broken(self.malformed, &error))?;
        let bytes = chunk.as_ref().map_or(0, Bytes::len) as u64;
        let too_large = || ApiError::new(code, "the fields of the form are too large together");
        *self.left = self.left.checked_sub(bytes).ok_or_else(too_large)?;
        Ok(chunk)
    }

    /// Reads and discards the field. Errors: `bad_request` if the unknown fields of the form together exceed their size
    /// limit.
    pub(crate) async fn skip(mut self) -> Result<()> {
        let too_large = ErrorCode::BadRequest;
        while let Some(piece) = self.chunk_or(too_large).await? {
            *self.skipped += piece.len();
            check_length(*self.skipped, limits::FORM_UNKNOWN_BYTES, too_large)?;
        }
        Ok(())
    }

    /// Reads the whole field into memory. Errors: `bad_request` if the field has more than `limit` bytes.
    async fn bytes(mut self, limit: usize) -> Result<Bytes> {
        let too_large = ErrorCode::BadRequest;
        let mut all = BytesMut::new();
        while let Some(piece) = self.chunk_or(too_large).await? {
            check_length(all.len() + piece.len(), limit, too_large)?;
            all.extend_from_slice(&piece);
        }
        Ok(all.freeze())
    }

    /// Streams the field into a file. Returns `None` if the field has neither a file name nor content. Browsers send
    /// such a field if the user has not chosen a file.
    pub(crate) async fn into_file(mut self, mut file: Incoming) -> Result<Option<Incoming>> {
        let is_named = !self.file_name().is_empty();
        while let Some(piece) = self.chunk().await? {
            file.write(&piece).await?;
        }
        Ok((is_named || file.size() > 0).then_some(file))
    }

    /// Reads the whole field as text.
    pub(crate) async fn text(self) -> Result<String> {
        let (name, malformed) = (self.name(), self.malformed);
        text_of(&name, self.bytes(limits::FORM_FIELD_BYTES).await?, malformed)
    }

    /// Receives render settings as JSON text. A long text is stored on disk until the handler has received the whole
    /// form. Only then the handler reserves memory and parses the text, so no memory is reserved during a slow upload.
    /// Errors: `invalid_settings` if the text is too long.
    pub(crate) async fn render_settings(mut self, service: &Service) -> Result<RenderSettingsText> {
        let too_large = ErrorCode::InvalidSettings;
        let name = self.name();
        let (mut text, mut bytes) = (FieldText::default(), 0);
        while let Some(piece) = self.chunk_or(too_large).await? {
            bytes += piece.len();
            check_length(bytes, limits::JSON_RENDER_BYTES, too_large)?;
            text.write(service, &piece, limits::JSON_RENDER_BYTES).await?;
        }
        Ok(RenderSettingsText { name, text })
    }
}

/// Render settings that were received in a field of a form.
pub(crate) struct RenderSettingsText {
    name: String,
    text: FieldText,
}

impl RenderSettingsText {
    /// Returns the JSON text, and the reservation of the memory that processing the text takes.
    pub(crate) async fn read(self, service: &Service, caller: &Caller) -> Result<(String, BodyMemory)> {
        let (bytes, memory) = self.text.read(service, caller).await?;
        Ok((text_of(&self.name, bytes.into(), ErrorCode::InvalidSettings)?, memory))
    }
}

/// Returns the quoted file name at the end of a `Content-Disposition` header. It is needed for names that end in a
/// backslash: `multer` interprets their final `\"` as an escaped quote, and returns no name.
fn name_before_last_quote(disposition: &str) -> Option<&str> {
    disposition.split_once("filename=\"").and_then(|(_, rest)| rest.strip_suffix('"'))
}

/// Returns the name in the parameter `filename*` of a `Content-Disposition` header (RFC 5987). Some clients send this
/// parameter for names that contain non-ASCII characters.
fn encoded_name(disposition: &str) -> Option<String> {
    disposition.split(';').find_map(|parameter| {
        let (name, value) = parameter.split_once('=')?;
        let (charset, encoded) = value.trim().split_once("''")?;
        let is_name = name.trim().eq_ignore_ascii_case("filename*") && charset.eq_ignore_ascii_case("utf-8");
        is_name.then(|| percent_decode_str(encoded).decode_utf8().ok().map(Into::into))?
    })
}

/// Errors: `code` if `bytes` exceeds `most`.
fn check_length(bytes: usize, most: usize, code: ErrorCode) -> Result<()> {
    if bytes <= most {
        return Ok(());
    }
    Err(ApiError::new(code, format!("a form field has more than {most} bytes")))
}

fn text_of(name: &str, bytes: Bytes, malformed: ErrorCode) -> Result<String> {
    String::from_utf8(bytes.into())
        .map_err(|_not_text| rejected(malformed, &format!("the field '{name}' is not valid UTF-8")))
}

fn broken(code: ErrorCode, error: &MultipartError) -> ApiError {
    rejected(code, &format!("the form cannot be read: {}", error.body_text()))
}

fn rejected(code: ErrorCode, message: &str) -> ApiError {
    plinth_service::ServiceError::new(code, message).with_status(400).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Reads a form with this number of fields. Returns the number of fields that were read.
    async fn read(fields: usize) -> Result<usize> {
        let field = "--x\r\nContent-Disposition: form-data; name=\"a\"\r\n\r\n\r\n".repeat(fields);
        let request = Request::post("/").header(CONTENT_TYPE, "multipart/form-data; boundary=x");
        let request = request.body(Body::from(format!("{field}--x--\r\n"))).unwrap();
        let mut form = Form::from(request, ErrorCode::UploadFailed, 0).await?;
        let mut read = 0;
        while let Some(part) = form.next().await? {
            part.skip().await?;
            read += 1;
        }
        Ok(read)
    }

    #[tokio::test]
    async fn a_form_has_a_maximum_number_of_fields() {
        assert_eq!(read(256).await.unwrap(), 256);
        let error = format!("{:?}", read(257).await.unwrap_err());
        assert!(error.contains("UploadFailed, status: 400, message: \"the form has more than 256 fields\""), "{error}");
    }

    #[test]
    fn encoded_names_are_decoded() {
        let named = |parameter: &str| encoded_name(&format!("form-data; name=\"file\"; {parameter}"));
        for good in ["filename*=utf-8''st%C3%BChle.glb", "FileName* = UTF-8''st%C3%BChle.glb; x=1"] {
            assert_eq!(named(good).as_deref().map(str::trim_end), Some("stühle.glb"), "{good}");
        }
        for bad in ["filename*=latin1''a.glb", "filename*=utf-8''%FF.glb", "filename*=a.glb", "filename=a.glb"] {
            assert_eq!(named(bad), None, "{bad}");
        }
    }
}
