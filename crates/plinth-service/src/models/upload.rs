//! Creates a model from a file in the body of a request.

use std::sync::Arc;
use std::time::Duration;

use plinth_spec::ErrorCode;
use plinth_spec::id::AccountId;
use plinth_spec::limits;
use plinth_spec::wire::UploadResult;
use serde_json::Value;

use super::check::Format;
use super::create_from_file::ReceivedModel;
use super::incoming::{Incoming, Permits};
use crate::access::Caller;
use crate::body_memory::parse_json;
use crate::error::{Result, ServiceError};
use crate::fair_semaphore::FairPermit;
use crate::renders::parse_settings;
use crate::service::Service;

/// Time in seconds that an upload waits for other uploads.
const WAIT_SECS: u64 = 30;

/// A reservation of space for the files of one form. It is released when all these files are stored or deleted.
#[derive(Clone, Debug)]
pub struct Room(Permits);

/// An upload whose file was received completely.
#[derive(Debug)]
pub struct Upload {
    /// Received file.
    pub file: Incoming,
    /// Name of the file.
    pub name: String,
    /// The field `renderSettings`, as unparsed JSON text.
    pub settings: Option<String>,
}

/// Result of an upload.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Uploaded {
    /// Response body.
    pub result: UploadResult,
    /// Whether a new model was created.
    pub is_new: bool,
}

/// Waits for a permit.
/// Errors: `rate_limited` with the text `message` after 30 s.
async fn wait_for(permit: impl Future<Output = Result<FairPermit>>, message: String) -> Result<FairPermit> {
    let granted = tokio::time::timeout(Duration::from_secs(WAIT_SECS), permit).await;
    granted.unwrap_or_else(|_late| {
        let error = ServiceError::new(ErrorCode::RateLimited, message);
        Err(ServiceError { retry_after_secs: Some(WAIT_SECS), ..error })
    })
}

impl Service {
    /// Starts to receive the file of a model. `length` is the size of the request, if it is known. Waits while the account sends
    /// the maximum number of files, or while other files occupy the space for received files.
    /// Errors: `rate_limited` after 30 s.
    pub async fn incoming_model(&self, caller: &Caller, length: Option<u64>) -> Result<Incoming> {
        self.incoming(&caller.payer_id, limits::MODEL_FILE_BYTES, length).await
    }

    /// Starts to receive a large file for an account. The file may have at most `limit` bytes. Reserves space for the whole file
    /// within `ServiceOptions::incoming_bytes`, so that files that arrive slowly have enough space to the end.
    pub(crate) async fn incoming(&self, account: &AccountId, limit: u64, length: Option<u64>) -> Result<Incoming> {
        let permits = self.permits(account, limit, length).await?;
        Incoming::new(&self.options.incoming, limit, Some(permits), self.disk_reserve())
    }

    async fn permits(&self, account: &AccountId, limit: u64, length: Option<u64>) -> Result<Permits> {
        self.disk_reserve().check()?;
        let number = format!("the account is sending {} files already; try again later", limits::UPLOADS_AT_ONCE);
        let one = wait_for(self.uploads.acquire(account, 1), number).await?;
        let bytes = length.unwrap_or(limit).min(limit);
        let full = "the server is receiving as many bytes as it has room for, or the account uses half of this room; try again later";
        let room = wait_for(self.incoming_bytes.acquire(account, bytes), full.to_owned()).await?;
        Ok(Arc::new([one, room]))
    }

    /// Reserves space for the files of a form, which together have at most `bytes` bytes. `length` is the size of the
    /// request, if it is known. Waits as [`incoming_model`](Self::incoming_model) does.
    /// Errors: `rate_limited` after 30 s.
    pub async fn room(&self, caller: &Caller, bytes: u64, length: Option<u64>) -> Result<Room> {
        Ok(Room(self.permits(&caller.payer_id, bytes, length).await?))
    }

    /// Starts to receive a file of a form. The file may have at most `limit` bytes. `room` is the reservation of the form.
    pub fn incoming_file(&self, room: &Room, limit: u64) -> Result<Incoming> {
        Incoming::new(&self.options.incoming, limit, Some(Arc::clone(&room.0)), self.disk_reserve())
    }

    /// Returns whether less than an eighth of the space for received files is free.
    pub fn is_room_scarce(&self) -> bool {
        self.incoming_bytes.is_scarce(self.options.incoming_bytes)
    }

    /// Starts to receive the text of a form field.
    pub(crate) fn incoming_text(&self, limit: usize) -> Result<Incoming> {
        Incoming::new(&self.options.incoming, limit as u64, None, self.disk_reserve())
    }

    /// Creates a model and a render from an uploaded file.
    pub async fn upload_model(&self, caller: &Caller, upload: Upload) -> Result<Uploaded> {
        let name = file_name(&upload.name)?;
        let format = Format::of_name(&name, self.options.zip_conversion)?;
        let settings = upload.settings.as_deref().map(settings_from_text).transpose()?.flatten();
        let settings = settings.as_ref().map(|value| parse_settings(caller, Some(value))).transpose()?;
        let received = ReceivedModel {
            file: upload.file.finish().await?,
            name,
            format,
            settings,
            code: ErrorCode::UploadFailed,
            staged: None,
        };
        self.create_from_file(caller, received).await
    }
}

/// Parses the JSON text of settings in a form field. Returns `None` for an empty field and for `null`.
fn settings_from_text(text: &str) -> Result<Option<Value>> {
    if text.trim().is_empty() {
        return Ok(None);
    }
    let value: Value = parse_json(text.as_bytes(), limits::JSON_VALUES).map_err(|error| {
        ServiceError::new(ErrorCode::InvalidSettings, format!("renderSettings are not valid JSON: {error}"))
    })?;
    Ok(Some(value).filter(|value| !value.is_null()))
}

/// Stem of the name of a model whose file name consists of an extension only.
const UNNAMED: &str = "model";

/// Returns the base name of a file: the last path segment that is not empty, without control characters. If this
/// segment consists of an extension only, the extension is appended to the previous segment.
/// Errors: the name is empty or too long.
pub(super) fn file_name(sent: &str) -> Result<String> {
    let clean = |part: &str| part.chars().filter(|c| !c.is_control()).collect::<String>().trim().to_owned();
    let mut parts = sent.rsplit(['/', '\\']).map(clean).filter(|part| !part.is_empty() && part != "." && part != "..");
    let mut name = parts.next().unwrap_or_default();
    if name.rfind('.') == Some(0) {
        name = format!("{}{name}", parts.next().as_deref().unwrap_or(UNNAMED));
    }
    if name.is_empty() || name.chars().count() > limits::TITLE_CHARS {
        let message = format!("the file needs a name of 1 to {} characters", limits::TITLE_CHARS);
        return Err(ServiceError::bad_request(message));
    }
    Ok(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folders_and_control_characters_are_removed() {
        assert_eq!(file_name("../../etc/a b.glb").unwrap(), "a b.glb");
        assert_eq!(file_name("C:\\models\\x\r\n.glb").unwrap(), "x.glb");
        assert!(file_name("/").is_err() && file_name("..").is_err() && file_name(&"x".repeat(501)).is_err());
    }

    #[test]
    fn a_name_that_is_only_an_extension_gets_a_stem() {
        for (sent, name) in [
            ("chair.glb/", "chair.glb"),
            ("C:\\scans\\chair.zip\\", "chair.zip"),
            ("scans\\.zip", "scans.zip"),
            ("a/\r\n/.glb", "a.glb"),
            (".glb", "model.glb"),
        ] {
            assert_eq!(file_name(sent).unwrap(), name, "{sent:?}");
        }
    }

    #[test]
    fn an_empty_settings_field_counts_as_absent() {
        assert!(settings_from_text(" ").unwrap().is_none() && settings_from_text("null").unwrap().is_none());
        assert_eq!(settings_from_text("{").unwrap_err().code, ErrorCode::InvalidSettings);
    }
}
