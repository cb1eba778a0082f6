//! Configuration of the cache of `plinth render`.

use std::path::PathBuf;

use anyhow::Result;
use clap::ArgMatches;
use plinth_render::Cache;

use super::lookup::{Lookup, variable};
use super::open::check_writable;
use super::table as row;
use crate::note::note;

/// Opens the cache folder. Returns `None` if the cache is turned off, or if no folder can be used.
/// Errors: a configuration value is invalid.
pub(crate) fn cache(args: &ArgMatches) -> Result<Option<Cache>> {
    let lookup = Lookup::new(args)?;
    let size = lookup.get(&row::CACHE_MB)?;
    let most_bytes: u64 = size.parse::<u32>("a whole number of megabytes")?.into();
    let folder = match lookup.find(&row::CACHE_DIR)? {
        Some(found) if found.path().exists() && !found.path().is_dir() => return Err(found.wrong("a folder").into()),
        Some(found) => {
            let folder = found.path();
            if most_bytes > 0
                && let Err(error) = check_writable(&folder)
            {
                let shown = folder.display();
                note!("plinth: warning: nothing new is cached, because no files can be created in {shown}: {error}");
            }
            Some(folder)
        }
        None => home_cache(),
    };
    // Opening the cache fails if the program cannot read its own executable. The command then renders without a cache.
    Ok(folder.filter(|_| most_bytes > 0).and_then(|folder| Cache::open(folder, most_bytes << 20).ok()))
}

/// Returns the folder of this program in the user's cache directory (XDG Base Directory Specification 0.8).
fn home_cache() -> Option<PathBuf> {
    let is_absolute = |path: &PathBuf| path.is_absolute();
    let caches = variable("XDG_CACHE_HOME").map(PathBuf::from).filter(is_absolute);
    let caches = caches.or_else(|| Some(PathBuf::from(variable("HOME")?).join(".cache")).filter(is_absolute));
    Some(caches?.join("plinth"))
}
