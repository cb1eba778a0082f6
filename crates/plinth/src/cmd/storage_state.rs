//! The state of the database and the store, for `plinth doctor`.

use std::path::Path;

use anyhow::{Context as _, Result};
use plinth_store::LinkSigner;
use serde_json::{Value, json};

use crate::config::{self, Config};

/// The state of the database and the store.
pub(super) struct StorageState {
    pub(super) database: State,
    pub(super) storage: State,
}

/// The state of the database or of the store.
pub(super) enum State {
    /// The database or store responds. Contains its name.
    Works(&'static str),
    /// The database or store is local and does not exist yet. The server will create it. Contains its name.
    NotYet(&'static str),
    /// The database or store is local and does not exist yet, and the server could not create it. A user who only renders needs
    /// neither.
    NotCreatable {
        /// The error message, on one line.
        problem: String,
        /// How to fix the problem.
        cure: &'static str,
    },
    /// The database or store cannot be used.
    Broken {
        /// The error message, on one line.
        problem: String,
        /// How to fix the problem.
        cure: &'static str,
    },
}

const SQLITE_CURE: &str =
    "check that it is intact and that this user may write to it and its folder, or set another with --database-url";
const NEW_DATABASE_CURE: &str = "check that this user may write there, or set another with --data or --database-url";
const NEW_STORE_CURE: &str = "check that this user may write there, or set another with --data or --store-url";
const DATABASE_CURE: &str = "start it, or set another with --database-url";
const FILES_CURE: &str = "check that this user may write to the folder, or set another with --store-url";
const STORE_CURE: &str = "make it reachable, or set another with --store-url";

impl StorageState {
    /// Checks the database and the store. Does not change or create anything.
    pub(super) async fn look(config: &Config) -> Self {
        let database = if let Some(file) = missing_path(&config.database_url, "sqlite://") {
            State::of_missing("SQLite", file.parent().unwrap_or(file), NEW_DATABASE_CURE)
        } else {
            let (name, cure) = if config.is_shared() { ("PostgreSQL", DATABASE_CURE) } else { ("SQLite", SQLITE_CURE) };
            State::from(name, ping_database(config).await, cure)
        };
        let storage = if let Some(folder) = missing_path(&config.store_url, "file://") {
            State::of_missing("local files", folder, NEW_STORE_CURE)
        } else {
            let is_local = config.store_url.starts_with("file:");
            let (name, cure) = if is_local { ("local files", FILES_CURE) } else { ("S3", STORE_CURE) };
            State::from(name, ping_store(config).await, cure)
        };
        Self { database, storage }
    }

    /// Returns whether a server could use the database and the store.
    pub(super) fn is_usable(&self) -> bool {
        let is_usable = |state: &State| matches!(state, State::Works(_) | State::NotYet(_));
        is_usable(&self.database) && is_usable(&self.storage)
    }

    /// Returns whether the database or the store exists and cannot be used.
    pub(super) const fn is_broken(&self) -> bool {
        matches!(self.database, State::Broken { .. }) || matches!(self.storage, State::Broken { .. })
    }
}

impl State {
    fn from(name: &'static str, ping: Result<()>, cure: &'static str) -> Self {
        ping.map_or_else(|error| Self::Broken { problem: super::one_line(&error), cure }, |()| Self::Works(name))
    }

    /// Returns the state of a local database or store that does not exist. The server will create its files in `folder`.
    fn of_missing(name: &'static str, folder: &Path, cure: &'static str) -> Self {
        let checked = config::check_writable(folder);
        match checked.with_context(|| format!("no files can be created in {}", folder.display())) {
            Ok(()) => Self::NotYet(name),
            Err(error) => Self::NotCreatable { problem: super::one_line(&error), cure },
        }
    }

    pub(super) fn text(&self) -> String {
        match self {
            Self::Works(name) => format!("{name}, works"),
            Self::NotYet(name) => format!("{name}, does not exist yet: plinth serve creates it"),
            Self::NotCreatable { problem, cure } | Self::Broken { problem, cure } => {
                format!("cannot be used: {problem}; {cure}")
            }
        }
    }

    pub(super) fn json(&self) -> Value {
        match self {
            Self::Works(name) => json!({"kind": name, "status": "ok"}),
            Self::NotYet(name) => json!({"kind": name, "status": "missing"}),
            Self::NotCreatable { problem, cure } | Self::Broken { problem, cure } => {
                json!({"error": problem, "cure": cure})
            }
        }
    }
}

/// Returns the path of a local address with this scheme if nothing exists there.
fn missing_path<'a>(address: &'a str, scheme: &str) -> Option<&'a Path> {
    address.strip_prefix(scheme).map(Path::new).filter(|path| config::is_missing(path))
}

async fn ping_database(config: &Config) -> Result<()> {
    let database = config::open_database(config, false).await?;
    let answered = database.ping().await;
    database.close().await;
    Ok(answered?)
}

async fn ping_store(config: &Config) -> Result<()> {
    // `open_store` requires a signer for links, although no link is signed here.
    let signer = LinkSigner::new(config.public_url_at(config.listen)?);
    Ok(config::open_store(config, signer)?.ping().await?)
}
