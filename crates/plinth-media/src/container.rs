//! A look into a finished MP4 or MOV before it gets its name: ffmpeg may end well although a disk was full.

use std::fs::File;
use std::io::{Read, Result, Seek, SeekFrom};
use std::path::Path;

/// Boxes on the way to the table of samples (ISO/IEC 14496-12, section 8).
const WAY: [&[u8; 4]; 5] = [b"moov", b"trak", b"mdia", b"minf", b"stbl"];

/// A box of the file: its kind, and where its content begins and ends.
struct Part {
    kind: [u8; 4],
    begin: u64,
    end: u64,
}

/// Number of pictures that the index of the file names. `None`: the file is cut off or has no index.
pub(crate) fn pictures(path: &Path) -> Result<Option<u32>> {
    let mut file = File::open(path)?;
    let mut at = Part { kind: [0; 4], begin: 0, end: file.metadata()?.len() };
    for kind in WAY.into_iter().chain([b"stsz"]) {
        let Some(part) = parts(&mut file, &at)?.into_iter().find(|part| part.kind == *kind) else { return Ok(None) };
        at = part;
    }
    // Version and flags, the size of a sample, the number of samples.
    file.seek(SeekFrom::Start(at.begin + 8))?;
    word(&mut file).map(Some)
}

/// What a box holds; nothing, when the last part does not end where the box does.
fn parts(file: &mut File, whole: &Part) -> Result<Vec<Part>> {
    let (mut found, mut at) = (Vec::new(), whole.begin);
    while at + 8 <= whole.end {
        file.seek(SeekFrom::Start(at))?;
        let (short, mut kind) = (word(file)?, [0; 4]);
        file.read_exact(&mut kind)?;
        // A size of 1 stands for a longer number behind the kind.
        let (header, size) = match short {
            1 => (16, u64::from(word(file)?) << 32 | u64::from(word(file)?)),
            size => (8, size.into()),
        };
        let Some(end) = at.checked_add(size).filter(|end| size >= header && *end <= whole.end) else { break };
        found.push(Part { kind, begin: at + header, end });
        at = end;
    }
    Ok(if at == whole.end { found } else { Vec::new() })
}

fn word(file: &mut File) -> Result<u32> {
    let mut bytes = [0; 4];
    file.read_exact(&mut bytes)?;
    Ok(u32::from_be_bytes(bytes))
}
