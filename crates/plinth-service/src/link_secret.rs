//! The secret of an installation that signs its links.

use plinth_db::{Db, instance};

use crate::error::{Result, ServiceError};
use crate::ids::random_text;

const KEY: &str = "link_secret";
const CHARS: usize = 43;

/// The secret that signs links to local files: the same for every process on this database. Made at the first call.
pub async fn link_secret(db: &Db) -> Result<Vec<u8>> {
    if let Some(secret) = instance::find(&mut db.read().await?, KEY).await? {
        return Ok(secret.into_bytes());
    }
    let fresh = random_text(CHARS);
    let kept = db.write(move |tx| {
        Box::pin(async move { Ok::<_, ServiceError>(instance::insert_or_find(tx, KEY, &fresh).await?) })
    });
    Ok(kept.await?.into_bytes())
}
