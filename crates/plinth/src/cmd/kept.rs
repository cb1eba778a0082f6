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
    /// It cannot be used.
    Broken {
        /// What is wrong, in one line.
        problem: String,
        /// What to do.
        cure: &'static str,
    },
}

const DATABASE_CURE: &str = "start it, or name another with --database-url";
const STORE_CURE: &str = "make it reachable, or name another with --store-url";

impl Kept {
    /// Looks, and changes nothing.
    pub(super) async fn look(config: &Config) -> Self {
        let is_missing =
            |address: &str, scheme| address.strip_prefix(scheme).is_some_and(|path| !Path::new(path).exists());
        let database = if is_missing(&config.database_url, "sqlite://") {
            Found::NotYet("SQLite")
        } else {
            let name = if config.database_url.starts_with("sqlite:") { "SQLite" } else { "PostgreSQL" };
            Found::from(name, ping_database(config).await, DATABASE_CURE)
        };
        let storage = if is_missing(&config.store_url, "file://") {
            Found::NotYet("local files")
        } else {
            let name = if config.store_url.starts_with("file:") { "local files" } else { "S3" };
            Found::from(name, ping_store(config).await, STORE_CURE)
        };
        Self { database, storage }
    }

    /// Whether the server could use both.
    pub(super) const fn is_usable(&self) -> bool {
        !matches!(self.database, Found::Broken { .. }) && !matches!(self.storage, Found::Broken { .. })
    }
}

impl Found {
    fn from(name: &'static str, looked: Result<()>, cure: &'static str) -> Self {
        looked.map_or_else(|error| Self::Broken { problem: super::one_line(&error), cure }, |()| Self::Works(name))
    }

    pub(super) fn words(&self) -> String {
        match self {
            Self::Works(name) => format!("{name}, works"),
            Self::NotYet(name) => format!("{name}, not there yet: plinth serve makes it"),
            Self::Broken { problem, cure } => format!("cannot be used: {problem}; {cure}"),
        }
    }

    pub(super) fn json(&self) -> Value {
        match self {
            Self::Works(name) => json!({"kind": name, "status": "ok"}),
            Self::NotYet(name) => json!({"kind": name, "status": "missing"}),
            Self::Broken { problem, cure } => json!({"error": problem, "cure": cure}),
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
    let signer = LinkSigner::new(config.public_url_at(config.listen)?);
    Ok(config::open_store(config, signer)?.ping().await?)
}
