//! Output files of a render and their paths.

use std::path::{Path, PathBuf};

use plinth_spec::quality::Codec;
use plinth_spec::{OutputFile, OutputPaths, RenderSettings};

/// Name of the output folder in a job's folder.
pub(crate) const OUT: &str = "out";

/// Returns the path of an output file, relative to the job's folder.
pub(crate) fn output_path(file: OutputFile, codec: Codec) -> PathBuf {
    Path::new(OUT).join(file.file_name(codec))
}

/// Returns all output files of a render with their paths.
pub(crate) fn outputs(settings: &RenderSettings) -> OutputPaths {
    let codec = settings.video().quality.codec();
    OutputFile::all_of(settings.video().output).map(|file| (file, output_path(file, codec))).collect()
}
