//! The secrets that sign links to local files. Each use of a link reads the secret from the database, so that a
//! rotation takes effect at once in all processes.

use plinth_db::{Conn, Tx, link_secrets};
use plinth_spec::id::{LENGTH, is_well_formed};
use plinth_spec::limits;
use plinth_store::LinkSecret;

use crate::error::{Result, ServiceError};
use crate::ids::random_text;
use crate::service::Service;

const SECRET_CHARS: usize = 43;
/// Time in milliseconds from a rotation to the end of the earlier secrets: the longest lifetime of a link, plus an hour
/// for differences between clocks.
const OLD_MS: i64 = (limits::EXPIRES_MAX_SECS + 3600) * 1000;

/// Data about a secret that signs links. The secret itself is not included.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LinkSecretInfo {
    /// Identifier. Empty for a secret that was created before secrets had identifiers.
    pub id: String,
    /// Time of creation, as Unix time in milliseconds. 0 if the identifier is empty.
    pub created_at: i64,
    /// Time at which the links of the secret become invalid; `None` for the secret that signs new links.
    pub ends_at: Option<i64>,
}

impl Service {
    /// Creates a new secret, which signs all new links. Links of earlier secrets work until they expire. With `revoke`,
    /// links of earlier secrets become invalid at once.
    pub async fn rotate_link_secret(&self, revoke: bool) -> Result<LinkSecretInfo> {
        let made = self.write_at(move |tx, now| {
            Box::pin(async move {
                link_secrets::end_all(tx, if revoke { now } else { now + OLD_MS }).await?;
                insert_new(tx, now).await
            })
        });
        Ok(info(made.await?))
    }

    /// Lists the secrets whose links are still valid, newest first.
    pub async fn link_secrets(&self) -> Result<Vec<LinkSecretInfo>> {
        let mut conn = self.db.read().await?;
        let now = self.options.clock.now_ms(&mut conn).await?;
        Ok(link_secrets::list(&mut conn, now).await?.into_iter().map(info).collect())
    }

    /// Returns the secret that signs new links. Creates a secret if the installation has none.
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

/// Finds the secret with the identifier `id`, which a link contains. Returns `None` if the links of the secret are no
/// longer valid, or if no secret can have the identifier.
pub(super) async fn find_secret(conn: &mut Conn, id: &str, now: i64) -> Result<Option<LinkSecret>> {
    // The identifier comes from a client. PostgreSQL rejects a text with a NUL character.
    if !id.is_empty() && !is_well_formed(id) {
        return Ok(None);
    }
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
