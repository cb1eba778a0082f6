//! The files that a render can have, each declared once. Store, worker, renderer, interface, command line and web UI take
//! names, formats and sizes from here.

use std::collections::BTreeMap;
use std::path::PathBuf;

use crate::ErrorCode;
use crate::named::named;
use crate::quality::Codec;
use crate::settings::Output;

named! {
    /// A file of a render that a signed URL can lead to.
    OutputFile {
        /// The video.
        Video = "video",
        /// The web video.
        Web = "web",
        /// The small poster.
        Poster = "poster",
        /// The poster in full size.
        FullPoster = "full_poster",
        /// The thumbnail video.
        Thumb = "thumb",
        /// The dataset.
        Dataset = "dataset",
    }
}

/// Files, and where each of them lies.
pub type OutputPaths = BTreeMap<OutputFile, PathBuf>;

/// What an output file shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Content {
    /// All frames in full size, in the codec of the quality.
    Video,
    /// All frames in H.264.
    SmallVideo(Size),
    /// One frame as PNG: the first, of the effect `reveal` the last.
    Still(Size),
    /// Many views with their cameras, instead of all of these, in one ZIP.
    Dataset,
}

/// Size of an output file, by that of the frames.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Size {
    /// That of the frames.
    Full,
    /// At most this many pixels on the long side.
    Within(u32),
    /// A quarter of each side.
    Quarter,
}

/// What is known of an output file, whatever the render.
#[derive(Clone, Copy, Debug)]
pub struct Declaration {
    /// What it shows.
    pub content: Content,
    /// Name in the store, in bundles and downloads, without the extension.
    pub stem: &'static str,
    /// Name in what `plinth render --json` prints.
    pub local_name: &'static str,
    /// Help of the flag of `plinth render` that writes it beside the main output; `None`: it is a main output only.
    pub flag_help: Option<&'static str>,
    /// Label in the web UI.
    pub label: &'static str,
    /// Error of a request for it while the render does not have it, and what its message calls it.
    pub missing: (ErrorCode, &'static str),
    /// Whether it is part of the bundle.
    pub is_bundled: bool,
}

/// File format.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// H.264 video.
    Mp4,
    /// ProRes video.
    Mov,
    /// Picture.
    Png,
    /// Archive.
    Zip,
}

impl Format {
    /// Extension of file names, without the dot.
    pub const fn extension(self) -> &'static str {
        match self {
            Self::Mp4 => "mp4",
            Self::Mov => "mov",
            Self::Png => "png",
            Self::Zip => "zip",
        }
    }

    /// Media type.
    pub const fn content_type(self) -> &'static str {
        match self {
            Self::Mp4 => "video/mp4",
            Self::Mov => "video/quicktime",
            Self::Png => "image/png",
            Self::Zip => "application/zip",
        }
    }
}

const VIDEO: Declaration = Declaration {
    content: Content::Video,
    stem: "video",
    local_name: "video",
    flag_help: None,
    label: "Video",
    missing: (ErrorCode::VideoNotFound, "video"),
    is_bundled: true,
};
const WEB: Declaration = Declaration {
    content: Content::SmallVideo(Size::Within(1920)),
    stem: "web",
    local_name: "web",
    flag_help: Some("Also write a video of at most 1920 on the long side, for web pages"),
    label: "Video for the web",
    missing: (ErrorCode::VideoNotFound, "video"),
    is_bundled: true,
};
const POSTER: Declaration = Declaration {
    content: Content::Still(Size::Within(480)),
    stem: "poster.small",
    local_name: "smallPoster",
    flag_help: Some("Also write a still of at most 480 on the long side: the first frame, in a reveal the last"),
    label: "Small picture",
    missing: (ErrorCode::PosterNotFound, "poster"),
    is_bundled: false,
};
const FULL_POSTER: Declaration = Declaration {
    content: Content::Still(Size::Full),
    stem: "poster",
    local_name: "poster",
    flag_help: Some("Also write that still in full size"),
    label: "Picture in full size",
    missing: (ErrorCode::PosterNotFound, "poster"),
    is_bundled: true,
};
const THUMB: Declaration = Declaration {
    content: Content::SmallVideo(Size::Quarter),
    stem: "thumb",
    local_name: "thumb",
    flag_help: Some("Also write a video of a quarter of each side"),
    label: "Small video",
    missing: (ErrorCode::ThumbNotFound, "thumbnail video"),
    is_bundled: true,
};
const DATASET: Declaration = Declaration {
    content: Content::Dataset,
    stem: "dataset",
    local_name: "dataset",
    flag_help: None,
    label: "Dataset (ZIP)",
    missing: (ErrorCode::DatasetNotFound, "dataset"),
    is_bundled: false,
};

impl OutputFile {
    /// What is known of it.
    pub const fn declaration(self) -> Declaration {
        match self {
            Self::Video => VIDEO,
            Self::Web => WEB,
            Self::Poster => POSTER,
            Self::FullPoster => FULL_POSTER,
            Self::Thumb => THUMB,
            Self::Dataset => DATASET,
        }
    }

    /// All files of a render with this output.
    pub fn all_of(output: Output) -> impl Iterator<Item = Self> {
        Self::ALL.iter().copied().filter(move |file| {
            let is_dataset = file.declaration().content == Content::Dataset;
            is_dataset == (output == Output::Dataset)
        })
    }

    /// Its format, given the codec of the render's quality.
    pub const fn format(self, codec: Codec) -> Format {
        match (self.declaration().content, codec) {
            (Content::Video, Codec::ProRes4444) => Format::Mov,
            (Content::Video, Codec::H264) | (Content::SmallVideo(_), _) => Format::Mp4,
            (Content::Still(_), _) => Format::Png,
            (Content::Dataset, _) => Format::Zip,
        }
    }

    /// Its name in the store, in bundles and downloads, given the codec of the render's quality.
    pub fn file_name(self, codec: Codec) -> String {
        format!("{}.{}", self.declaration().stem, self.format(codec).extension())
    }

    /// Whether it is one frame, which is ready before the videos are.
    pub const fn is_still(self) -> bool {
        matches!(self.declaration().content, Content::Still(_))
    }

    /// Whether a hardware encoder may be used, given the codec of the quality: for H.264, apart from videos so small that
    /// libx264 takes no time. Hardware has a least size and a number of streams at a time.
    pub fn may_use_hardware(self, codec: Codec) -> bool {
        match self.declaration().content {
            Content::Video => codec == Codec::H264,
            Content::SmallVideo(size) => size != Size::Quarter,
            Content::Still(_) | Content::Dataset => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn names_and_types_are_those_of_stores_that_exist() {
        let of = |file: OutputFile| (file.file_name(Codec::H264), file.format(Codec::H264).content_type());
        let named = |name: &str, kind| (name.to_owned(), kind);
        assert_eq!(of(OutputFile::Video), named("video.mp4", "video/mp4"));
        assert_eq!(of(OutputFile::Web), named("web.mp4", "video/mp4"));
        assert_eq!(of(OutputFile::Thumb), named("thumb.mp4", "video/mp4"));
        assert_eq!(of(OutputFile::FullPoster), named("poster.png", "image/png"));
        assert_eq!(of(OutputFile::Poster), named("poster.small.png", "image/png"));
        assert_eq!(of(OutputFile::Dataset), named("dataset.zip", "application/zip"));
        assert_eq!(OutputFile::Video.file_name(Codec::ProRes4444), "video.mov");
        assert_eq!(OutputFile::Video.format(Codec::ProRes4444).content_type(), "video/quicktime");
        assert_eq!(OutputFile::Web.file_name(Codec::ProRes4444), "web.mp4");
    }

    #[test]
    fn no_two_files_share_a_name() {
        let distinct = |name: fn(OutputFile) -> String| {
            OutputFile::ALL.iter().copied().map(name).collect::<BTreeSet<_>>().len() == OutputFile::ALL.len()
        };
        assert!(distinct(|file| file.file_name(Codec::H264)));
        assert!(distinct(|file| file.file_name(Codec::ProRes4444)));
        assert!(distinct(|file| file.declaration().local_name.to_owned()));
        assert!(distinct(|file| file.declaration().label.to_owned()));
    }

    #[test]
    fn a_dataset_is_one_file_and_a_video_has_all_others() {
        assert_eq!(OutputFile::all_of(Output::Dataset).collect::<Vec<_>>(), [OutputFile::Dataset]);
        let video: Vec<_> = OutputFile::all_of(Output::Video).collect();
        assert_eq!(video.len(), OutputFile::ALL.len() - 1);
        assert!(!video.contains(&OutputFile::Dataset));
    }
}
