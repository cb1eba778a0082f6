//! One reading of a video feeds all encoders of its variants and the pictures of its thumbnail track.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::command::{THREADS, supervised};
use super::h264::{Effort, H264, H264Encoder};

/// Quality of every variant, on the scale of x264's constant rate factor.
const CRF: u8 = 21;
/// Threads that decode and that scale.
const READERS: &str = "2";

/// One variant of a video.
#[derive(Clone, Debug)]
pub(crate) struct Variant {
    pub(crate) width: u32,
    pub(crate) height: u32,
    /// What the rate may rise to where pictures are hard, in thousand bits a second.
    pub(crate) peak_kbit: u32,
    /// A fragmented MP4: a `moof` and a `mdat` for each group of pictures.
    pub(crate) file: PathBuf,
}

/// Small pictures, one each some frames.
#[derive(Clone, Debug)]
pub(crate) struct Tiles {
    pub(crate) width: u32,
    pub(crate) height: u32,
    /// ffmpeg's condition for a frame, by its number `n`.
    pub(crate) select: String,
    /// Raw R, G, B bytes, one picture after the other.
    pub(crate) file: PathBuf,
}

/// A video that is read.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Source<'a> {
    pub(crate) file: &'a Path,
    /// Frames a second, rounded where that is no whole number.
    pub(crate) fps: u32,
}

/// The whole command.
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
        let (peak_kbit, effort) = (Some(peak_kbit), Effort::Usual);
        H264 { encoder, width, height, fps, crf: CRF, peak_kbit, effort }.output(&mut command);
        // The first picture is shown at 0 although others were decoded before those that are shown before them.
        let flags = "+frag_keyframe+empty_moov+default_base_moof+negative_cts_offsets+skip_trailer";
        command.args(["-avoid_negative_ts", "disabled", "-movflags", flags, "-f", "mp4"]);
        command.arg(&variant.file);
    }
    // The rate is said here and in the graph: in ffmpeg 7.1 a filter that selects has none, and pictures would be dropped.
    command.args(["-map", "[tiles]", "-r", &fps.to_string(), "-f", "rawvideo"]).arg(&tiles.file).stdin(Stdio::null());
    supervised(&mut command);
    command
}

/// The graph of filters.
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
    // Consecutive times, or the gaps would be filled.
    let _written =
        write!(graph, ";[st]select='{select}',scale={width}:{height}:{colour},format=rgb24,setpts=N/{fps}/TB[tiles]");
    graph
}
