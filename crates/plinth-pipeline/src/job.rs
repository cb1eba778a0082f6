//! Job: all inputs of a render, and its execution.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use plinth_frame::PixelFormat;
use plinth_media::{H264Encoder, MediaError, MediaPlan, MediaReport, MediaWriter};
use plinth_render::{Cache, Gpu, Picture, RenderError, Renderer, backdrop};
use plinth_scene::{DatasetViews, EnvironmentMap, LightDetail, Scene, SceneAssets, build_scene};
use plinth_spec::quality::{FRAMES_PER_SECOND, Quality};
use plinth_spec::{OutputFile, OutputPaths, RenderSettings};
use sha2::{Digest, Sha256};

use crate::dataset;
use crate::failure::{JobError, failure_message};
use crate::load::{load, stop_if};
use crate::manifest::{Manifest, Moments};
use crate::progress::{Clock, Progress, Stage};
use crate::sink::{Cancelled, WatchedSink};

/// Options of a dataset.
#[derive(Clone, Debug, Default)]
pub struct DatasetOptions {
    /// Views; `None` uses the settings `datasetQuality` and `coverage`.
    pub views: Option<DatasetViews>,
    /// Whether to also write the split files of the NeRF-synthetic layout.
    pub splits: bool,
}

/// Inputs of a job.
#[derive(Clone, Debug)]
pub struct Job {
    /// Content of the GLB file.
    pub model: Vec<u8>,
    /// Render settings.
    pub settings: RenderSettings,
    /// Environment; `None` is the built-in studio.
    pub environment: Option<EnvironmentMap>,
    /// Content of the images named in the settings, by asset ID.
    pub assets: BTreeMap<String, Vec<u8>>,
    /// Output files and their paths. A dataset is always the only output, and goes to a `.zip` file or to a new or empty folder.
    pub outputs: OutputPaths,
    /// Options for a dataset; unused for videos.
    pub dataset: DatasetOptions,
    /// Whether all outputs have the preview watermark.
    pub watermark: bool,
    /// Whether indirect light is baked at draft quality, so that the first frame is ready sooner.
    pub draft: bool,
    /// Part of the graphics adapter's name, or `cpu`. `None` selects the fastest adapter.
    pub adapter: Option<String>,
    /// Path or name of ffmpeg.
    pub ffmpeg: PathBuf,
    /// Cache of baked light; `None` disables caching.
    pub cache: Option<Cache>,
    /// H.264 encoder. If a hardware encoder fails, all frames are drawn again and encoded with libx264.
    pub encoder: H264Encoder,
    /// Whether posters appear as soon as they are drawn. All other files appear when everything is complete.
    pub posters_early: bool,
    /// Whether to put a hash of all frames into the manifest.
    pub hash_frames: bool,
    /// Whether to measure the time of each render pass for the manifest. Frames do not overlap then.
    pub time_passes: bool,
}

impl Job {
    /// Creates a job with the built-in environment, no images and no watermark, on the fastest adapter, with the `ffmpeg` found
    /// in `PATH`.
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

    /// Returns whether all outputs are stills, so that only one frame needs to be drawn.
    fn is_still(&self) -> bool {
        self.outputs.keys().all(|file| file.is_still())
    }

    /// Returns the assets that the settings refer to.
    pub(crate) fn scene_assets(&self) -> SceneAssets<'_> {
        SceneAssets { environment: self.environment.clone(), images: &self.assets }
    }
}

/// Runs a job. `report` receives its progress; setting `cancel` cancels it. Files appear only when all are complete.
/// Errors: [`JobError`].
pub fn run(job: &Job, report: &mut dyn FnMut(Progress), cancel: &AtomicBool) -> Result<Manifest, JobError> {
    if let Some(target) = job.outputs.get(&OutputFile::Dataset) {
        return dataset::run(job, target, report, cancel);
    }
    let begin = Instant::now();
    let stage = |stage| Progress { stage, frame: 0, frames: 0, left: None };
    report(stage(Stage::Loading));
    if !job.is_still() {
        // Fails early, before the frames are drawn.
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
        // A failed hardware encoder does not fail the render, but its partial video is lost.
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

/// Returns whether any output except the thumbnail video is H.264, so that the choice of the encoder matters.
pub fn may_use_hardware(outputs: &OutputPaths, quality: Quality) -> bool {
    outputs.keys().any(|file| file.may_use_hardware(quality.codec()))
}

/// Result of drawing all frames once.
struct Drawn {
    written: MediaReport,
    frame_hash: Option<String>,
    first_frame: Option<Instant>,
    /// Time spent in the writer until the last frame was drawn.
    writing: Duration,
    /// Time at which the last frame was drawn.
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
    Ok(Drawn { written, frame_hash: hash.map(|hash| hex::encode(hash.finalize())), first_frame, writing, rendered })
}

/// Returns the names of the adapter and its driver.
pub(crate) fn adapter_name(gpu: &Gpu) -> String {
    format!("{} ({})", gpu.report().name, gpu.report().driver)
}

/// Returns the index of the poster frame. If only stills are written, all other frames are dropped.
fn poster_frame(scene: &mut Scene, job: &Job) -> u32 {
    let index = job.settings.camera().effect.poster_frame(scene.shots.len());
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

/// Converts an error of the renderer, and unwraps the error of its sink.
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
