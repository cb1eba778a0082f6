//! One reading of a video feeds all encoders of its variants and the pictures of its thumbnail track.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::command::{Effort, THREADS, h264, supervised};

/// x264's constant rate factor of every variant.
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

/// The whole command. The source has `fps` frames a second (rounded where that is no whole number).
pub(crate) fn encode_variants(program: &Path, source: &Path, fps: u32, variants: &[Variant], tiles: &Tiles) -> Command {
    let mut command = Command::new(program);
    command.args(["-hide_banner", "-loglevel", "error", "-xerror", "-y", "-threads", READERS]);
    command.arg("-i").arg(source).args(["-filter_complex_threads", READERS]);
    command.arg("-filter_complex").arg(graph(variants, tiles, fps));
    for (i, variant) in variants.iter().enumerate() {
        let (peak, buffer) = (format!("{}k", variant.peak_kbit), format!("{}k", variant.peak_kbit * 3 / 2));
        command.args(["-map", &format!("[v{i}]"), "-threads", THREADS]);
        command.args(["-crf", &CRF.to_string(), "-maxrate", &peak, "-bufsize", &buffer]);
        h264(&mut command, fps, Effort::Usual);
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
fn graph(variants: &[Variant], tiles: &Tiles, fps: u32) -> String {
    let mut graph = format!("[0:v:0]split={}", variants.len() + 1);
    for i in 0..variants.len() {
        let _written = write!(graph, "[s{i}]");
    }
    graph.push_str("[st]");
    for (i, Variant { width, height, .. }) in variants.iter().enumerate() {
        let _written = write!(graph, ";[s{i}]scale={width}:{height}:flags=area[v{i}]");
    }
    let Tiles { width, height, select, .. } = tiles;
    let colour = "in_color_matrix=bt709:in_range=tv:flags=area+accurate_rnd+full_chroma_int+full_chroma_inp";
    // Consecutive times, or the gaps would be filled.
    let _written =
        write!(graph, ";[st]select='{select}',scale={width}:{height}:{colour},format=rgb24,setpts=N/{fps}/TB[tiles]");
    graph
}
