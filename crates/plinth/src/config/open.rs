//! Opens the configured database and the configured store.

use std::path::Path;
use std::time::Duration;

use anyhow::{Context as _, Result, bail, ensure};
use plinth_db::{Db, DbOptions};
use plinth_service::Service;
use plinth_service::storage::{FirstIdentity, StoreMismatch};
use plinth_store::{LinkSigner, Store, StoreOptions, is_s3_setting};
use url::Url;

use super::settings::Config;

/// Name of the folder that exists in the data folder while `plinth admin restore` checks a backup and writes it to
/// the data folder.
pub(crate) const RESTORING: &str = ".restoring";

/// Time limit of [`check_store`].
const STORE_CHECK_TIME: Duration = Duration::from_secs(10);

/// Opens the database and the store, migrates the database, and creates the service. The links that the service signs
/// begin with `public_url`. `listeners` of the database connections are used to listen for notifications. A service that
/// receives files also needs [`make_incoming_folder`].
/// Errors: the database or the store cannot be opened, a folder cannot be created, or a backup is being restored.
pub(crate) async fn open_service(config: &Config, public_url: &Url, listeners: u32) -> Result<Service> {
    make_database_folder(config)?;
    check_not_restoring(config)?;
    let db = open_with(config, connections(config).saturating_sub(listeners).max(1), true).await?;
    let store = open_store(config, LinkSigner::new(public_url.clone()))?;
    Ok(Service::new(db, store, config.service.clone()))
}

/// Checks that the store belongs to the database. `first` says what happens if the database has no identity of its store. A failure
/// of the check is only logged, because a server also starts while its store does not respond.
/// Errors: the store does not belong to the database.
pub(crate) async fn check_store(config: &Config, service: &Service, first: FirstIdentity) -> Result<()> {
    match tokio::time::timeout(STORE_CHECK_TIME, service.check_store_identity(first)).await {
        Ok(Ok(Ok(()))) => {}
        Ok(Ok(Err(mismatch))) => {
            let text = mismatch
                .expected()
                .map_or_else(|| "a text that no other store has".to_owned(), |id| format!("the text {id}"));
            bail!(
                "the store {} does not belong to the database: {mismatch}; all machines with this database must use \
                 the same store, such as s3://BUCKET/PREFIX or a folder that all of them mount (--store-url); if the \
                 store is right, write {text} to its object {}",
                config.store_url,
                StoreMismatch::object_path(),
            );
        }
        Ok(Err(error)) => tracing::warn!(error = %error, cause = ?error.cause, "the identity of the store is unknown"),
        Err(_elapsed) => tracing::warn!("the store did not respond in time, so its identity was not checked"),
    }
    Ok(())
}

/// Creates the folder of the SQLite database if it does not exist. Does nothing with PostgreSQL.
pub(crate) fn make_database_folder(config: &Config) -> Result<()> {
    sqlite_file(config).and_then(Path::parent).map_or(Ok(()), make_folder)
}

/// Creates the folder for files that are being received, if it does not exist.
pub(crate) fn make_incoming_folder(config: &Config) -> Result<()> {
    make_folder(&config.service.incoming)
}

/// Returns the path of the SQLite database; `None` with PostgreSQL.
pub(crate) fn sqlite_file(config: &Config) -> Option<&Path> {
    config.database_url.strip_prefix("sqlite://").map(Path::new)
}

/// Checks that no backup is being restored to the data folder.
/// Errors: a restoration is running or was interrupted.
pub(crate) fn check_not_restoring(config: &Config) -> Result<()> {
    ensure!(
        !config.data_dir.join(RESTORING).exists(),
        "a restoration to {} is running or was interrupted; empty the folder and run `plinth admin restore` again",
        config.data_dir.display()
    );
    Ok(())
}

/// Checks that the SQLite database exists, because opening a missing database would create it.
/// Errors: the database does not exist, this user may not enter its folder, or a backup is being restored.
pub(crate) fn check_installation(config: &Config) -> Result<()> {
    check_not_restoring(config)?;
    let Some(file) = sqlite_file(config) else { return Ok(()) };
    let exists = file.try_exists().with_context(|| {
        format!(
            "the database {} cannot be accessed; run this command as the user of the server, or choose another folder with --data",
            file.display()
        )
    })?;
    ensure!(
        exists,
        "there is no database {}; name the folder of the installation with --data, or its configuration file with \
         --config, and set the variables that the server has, such as PLINTH_DATABASE_URL (`plinth serve` and `plinth migrate` create a new one)",
        file.display()
    );
    Ok(())
}

/// Returns whether no file or folder with this path exists. Returns false if this is unknown, because this user may not enter a
/// folder of the path; then opening the path fails and tells why.
pub(crate) fn is_missing(path: &Path) -> bool {
    path.try_exists().is_ok_and(|exists| !exists)
}

/// Checks that this user can create files in a folder. If the folder does not exist, checks that it can be created.
pub(crate) fn check_writable(folder: &Path) -> std::io::Result<()> {
    let existing = folder.ancestors().find(|ancestor| !is_missing(ancestor)).unwrap_or(Path::new("."));
    // The file has no name, or is deleted at once where files without a name are not supported.
    tempfile::tempfile_in(existing).map(drop)
}

/// Returns the version of the database schema; `None` if the database has no tables.
pub(crate) async fn table_version(config: &Config) -> Result<Option<i64>> {
    if sqlite_file(config).is_some_and(is_missing) {
        return Ok(None);
    }
    let db = open_database(config, false).await?;
    let version = db.table_version().await.context("the version of the tables cannot be read");
    db.close().await;
    version
}

/// Opens the database. Migrates it if `may_change` is set.
pub(crate) async fn open_database(config: &Config, may_change: bool) -> Result<Db> {
    open_with(config, connections(config), may_change).await
}

fn connections(config: &Config) -> u32 {
    config.database_connections.unwrap_or(DbOptions::POSTGRES_CONNECTIONS)
}

async fn open_with(config: &Config, connections: u32, may_change: bool) -> Result<Db> {
    let options = DbOptions { postgres_connections: connections, may_change, ..DbOptions::default() };
    let name = without_secrets(&config.database_url);
    Db::open(&config.database_url, options).await.with_context(|| format!("the database {name} cannot be opened"))
}

pub(crate) fn open_store(config: &Config, signer: LinkSigner) -> Result<Store> {
    let options = StoreOptions {
        address: config.store_url.clone(),
        s3: s3_settings(),
        s3_public_endpoint: config.store_public_endpoint.clone(),
        signer,
    };
    Store::open(options).with_context(|| format!("the store {} cannot be opened", config.store_url))
}

/// Returns the `AWS_*` environment variables that the store supports.
fn s3_settings() -> Vec<(String, String)> {
    let variables =
        std::env::vars_os().filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)));
    variables.filter(|(name, _)| name.starts_with("AWS_") && is_s3_setting(name)).collect()
}

fn make_folder(folder: &Path) -> Result<()> {
    std::fs::create_dir_all(folder)
        .with_context(|| format!("the folder {} cannot be created; choose another with --data", folder.display()))
}

/// Returns an address without its password, for messages.
fn without_secrets(address: &str) -> String {
    // The address of a SQLite database contains no password, so it is not changed.
    if address.starts_with("sqlite:") {
        return address.to_owned();
    }
    let Ok(mut url) = Url::parse(address) else {
        return address.split(':').next().unwrap_or_default().to_owned();
    };
    let _kept_where_there_is_none = url.set_password(None);
    url.set_query(None);
    url.to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn passwords_are_removed_from_addresses() {
        assert_eq!(without_secrets("postgres://me:secret@db/plinth?password=x"), "postgres://me@db/plinth");
        assert_eq!(without_secrets("sqlite:///tmp/a b.db"), "sqlite:///tmp/a b.db");
        assert_eq!(without_secrets("postgres:// me:secret"), "postgres");
    }
}
