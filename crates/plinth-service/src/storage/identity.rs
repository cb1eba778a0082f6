//! Checks that the store belongs to the database. Both contain the same random text, the identity of the store.

use std::time::Duration;

use futures_util::StreamExt as _;
use plinth_db::{instance, referencing_rows};
use plinth_store::{ObjectKey, StoreError};

use crate::error::{Result, ServiceError};
use crate::ids::random_text;
use crate::service::Service;

/// Key of the identity in the table `instance`.
const KEY: &str = "store_id";
const ID_CHARS: usize = 22;
/// Time after which identities in S3 that differ are compared again.
const PAUSE: Duration = Duration::from_secs(2);

/// Whether the store belongs to the database.
type Comparison = std::result::Result<(), StoreMismatch>;

/// What [`Service::check_store_identity`] does if the database has no identity yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FirstIdentity {
    /// Stores the identity of the store in the database, and creates one if the store has none.
    Create,
    /// Stores nothing, because a server does it. A worker may have been configured with a folder of its own; if it created the
    /// identity there, the store of the server would count as the wrong one.
    LeaveToServer,
}

/// The reason why the store does not belong to the database.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum StoreMismatch {
    /// The store is empty, but the database was used with a store before.
    #[error("it is empty, but this database was used with a store before")]
    Empty {
        /// Identity of the store to which the database belongs.
        expected: String,
    },
    /// The store is empty and the database has no identity, but files of models or renders.
    #[error("it is empty, but this database has files of models or renders")]
    NoFiles,
    /// The store belongs to another database.
    #[error("it belongs to another database")]
    Foreign {
        /// Identity of the store to which the database belongs.
        expected: String,
    },
}

impl StoreMismatch {
    /// Returns the identity of the store to which the database belongs. `None` if the database has no identity.
    pub fn expected(&self) -> Option<&str> {
        match self {
            Self::Empty { expected } | Self::Foreign { expected } => Some(expected),
            Self::NoFiles => None,
        }
    }

    /// Returns the path of the object that contains the identity of a store.
    pub fn object_path() -> String {
        ObjectKey::StoreId.path()
    }
}

impl Service {
    /// Compares the identity in the store with the one in the database. Writes a missing identity. An empty store gets none if
    /// several machines can share the database and the database was used before, because each of them may have been configured with a
    /// folder of its own. `first` says what happens if the database has no identity.
    /// Errors: the store or the database does not respond.
    pub async fn check_store_identity(&self, first: FirstIdentity) -> Result<Comparison> {
        let compared = self.compare_identities(first).await?;
        if compared.is_ok() || self.store.folder().is_some() {
            return Ok(compared);
        }
        // Several processes of a new installation may have written different identities, because not all S3 servers support
        // conditional writes. They agree on one after the first is in the database.
        tokio::time::sleep(PAUSE).await;
        self.compare_identities(first).await
    }

    async fn compare_identities(&self, first: FirstIdentity) -> Result<Comparison> {
        // If the store does not respond, this request fails soon, because it is not repeated.
        self.store.ping().await?;
        let expected = self.expected_store_id().await?;
        let found = self.store_id().await?;
        match (expected, found) {
            (Some(expected), Some(found)) => Ok(compare(expected, &found)),
            (Some(expected), None) => self.add_identity(expected).await,
            (None, found) => self.begin_identity(found, first).await,
        }
    }

    /// Reads the identity of the store to which the database belongs. `None` if no server has stored one yet.
    /// Errors: the database does not respond.
    pub async fn expected_store_id(&self) -> Result<Option<String>> {
        Ok(instance::find(&mut self.db.read().await?, KEY).await?)
    }

    /// Reads the identity in the store; `None` if the store has none. With S3, this is a single request without retries. An operator may
    /// have written the identity with a line break.
    /// Errors: the store does not respond.
    pub async fn store_id(&self) -> std::result::Result<Option<String>, StoreError> {
        match self.store.read_once(&ObjectKey::StoreId).await {
            Ok(bytes) => Ok(Some(String::from_utf8_lossy(&bytes).trim().to_owned())),
            Err(error) if error.is_not_found() => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Continues the comparison if the database has no identity. `found` is the one in the store.
    async fn begin_identity(&self, found: Option<String>, first: FirstIdentity) -> Result<Comparison> {
        if found.is_none() && self.lacks_files().await? {
            return Ok(Err(StoreMismatch::NoFiles));
        }
        if first == FirstIdentity::LeaveToServer {
            tracing::info!("the database has no identity of its store yet; a server stores it");
            return Ok(Ok(()));
        }
        match found {
            Some(found) => Ok(compare(self.record_identity(&found).await?, &found)),
            None => self.create_identity().await,
        }
    }

    /// Returns whether several machines can share the database, and it has files of models or renders, but the store is empty.
    async fn lacks_files(&self) -> Result<bool> {
        Ok(self.db.is_shared()
            && referencing_rows::have_files(&mut self.db.read().await?).await?
            && self.is_store_empty().await?)
    }

    async fn is_store_empty(&self) -> Result<bool> {
        Ok(self.store.list("")?.next().await.transpose()?.is_none())
    }

    /// Stores the identity in the database unless it has one. Returns the identity in the database.
    async fn record_identity(&self, id: &str) -> Result<String> {
        let id = id.to_owned();
        let recording = self.write_at(move |tx, _now| {
            Box::pin(async move { Ok::<_, ServiceError>(instance::insert_or_find(tx, KEY, &id).await?) })
        });
        recording.await
    }

    /// Writes the identity of the database to a store that has none.
    async fn add_identity(&self, expected: String) -> Result<Comparison> {
        let is_empty = self.is_store_empty().await?;
        if is_empty && self.db.is_shared() {
            return Ok(Err(StoreMismatch::Empty { expected }));
        }
        tracing::warn!(store.is_empty = is_empty, "the store has no identity; it gets that of the database");
        self.store.put_new(&ObjectKey::StoreId, expected.into()).await?;
        Ok(Ok(()))
    }

    /// Creates an identity in the store, then in the database, so that the next start continues if this one is interrupted.
    async fn create_identity(&self) -> Result<Comparison> {
        self.store.put_new(&ObjectKey::StoreId, random_text(ID_CHARS).into()).await?;
        // Another process may have created the object at the same time.
        let Some(found) = self.store_id().await? else {
            return Err(ServiceError::internal("the identity of the store was deleted right after it was written"));
        };
        let expected = self.record_identity(&found).await?;
        if expected != found && self.store.folder().is_none() {
            // Another process has replaced the object in S3 between the two steps.
            self.store.put(&ObjectKey::StoreId, expected.into()).await?;
            return Ok(Ok(()));
        }
        Ok(compare(expected, &found))
    }
}

/// Compares the identity in the database with the one in the store.
fn compare(expected: String, found: &str) -> Comparison {
    if expected == found { Ok(()) } else { Err(StoreMismatch::Foreign { expected }) }
}
