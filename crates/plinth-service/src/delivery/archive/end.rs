//! Checks the end record of a ZIP archive, before a reader allocates memory for the number of files in this record.

use std::io::{Error, Read, Result, Seek, SeekFrom};

// PKWARE, APPNOTE.TXT 6.3.10, sections 4.3.14 to 4.3.16.
const END: &[u8] = b"PK\x05\x06";
const END_BYTES: u64 = 22;
const LOCATOR: &[u8] = b"PK\x06\x07";
const LOCATOR_BYTES: u64 = 20;
const END_64: &[u8] = b"PK\x06\x06";
const END_64_BYTES: u64 = 56;

/// Checks that the archive ends with one end record, and that its file list has at most `most` bytes.
/// Errors: one of these checks fails, or the archive cannot be read.
pub(super) fn check_end(archive: &mut (impl Read + Seek), most: u64) -> Result<()> {
    let size = archive.seek(SeekFrom::End(0))?;
    let end = piece::<22>(archive, size.checked_sub(END_BYTES))?;
    if !end.starts_with(END) || end[20..] != [0, 0] {
        return Err(Error::other("the archive does not end with an end record"));
    }
    let mut listed_bytes = u64::from(u32::from_le_bytes([end[12], end[13], end[14], end[15]]));
    let locator_at = size.checked_sub(END_BYTES + LOCATOR_BYTES);
    if let Ok(locator) = piece::<20>(archive, locator_at)
        && locator.starts_with(LOCATOR)
    {
        let end_64_at = locator_at.and_then(|at| at.checked_sub(END_64_BYTES));
        let end_64 = piece::<56>(archive, end_64_at)?;
        if !end_64.starts_with(END_64) || Some(number(&locator, 8)) != end_64_at {
            return Err(Error::other("the archive's ZIP64 record is not before its locator"));
        }
        // The largest 32-bit number means that only the ZIP64 record contains the size.
        let other = if listed_bytes == u64::from(u32::MAX) { 0 } else { listed_bytes };
        listed_bytes = number(&end_64, 40).max(other);
    }
    if listed_bytes > most {
        return Err(Error::other("the archive's list of files is too long"));
    }
    archive.rewind()
}

fn number(bytes: &[u8], at: usize) -> u64 {
    let slice = bytes.get(at..at + 8).and_then(|slice| slice.try_into().ok());
    slice.map_or(u64::MAX, u64::from_le_bytes)
}

fn piece<const N: usize>(archive: &mut (impl Read + Seek), at: Option<u64>) -> Result<[u8; N]> {
    let at = at.ok_or_else(|| Error::other("the archive is too short"))?;
    let mut bytes = [0; N];
    archive.seek(SeekFrom::Start(at))?;
    archive.read_exact(&mut bytes)?;
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use std::io::{Cursor, Write as _};

    use zip::ZipWriter;
    use zip::write::SimpleFileOptions;

    use super::*;

    fn archive() -> Vec<u8> {
        let mut zip = ZipWriter::new(Cursor::new(Vec::new()));
        for name in ["a.txt", "b.txt"] {
            zip.start_file(name, SimpleFileOptions::default()).unwrap();
            zip.write_all(b"content").unwrap();
        }
        zip.finish().unwrap().into_inner()
    }

    fn outcome(bytes: Vec<u8>) -> String {
        check_end(&mut Cursor::new(bytes), 1000).map_or_else(|error| error.to_string(), |()| "good".to_owned())
    }

    #[test]
    fn archives_that_claim_long_lists_are_rejected() {
        let good = archive();
        assert_eq!(outcome(good.clone()), "good");
        let mut long = good.clone();
        let at = good.len() - 22;
        long[at + 12..at + 16].copy_from_slice(&2000_u32.to_le_bytes());
        assert!(outcome(long).contains("too long"));
        // Returns an archive whose ZIP64 record contains `claimed` as the size of the file list.
        let wide = |claimed: u64, record_at: u64| {
            let mut bytes = good[..at].to_vec();
            let mut record = [0; 56];
            record[..4].copy_from_slice(END_64);
            record[40..48].copy_from_slice(&claimed.to_le_bytes());
            let mut locator = [0; 20];
            locator[..4].copy_from_slice(LOCATOR);
            locator[8..16].copy_from_slice(&record_at.to_le_bytes());
            bytes.extend_from_slice(&record);
            bytes.extend_from_slice(&locator);
            bytes.extend_from_slice(&good[at..]);
            bytes
        };
        assert_eq!(outcome(wide(100, at as u64)), "good");
        assert!(outcome(wide(1 << 40, at as u64)).contains("too long"));
        assert!(outcome(wide(100, 0)).contains("not before its locator"));
    }

    #[test]
    fn files_that_are_no_archives_are_rejected() {
        let good = archive();
        for bytes in
            [Vec::new(), b"PK".to_vec(), vec![0; 5000], good[..good.len() - 1].to_vec(), [&good[..], b"x"].concat()]
        {
            assert_ne!(outcome(bytes), "good");
        }
    }
}
