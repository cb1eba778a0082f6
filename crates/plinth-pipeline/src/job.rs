//! A job from start to end.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use plinth_frame::PixelFormat;
use plinth_media::{MediaError, MediaPlan, MediaWriter};
use plinth_model::{LoadOptions, load_glb};
use plinth_render::{Gpu, GpuOptions, Picture, RenderError, Renderer, backdrop};
use plinth_scene::{EnvironmentMap, Scene, SceneAssets, build_scene};
use plinth_spec::RenderSettings;
use plinth_spec::quality::FRAMES_PER_SECOND;
use plinth_spec::settings::Effect;
use sha2::{Digest, Sha256};

use crate::failure::JobError;
use crate::manifest::{Manifest, ManifestFile, Timings};
use crate::progress::{Clock, Progress, Stage};
use crate::sink::{Cancelled, WatchedSink};

/// What is to be written, and where.
#[derive(Clone, Debug, Default)]
pub struct Outputs {
    /// The video in full size.
    pub video: Option<PathBuf>,
    /// The web video.
    pub web: Option<PathBuf>,
    /// The thumbnail video.
    pub thumb: Option<PathBuf>,
    /// The poster in full size.
    pub poster: Option<PathBuf>,
    /// The small poster.
    pub small_poster: Option<PathBuf>,
}

impl Outputs {
    /// Nothing but stills: only their frame needs to be drawn.
    fn is_still(&self) -> bool {
        self.video.is_none() && self.web.is_none() && self.thumb.is_none()
    }
}

/// One job.
#[derive(Clone, Debug)]
pub struct Job {
    /// The GLB file's bytes.
    pub model: Vec<u8>,
    /// The settings.
    pub settings: RenderSettings,
    /// The environment; `None`: the built-in studio.
    pub environment: Option<EnvironmentMap>,
    /// Files of the images that the settings name, by asset id.
    pub assets: BTreeMap<String, Vec<u8>>,
    /// What is to be written.
    pub outputs: Outputs,
    /// Part of an adapter's name, or `cpu`; `None`: the best there is.
    pub adapter: Option<String>,
    /// The ffmpeg to call.
    pub ffmpeg: PathBuf,
    /// Whether the manifest carries a hash of all frames.
    pub hash_frames: bool,
    /// Whether the manifest says how long each pass takes. Frames do not overlap then.
    pub time_passes: bool,
}

/// Runs a job. `report` hears how far it is; setting `cancel` ends it. Files appear only when all are complete.
/// Errors: everything that can go wrong, see [`JobError`].
#[expect(clippy::too_many_lines, reason = "the stages of a job in their order")]
pub fn run(job: &Job, report: &mut dyn FnMut(Progress), cancel: &AtomicBool) -> Result<Manifest, JobError> {
    let begin = Instant::now();
    let stage = |stage| Progress { stage, frame: 0, frames: 0, left: None };
    report(stage(Stage::Loading));
    if !job.outputs.is_still() {
        // Better known now than after the work.
        plinth_media::ffmpeg_version(&job.ffmpeg)?;
    }
    let options = GpuOptions { adapter: job.adapter.clone() };
    // The device opens while the model is read.
    let opening = std::thread::spawn(move || Gpu::open(&options));
    let (width, height) = job.settings.video().quality.size(job.settings.video().aspect);
    let load = LoadOptions { max_texture_side: texture_side(width.max(height)), ..LoadOptions::default() };
    let scene = load_glb(&job.model, &load).map_err(JobError::from).and_then(|model| {
        stop_if(cancel)?;
        let assets = SceneAssets { environment: job.environment.clone(), images: &job.assets };
        Ok(build_scene(Arc::new(model), &job.settings, assets)?)
    });
    // A driver must not be left while it starts, so it is awaited also where the model is bad.
    let gpu = opening.join().map_err(|_panic| JobError::Crashed)?;
    let mut scene = scene?;
    let poster_frame = poster_frame(&mut scene, job);
    let gpu = gpu?;
    stop_if(cancel)?;
    let load_secs = begin.elapsed().as_secs_f64();
    report(stage(Stage::Preparing));
    let transparent = job.settings.video().quality.has_alpha() && job.outputs.video.is_some();
    let format = if transparent { PixelFormat::Rgba16 } else { PixelFormat::Rgba8 };
    let mut renderer = Renderer::new(&gpu, &scene, Picture { width, height, format })?;
    if job.time_passes {
        renderer.time_passes();
    }
    let prepare_secs = begin.elapsed().as_secs_f64() - load_secs;
    let frames = scene.shots.len() as u32;
    report(Progress { stage: Stage::Rendering, frame: 0, frames, left: None });
    stop_if(cancel)?;
    let writer = MediaWriter::start(plan(job, &scene, (width, height), poster_frame), cancel)?;
    let mut sink = WatchedSink {
        writer,
        clock: Clock::new(frames),
        hash: job.hash_frames.then(Sha256::new),
        cancel,
        report,
        first_frame: None,
        writing: Duration::ZERO,
    };
    renderer.render(&scene, &mut sink).map_err(from_render)?;
    let rendered = Instant::now();
    let WatchedSink { writer, hash, report, first_frame, writing, .. } = sink;
    report(Progress { stage: Stage::Finishing, frame: frames, frames, left: None });
    let written = writer.finish()?;
    let pass_millis = renderer.pass_times().map(|times| {
        let frames = f64::from(times.frames.max(1));
        times.millis.into_iter().map(|(pass, millis)| (pass.to_owned(), millis / frames)).collect()
    });
    let first = first_frame.unwrap_or(rendered);
    Ok(Manifest {
        version: env!("CARGO_PKG_VERSION").to_owned(),
        adapter: format!("{} ({})", gpu.report().name, gpu.report().driver),
        render_settings: job.settings.echoed(),
        frames,
        frame_hash: hash.map(hex),
        pass_millis,
        files: written
            .files
            .into_iter()
            .map(|f| ManifestFile {
                kind: f.kind.to_owned(),
                path: f.path.display().to_string(),
                bytes: f.bytes,
                width: f.width,
                height: f.height,
            })
            .collect(),
        warnings: scene.warnings,
        timings: Timings {
            load_secs,
            prepare_secs,
            first_frame_secs: (first - begin).as_secs_f64(),
            render_secs: (rendered - first).as_secs_f64(),
            write_secs: writing.as_secs_f64(),
            finish_secs: rendered.elapsed().as_secs_f64(),
            total_secs: begin.elapsed().as_secs_f64(),
        },
    })
}

/// A digest as hexadecimal digits.
fn hex(hash: Sha256) -> String {
    hash.finalize().iter().fold(String::new(), |mut text, byte| {
        let _written = write!(text, "{byte:02x}");
        text
    })
}

fn stop_if(cancel: &AtomicBool) -> Result<(), JobError> {
    if cancel.load(Ordering::Relaxed) { Err(JobError::Cancelled) } else { Ok(()) }
}

/// Texels beyond what the picture can show are not kept.
fn texture_side(longest: u32) -> u32 {
    longest.next_power_of_two().clamp(512, 8192)
}

/// The frame that posters show: the first, or the last of a reveal. A still drops all other frames.
fn poster_frame(scene: &mut Scene, job: &Job) -> u32 {
    let last = scene.shots.len() - 1;
    let index = if job.settings.camera().effect == Effect::Reveal { last } else { 0 };
    if !job.outputs.is_still() {
        return index as u32;
    }
    scene.shots.swap(0, index);
    scene.shots.truncate(1);
    scene.shots[0].index = 0;
    0
}

fn plan(job: &Job, scene: &Scene, (width, height): (u32, u32), poster_frame: u32) -> MediaPlan {
    let outputs = &job.outputs;
    MediaPlan {
        ffmpeg: job.ffmpeg.clone(),
        width,
        height,
        fps: FRAMES_PER_SECOND,
        frames: scene.shots.len() as u32,
        video: outputs.video.clone().map(|path| (path, job.settings.video().quality.codec())),
        web: outputs.web.clone(),
        thumb: outputs.thumb.clone(),
        poster: outputs.poster.clone(),
        small_poster: outputs.small_poster.clone(),
        poster_frame,
        background: backdrop(&scene.opaque_background),
    }
}

/// An error of the renderer, or the one that its sink gave it.
fn from_render(error: RenderError) -> JobError {
    let RenderError::Sink { source } = error else { return JobError::Render(error) };
    if source.0.is::<Cancelled>() {
        return JobError::Cancelled;
    }
    match source.0.downcast::<MediaError>() {
        Ok(media) => (*media).into(),
        Err(other) => JobError::Render(RenderError::Sink { source: plinth_frame::SinkError(other) }),
    }
}
