//! Opening what the configuration names.

use std::path::Path;

use anyhow::{Context as _, Result, ensure};
use plinth_db::{Db, DbOptions};
use plinth_service::Service;
use plinth_store::{LinkSigner, Store, StoreOptions, is_s3_setting};
use url::Url;

use super::settings::Config;

/// In the data folder while `plinth admin restore` fills it.
pub(crate) const RESTORING: &str = ".restoring";

/// Opens database and store, brings the tables up to date, and makes the service of them. Links that it signs begin with
/// `public_url`.
/// Errors: a database or store that cannot be opened, a folder that cannot be written or that is being restored.
pub(crate) async fn open_service(config: &Config, public_url: &Url) -> Result<Service> {
    make_folder(&config.data_dir)?;
    let restoring = config.data_dir.join(RESTORING);
    ensure!(
        !restoring.exists(),
        "a restoration into {} is running or was interrupted; run `plinth admin restore` again after removing what is in the \
         folder",
        config.data_dir.display()
    );
    make_folder(&config.service.incoming)?;
    let db = open_database(config, true).await?;
    let store = open_store(config, LinkSigner::new(public_url.clone()))?;
    Ok(Service::new(db, store, config.service.clone()))
}

/// Opens the database; brings its tables up to date where it may.
pub(crate) async fn open_database(config: &Config, may_change: bool) -> Result<Db> {
    let options = DbOptions { postgres_connections: config.database_connections, may_change };
    let name = without_secrets(&config.database_url);
    Db::open(&config.database_url, options).await.with_context(|| format!("the database {name} cannot be opened"))
}

/// Opens the store.
pub(crate) fn open_store(config: &Config, signer: LinkSigner) -> Result<Store> {
    let options = StoreOptions {
        address: config.store_url.clone(),
        s3: s3_settings(),
        s3_public_endpoint: config.store_public_endpoint.clone(),
        signer,
    };
    Store::open(options).with_context(|| format!("the store {} cannot be opened", config.store_url))
}

/// The AWS_* variables that the store knows.
fn s3_settings() -> Vec<(String, String)> {
    let variables =
        std::env::vars_os().filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)));
    variables.filter(|(name, _)| name.starts_with("AWS_") && is_s3_setting(name)).collect()
}

fn make_folder(folder: &Path) -> Result<()> {
    std::fs::create_dir_all(folder)
        .with_context(|| format!("the folder {} cannot be made; give another with --data", folder.display()))
}

/// An address that may be shown: a password in it may not.
fn without_secrets(address: &str) -> String {
    // The path of a file is shown as it was given.
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
    fn a_shown_address_has_no_password() {
        assert_eq!(without_secrets("postgres://me:secret@db/plinth?password=x"), "postgres://me@db/plinth");
        assert_eq!(without_secrets("sqlite:///tmp/a b.db"), "sqlite:///tmp/a b.db");
        assert_eq!(without_secrets("postgres:// me:secret"), "postgres");
    }
}
