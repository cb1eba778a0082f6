//! Where things are kept, as `plinth doctor` finds it.

use std::path::Path;

use anyhow::Result;
use plinth_store::LinkSigner;
use serde_json::{Value, json};

use crate::config::{self, Config};

/// Database and store.
pub(super) struct Kept {
    pub(super) database: Found,
    pub(super) storage: Found,
}

/// What was found.
pub(super) enum Found {
    /// It answers.
    Works(&'static str),
    /// It is local and will be made.
    NotYet(&'static str),
    /// It cannot be used, in one line.
    Broken(String),
}

impl Kept {
    /// Looks, and changes nothing.
    pub(super) async fn look(config: &Config) -> Self {
        let is_missing =
            |address: &str, scheme| address.strip_prefix(scheme).is_some_and(|path| !Path::new(path).exists());
        let database = if is_missing(&config.database_url, "sqlite://") {
            Found::NotYet("SQLite")
        } else {
            let name = if config.database_url.starts_with("sqlite:") { "SQLite" } else { "PostgreSQL" };
            Found::from(name, ping_database(config).await)
        };
        let storage = if is_missing(&config.store_url, "file://") {
            Found::NotYet("local files")
        } else {
            let name = if config.store_url.starts_with("file:") { "local files" } else { "S3" };
            Found::from(name, ping_store(config).await)
        };
        Self { database, storage }
    }

    /// Whether the server could use both.
    pub(super) const fn is_usable(&self) -> bool {
        !matches!(self.database, Found::Broken(_)) && !matches!(self.storage, Found::Broken(_))
    }
}

impl Found {
    fn from(name: &'static str, looked: Result<()>) -> Self {
        looked.map_or_else(|error| Self::Broken(super::one_line(&error)), |()| Self::Works(name))
    }

    pub(super) fn words(&self) -> String {
        match self {
            Self::Works(name) => format!("{name}, works"),
            Self::NotYet(name) => format!("{name}, not there yet: plinth serve makes it"),
            Self::Broken(problem) => format!("cannot be used: {problem}"),
        }
    }

    pub(super) fn json(&self) -> Value {
        match self {
            Self::Works(name) => json!({"kind": name, "status": "ok"}),
            Self::NotYet(name) => json!({"kind": name, "status": "missing"}),
            Self::Broken(problem) => json!({"error": problem}),
        }
    }
}

async fn ping_database(config: &Config) -> Result<()> {
    let database = config::open_database(config, false).await?;
    let answered = database.ping().await;
    database.close().await;
    Ok(answered?)
}

async fn ping_store(config: &Config) -> Result<()> {
    // Nothing is signed here.
    let signer = LinkSigner::new(Vec::new(), config.public_url_at(config.listen)?);
    Ok(config::open_store(config, signer)?.ping().await?)
}
