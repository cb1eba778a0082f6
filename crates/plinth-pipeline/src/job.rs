//! A render job: its inputs, and a function that runs it.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use plinth_frame::PixelFormat;
use plinth_media::{FramePlan, H264Encoder, MediaError, MediaOutputs, MediaPlan, MediaReport, MediaWriter};
use plinth_render::{Cache, Gpu, Picture, RenderError, Renderer, merge_dense_vertices, separate_opaque_triangles};
use plinth_scene::{DatasetViews, EnvironmentMap, LightDetail, Scene, SceneAssets, build_scene};
use plinth_spec::quality::{FRAMES_PER_SECOND, Quality};
use plinth_spec::{OutputFile, OutputPaths, RenderSettings};

use crate::dataset;
use crate::failure::{JobError, failure_message};
use crate::frame_hash::FrameHash;
use crate::load::{load, stop_if};
use crate::manifest::{Manifest, Moments};
use crate::opaque_backdrop::opaque_backdrop;
use crate::progress::{Clock, Progress, Stage};
use crate::sink::{Cancelled, WatchedSink};
use crate::warm::WarmModel;

/// Options of a dataset.
#[derive(Clone, Debug, Default)]
pub struct DatasetOptions {
    /// Camera positions; `None` uses the settings `datasetQuality` and `coverage`.
    pub views: Option<DatasetViews>,
    /// Whether to write the train, validation and test files of the NeRF-synthetic format in addition.
    pub splits: bool,
}

/// Inputs of a job.
#[derive(Clone, Debug)]
pub struct Job {
    /// Content of the GLB file.
    pub model: Vec<u8>,
    /// Render settings of the job.
    pub settings: RenderSettings,
    /// Environment of the scene; `None` for the built-in studio.
    pub environment: Option<EnvironmentMap>,
    /// Contents of the images that the settings use, by asset ID.
    pub assets: BTreeMap<String, Vec<u8>>,
    /// Output files with their paths. If one of the files is a dataset, it must be the only file. The path of a dataset
    /// is a `.zip` file, or a folder that is empty or does not exist.
    pub outputs: OutputPaths,
    /// Options of datasets. Videos ignore them.
    pub dataset: DatasetOptions,
    /// Whether the preview watermark is drawn on all outputs.
    pub watermark: bool,
    /// Whether indirect light is baked at draft quality, so that the first frame is ready sooner.
    pub draft: bool,
    /// Selects the fastest adapter whose name contains this text, or a software driver for `cpu`. `None` selects the
    /// fastest of all adapters.
    pub adapter: Option<String>,
    /// Path or name of ffmpeg.
    pub ffmpeg: PathBuf,
    /// Cache of light and reduced textures; `None` disables caching.
    pub cache: Option<Cache>,
    /// H.264 encoder to use. If a hardware encoder fails, all frames are drawn again and encoded with libx264.
    pub encoder: H264Encoder,
    /// Whether each poster gets its final file name as soon as it is drawn. All other files get their final names after
    /// every file is complete.
    pub posters_early: bool,
    /// Whether the manifest contains a hash of all frames.
    pub hash_frames: bool,
    /// Whether the manifest contains the time of each render pass. Measuring is slower, because the GPU then draws only
    /// one frame at a time.
    pub time_passes: bool,
}

impl Job {
    /// Creates a job with default options: the built-in environment, no images, no watermark, the fastest adapter, and
    /// the first `ffmpeg` in `PATH`.
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

    /// Returns whether all outputs are still images. If so, only one frame needs to be drawn.
    fn is_still(&self) -> bool {
        self.outputs.keys().all(|file| file.is_still())
    }

    /// Returns the environment and the images that the settings use.
    pub(crate) fn scene_assets(&self) -> SceneAssets<'_> {
        SceneAssets { environment: self.environment.clone(), images: &self.assets }
    }
}

/// Runs a job. `report` receives the progress. The job stops soon after `cancel` becomes true. Output files get their
/// final names after all of them are complete.
/// Errors: [`JobError`].
pub fn run(job: &Job, report: &mut dyn FnMut(Progress), cancel: &AtomicBool) -> Result<Manifest, JobError> {
    run_warm(job, None, report, cancel)
}

/// Like [`run`], for a process that runs several jobs of the same model. A video or still uses the model in `warm`,
/// which must be the model of the job. If `warm` is empty, the model is loaded and stored there.
/// Errors: [`JobError`].
pub fn run_warm(
    job: &Job,
    warm: Option<&mut WarmModel>,
    report: &mut dyn FnMut(Progress),
    cancel: &AtomicBool,
) -> Result<Manifest, JobError> {
    if let Some(target) = job.outputs.get(&OutputFile::Dataset) {
        return dataset::run(job, target, report, cancel);
    }
    let begin = Instant::now();
    let stage = |stage| Progress { stage, frame: 0, frames: 0, left: None };
    report(stage(Stage::Loading));
    let (width, height) = job.settings.video().quality.size(job.settings.video().aspect);
    // ffmpeg takes as long to start as a small model to load, so it starts first.
    let outputs = MediaOutputs::start(media_plan(job, (width, height), job.encoder))?;
    let build = |model| build_scene(model, &job.settings, job.scene_assets());
    let (mut scene, gpu) = match warm {
        Some(warm) => warm.scene(job, cancel)?,
        None => load(job, width.max(height), build, cancel).map(|(scene, gpu)| (scene, Arc::new(gpu)))?,
    };
    if job.draft {
        scene.light_detail = LightDetail::Draft;
    }
    let poster_frame = poster_frame(&mut scene, job);
    let loaded = Instant::now();
    report(stage(Stage::Preparing));
    separate_opaque_triangles(&mut scene);
    merge_dense_vertices(&mut scene, height);
    let transparent = job.settings.video().quality.has_alpha() && job.outputs.contains_key(&OutputFile::Video);
    let format = if transparent { PixelFormat::Rgba16 } else { PixelFormat::Rgba8 };
    let mut renderer = Renderer::new(&gpu, &scene, Picture { width, height, format }, job.cache.as_ref())?;
    if job.time_passes {
        renderer.time_passes();
    }
    let prepared = Instant::now();
    let background = opaque_backdrop(&gpu, &scene, (width, height))?;
    let frames = FramePlan { count: scene.shots.len() as u32, poster_frame, background };
    let (drawn, hardware_failure) = match draw(job, &mut renderer, &scene, outputs, frames.clone(), report, cancel) {
        // The hardware encoder failed, so its partial video is discarded, and all frames are drawn again for libx264.
        Err(JobError::Media(failed @ MediaError::Hardware { .. })) => {
            let outputs = MediaOutputs::start(media_plan(job, (width, height), H264Encoder::Libx264))?;
            let drawn = draw(job, &mut renderer, &scene, outputs, frames, report, cancel)?;
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

/// Returns whether a hardware encoder may be used. This is the case if an output other than the thumbnail video is
/// H.264.
pub fn may_use_hardware(outputs: &OutputPaths, quality: Quality) -> bool {
    outputs.keys().any(|file| file.may_use_hardware(quality.codec()))
}

/// Result of drawing all frames once.
struct Drawn {
    written: MediaReport,
    frame_hash: Option<String>,
    first_frame: Option<Instant>,
    /// Time that the sink spent in the media writer before the last frame was drawn.
    writing: Duration,
    /// Time at which the last frame was drawn.
    rendered: Instant,
}

/// Draws all frames once, and writes all output files.
fn draw(
    job: &Job,
    renderer: &mut Renderer<'_>,
    scene: &Scene,
    outputs: MediaOutputs,
    frame_plan: FramePlan,
    report: &mut dyn FnMut(Progress),
    cancel: &AtomicBool,
) -> Result<Drawn, JobError> {
    let frames = frame_plan.count;
    report(Progress { stage: Stage::Rendering, frame: 0, frames, left: None });
    stop_if(cancel)?;
    let hash = job.hash_frames.then(|| FrameHash::new(&frame_plan.background));
    let writer = MediaWriter::new(outputs, frame_plan, cancel)?;
    let mut sink = WatchedSink {
        writer,
        clock: Clock::new(frames, 0),
        hash,
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
    Ok(Drawn { written, frame_hash: hash.map(FrameHash::finish), first_frame, writing, rendered })
}

/// Returns the names of the adapter and of its driver.
pub(crate) fn adapter_name(gpu: &Gpu) -> String {
    format!("{} ({})", gpu.report().name, gpu.report().driver)
}

/// Returns the index of the frame that the poster shows. For the effect `reveal`, it is the last frame; for all other
/// effects, it is the first frame. If all outputs are stills, all other frames are removed from the scene.
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

/// Returns the plan of all output files, which does not depend on the model.
fn media_plan(job: &Job, (width, height): (u32, u32), encoder: H264Encoder) -> MediaPlan {
    MediaPlan {
        ffmpeg: job.ffmpeg.clone(),
        encoder,
        width,
        height,
        fps: FRAMES_PER_SECOND,
        codec: job.settings.video().quality.codec(),
        files: job.outputs.clone(),
        posters_early: job.posters_early,
        watermark: job.watermark,
    }
}

/// Converts an error of the renderer. If a frame sink caused the error, returns the error of the sink.
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
