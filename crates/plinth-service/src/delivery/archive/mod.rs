//! Single files of ZIP archives in the store, which are found and read without reading the rest of the archive.

mod cache;
mod end;
mod inflate;
mod reader;

pub(crate) use cache::ArchiveCache;
