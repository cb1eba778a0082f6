//! Moves files between the folder of a render and the folder of a reused job process. The process is not trusted and is still
//! running, so it must lose access to its output files when they are moved.

use std::ffi::{OsStr, OsString};
use std::io;
use std::path::Path;

use crate::outputs::OUT;
use crate::system::move_untrusted;

/// Moves all files of the folder `from` to the folder of a process, and replaces files of the same names. Returns the names.
pub(crate) fn give_inputs(from: &Path, process: &Path) -> io::Result<Vec<OsString>> {
    let names = std::fs::read_dir(from)?.map(|entry| Ok(entry?.file_name())).collect::<io::Result<Vec<_>>>()?;
    for name in &names {
        // `rename` replaces a link and does not follow it.
        std::fs::rename(from.join(name), process.join(name))?;
    }
    Ok(names)
}

/// Moves output files from the folder of a process to the folder `to`, without following links. The process may have written
/// anything, for example links, so the caller must check the files in the new folder.
pub(crate) fn take_outputs<'a>(process: &Path, to: &Path, names: impl Iterator<Item = &'a OsStr>) -> io::Result<()> {
    std::fs::create_dir_all(to.join(OUT))?;
    move_untrusted(process, to, OUT, names)
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn inputs_replace_links_instead_of_following_them() {
        let (from, process) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        fs::write(process.path().join("secret"), "kept").unwrap();
        symlink("secret", process.path().join("image")).unwrap();
        fs::write(from.path().join("image"), "new").unwrap();
        assert_eq!(give_inputs(from.path(), process.path()).unwrap(), ["image"]);
        let read = |name| fs::read_to_string(process.path().join(name)).unwrap();
        assert_eq!((read("image"), read("secret")), ("new".to_owned(), "kept".to_owned()));
    }

    #[test]
    fn outputs_are_taken_and_links_are_not_followed() {
        let (process, to, other) =
            (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        fs::create_dir(process.path().join(OUT)).unwrap();
        fs::write(process.path().join(OUT).join("a.mp4"), "video").unwrap();
        let take = || take_outputs(process.path(), to.path(), [OsStr::new("a.mp4")].into_iter());
        take().unwrap();
        assert_eq!(fs::read_to_string(to.path().join(OUT).join("a.mp4")).unwrap(), "video");
        assert!(!process.path().join(OUT).join("a.mp4").exists());
        // A process without a fence replaces its folder by a link to a folder of another job.
        fs::remove_dir(process.path().join(OUT)).unwrap();
        fs::write(other.path().join("a.mp4"), "secret").unwrap();
        symlink(other.path(), process.path().join(OUT)).unwrap();
        take().unwrap_err();
        assert!(other.path().join("a.mp4").exists());
    }
}
