//! `plinth admin backup`.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail, ensure};
use clap::{ArgMatches, Command};
use futures_util::StreamExt as _;
use plinth_db::referencing_rows::{self, Kind};
use plinth_db::{Db, DbOptions};
use plinth_service::storage::References;
use plinth_service::{Service, file_sha256};
use plinth_store::{ObjectKey, Store};
use serde_json::json;
use sha2::{Digest as _, Sha256};

use super::hold::with_hold;
use super::manifest::{self, DATABASE, Entry, OBJECTS, Sum};
use super::run::{Done, positional, text};
use crate::cmd::message_only;
use crate::note::note;
use crate::system::{create_private_folder, make_private};

/// Number of rows that one query reads.
const ROWS_PER_QUERY: u32 = 500;
/// Number of copied files after which progress is printed again.
const PROGRESS_EVERY: u64 = 1000;

pub(super) fn command() -> Command {
    Command::new("backup")
        .about("Copies the SQLite database and all files that it references into a new folder, while the server runs")
        .long_about(
            "Copies the SQLite database and all files that it references into a new folder, while the server runs. \
             During the copy, no file is deleted from the store. A manifest with the hash of every file is written last: a \
             folder without it is not a complete backup. With PostgreSQL, run pg_dump and copy the bucket under `plinth \
             admin storage hold`.",
        )
        .arg(positional("DIR", "A folder that is empty or does not exist"))
}

pub(super) async fn run(service: &Service, args: &ArgMatches) -> Result<Done> {
    let folder = PathBuf::from(text(args, "DIR")?);
    ensure!(
        !service.db().is_shared(),
        "this command copies only SQLite; with PostgreSQL run pg_dump and copy the bucket under `plinth admin storage \
         hold -- COMMAND`, see docs/operations.md"
    );
    make_folder(&folder, service.store())?;
    let backup = with_hold(service, async |stop| {
        let copying = Backup::begin(service, &folder)?.copy();
        tokio::select! {
            copied = copying => copied,
            () = stop.cancelled() => bail!("stopped by a signal"),
        }
    });
    let backup = backup
        .await
        .with_context(|| format!("the backup in {} failed and is incomplete; remove the folder", folder.display()))?;
    let gone = backup.gone;
    let Sum { files, bytes } = backup.manifest.finish(&folder)?;
    let mut text = format!("{files} files, {bytes} bytes in {}", folder.display());
    if gone > 0 {
        text.push_str("; files that the database references but that do not exist: ");
        text.push_str(&gone.to_string());
        text.push_str("; plinth admin storage check lists them");
    }
    Ok(Done { text, json: json!({"files": files, "bytes": bytes, "gone": gone}) })
}

/// Creates the folder of the backup. Only its owner can read it, even if it exists already, because the database
/// contains secrets.
/// Errors: the folder is not empty, this process may not change its permissions, or it is inside the folder of the
/// store. There, the store would treat the files of the backup as objects.
fn make_folder(folder: &Path, store: &Store) -> Result<()> {
    let cannot = || format!("{} cannot be created", folder.display());
    create_private_folder(folder).with_context(cannot)?;
    ensure!(std::fs::read_dir(folder)?.next().is_none(), "{} is not empty; choose a new folder", folder.display());
    if let Some(objects) = store.folder() {
        let is_inside = folder.canonicalize()?.starts_with(objects.canonicalize()?);
        ensure!(!is_inside, "{} is inside the store {}; choose another folder", folder.display(), objects.display());
    }
    make_private(folder)
        .with_context(|| format!("{} cannot be made private; choose a folder that does not exist", folder.display()))
}

struct Backup<'a> {
    service: &'a Service,
    folder: &'a Path,
    manifest: manifest::Writer,
    /// Number of missing objects: a row references them, but they do not exist in the store.
    gone: u64,
}

impl<'a> Backup<'a> {
    fn begin(service: &'a Service, folder: &'a Path) -> Result<Self> {
        Ok(Self { service, folder, manifest: manifest::Writer::begin(folder)?, gone: 0 })
    }

    async fn copy(mut self) -> Result<Self> {
        let database = std::path::absolute(self.folder.join(DATABASE))?;
        self.service.db().copy_to(&database).await.context("the database cannot be copied")?;
        let address = format!("sqlite://{}", database.display());
        let copy = Db::open(&address, DbOptions { may_change: false, ..DbOptions::default() }).await?;
        let copied = self.copy_objects(&copy).await;
        // After the copy is closed, it is a single file without a log.
        copy.close().await;
        copied?;
        let file = File::open(&database)?;
        file.sync_all()?;
        let (sha256, size) = file_sha256(&database)?;
        self.manifest.add(&Entry { path: DATABASE.to_owned(), size, sha256 })?;
        Ok(self)
    }

    async fn copy_objects(&mut self, db: &Db) -> Result<()> {
        self.copy_object(&ObjectKey::StoreId.path()).await?;
        for kind in Kind::ALL {
            let mut after = String::new();
            loop {
                let rows = referencing_rows::page(&mut db.read().await?, kind, &after, ROWS_PER_QUERY).await?;
                let Some(last) = rows.last() else { break };
                last.id().clone_into(&mut after);
                for row in &rows {
                    self.copy_references(References::of(row).map_err(message_only)?).await?;
                }
            }
        }
        Ok(())
    }

    async fn copy_references(&mut self, references: References) -> Result<()> {
        let required: BTreeSet<String> = references.required.into_iter().collect();
        for path in &required {
            if !self.copy_object(path).await? {
                self.gone += 1;
                note!("plinth: the database references {path}, which does not exist");
            }
        }
        if let Some(path) = &references.optional {
            self.copy_object(path).await?;
        }
        for folder in &references.folders {
            let mut objects = self.service.store().list(folder)?;
            while let Some(object) = objects.next().await {
                let path = object?.path;
                if !required.contains(&path) {
                    self.copy_object(&path).await?;
                }
            }
        }
        Ok(())
    }

    /// Copies an object. Returns false if the object does not exist.
    async fn copy_object(&mut self, path: &str) -> Result<bool> {
        let entry = format!("{OBJECTS}/{path}");
        let file = self.folder.join(&entry);
        let copied = download(self.service.store(), path, &file).await;
        let Some((size, sha256)) = copied.with_context(|| format!("{path} cannot be copied"))? else {
            return Ok(false);
        };
        self.manifest.add(&Entry { path: entry, size, sha256 })?;
        let Sum { files, bytes } = self.manifest.sum;
        if files.is_multiple_of(PROGRESS_EVERY) {
            note!("plinth: {files} files, {} MB copied", bytes >> 20);
        }
        Ok(true)
    }
}

/// Downloads an object to a file. Returns the size and the hash of the object, or `None` if the object does not exist.
async fn download(store: &Store, path: &str, to: &Path) -> Result<Option<(u64, String)>> {
    let mut pieces = match store.read_path(path, None).await {
        Ok(pieces) => pieces,
        Err(error) if error.is_not_found() => return Ok(None),
        Err(error) => return Err(error.into()),
    };
    std::fs::create_dir_all(to.parent().context("a file has a folder")?)?;
    let mut file = File::create_new(to)?;
    let (mut size, mut hash) = (0, Sha256::new());
    while let Some(piece) = pieces.next().await {
        let piece = piece?;
        hash.update(&piece);
        file.write_all(&piece)?;
        size += piece.len() as u64;
    }
    file.sync_all()?;
    Ok(Some((size, hex::encode(hash.finalize()))))
}
