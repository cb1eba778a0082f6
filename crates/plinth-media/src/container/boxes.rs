//! Reads the boxes of MP4 and MOV files, and the fields of boxes.

use std::fs::File;
use std::io::{Error, ErrorKind, Read, Result, Seek, SeekFrom};

/// Maximum size of a box that is read into memory, in bytes. Even the index of a video of several hours is smaller.
const MOST_BYTES: u64 = 64 << 20;

/// A box of a file: its type, its offset in the file, and the offsets at which its content starts and ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Part {
    pub(crate) kind: [u8; 4],
    pub(crate) start: u64,
    pub(crate) begin: u64,
    pub(crate) end: u64,
}

impl Part {
    /// Returns a box whose content is the whole file.
    pub(crate) fn file(file: &File) -> Result<Self> {
        Ok(Self { kind: [0; 4], start: 0, begin: 0, end: file.metadata()?.len() })
    }

    /// Returns the child boxes. Returns an empty list if the children do not fill the box exactly, as in a truncated
    /// file.
    pub(crate) fn parts(&self, file: &mut File) -> Result<Vec<Self>> {
        self.parts_after(file, 0)
    }

    /// Returns the child boxes of this box. Its fields, which precede the child boxes, are `skip` bytes long.
    pub(crate) fn parts_after(&self, file: &mut File, skip: u64) -> Result<Vec<Self>> {
        let (mut found, mut at) = (Vec::new(), self.begin + skip);
        while at + 8 <= self.end {
            file.seek(SeekFrom::Start(at))?;
            let (short, mut kind) = (read_u32(file)?, [0; 4]);
            file.read_exact(&mut kind)?;
            // If the 32-bit size is 1, a 64-bit size follows the type.
            let (header, size) = match short {
                1 => (16, u64::from(read_u32(file)?) << 32 | u64::from(read_u32(file)?)),
                size => (8, size.into()),
            };
            let Some(end) = at.checked_add(size).filter(|end| size >= header && *end <= self.end) else { break };
            found.push(Self { kind, start: at, begin: at + header, end });
            at = end;
        }
        Ok(if at == self.end { found } else { Vec::new() })
    }

    /// Returns the box at a path of box types. The first type names a child of this box, and each further type names a
    /// child of the previous box.
    pub(crate) fn find(self, file: &mut File, way: &[&[u8; 4]]) -> Result<Option<Self>> {
        let mut at = self;
        for kind in way {
            let Some(part) = at.parts(file)?.into_iter().find(|part| part.kind == **kind) else { return Ok(None) };
            at = part;
        }
        Ok(Some(at))
    }

    /// Reads the whole content of the box.
    pub(crate) fn fields(&self, file: &mut File) -> Result<Fields> {
        let length = self.end - self.begin;
        if length > MOST_BYTES {
            return Err(damaged(self.kind));
        }
        file.seek(SeekFrom::Start(self.begin))?;
        let mut bytes = Vec::new();
        file.take(length).read_to_end(&mut bytes)?;
        Ok(Fields { kind: self.kind, bytes, at: 0 })
    }
}

/// Reads the fields of a box in order. Reading beyond the end of the content is an error.
pub(crate) struct Fields {
    kind: [u8; 4],
    bytes: Vec<u8>,
    at: usize,
}

impl Fields {
    /// Reads the next `N` bytes.
    pub(crate) fn take<const N: usize>(&mut self) -> Result<[u8; N]> {
        let bytes = self.bytes.get(self.at..).and_then(|rest| rest.first_chunk::<N>());
        let bytes = *bytes.ok_or_else(|| damaged(self.kind))?;
        self.at += N;
        Ok(bytes)
    }

    pub(crate) fn skip(&mut self, count: usize) {
        self.at = self.at.saturating_add(count);
    }

    pub(crate) fn u16(&mut self) -> Result<u16> {
        self.take().map(u16::from_be_bytes)
    }

    pub(crate) fn u32(&mut self) -> Result<u32> {
        self.take().map(u32::from_be_bytes)
    }

    pub(crate) fn u64(&mut self) -> Result<u64> {
        self.take().map(u64::from_be_bytes)
    }

    /// Reads the version and the flags of a full box.
    pub(crate) fn version(&mut self) -> Result<(u8, u32)> {
        let field = self.u32()?;
        Ok(((field >> 24) as u8, field & 0x00ff_ffff))
    }
}

/// Returns the error for a box whose content is invalid.
pub(crate) fn damaged(kind: [u8; 4]) -> Error {
    Error::new(ErrorKind::InvalidData, format!("box '{}' is damaged", String::from_utf8_lossy(&kind)))
}

fn read_u32(file: &mut File) -> Result<u32> {
    let mut bytes = [0; 4];
    file.read_exact(&mut bytes)?;
    Ok(u32::from_be_bytes(bytes))
}
