//! Which files a render has, and where its job writes them.

use std::path::{Path, PathBuf};

use plinth_pipeline::child::TaskOutputs;
use plinth_service::jobs::{RenderFiles, StoredFile};
use plinth_spec::RenderSettings;
use plinth_spec::quality::Codec;
use plinth_spec::settings::Output;
use plinth_store::RenderFile;

/// Folder for the files in a job's folder.
pub(crate) const OUT: &str = "out";

/// The posters, which are ready first.
pub(crate) const POSTERS: [RenderFile; 2] = [RenderFile::FullPoster, RenderFile::Poster];

/// All files of a render.
pub(crate) fn files(settings: &RenderSettings) -> Vec<RenderFile> {
    if settings.video().output == Output::Dataset {
        return vec![RenderFile::Dataset];
    }
    let video = RenderFile::Video(settings.video().quality.codec());
    vec![video, RenderFile::Web, RenderFile::Thumb, RenderFile::FullPoster, RenderFile::Poster]
}

/// Where a file lies in the job's folder.
pub(crate) fn place(file: RenderFile) -> PathBuf {
    Path::new(OUT).join(file.name())
}

/// The files as the pipeline is asked for them.
pub(crate) fn outputs(files: &[RenderFile]) -> TaskOutputs {
    let mut outputs = TaskOutputs::default();
    for file in files {
        let output = match file {
            RenderFile::Video(_) => &mut outputs.video,
            RenderFile::Web => &mut outputs.web,
            RenderFile::Thumb => &mut outputs.thumb,
            RenderFile::FullPoster => &mut outputs.poster,
            RenderFile::Poster => &mut outputs.small_poster,
            RenderFile::Dataset => &mut outputs.dataset,
        };
        *output = Some(place(*file));
    }
    outputs
}

/// Notes a stored file.
pub(crate) fn note(files: &mut RenderFiles, file: RenderFile, stored: StoredFile) {
    let noted = match file {
        RenderFile::Video(codec) => {
            files.is_prores = codec == Codec::ProRes4444;
            &mut files.video
        }
        RenderFile::Web => &mut files.web,
        RenderFile::Thumb => &mut files.thumb,
        RenderFile::FullPoster => &mut files.full_poster,
        RenderFile::Poster => &mut files.poster,
        RenderFile::Dataset => &mut files.dataset,
    };
    *noted = Some(stored);
}
