//! Encodes all HLS variants and the thumbnails of a video in one run of ffmpeg.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::command::{THREADS, supervised};
use super::h264::{Effort, H264, H264Encoder};

/// Quality of all variants, as a constant rate factor (CRF) of x264.
const CRF: u8 = 21;
/// Number of threads that decode the video. The same number of other threads scale the video.
const READERS: &str = "2";

/// An HLS variant of a video, which is one of several resolutions.
#[derive(Clone, Debug)]
pub(crate) struct Variant {
    pub(crate) width: u32,
    pub(crate) height: u32,
    /// Peak bit rate in kbit/s.
    pub(crate) peak_kbit: u32,
    /// Output file: fragmented MP4 with one `moof` and one `mdat` box per group of pictures (GOP).
    pub(crate) file: PathBuf,
}

/// Thumbnails, which are scaled-down copies of selected frames.
#[derive(Clone, Debug)]
pub(crate) struct Tiles {
    pub(crate) width: u32,
    pub(crate) height: u32,
    /// Expression for ffmpeg's `select` filter, in which `n` is the frame number.
    pub(crate) select: String,
    /// Output file with the R, G, B bytes of all thumbnails, one after the other.
    pub(crate) file: PathBuf,
}

/// The finished video that is packaged as HLS.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Source<'a> {
    pub(crate) file: &'a Path,
    /// Frames per second, rounded to an integer.
    pub(crate) fps: u32,
}

/// Returns the command that encodes all variants and thumbnails.
pub(crate) fn encode_variants(
    program: &Path,
    encoder: H264Encoder,
    Source { file, fps }: Source<'_>,
    variants: &[Variant],
    tiles: &Tiles,
) -> Command {
    let mut command = Command::new(program);
    command.args(["-hide_banner", "-loglevel", "error", "-xerror", "-y"]);
    encoder.device(&mut command);
    command.args(["-threads", READERS]);
    command.arg("-i").arg(file).args(["-filter_complex_threads", READERS]);
    command.arg("-filter_complex").arg(graph(encoder, variants, tiles, fps));
    for (i, variant) in variants.iter().enumerate() {
        command.args(["-map", &format!("[v{i}]"), "-threads", THREADS]);
        let Variant { width, height, peak_kbit, .. } = *variant;
        let (peak_kbit, effort) = (Some(peak_kbit), Effort::Medium);
        H264 { encoder, width, height, fps, crf: CRF, peak_kbit, effort }.output(&mut command);
        // libx264 reorders frames in variants. Negative composition offsets let the presentation begin at time 0
        // nevertheless.
        let flags = "+frag_keyframe+empty_moov+default_base_moof+negative_cts_offsets+skip_trailer";
        command.args(["-avoid_negative_ts", "disabled", "-movflags", flags, "-f", "mp4"]);
        command.arg(&variant.file);
    }
    // The frame rate is set here, too, not only in the filter graph. After the filter `select`, ffmpeg 7.1 would
    // otherwise have no frame rate and drop frames.
    command.args(["-map", "[tiles]", "-r", &fps.to_string(), "-f", "rawvideo"]).arg(&tiles.file).stdin(Stdio::null());
    supervised(&mut command);
    command
}

/// Returns the filter graph that scales the variants and selects the thumbnails.
fn graph(encoder: H264Encoder, variants: &[Variant], tiles: &Tiles, fps: u32) -> String {
    let mut graph = format!("[0:v:0]split={}", variants.len() + 1);
    for i in 0..variants.len() {
        let _written = write!(graph, "[s{i}]");
    }
    graph.push_str("[st]");
    for (i, Variant { width, height, .. }) in variants.iter().enumerate() {
        let upload = encoder.upload_filter().map_or_else(String::new, |filter| format!(",{filter}"));
        let _written = write!(graph, ";[s{i}]scale={width}:{height}:flags=area{upload}[v{i}]");
    }
    let Tiles { width, height, select, .. } = tiles;
    let colour = "in_color_matrix=bt709:in_range=tv:flags=area+accurate_rnd+full_chroma_int+full_chroma_inp";
    // `setpts` numbers the selected frames consecutively. Otherwise ffmpeg would fill the gaps between them with
    // duplicates.
    let _written =
        write!(graph, ";[st]select='{select}',scale={width}:{height}:{colour},format=rgb24,setpts=N/{fps}/TB[tiles]");
    graph
}
