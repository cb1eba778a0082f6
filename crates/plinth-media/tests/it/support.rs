//! Test frames, output plans, and functions that read media files.

use std::path::Path;
use std::process::Command;
use std::sync::atomic::AtomicBool;

use plinth_frame::{Backdrop, Frame, FrameSink as _, PixelFormat, Region};
use plinth_media::{FramePlan, H264Encoder, MediaError, MediaOutputs, MediaPlan, MediaReport, MediaWriter};
use plinth_spec::OutputFile;
use plinth_spec::quality::{Codec, FRAMES_PER_SECOND};

/// What a test writes.
pub(crate) struct Plan {
    pub(crate) media: MediaPlan,
    pub(crate) frames: FramePlan,
}

impl Plan {
    /// Starts the encoders, and returns a writer that waits for the first frame.
    pub(crate) fn start(self, stop: &AtomicBool) -> Result<MediaWriter<'_>, MediaError> {
        MediaWriter::new(MediaOutputs::start(self.media)?, self.frames, stop)
    }
}

/// Returns a plan that writes all outputs to `folder`.
pub(crate) fn plan(folder: &Path, (width, height): (u32, u32), codec: Codec, frames: u32) -> Plan {
    let extension = if codec == Codec::H264 { "mp4" } else { "mov" };
    let media = MediaPlan {
        ffmpeg: plinth_testkit::ffmpeg().to_owned(),
        encoder: H264Encoder::Libx264,
        width,
        height,
        fps: FRAMES_PER_SECOND,
        codec,
        files: [
            (OutputFile::Video, folder.join("out").with_extension(extension)),
            (OutputFile::Web, folder.join("out.web.mp4")),
            (OutputFile::Thumb, folder.join("out.thumb.mp4")),
            (OutputFile::FullPoster, folder.join("out.poster.png")),
            (OutputFile::Poster, folder.join("out.small.png")),
        ]
        .into(),
        posters_early: false,
        watermark: false,
    };
    Plan { media, frames: FramePlan { count: frames, poster_frame: 0, background: Backdrop::Solid([255; 3]) } }
}

/// Removes all outputs except posters from a plan, so that no encoder runs.
pub(crate) fn only_posters(mut plan: Plan) -> Plan {
    plan.media.files.retain(|file, _path| file.is_still());
    plan
}

/// Writes the files of a plan. `frame` returns the frame with a given index.
pub(crate) fn write(plan: Plan, frame: impl Fn(u32) -> Frame) -> Result<MediaReport, MediaError> {
    let stop = AtomicBool::new(false);
    let frames = plan.frames.count;
    let mut writer = plan.start(&stop)?;
    for index in 0..frames {
        writer.frame(&frame(index)).map_err(|e| *e.0.downcast::<MediaError>().unwrap())?;
    }
    writer.finish()
}

/// Returns an opaque frame. A shaded ball moves inside a region in the middle of a backdrop.
pub(crate) fn ball((width, height): (u32, u32), index: u32, backdrop: [u8; 3]) -> Frame {
    let region = Region { x: width / 4, y: height / 4, width: width / 2, height: height / 2 };
    let radius = region.height as f32 * 0.45;
    let mut pixels = Vec::new();
    for y in 0..region.height {
        for x in 0..region.width {
            let at = [x as f32 - region.width as f32 / 2.0 - 3.0 * index as f32, y as f32 - region.height as f32 / 2.0];
            let [u, v] = at.map(|c| c / radius);
            let inside = u * u + v * v < 1.0;
            let shade = |k: f32| (128.0 + 127.0 * (k * u + 7.0 * v).sin()) as u8;
            let color = if inside { [shade(5.0), shade(9.0), shade(13.0)] } else { backdrop };
            pixels.extend(color);
            pixels.push(255);
        }
    }
    Frame { index, width, height, region, backdrop: Backdrop::Solid(backdrop), format: PixelFormat::Rgba8, pixels }
}

/// Returns a frame with straight alpha and 16 bits per component. Its region covers the whole picture.
pub(crate) fn straight((width, height): (u32, u32), index: u32, pixel: impl Fn(u32, u32) -> [f32; 4]) -> Frame {
    let mut pixels = Vec::with_capacity(width as usize * height as usize * 8);
    for y in 0..height {
        for x in 0..width {
            for component in pixel(x, y) {
                pixels.extend_from_slice(&((component * 65_535.0 + 0.5) as u16).to_ne_bytes());
            }
        }
    }
    Frame {
        index,
        width,
        height,
        region: Region::whole(width, height),
        backdrop: Backdrop::Transparent,
        format: PixelFormat::Rgba16,
        pixels,
    }
}

/// A packet of a video file: decode time, presentation time, size, and whether it is a key frame.
pub(crate) struct Packet {
    pub(crate) decoded_secs: f64,
    pub(crate) shown_secs: f64,
    pub(crate) bytes: usize,
    pub(crate) is_key: bool,
}

pub(crate) fn packets(file: &Path) -> Vec<Packet> {
    let out = Command::new(plinth_testkit::ffprobe())
        .args(["-v", "error", "-show_entries", "packet=dts_time,pts_time,size,flags", "-of", "json"])
        .arg(file)
        .output()
        .unwrap();
    let all: serde_json::Value = serde_json::from_slice(&out.stdout).unwrap();
    let text = |value: &serde_json::Value| value.as_str().unwrap().to_owned();
    let packets = all["packets"].as_array().unwrap().iter();
    packets
        .map(|p| Packet {
            decoded_secs: text(&p["dts_time"]).parse().unwrap(),
            shown_secs: text(&p["pts_time"]).parse().unwrap(),
            bytes: text(&p["size"]).parse().unwrap(),
            is_key: text(&p["flags"]).starts_with('K'),
        })
        .collect()
}

/// Returns the R, G, B bytes of all frames. ffmpeg converts the colours as the colour tags of the file require.
pub(crate) fn rgb(file: &Path) -> Vec<u8> {
    decode(file, &["-vf", "scale=flags=accurate_rnd+full_chroma_int+full_chroma_inp,format=rgb24"])
}

/// Decodes a file with ffmpeg.
pub(crate) fn decode(file: &Path, options: &[&str]) -> Vec<u8> {
    let out = Command::new(plinth_testkit::ffmpeg())
        .args(["-v", "error", "-i"])
        .arg(file)
        .args(options)
        .args(["-f", "rawvideo", "-"])
        .output()
        .unwrap();
    assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
    out.stdout
}

/// Returns the width, the height and the R, G, B bytes of a PNG.
pub(crate) fn png(file: &Path) -> (u32, u32, Vec<u8>) {
    let decoder = png::Decoder::new(std::io::BufReader::new(std::fs::File::open(file).unwrap()));
    let mut reader = decoder.read_info().unwrap();
    let mut pixels = vec![0; reader.output_buffer_size().unwrap()];
    let info = reader.next_frame(&mut pixels).unwrap();
    assert_eq!((info.color_type, info.bit_depth), (png::ColorType::Rgb, png::BitDepth::Eight));
    (info.width, info.height, pixels)
}

/// Returns the sorted names of all files in a folder.
pub(crate) fn names(folder: &Path) -> Vec<String> {
    let mut names: Vec<String> =
        std::fs::read_dir(folder).unwrap().map(|e| e.unwrap().file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

/// Returns the PSNR of two images in dB, or 99 if they are equal.
pub(crate) fn psnr(a: &[u8], b: &[u8]) -> f64 {
    assert_eq!(a.len(), b.len());
    let squares: f64 = a.iter().zip(b).map(|(a, b)| f64::from(a.abs_diff(*b)).powi(2)).sum();
    let error = (squares / a.len() as f64).max(1e-5);
    10.0 * (255.0 * 255.0 / error).log10()
}
