//! Staged uploads: the client uploads a file to the store through a signed link, then finalizes it to create a model.

use futures_util::StreamExt as _;
use plinth_db::{garbage, staged};
use plinth_spec::id::StagedId;
use plinth_spec::wire::{FinalizeUpload, StagedUpload};
use plinth_spec::{ErrorCode, limits};
use plinth_store::{LinkMethod, ObjectKey};

use super::arrive::Arrival;
use super::check::Format;
use super::incoming::Incoming;
use super::upload::{Uploaded, file_name};
use crate::access::Caller;
use crate::error::{Result, ServiceError};
use crate::hash::sha256_hex;
use crate::ids::{New as _, random_text};
use crate::renders::parse_settings;
use crate::service::Service;

const TICKET_CHARS: usize = 40;

impl Service {
    /// Creates an upload link, and the ticket to finalize the upload with.
    pub async fn create_upload_url(&self, caller: &Caller, expires: Option<i64>) -> Result<StagedUpload> {
        self.check_free_upload(caller).await?;
        let expires_in = limits::clamp_expires_secs(expires);
        let (id, ticket) = (StagedId::new_random(), random_text(TICKET_CHARS));
        let key = ObjectKey::Staged(&id);
        let (row, path, sha256) = (id.clone(), key.path(), sha256_hex(&ticket));
        let workspace = caller.workspace_id.clone();
        let created = self.write_locked(caller.payer_id.clone(), move |tx, now| {
            Box::pin(async move {
                let since = now - limits::STAGING_LIFETIME_SECS * 1000;
                if staged::count_open(tx, &workspace, since).await? >= limits::STAGED_UPLOADS {
                    let most = limits::STAGED_UPLOADS;
                    let message = format!("{most} links to put a file are open; finalize some, or wait for two days");
                    return Err(ServiceError::new(ErrorCode::LimitReached, message));
                }
                staged::insert(tx, &row, &sha256, &workspace, now).await?;
                // Schedules the file for deletion, after the link has expired and the lifetime of staged files is over.
                let due = now + (expires_in + limits::STAGING_LIFETIME_SECS) * 1000;
                garbage::insert(tx, &path, due).await?;
                Ok::<_, ServiceError>(now)
            })
        });
        let now = created.await?;
        let url = self.store.link(LinkMethod::Put, &key, expires_in, None, now / 1000).await?;
        Ok(StagedUpload { url, ticket, expires_in, max_bytes: limits::MODEL_FILE_BYTES })
    }

    /// Creates a model and a render from an uploaded file.
    pub async fn finalize_upload(&self, caller: &Caller, request: FinalizeUpload) -> Result<Uploaded> {
        let ticket = request.ticket.unwrap_or_default();
        if ticket.len() != TICKET_CHARS || !ticket.bytes().all(|b| b.is_ascii_alphanumeric()) {
            return Err(ServiceError::bad_request("give 'ticket', as returned by create-upload-url"));
        }
        let name = request.filename.ok_or_else(|| ServiceError::bad_request("give 'filename', ending in .glb"))?;
        let name = file_name(&name)?;
        let format = Format::of_name(&name, false)?;
        let settings = request.render_settings.filter(|value| !value.is_null());
        let settings = settings.as_ref().map(|value| parse_settings(caller, Some(value))).transpose()?;
        let missing = || ServiceError::new(ErrorCode::NotFound, "no file was uploaded for this ticket");
        let found = staged::find_open(&mut self.db.read().await?, &sha256_hex(&ticket), &caller.workspace_id).await?;
        let id = found.ok_or_else(missing)?;
        let key = ObjectKey::Staged(&id);
        let blob = self.store.find(&key).await?.ok_or_else(missing)?;
        if blob.size > limits::MODEL_FILE_BYTES {
            self.store.delete(&key).await?;
            let message = format!("the file is larger than {} bytes", limits::MODEL_FILE_BYTES);
            return Err(ServiceError::new(ErrorCode::FileTooLarge, message));
        }
        // The client can still write to the link, so the file is read exactly once and only that content is used.
        let mut file = self.incoming_model()?;
        self.take_object(&key, &mut file).await?;
        let code = ErrorCode::UploadFailed;
        let file = file.finish().await?;
        let staged = Some(id.clone());
        let uploaded = self.arrive(caller, Arrival { file, name, format, settings, code, staged }).await?;
        // The prefix stays scheduled for deletion, because the client may write to the link again.
        self.remove_marked(&key.path()).await;
        Ok(uploaded)
    }

    async fn take_object(&self, key: &ObjectKey<'_>, file: &mut Incoming) -> Result<()> {
        let mut pieces = self.store.read(key, None).await?;
        while let Some(piece) = pieces.next().await {
            file.write(&piece?).await?;
        }
        Ok(())
    }
}
