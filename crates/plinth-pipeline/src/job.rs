//! A job from start to end.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::PathBuf;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use plinth_frame::PixelFormat;
use plinth_media::{H264Encoder, MediaError, MediaPlan, MediaReport, MediaWriter};
use plinth_render::{Cache, Gpu, Picture, RenderError, Renderer, backdrop};
use plinth_scene::{DatasetViews, EnvironmentMap, LightDetail, Scene, SceneAssets, build_scene};
use plinth_spec::quality::{FRAMES_PER_SECOND, Quality};
use plinth_spec::settings::Effect;
use plinth_spec::{OutputFile, OutputPaths, RenderSettings};
use sha2::{Digest, Sha256};

use crate::dataset;
use crate::failure::{JobError, failure_message};
use crate::load::{load, stop_if};
use crate::manifest::{Manifest, Moments};
use crate::progress::{Clock, Progress, Stage};
use crate::sink::{Cancelled, WatchedSink};

/// How a dataset is made.
#[derive(Clone, Debug, Default)]
pub struct DatasetOptions {
    /// Its views; `None`: those of the settings' `datasetQuality` and `coverage`.
    pub views: Option<DatasetViews>,
    /// Whether the split files for readers of the NeRF-synthetic layout are written too.
    pub splits: bool,
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
    /// What is to be written, and where. A dataset is written alone: to a `.zip`, or else to a folder that is not there yet
    /// or empty.
    pub outputs: OutputPaths,
    /// How a dataset is made, where one is.
    pub dataset: DatasetOptions,
    /// Whether every output is marked as not paid for.
    pub watermark: bool,
    /// Whether gathered light is worked out coarsely, so that the first frame comes sooner.
    pub draft: bool,
    /// Part of an adapter's name, or `cpu`; `None`: the best there is.
    pub adapter: Option<String>,
    /// The ffmpeg to call.
    pub ffmpeg: PathBuf,
    /// Where what was worked out for a model is kept.
    pub cache: Option<Cache>,
    /// What encodes H.264. Where it is hardware and fails, all frames are drawn again and libx264 encodes them.
    pub encoder: H264Encoder,
    /// Posters appear as soon as they are drawn; everything else when all is complete.
    pub posters_early: bool,
    /// Whether the manifest carries a hash of all frames.
    pub hash_frames: bool,
    /// Whether the manifest says how long each pass takes. Frames do not overlap then.
    pub time_passes: bool,
}

impl Job {
    /// Without an environment or images of one's own, unmarked, on the best adapter, with the `ffmpeg` of the search path.
    pub fn new(model: Vec<u8>, settings: RenderSettings, outputs: OutputPaths) -> Self {
        Self {
            model,
            settings,
            environment: None,
            assets: BTreeMap::new(),
            outputs,
            dataset: DatasetOptions::default(),
            watermark: false,
            draft: false,
            adapter: None,
            ffmpeg: PathBuf::from("ffmpeg"),
            cache: None,
            encoder: H264Encoder::default(),
            posters_early: false,
            hash_frames: false,
            time_passes: false,
        }
    }

    /// Nothing but stills: only their frame needs to be drawn.
    fn is_still(&self) -> bool {
        self.outputs.keys().all(|file| file.is_still())
    }

    /// What its settings refer to.
    pub(crate) fn scene_assets(&self) -> SceneAssets<'_> {
        SceneAssets { environment: self.environment.clone(), images: &self.assets }
    }
}

/// Runs a job. `report` hears how far it is; setting `cancel` ends it. Files appear only when all are complete.
/// Errors: everything that can go wrong, see [`JobError`].
pub fn run(job: &Job, report: &mut dyn FnMut(Progress), cancel: &AtomicBool) -> Result<Manifest, JobError> {
    if let Some(target) = job.outputs.get(&OutputFile::Dataset) {
        return dataset::run(job, target, report, cancel);
    }
    let begin = Instant::now();
    let stage = |stage| Progress { stage, frame: 0, frames: 0, left: None };
    report(stage(Stage::Loading));
    if !job.is_still() {
        // Better known now than after the work.
        plinth_media::ffmpeg_version(&job.ffmpeg)?;
    }
    let (width, height) = job.settings.video().quality.size(job.settings.video().aspect);
    let build = |model| build_scene(model, &job.settings, job.scene_assets());
    let (mut scene, gpu) = load(job, width.max(height), build, cancel)?;
    if job.draft {
        scene.light_detail = LightDetail::Draft;
    }
    let poster_frame = poster_frame(&mut scene, job);
    let loaded = Instant::now();
    report(stage(Stage::Preparing));
    let transparent = job.settings.video().quality.has_alpha() && job.outputs.contains_key(&OutputFile::Video);
    let format = if transparent { PixelFormat::Rgba16 } else { PixelFormat::Rgba8 };
    let mut renderer = Renderer::new(&gpu, &scene, Picture { width, height, format }, job.cache.as_ref())?;
    if job.time_passes {
        renderer.time_passes();
    }
    let prepared = Instant::now();
    let plan = plan(job, &scene, (width, height), poster_frame);
    let (drawn, hardware_failure) = match draw(job, &mut renderer, &scene, plan.clone(), report, cancel) {
        // A render is not lost with a card. What was encoded of the video is.
        Err(JobError::Media(failed @ MediaError::Hardware { .. })) => {
            let software = MediaPlan { encoder: H264Encoder::Libx264, ..plan };
            let drawn = draw(job, &mut renderer, &scene, software, report, cancel)?;
            (drawn, Some(failure_message(&failed)))
        }
        other => (other?, None),
    };
    let Drawn { written, frame_hash, first_frame, writing, rendered } = drawn;
    let moments = Moments { begin, loaded, prepared, first_frame, rendered, writing };
    let manifest = Manifest::of(job, (&gpu, &renderer), scene, written.files, &moments);
    let encoder = if hardware_failure.is_some() { H264Encoder::Libx264 } else { job.encoder };
    let encoder = may_use_hardware(&job.outputs, job.settings.video().quality).then_some(encoder);
    Ok(Manifest { frame_hash, encoder, hardware_failure, ..manifest })
}

/// Whether an output, the thumbnail video apart, is H.264 in this quality: then it matters which encoder there is.
pub fn may_use_hardware(outputs: &OutputPaths, quality: Quality) -> bool {
    outputs.keys().any(|file| file.may_use_hardware(quality.codec()))
}

/// What came of one pass over all frames.
struct Drawn {
    written: MediaReport,
    frame_hash: Option<String>,
    first_frame: Option<Instant>,
    /// Time spent in the writer before the last frame was drawn.
    writing: Duration,
    /// When that was.
    rendered: Instant,
}

/// Draws all frames and writes all files.
fn draw(
    job: &Job,
    renderer: &mut Renderer<'_>,
    scene: &Scene,
    plan: MediaPlan,
    report: &mut dyn FnMut(Progress),
    cancel: &AtomicBool,
) -> Result<Drawn, JobError> {
    let frames = plan.frames;
    report(Progress { stage: Stage::Rendering, frame: 0, frames, left: None });
    stop_if(cancel)?;
    let writer = MediaWriter::start(plan, cancel)?;
    let mut sink = WatchedSink {
        writer,
        clock: Clock::new(frames, 0),
        hash: job.hash_frames.then(Sha256::new),
        cancel,
        report,
        first_frame: None,
        writing: Duration::ZERO,
    };
    renderer.render(scene, &mut sink).map_err(from_render)?;
    let rendered = Instant::now();
    let WatchedSink { writer, hash, report, first_frame, writing, .. } = sink;
    report(Progress { stage: Stage::Finishing, frame: frames, frames, left: None });
    let written = writer.finish()?;
    Ok(Drawn { written, frame_hash: hash.map(hex), first_frame, writing, rendered })
}

/// A digest as hexadecimal digits.
pub(crate) fn hex(hash: Sha256) -> String {
    hash.finalize().iter().fold(String::new(), |mut text, byte| {
        let _written = write!(text, "{byte:02x}");
        text
    })
}

/// The adapter with its driver.
pub(crate) fn adapter_name(gpu: &Gpu) -> String {
    format!("{} ({})", gpu.report().name, gpu.report().driver)
}

/// The frame that posters show: the first, or the last of a reveal. A still drops all other frames.
fn poster_frame(scene: &mut Scene, job: &Job) -> u32 {
    let last = scene.shots.len() - 1;
    let index = if job.settings.camera().effect == Effect::Reveal { last } else { 0 };
    if !job.is_still() {
        return index as u32;
    }
    scene.shots.swap(0, index);
    scene.shots.truncate(1);
    scene.shots[0].index = 0;
    0
}

fn plan(job: &Job, scene: &Scene, (width, height): (u32, u32), poster_frame: u32) -> MediaPlan {
    MediaPlan {
        ffmpeg: job.ffmpeg.clone(),
        encoder: job.encoder,
        width,
        height,
        fps: FRAMES_PER_SECOND,
        frames: scene.shots.len() as u32,
        codec: job.settings.video().quality.codec(),
        files: job.outputs.clone(),
        poster_frame,
        posters_early: job.posters_early,
        background: backdrop(&scene.opaque_background),
        watermark: job.watermark,
    }
}

/// An error of the renderer, or the one that its sink gave it.
pub(crate) fn from_render(error: RenderError) -> JobError {
    let RenderError::Sink { source } = error else { return JobError::Render(error) };
    if source.0.is::<Cancelled>() {
        return JobError::Cancelled;
    }
    match source.0.downcast::<MediaError>() {
        Ok(media) => (*media).into(),
        Err(other) => JobError::Render(RenderError::Sink { source: plinth_frame::SinkError(other) }),
    }
}
