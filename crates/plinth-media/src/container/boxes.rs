//! Boxes of a file and the fields in them.

use std::fs::File;
use std::io::{Error, ErrorKind, Read, Result, Seek, SeekFrom};

/// Largest box that is read whole: an index of some hours.
const MOST_BYTES: u64 = 64 << 20;

/// A box of the file: its kind, where it starts, and where its content begins and ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Part {
    pub(crate) kind: [u8; 4],
    pub(crate) start: u64,
    pub(crate) begin: u64,
    pub(crate) end: u64,
}

impl Part {
    /// The file as if it were a box.
    pub(crate) fn file(file: &File) -> Result<Self> {
        Ok(Self { kind: [0; 4], start: 0, begin: 0, end: file.metadata()?.len() })
    }

    /// What is in the box; nothing, when the last part does not end where the box does.
    pub(crate) fn parts(&self, file: &mut File) -> Result<Vec<Self>> {
        self.parts_after(file, 0)
    }

    /// What is in the box behind `skip` bytes of fields.
    pub(crate) fn parts_after(&self, file: &mut File, skip: u64) -> Result<Vec<Self>> {
        let (mut found, mut at) = (Vec::new(), self.begin + skip);
        while at + 8 <= self.end {
            file.seek(SeekFrom::Start(at))?;
            let (short, mut kind) = (word(file)?, [0; 4]);
            file.read_exact(&mut kind)?;
            // A size of 1 stands for a longer number behind the kind.
            let (header, size) = match short {
                1 => (16, u64::from(word(file)?) << 32 | u64::from(word(file)?)),
                size => (8, size.into()),
            };
            let Some(end) = at.checked_add(size).filter(|end| size >= header && *end <= self.end) else { break };
            found.push(Self { kind, start: at, begin: at + header, end });
            at = end;
        }
        Ok(if at == self.end { found } else { Vec::new() })
    }

    /// The box at the end of a way of boxes.
    pub(crate) fn find(self, file: &mut File, way: &[&[u8; 4]]) -> Result<Option<Self>> {
        let mut at = self;
        for kind in way {
            let Some(part) = at.parts(file)?.into_iter().find(|part| part.kind == **kind) else { return Ok(None) };
            at = part;
        }
        Ok(Some(at))
    }

    /// The content, to read fields from.
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

/// The content of a box, read from front to back. Every read fails at the end.
pub(crate) struct Fields {
    kind: [u8; 4],
    bytes: Vec<u8>,
    at: usize,
}

impl Fields {
    /// The next bytes.
    pub(crate) fn take<const N: usize>(&mut self) -> Result<[u8; N]> {
        let bytes = self.bytes.get(self.at..).and_then(|rest| rest.first_chunk::<N>());
        let bytes = *bytes.ok_or_else(|| damaged(self.kind))?;
        self.at += N;
        Ok(bytes)
    }

    /// Leaves bytes out.
    pub(crate) fn skip(&mut self, count: usize) {
        self.at = self.at.saturating_add(count);
    }

    /// The next 16 bits.
    pub(crate) fn u16(&mut self) -> Result<u16> {
        self.take().map(u16::from_be_bytes)
    }

    /// The next 32 bits.
    pub(crate) fn u32(&mut self) -> Result<u32> {
        self.take().map(u32::from_be_bytes)
    }

    /// The next 64 bits.
    pub(crate) fn u64(&mut self) -> Result<u64> {
        self.take().map(u64::from_be_bytes)
    }

    /// Version and flags of a full box.
    pub(crate) fn version(&mut self) -> Result<(u8, u32)> {
        let word = self.u32()?;
        Ok(((word >> 24) as u8, word & 0x00ff_ffff))
    }
}

/// A box that does not say what it should.
pub(crate) fn damaged(kind: [u8; 4]) -> Error {
    Error::new(ErrorKind::InvalidData, format!("its box '{}' is damaged", String::from_utf8_lossy(&kind)))
}

fn word(file: &mut File) -> Result<u32> {
    let mut bytes = [0; 4];
    file.read_exact(&mut bytes)?;
    Ok(u32::from_be_bytes(bytes))
}
