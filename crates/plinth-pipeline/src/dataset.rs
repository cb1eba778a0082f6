//! Jobs that render datasets.

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use plinth_frame::{Layers, LayersSink, PixelFormat, SinkError};
use plinth_media::{DatasetAbout, DatasetCameras, DatasetPlan, DatasetWriter};
use plinth_render::{Picture, Renderer, separate_opaque_triangles};
use plinth_scene::{DatasetViews, LightDetail, ViewSet, build_dataset};
use plinth_spec::RenderSettings;
use sha2::{Digest, Sha256};

use crate::failure::JobError;
use crate::job::{Job, adapter_name, from_render};
use crate::load::{load, stop_if};
use crate::manifest::{Manifest, Moments};
use crate::progress::{Clock, Progress, Stage};
use crate::sink::Cancelled;

/// Runs a job whose output is a dataset.
pub(crate) fn run(
    job: &Job,
    target: &Path,
    report: &mut dyn FnMut(Progress),
    cancel: &AtomicBool,
) -> Result<Manifest, JobError> {
    let begin = Instant::now();
    let stage = |stage, frame, frames| Progress { stage, frame, frames, left: None };
    report(stage(Stage::Loading, 0, 0));
    let views = job.dataset.views.clone().unwrap_or_else(|| views_of(&job.settings));
    let (width, height) = views.size();
    let build = |model| build_dataset(model, &job.settings, job.scene_assets(), &views);
    let ((mut scene, set), gpu) = load(job, width.max(height), build, cancel)?;
    if job.draft {
        scene.light_detail = LightDetail::Draft;
    }
    let loaded = Instant::now();
    report(stage(Stage::Preparing, 0, 0));
    separate_opaque_triangles(&mut scene);
    let mut renderer =
        Renderer::new(&gpu, &scene, Picture { width, height, format: PixelFormat::Rgba8 }, job.cache.as_ref())?;
    if job.time_passes {
        renderer.time_passes();
    }
    let prepared = Instant::now();
    let frames = scene.shots.len() as u32;
    report(stage(Stage::Rendering, 0, frames));
    stop_if(cancel)?;
    let cameras = dataset_cameras(set);
    scene.warnings.extend(camera_warnings(job, &cameras, &views));
    let about = DatasetAbout {
        version: env!("CARGO_PKG_VERSION").to_owned(),
        adapter: adapter_name(&gpu),
        // Renders with equal frames share one dataset, so the file must not depend on how one of them writes its settings.
        render_settings: job.settings.frame_settings(),
        coverage: coverage(&views),
        warnings: scene.warnings.clone(),
    };
    let (target, key) = (target.to_owned(), key(job, &about, &views));
    let (watermark, splits) = (job.watermark, job.dataset.splits);
    let plan = DatasetPlan { target, key, cameras, watermark, splits, about };
    let writer = DatasetWriter::start(plan, cancel)?;
    let missing = writer.missing().to_vec();
    let done = frames - missing.len() as u32;
    let clock = Clock::new(frames, done);
    let mut sink = WatchedLayers { writer, clock, done, cancel, report, first_view: None, writing: Duration::ZERO };
    renderer.render_layers(&scene, &missing, &mut sink).map_err(from_render)?;
    let rendered = Instant::now();
    let WatchedLayers { writer, report, first_view, writing, .. } = sink;
    report(stage(Stage::Finishing, frames, frames));
    let written = writer.finish()?;
    let moments = Moments { begin, loaded, prepared, first_frame: first_view, rendered, writing };
    Ok(Manifest::of(job, (&gpu, &renderer), scene, vec![written], &moments))
}

/// Returns the camera positions that the settings request.
pub(crate) fn views_of(settings: &RenderSettings) -> DatasetViews {
    let dataset = settings.dataset();
    let quality = dataset.quality;
    DatasetViews::Spread { count: quality.views(), side: quality.side(), coverage: dataset.coverage }
}

/// Returns warnings about the cameras, and about settings that have no effect on them.
fn camera_warnings(job: &Job, cameras: &DatasetCameras, views: &DatasetViews) -> Vec<String> {
    let mut warnings: Vec<String> = cameras.warning().into_iter().collect();
    if job.dataset.splits {
        warnings.extend(cameras.split_warning());
    }
    if matches!(views, DatasetViews::Given { .. }) {
        warnings.extend(job.settings.unused_with_given_cameras(views.size()));
    }
    warnings
}

fn coverage(views: &DatasetViews) -> &'static str {
    match views {
        DatasetViews::Spread { coverage, .. } => coverage.as_str(),
        DatasetViews::Given { .. } => "given",
    }
}

/// Converts the cameras of a scene to the form in which the dataset's files describe them.
pub fn dataset_cameras(set: ViewSet) -> DatasetCameras {
    let lens = set.intrinsics;
    DatasetCameras {
        width: lens.width,
        height: lens.height,
        focal: (lens.fl_x, lens.fl_y),
        principal_point: (lens.cx, lens.cy),
        world_from_camera: set.world_from_camera,
        depth_near: set.depth_near,
        depth_far: set.depth_far,
        world_from_model: set.world_from_model,
        reach: set.bounds.0.abs().max(set.bounds.1.abs()).max_element(),
    }
}

/// Returns a hash of all inputs that affect the files of the dataset. An interrupted dataset is resumed only if the
/// hash is the same.
fn key(job: &Job, about: &DatasetAbout, views: &DatasetViews) -> String {
    let mut hash = Sha256::new();
    hash.update([u8::from(job.watermark), u8::from(job.draft), u8::from(job.dataset.splits)]);
    hash.update(Sha256::digest(&job.model));
    for text in [&about.version, &about.adapter, &about.render_settings.to_string(), &format!("{views:?}")] {
        hash.update(Sha256::digest(text));
    }
    if let Some(environment) = &job.environment {
        hash.update(environment.width.to_le_bytes());
        for pixel in &environment.pixels {
            hash.update(pixel.map(f32::to_le_bytes).as_flattened());
        }
    }
    for (id, bytes) in &job.assets {
        hash.update(Sha256::digest(id));
        hash.update(Sha256::digest(bytes));
    }
    hex::encode(hash.finalize())
}

/// A sink that passes views to the dataset writer, and reports the progress of the job.
struct WatchedLayers<'a> {
    writer: DatasetWriter<'a>,
    clock: Clock,
    done: u32,
    cancel: &'a AtomicBool,
    report: &'a mut dyn FnMut(Progress),
    first_view: Option<Instant>,
    /// Total time for which the sink waited for the writer.
    writing: Duration,
}

impl LayersSink for WatchedLayers<'_> {
    fn layers(&mut self, layers: Layers) -> Result<(), SinkError> {
        if self.cancel.load(Ordering::Relaxed) {
            return Err(SinkError(Box::new(Cancelled)));
        }
        self.first_view.get_or_insert_with(Instant::now);
        let begin = Instant::now();
        self.writer.layers(layers)?;
        self.writing += begin.elapsed();
        self.done += 1;
        (self.report)(self.clock.tick(self.done));
        Ok(())
    }

    fn spare(&mut self) -> Option<Layers> {
        self.writer.spare()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, BTreeSet};

    use plinth_scene::EnvironmentMap;

    use super::*;

    fn key_of(job: &Job) -> String {
        let views = views_of(&job.settings);
        let about = DatasetAbout {
            version: String::new(),
            adapter: String::new(),
            render_settings: job.settings.echoed(),
            coverage: coverage(&views),
            warnings: Vec::new(),
        };
        key(job, &about, &views)
    }

    #[test]
    fn a_dataset_is_resumed_only_with_the_same_inputs() {
        let job = Job::new(vec![1], RenderSettings::default(), BTreeMap::new());
        let with = |change: fn(&mut Job)| {
            let mut job = job.clone();
            change(&mut job);
            job
        };
        let jobs = [
            with(|job| job.model = vec![2]),
            with(|job| job.watermark = true),
            with(|job| job.draft = true),
            with(|job| job.dataset.splits = true),
            with(|job| job.environment = Some(EnvironmentMap { width: 2, height: 1, pixels: vec![[1.0; 3]; 2] })),
            with(|job| drop(job.assets.insert("logo".to_owned(), vec![1]))),
            with(|job| drop(job.assets.insert("logo".to_owned(), vec![2]))),
        ];
        assert_eq!(key_of(&job), key_of(&job.clone()));
        let keys: BTreeSet<String> = jobs.iter().chain([&job]).map(key_of).collect();
        assert_eq!(keys.len(), jobs.len() + 1, "each changed input changes the key");
    }
}
