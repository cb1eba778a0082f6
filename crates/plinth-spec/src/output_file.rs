//! Output files of a render. The names, the format and the size of each file are declared once. The store, the worker,
//! the renderer, the API, the command line and the web UI use these declarations.

use std::collections::BTreeMap;
use std::path::PathBuf;

use crate::ErrorCode;
use crate::named::named;
use crate::quality::Codec;
use crate::settings::Output;

named! {
    /// An output file of a render. Clients can download it through a signed URL.
    OutputFile {
        /// Main video.
        Video = "video",
        /// Video for web pages.
        Web = "web",
        /// Small poster.
        Poster = "poster",
        /// Poster at the size of the frames.
        FullPoster = "full_poster",
        /// Thumbnail video.
        Thumb = "thumb",
        /// Multi-view dataset.
        Dataset = "dataset",
    }
}

/// Path of each output file, relative to the output folder.
pub type OutputPaths = BTreeMap<OutputFile, PathBuf>;

/// Content of an output file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Content {
    /// All frames at full size, in the codec of the quality.
    Video,
    /// All frames in H.264.
    SmallVideo(Size),
    /// One frame as PNG: the first frame, or the last frame of the effect `reveal`.
    Still(Size),
    /// ZIP archive with many views and their cameras. A render with this output has no other output file.
    Dataset,
}

/// Size of the pictures in an output file, relative to the frames.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Size {
    /// Size of the frames.
    Full,
    /// The frames are scaled down so that the longer side has at most this many pixels.
    Within(u32),
    /// A quarter of the width and a quarter of the height of the frames.
    Quarter,
}

/// Static properties of an output file.
#[derive(Clone, Copy, Debug)]
pub struct Declaration {
    /// Content.
    pub content: Content,
    /// File name in the store, in bundles and downloads, without the extension.
    pub stem: &'static str,
    /// Key in the output of `plinth render --json`.
    pub local_name: &'static str,
    /// Help text of the flag with which `plinth render` writes this file in addition to the main output. `None` for a
    /// file that can only be the main output.
    pub flag_help: Option<&'static str>,
    /// Label in the web UI.
    pub label: &'static str,
    /// Error code of a download if the render does not have the file, and the noun for the file in the error message.
    pub missing: (ErrorCode, &'static str),
    /// Whether the bundle contains the file.
    pub is_bundled: bool,
}

/// File format.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// H.264 video.
    Mp4,
    /// ProRes video.
    Mov,
    /// PNG image.
    Png,
    /// ZIP archive.
    Zip,
}

impl Format {
    /// Returns the extension of the file name, without the dot.
    pub const fn extension(self) -> &'static str {
        match self {
            Self::Mp4 => "mp4",
            Self::Mov => "mov",
            Self::Png => "png",
            Self::Zip => "zip",
        }
    }

    /// Returns the media type.
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
    flag_help: Some("Also write a video with at most 1920 pixels on the long side, for web pages"),
    label: "Video for the web",
    missing: (ErrorCode::VideoNotFound, "video"),
    is_bundled: true,
};
const POSTER: Declaration = Declaration {
    content: Content::Still(Size::Within(480)),
    stem: "poster.small",
    local_name: "smallPoster",
    flag_help: Some(
        "Also write a picture with at most 480 pixels on the long side: the first frame, or the last frame of a reveal",
    ),
    label: "Small picture",
    missing: (ErrorCode::PosterNotFound, "poster"),
    is_bundled: false,
};
const FULL_POSTER: Declaration = Declaration {
    content: Content::Still(Size::Full),
    stem: "poster",
    local_name: "poster",
    flag_help: Some("Also write the same picture in full size"),
    label: "Picture in full size",
    missing: (ErrorCode::PosterNotFound, "poster"),
    is_bundled: true,
};
const THUMB: Declaration = Declaration {
    content: Content::SmallVideo(Size::Quarter),
    stem: "thumb",
    local_name: "thumb",
    flag_help: Some("Also write a video with a quarter of the width and height"),
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
    /// Returns the static properties of the file.
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

    /// Returns all files of a render whose output is `output`.
    pub fn all_of(output: Output) -> impl Iterator<Item = Self> {
        Self::ALL.iter().copied().filter(move |file| {
            let is_dataset = file.declaration().content == Content::Dataset;
            is_dataset == (output == Output::Dataset)
        })
    }

    /// Returns the file format. `codec` is the codec of the render's quality.
    pub const fn format(self, codec: Codec) -> Format {
        match (self.declaration().content, codec) {
            (Content::Video, Codec::ProRes4444) => Format::Mov,
            (Content::Video, Codec::H264) | (Content::SmallVideo(_), _) => Format::Mp4,
            (Content::Still(_), _) => Format::Png,
            (Content::Dataset, _) => Format::Zip,
        }
    }

    /// Returns the file name in the store, in bundles and downloads. `codec` is the codec of the render's quality.
    pub fn file_name(self, codec: Codec) -> String {
        format!("{}.{}", self.declaration().stem, self.format(codec).extension())
    }

    /// Returns whether the file shows a single frame. Such files are ready before the videos.
    pub const fn is_still(self) -> bool {
        matches!(self.declaration().content, Content::Still(_))
    }

    /// Returns whether a hardware encoder may encode the file. It may encode all H.264 videos except the thumbnail
    /// video. libx264 encodes the thumbnail video in almost no time, while hardware encoders have a minimum frame size
    /// and a limited number of streams.
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
    fn names_and_media_types_match_existing_stores() {
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
