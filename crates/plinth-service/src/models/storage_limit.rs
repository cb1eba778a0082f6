//! The limit of the size of all models that one paying account can have in the store.

use std::ops::RangeInclusive;

use plinth_db::{Conn, model_files, storage};
use plinth_spec::ErrorCode;
use plinth_spec::id::AccountId;

use super::check::Format;
use crate::access::Caller;
use crate::error::{Result, ServiceError};
use crate::service::Service;

/// Returns an error if the models of an account would have more than `limit` bytes together with `more` bytes. A transaction that adds
/// models must have locked the account.
pub(crate) async fn check_model_storage(conn: &mut Conn, account: &AccountId, more: u64, limit: u64) -> Result<()> {
    let used = storage::models_of_account(conn, account).await?;
    if used.saturating_add(more) <= limit {
        return Ok(());
    }
    let message = format!(
        "the models of an account can have at most {} GB; those of the paying account have {} GB, and {} GB more are needed. \
         Delete models that are no longer needed; a deleted model counts until its renders have ended",
        gigabytes(limit),
        gigabytes(used),
        gigabytes(more)
    );
    Err(ServiceError::new(ErrorCode::LimitReached, message))
}

impl Service {
    /// Rejects an upload before its file is received, if the file cannot be stored. `sizes` are the sizes that the file may have, as far
    /// as they follow from the size of the request. Accepts every ZIP, because the size of its GLB is known only after the conversion.
    pub async fn check_upload_early(&self, caller: &Caller, name: &str, sizes: RangeInclusive<u64>) -> Result<()> {
        match Format::of_name(name, self.options.zip_conversion) {
            Ok(Format::Glb) => self.check_size_early(caller, sizes).await,
            // The upload itself rejects other names.
            Ok(Format::Zip) | Err(_) => Ok(()),
        }
    }

    /// Rejects a GLB of one of these sizes before it is received, if it cannot be stored. A file that the workspace has already needs no
    /// space, but its hash is known only after it was received; so the file is not rejected if an active model has one of these sizes.
    pub(super) async fn check_size_early(&self, caller: &Caller, sizes: RangeInclusive<u64>) -> Result<()> {
        let rejection = match self.check_storable(caller, *sizes.start()).await {
            Err(error) if error.code == ErrorCode::LimitReached => error,
            other => return other,
        };
        let mut conn = self.db.read().await?;
        let may_be_known = model_files::has_active_of_size(&mut conn, &caller.workspace_id, &sizes).await?;
        if may_be_known { Ok(()) } else { Err(rejection) }
    }

    /// Rejects a new model before it is checked and stored. The transaction that inserts the model repeats this check.
    pub(super) async fn check_storable(&self, caller: &Caller, bytes: u64) -> Result<()> {
        let mut conn = self.db.read().await?;
        check_model_storage(&mut conn, &caller.payer_id, bytes, self.options.account_storage_bytes).await
    }
}

/// Formats a number of bytes in GB, rounded up to two decimal places, so that no size is shown as 0.
fn gigabytes(bytes: u64) -> String {
    let hundredths = (u128::from(bytes) * 100).div_ceil(1 << 30);
    let text = format!("{}.{:02}", hundredths / 100, hundredths % 100);
    text.strip_suffix(".00").map_or(text.clone(), str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_rounded_up() {
        for (bytes, text) in [(0, "0"), (1, "0.01"), (1 << 30, "1"), ((1 << 30) + 1, "1.01"), (3 << 29, "1.50")] {
            assert_eq!(gigabytes(bytes), text);
        }
        assert_eq!(gigabytes(100 << 30), "100");
    }
}
