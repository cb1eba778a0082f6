//! The secrets that sign links to local files. They are read from the database for each link, so that a rotation takes
//! effect at once in all processes.

use plinth_db::{Conn, Tx, link_secrets};
use plinth_spec::id::LENGTH;
use plinth_spec::limits;
use plinth_store::LinkSecret;

use crate::error::{Result, ServiceError};
use crate::ids::random_text;
use crate::service::Service;

const SECRET_CHARS: usize = 43;
/// Time in milliseconds after a rotation at which links of earlier secrets end: the longest lifetime of a link, and an hour for
/// differences between clocks.
const OLD_MS: i64 = (limits::EXPIRES_MAX_SECS + 3600) * 1000;

/// A secret that signs links, without the secret itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LinkSecretInfo {
    /// Identifier; empty for the first secret of an old installation.
    pub id: String,
    /// Time of creation, as Unix time in milliseconds; 0 for the first secret of an old installation.
    pub created_at: i64,
    /// Time at which its links end; `None` for the secret that signs new links.
    pub ends_at: Option<i64>,
}

impl Service {
    /// Creates a new secret, which signs links from now on. Links that were signed before work until they expire, or end at
    /// once with `revoke`.
    pub async fn rotate_link_secret(&self, revoke: bool) -> Result<LinkSecretInfo> {
        let made = self.write_at(move |tx, now| {
            Box::pin(async move {
                link_secrets::end_all(tx, if revoke { now } else { now + OLD_MS }).await?;
                insert_new(tx, now).await
            })
        });
        Ok(info(made.await?))
    }

    /// Lists the secrets whose links still work, newest first.
    pub async fn link_secrets(&self) -> Result<Vec<LinkSecretInfo>> {
        let mut conn = self.db.read().await?;
        let now = self.options.clock.now_ms(&mut conn).await?;
        Ok(link_secrets::list(&mut conn, now).await?.into_iter().map(info).collect())
    }

    /// Returns the secret that signs new links; the first call creates it.
    pub(crate) async fn signing_secret(&self) -> Result<LinkSecret> {
        let found = link_secrets::find_newest(&mut self.db.read().await?).await?;
        if let Some(found) = found {
            return Ok(secret(found));
        }
        let made = self.write_at(|tx, now| {
            Box::pin(async move {
                match link_secrets::find_newest(tx).await? {
                    Some(found) => Ok(found),
                    None => insert_new(tx, now).await,
                }
            })
        });
        made.await.map(secret)
    }
}

/// Finds the secret that a link names, unless it has ended.
pub(super) async fn find_secret(conn: &mut Conn, id: &str, now: i64) -> Result<Option<LinkSecret>> {
    Ok(link_secrets::find(conn, id, now).await?.map(secret))
}

async fn insert_new(tx: &mut Tx, now: i64) -> Result<link_secrets::LinkSecret> {
    let made = link_secrets::LinkSecret {
        id: random_text(LENGTH),
        secret: random_text(SECRET_CHARS),
        created_at: now,
        ends_at: None,
    };
    link_secrets::insert(tx, &made).await?;
    Ok::<_, ServiceError>(made)
}

fn secret(row: link_secrets::LinkSecret) -> LinkSecret {
    LinkSecret { id: row.id, secret: row.secret }
}

fn info(row: link_secrets::LinkSecret) -> LinkSecretInfo {
    LinkSecretInfo { id: row.id, created_at: row.created_at, ends_at: row.ends_at }
}
