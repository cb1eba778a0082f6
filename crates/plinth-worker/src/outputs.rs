//! Which files a render has, and where its job writes them.

use std::path::{Path, PathBuf};

use plinth_spec::quality::Codec;
use plinth_spec::{OutputFile, OutputPaths, RenderSettings};

/// Folder for the files in a job's folder.
pub(crate) const OUT: &str = "out";

/// Where a file lies in the job's folder.
pub(crate) fn place(file: OutputFile, codec: Codec) -> PathBuf {
    Path::new(OUT).join(file.file_name(codec))
}

/// All files of a render, and where its job writes them.
pub(crate) fn outputs(settings: &RenderSettings) -> OutputPaths {
    let codec = settings.video().quality.codec();
    OutputFile::all_of(settings.video().output).map(|file| (file, place(file, codec))).collect()
}
