//! Recognizes that a file cannot be written because the disk is full, or because the disk quota of the user is exhausted.

use std::io::{self, ErrorKind, Write as _};
use std::path::Path;

use crate::partial::new_file;

/// Messages of the system for a full disk and for an exhausted quota. ffmpeg prints them in English, because its locale is `C`.
const MESSAGES: [&str; 2] = ["No space left on device", "Disk quota exceeded"];
/// Size in bytes of the file that [`lacks_room`] writes. It is larger than a block of a disk, because other processes may have
/// deleted small files since ffmpeg failed.
const ROOM_BYTES: usize = 1 << 20;

/// Returns whether the message of a program says that the disk is full, or that the disk quota of the user is exhausted.
pub(crate) fn names_full_disk(message: &str) -> bool {
    MESSAGES.iter().any(|text| message.contains(text))
}

/// Returns whether a file could not be written because the disk is full, or because the disk quota of the user is exhausted.
pub fn is_full_disk(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::StorageFull | ErrorKind::QuotaExceeded)
}

/// Returns whether the disk of a folder is full. Writes a small file, and deletes it, because the free space that the system
/// reports does not tell whether a quota is exhausted.
pub fn lacks_room(folder: &Path) -> bool {
    let written = new_file(folder).and_then(|mut file| {
        file.write_all(&incompressible_bytes())?;
        // Some file systems reserve no space before the bytes are written to the disk.
        file.as_file().sync_data()
    });
    written.is_err_and(|error| is_full_disk(&error))
}

/// Returns [`ROOM_BYTES`] bytes that occupy as much space on a file system that compresses files: the numbers of a xorshift
/// generator.
fn incompressible_bytes() -> Vec<u8> {
    let mut number: u64 = 0x9e37_79b9_7f4a_7c15;
    let numbers = std::iter::repeat_with(|| {
        number ^= number << 13;
        number ^= number >> 7;
        number ^= number << 17;
        number
    });
    numbers.flat_map(u64::to_le_bytes).take(ROOM_BYTES).collect()
}

/// Returns the message for a test of an encoder that failed because the disk is full. `message` is the message of the encoder.
pub(crate) fn test_on_full_disk(message: &str) -> String {
    format!("the disk with the folder {} is full: {message}", tempfile::env::temp_dir().display())
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn messages_and_errors_of_a_full_disk_are_recognized() {
        for message in ["av_write: No space left on device", "x.mp4: Disk quota exceeded; no trailer"] {
            assert!(names_full_disk(message), "{message}");
        }
        assert!(!names_full_disk("the encoder exploded"));
        for (kind, expected) in [
            (ErrorKind::StorageFull, true),
            (ErrorKind::QuotaExceeded, true),
            (ErrorKind::PermissionDenied, false),
            (ErrorKind::FileTooLarge, false),
        ] {
            assert_eq!(is_full_disk(&kind.into()), expected, "{kind}");
        }
    }

    #[test]
    fn no_part_of_the_bytes_for_the_test_of_a_disk_is_repeated() {
        let bytes = incompressible_bytes();
        assert_eq!(bytes.len(), ROOM_BYTES);
        assert_eq!(bytes.chunks(8).collect::<BTreeSet<_>>().len(), ROOM_BYTES / 8);
    }

    #[test]
    fn a_disk_with_room_is_not_full_and_no_file_is_left() {
        let folder = tempfile::tempdir().unwrap();
        assert!(!lacks_room(folder.path()));
        assert_eq!(std::fs::read_dir(&folder).unwrap().count(), 0);
        assert!(!lacks_room(&folder.path().join("missing")), "another error is no full disk");
    }
}
