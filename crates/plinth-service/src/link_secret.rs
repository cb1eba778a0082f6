//! The secret that signs an installation's links to local files.

use plinth_db::{Db, instance};

use crate::error::{Result, ServiceError};
use crate::ids::random_text;

const KEY: &str = "link_secret";
const SECRET_CHARS: usize = 43;

/// Returns the secret that signs links to local files. It is generated on the first call and stored in the database, so all
/// processes share it.
pub async fn link_secret(db: &Db) -> Result<Vec<u8>> {
    if let Some(secret) = instance::find(&mut db.read().await?, KEY).await? {
        return Ok(secret.into_bytes());
    }
    let fresh = random_text(SECRET_CHARS);
    let stored = db.write(move |tx| {
        Box::pin(async move { Ok::<_, ServiceError>(instance::insert_or_find(tx, KEY, &fresh).await?) })
    });
    Ok(stored.await?.into_bytes())
}
