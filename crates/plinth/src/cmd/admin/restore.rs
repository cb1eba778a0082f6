//! `plinth admin verify` and `plinth admin restore`.

use std::fs::File;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail, ensure};
use clap::{ArgMatches, Command};
use plinth_db::create_sqlite_file;
use plinth_service::file_sha256;
use serde_json::json;

use super::manifest::{self, DATABASE, Entry, OBJECTS, Sum};
use super::run::{Done, positional, text};
use crate::cmd::serve::server_lock;
use crate::config::{Config, RESTORING};
use crate::note::note;

/// The lock file of a server. A data folder that contains only this file counts as empty.
const LOCK: &str = "plinth.db.serve.lock";

pub(super) fn verify_command() -> Command {
    Command::new("verify")
        .about("Reads a whole backup and lists every missing or damaged file")
        .arg(positional("DIR", "The backup"))
}

pub(super) fn command() -> Command {
    Command::new("restore")
        .about("Checks a backup and restores it to an empty data folder that no server uses")
        .arg(positional("DIR", "The backup"))
}

pub(super) fn verify(args: &ArgMatches) -> Result<Done> {
    let Sum { files, bytes } = check(Path::new(text(args, "DIR")?))?;
    let text = format!("{files} files, {bytes} bytes: all are intact");
    Ok(Done { text, json: json!({"files": files, "bytes": bytes}) })
}

/// Reads and checks every file of a backup.
fn check(backup: &Path) -> Result<Sum> {
    let mut bad = 0;
    let mut has_database = false;
    let sum = manifest::read(backup, |entry| {
        has_database |= entry.path == DATABASE;
        if let Some(problem) = problem(backup, &entry) {
            bad += 1;
            note!("plinth: {}: {problem}", entry.path);
        }
        Ok(())
    })?;
    ensure!(has_database, "the manifest of {} does not list {DATABASE}", backup.display());
    ensure!(bad == 0, "{bad} of {} files of the backup are missing or damaged", sum.files);
    Ok(sum)
}

fn problem(backup: &Path, entry: &Entry) -> Option<String> {
    match file_sha256(&backup.join(&entry.path)) {
        Ok((sha256, size)) if size == entry.size && sha256 == entry.sha256 => None,
        Ok((_, size)) if size != entry.size => Some(format!("damaged: {size} bytes instead of {}", entry.size)),
        Ok(_) => Some("damaged: its hash differs".to_owned()),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Some("missing".to_owned()),
        Err(error) => Some(format!("cannot be read: {error}")),
    }
}

pub(super) fn run(config: &Config, args: &ArgMatches) -> Result<Done> {
    let backup = PathBuf::from(text(args, "DIR")?);
    let data = config.data_dir.as_path();
    let is_usual = config.database_url == format!("sqlite://{}", data.join(DATABASE).display())
        && config.store_url == format!("file://{}", data.join(OBJECTS).display());
    ensure!(
        is_usual,
        "a backup can only be restored to --data; remove the URLs of database and store, and move the files after the restoration"
    );
    // While this command holds the lock, no server can start in the folder.
    let _lock = server_lock::acquire(config)?;
    for entry in std::fs::read_dir(data)? {
        let name = entry?.file_name();
        if name != LOCK && name != RESTORING {
            bail!("{} is not empty; choose a new folder with --data, or empty it", data.display());
        }
    }
    let making = data.join(RESTORING);
    reserve(&making, &backup)?;
    std::fs::create_dir_all(making.join(OBJECTS))?;
    note!("plinth: copying");
    let Sum { files, bytes } = manifest::read(&backup, |entry| copy(&backup, &making, &entry))?;
    manifest::sync_folders(&making).context("the folders cannot be written to the disk")?;
    for name in [OBJECTS, DATABASE] {
        std::fs::rename(making.join(name), data.join(name))?;
    }
    File::open(data)?.sync_all()?;
    std::fs::remove_dir(&making)?;
    File::open(data)?.sync_all()?;
    let text = format!("{files} files, {bytes} bytes restored to {}", data.display());
    Ok(Done { text, json: json!({"files": files, "bytes": bytes}) })
}

/// Creates the empty folder `making` (`RESTORING`), and checks the backup. While the folder exists, all other commands
/// refuse to use the data folder. The check may take hours, so it begins after the folder exists: otherwise, another
/// command could create a database meanwhile, which the restoration would replace.
/// Errors: the folder cannot be created or emptied, or the check fails; then the data folder is as before.
fn reserve(making: &Path, backup: &Path) -> Result<()> {
    let is_repeated = making.exists();
    std::fs::create_dir_all(making)?;
    note!("plinth: checking the backup");
    if let Err(error) = check(backup) {
        if !is_repeated {
            std::fs::remove_dir(making)
                .with_context(|| format!("{error:#}; {} cannot be removed", making.display()))?;
        }
        return Err(error);
    }
    clear(making).with_context(|| format!("{}, of an earlier restoration, cannot be emptied", making.display()))
}

/// Removes everything in a folder, but not the folder.
fn clear(folder: &Path) -> std::io::Result<()> {
    for entry in std::fs::read_dir(folder)? {
        let entry = entry?;
        let path = entry.path();
        let removed =
            if entry.file_type()?.is_dir() { std::fs::remove_dir_all(path) } else { std::fs::remove_file(path) };
        removed?;
    }
    Ok(())
}

fn copy(backup: &Path, to: &Path, entry: &Entry) -> Result<()> {
    let made = to.join(&entry.path);
    let cannot = || format!("{} cannot be restored", entry.path);
    std::fs::create_dir_all(made.parent().with_context(cannot)?)?;
    let mut from = File::open(backup.join(&entry.path)).with_context(cannot)?;
    let created = if entry.path == DATABASE { create_sqlite_file(&made) } else { File::create_new(&made) };
    let mut file = created.with_context(cannot)?;
    let (_, sha256) = manifest::copy(&mut from, &mut file).with_context(cannot)?;
    ensure!(sha256 == entry.sha256, "{}: it changed after the check", cannot());
    file.sync_all().with_context(cannot)
}
