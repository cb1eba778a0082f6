//! Staged uploads: the client uploads a file to the store through a signed link, then finalizes it to create a model.

use futures_util::StreamExt as _;
use plinth_db::staged::NewStagedUpload;
use plinth_db::workspaces::{self, Workspace};
use plinth_db::{accounts, staged, unreferenced_objects};
use plinth_spec::id::StagedId;
use plinth_spec::wire::{FinalizeUpload, StagedUpload};
use plinth_spec::{ErrorCode, limits};
use plinth_store::{BlobStream, LinkMethod, Listed, NewLink, ObjectKey, StoreError};

use super::check::Format;
use super::create_from_file::ReceivedModel;
use super::incoming::Incoming;
use super::upload::{Uploaded, file_name};
use crate::access::Caller;
use crate::error::{Result, ServiceError};
use crate::hash::sha256_hex;
use crate::ids::{New as _, random_text};
use crate::renders::parse_settings;
use crate::service::Service;

const TICKET_CHARS: usize = 40;
/// Folder of staged files in the store.
const STAGED: &str = "staged";
/// Maximum number of file sizes that are recorded in one transaction.
const MEASURED_AT_ONCE: usize = 500;
/// Time in milliseconds between the expiry of a link and the deletion of its file.
const DELETED_AFTER_MS: i64 = limits::STAGING_LIFETIME_SECS * 1000;

/// Returns the time after which the link of an unfinalized upload must expire so that the upload counts toward the limits of an
/// account. An upload counts until its file is deleted.
const fn since(now: i64) -> i64 {
    now - DELETED_AFTER_MS
}

fn id_of(path: &str) -> Option<StagedId> {
    StagedId::parse(path.strip_prefix(STAGED)?.strip_prefix('/')?.strip_suffix(".glb")?)
}

/// Returns the error of an upload that would exceed the account's limit of staged bytes.
pub(crate) fn too_many_bytes() -> ServiceError {
    let most = limits::STAGED_BYTES >> 30;
    let message = format!(
        "the uploads that are not finalized have more than {most} GB; finalize some, or wait until two days after their links expire"
    );
    ServiceError::new(ErrorCode::LimitReached, message)
}

fn missing() -> ServiceError {
    ServiceError::new(ErrorCode::NotFound, "no file was uploaded for this ticket")
}

fn too_large() -> ServiceError {
    ServiceError::new(ErrorCode::FileTooLarge, format!("the file is larger than {} bytes", limits::MODEL_FILE_BYTES))
}

impl Service {
    /// Creates an upload link, and the ticket that finalizes the upload.
    /// Errors: the account has used up its free previews, has too many or too large unfinalized uploads, or cannot store another model.
    pub async fn create_upload_url(&self, caller: &Caller, expires: Option<i64>) -> Result<StagedUpload> {
        self.check_free_upload(caller).await?;
        // The size of the file is not known yet; no model is smaller than a byte.
        self.check_storable(caller, 1).await?;
        let expires_in = limits::clamp_expires_secs(expires);
        let (id, ticket) = (StagedId::new_random(), random_text(TICKET_CHARS));
        let key = ObjectKey::Staged(&id);
        let (row, path, sha256) = (id.clone(), key.path(), sha256_hex(&ticket));
        let workspace = caller.workspace_id.clone();
        let created = self.write_in_workspace(caller, caller.payer_id.clone(), move |tx, now| {
            Box::pin(async move {
                let since = since(now);
                if staged::count_open(tx, &workspace, since).await? >= limits::STAGED_UPLOADS {
                    let most = limits::STAGED_UPLOADS;
                    let message = format!("{most} upload links are open; finalize some of the uploads, or wait until two days after the links expire");
                    return Err(ServiceError::new(ErrorCode::LimitReached, message));
                }
                if staged::open_bytes(tx, &workspace, since, None).await? >= limits::STAGED_BYTES {
                    return Err(too_many_bytes());
                }
                let link_expires_at = now + expires_in * 1000;
                let upload = NewStagedUpload {
                    id: &row,
                    ticket_sha256: &sha256,
                    workspace_id: &workspace,
                    created_at: now,
                    link_expires_at,
                };
                staged::insert(tx, upload).await?;
                unreferenced_objects::insert(tx, &path, link_expires_at + DELETED_AFTER_MS).await?;
                Ok::<_, ServiceError>(now)
            })
        });
        let now = created.await?;
        let link = NewLink {
            method: LinkMethod::Put,
            key: &key,
            lifetime_secs: expires_in,
            disposition: None,
            now_secs: now / 1000,
        };
        let url = self.sign(link).await?;
        Ok(StagedUpload { url, ticket, expires_in, max_bytes: limits::MODEL_FILE_BYTES })
    }

    /// Creates a model and a render from an uploaded file.
    pub async fn finalize_upload(&self, caller: &Caller, request: FinalizeUpload) -> Result<Uploaded> {
        let ticket = request.ticket.unwrap_or_default();
        if ticket.len() != TICKET_CHARS || !ticket.bytes().all(|b| b.is_ascii_alphanumeric()) {
            return Err(ServiceError::bad_request("send the ticket from create-upload-url in the field 'ticket'"));
        }
        let name = request
            .filename
            .ok_or_else(|| ServiceError::bad_request("send a file name that ends in .glb in the field 'filename'"))?;
        let name = file_name(&name)?;
        let format = Format::of_name(&name, false)?;
        let settings = request.render_settings.filter(|value| !value.is_null());
        let settings = settings.map(|value| parse_settings(caller, Some(&value))).transpose()?;
        let found = staged::find_open(&mut self.db.read().await?, &sha256_hex(&ticket), &caller.workspace_id).await?;
        let not_open =
            || ServiceError::new(ErrorCode::NotFound, "this ticket is unknown, or its upload was already finalized");
        let id = found.ok_or_else(not_open)?;
        let key = ObjectKey::Staged(&id);
        let Some(blob) = self.store.find(&key).await? else {
            // The file is also missing if it was too large: then it was not stored, or was deleted.
            let is_too_large = staged::is_too_large(&mut self.db.read().await?, &id).await?;
            return Err(if is_too_large { too_large() } else { missing() });
        };
        if blob.size > limits::MODEL_FILE_BYTES {
            self.delete_unless_held(&id).await?;
            return Err(too_large());
        }
        if let Some(settings) = &settings {
            self.check_funds_early(caller, settings).await?;
        }
        self.check_size_early(caller, blob.size..=blob.size).await?;
        // The client can still write to the link. Therefore the file is read exactly once, and only the content of this
        // copy is used.
        let mut file = self.incoming_model(caller, Some(blob.size)).await?;
        take_content(self.store.read(&key, None).await.map_err(unreadable)?, &mut file).await?;
        let code = ErrorCode::UploadFailed;
        let file = file.finish().await?;
        let staged = Some(id.clone());
        let uploaded =
            self.create_from_file(caller, ReceivedModel { file, name, format, settings, code, staged }).await?;
        // The prefix stays scheduled for deletion, because the client may upload to the link again.
        self.remove_marked(&key.path()).await;
        Ok(uploaded)
    }

    /// Starts to receive the file of an upload link. Returns an error if the account has reached its limit of staged
    /// bytes.
    pub(crate) async fn begin_staged(&self, path: &str, length: Option<u64>) -> Result<Incoming> {
        let (id, workspace) = self.staged_upload(path).await?;
        let mut conn = self.db.read().await?;
        let now = self.options.clock.now_ms(&mut conn).await?;
        let used = staged::open_bytes(&mut conn, &workspace.id, since(now), Some(&id)).await?;
        drop(conn);
        let left = limits::STAGED_BYTES.checked_sub(used).filter(|left| *left > 0).ok_or_else(too_many_bytes)?;
        self.incoming(&workspace.owner_id, left.min(limits::MODEL_FILE_BYTES), length).await
    }

    /// Records that the file that was sent to an upload link is too large for a model, so that finalizing the upload
    /// returns the error `file_too_large`.
    pub(crate) async fn record_too_large(&self, path: &str) -> Result<()> {
        let (id, _workspace) = self.staged_upload(path).await?;
        let recorded = self
            .db
            .write(move |tx| Box::pin(async move { Ok::<_, ServiceError>(staged::set_too_large(tx, &id).await?) }));
        recorded.await
    }

    /// Records the size of a received file.
    /// Errors: the account would exceed its limit of staged bytes.
    pub(crate) async fn record_staged(&self, path: &str, size: u64) -> Result<()> {
        let (id, workspace) = self.staged_upload(path).await?;
        let recorded = self.write_locked(workspace.owner_id, move |tx, now| {
            Box::pin(async move {
                let used = staged::open_bytes(tx, &workspace.id, since(now), Some(&id)).await?;
                if used + size > limits::STAGED_BYTES {
                    return Err(too_many_bytes());
                }
                Ok(staged::set_size(tx, &id, size).await?)
            })
        });
        recorded.await
    }

    /// Records the size of the file that is now stored for an upload. Another request may have sent another file to the same
    /// link meanwhile, or may have finalized the upload.
    /// Errors: the upload was finalized, or the account exceeds its limit of staged bytes. In both cases, deletes the file.
    pub(crate) async fn settle_staged(&self, path: &str) -> Result<()> {
        let gone = || ServiceError::new(ErrorCode::NotFound, "this upload was finalized or has expired");
        let id = id_of(path).ok_or_else(gone)?;
        let settled = match self.staged_upload(path).await {
            Ok((_id, workspace)) => self.measure_one(&id, workspace).await?,
            Err(error) if error.status < 500 => Some(error),
            Err(error) => return Err(error),
        };
        let Some(rejection) = settled else { return Ok(()) };
        self.delete_unless_held(&id).await?;
        Err(rejection)
    }

    /// Deletes the file of an upload. Does nothing while a hold exists; [`Self::measure_staged`] deletes the file later. Returns
    /// whether the file was deleted.
    async fn delete_unless_held(&self, id: &StagedId) -> Result<bool> {
        if self.is_held().await? {
            return Ok(false);
        }
        self.store.delete(&ObjectKey::Staged(id)).await?;
        Ok(true)
    }

    /// Measures and records the stored file of an upload, with the paying account locked. If the file must be deleted, returns
    /// the error with the reason.
    async fn measure_one(&self, id: &StagedId, workspace: Workspace) -> Result<Option<ServiceError>> {
        let (id, store) = (id.clone(), self.store.clone());
        let measured = self.write_locked(workspace.owner_id, move |tx, now| {
            Box::pin(async move {
                let is_open = staged::find_workspace(tx, &id).await?.is_some();
                let stored = store.find(&ObjectKey::Staged(&id)).await?.filter(|_blob| is_open);
                let Some(blob) = stored else {
                    return Ok(Some(ServiceError::new(ErrorCode::NotFound, "this upload was finalized or replaced")));
                };
                let used = staged::open_bytes(tx, &workspace.id, since(now), Some(&id)).await?;
                let is_within = used + blob.size <= limits::STAGED_BYTES;
                staged::set_size(tx, &id, if is_within { blob.size } else { 0 }).await?;
                Ok((!is_within).then(too_many_bytes))
            })
        });
        measured.await
    }

    /// Records the sizes of files that clients have uploaded to S3 directly, because S3 does not enforce the limits. Deletes
    /// files that are too large for a model, and the latest files of an account that exceeds its limit of bytes. Also deletes
    /// files that were uploaded after the upload was finalized or its team was deleted, because a link to S3 accepts files
    /// until it expires. A file
    /// that cannot be deleted is left for the next call. Returns the number of deleted files. Measures the files of a local
    /// store, too, because a server may have been killed after it stored a file and before it recorded the size.
    pub async fn measure_staged(&self) -> Result<u64> {
        let (mut sizes, mut deleted) = (Vec::new(), 0);
        let mut listed = self.store.list(STAGED)?;
        while let Some(object) = listed.next().await {
            let Listed { path, size, .. } = object?;
            let Some(id) = id_of(&path) else { continue };
            if size > limits::MODEL_FILE_BYTES {
                deleted += u64::from(self.delete_staged(&id).await);
            }
            // A size of one byte more than the limit means that the file was rejected.
            sizes.push((id, size.min(limits::MODEL_FILE_BYTES + 1)));
        }
        for some in sizes.chunks(MEASURED_AT_ONCE) {
            let ids: Vec<StagedId> = some.iter().map(|(id, _size)| id.clone()).collect();
            let unneeded = staged::list_unneeded(&mut self.db.read().await?, &ids).await?;
            for id in &unneeded {
                deleted += u64::from(self.delete_staged(id).await);
            }
            let some: Vec<_> = some.iter().filter(|(id, _size)| !unneeded.contains(id)).cloned().collect();
            let measured = self.db.write(move |tx| {
                Box::pin(async move {
                    for (id, size) in &some {
                        staged::set_size(tx, id, *size).await?;
                    }
                    Ok::<_, ServiceError>(())
                })
            });
            measured.await?;
        }
        let mut conn = self.db.read().await?;
        let since = since(self.options.clock.now_ms(&mut conn).await?);
        let beyond = staged::list_beyond(&mut conn, since, limits::STAGED_BYTES).await?;
        drop(conn);
        for id in beyond {
            if self.delete_staged(&id).await {
                deleted += 1;
                let forgotten = self.db.write(move |tx| {
                    Box::pin(async move { Ok::<_, ServiceError>(staged::set_size(tx, &id, 0).await?) })
                });
                forgotten.await?;
            }
        }
        Ok(deleted)
    }

    /// Deletes the file of an upload. Returns false if the deletion fails, or if a hold exists.
    async fn delete_staged(&self, id: &StagedId) -> bool {
        self.delete_unless_held(id).await.unwrap_or_else(|error| {
            tracing::warn!(staged.id = %id, error = %error, "an uploaded file could not be deleted; the next run tries again");
            false
        })
    }

    /// Finds the staged upload whose file has this path in the store, and its workspace.
    async fn staged_upload(&self, path: &str) -> Result<(StagedId, Workspace)> {
        let gone = || ServiceError::new(ErrorCode::NotFound, "this upload was finalized or has expired");
        let id = id_of(path).ok_or_else(gone)?;
        let mut conn = self.db.read().await?;
        let workspace = staged::find_workspace(&mut conn, &id).await?.ok_or_else(gone)?;
        let workspace = workspaces::find(&mut conn, &workspace).await?.ok_or_else(gone)?;
        let owner = accounts::find(&mut conn, &workspace.owner_id).await?;
        if owner.is_none_or(|owner| owner.suspended_at.is_some()) {
            return Err(gone());
        }
        Ok((id, workspace))
    }
}

async fn take_content(mut pieces: BlobStream, file: &mut Incoming) -> Result<()> {
    while let Some(piece) = pieces.next().await {
        file.write(&piece.map_err(unreadable)?).await?;
    }
    Ok(())
}

/// Returns the error of an upload whose file could not be read. Meanwhile, a concurrent request with the same ticket may have
/// created the model and deleted the file, or the client may have sent another file to the link.
fn unreadable(error: StoreError) -> ServiceError {
    match error {
        StoreError::NotFound { .. } => missing(),
        StoreError::Changed { .. } => {
            let message = "the file was replaced while it was read; finalize the upload again";
            ServiceError::new(ErrorCode::UploadFailed, message)
        }
        other => other.into(),
    }
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;
    use futures_util::stream;

    use super::super::disk_reserve::DiskReserve;
    use super::*;

    #[tokio::test]
    async fn a_file_that_is_deleted_or_replaced_while_it_is_read_is_no_internal_error() {
        let folder = tempfile::tempdir().unwrap();
        let key = || "staged/a.glb".to_owned();
        let broken = StoreError::File(std::io::Error::other("the disk broke"));
        for (error, code, status) in [
            (StoreError::NotFound { key: key() }, ErrorCode::NotFound, 404),
            (StoreError::Changed { key: key() }, ErrorCode::UploadFailed, 422),
            (broken, ErrorCode::Internal, 500),
        ] {
            let pieces = stream::iter([Ok(Bytes::from_static(b"glTF")), Err(error)]).boxed();
            let mut file = Incoming::new(folder.path(), u64::MAX, None, DiskReserve::of(folder.path(), 0)).unwrap();
            let rejected = take_content(pieces, &mut file).await.unwrap_err();
            assert_eq!((rejected.code, rejected.status), (code, status));
        }
    }
}
