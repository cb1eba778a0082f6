//! The manifest of a finished job: a machine-readable description of its results.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use plinth_media::{H264Encoder, WrittenFile};
use plinth_render::{Gpu, Renderer};
use plinth_scene::Scene;
use serde::{Deserialize, Serialize};

use crate::job::{Job, adapter_name};

/// Machine-readable description of the results of a job.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Manifest {
    /// Version of Plinth.
    pub version: String,
    /// Names of the graphics adapter and its driver.
    pub adapter: String,
    /// Render settings. Alias names of settings are replaced by the settings' own names.
    pub render_settings: serde_json::Value,
    /// Number of frames of the video, or of views of the dataset.
    pub frames: u32,
    /// SHA-256 hash of all frames in order, in hexadecimal. Present only if the job requested it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub frame_hash: Option<String>,
    /// Time in milliseconds per frame of each render pass. Present only if the job requested these times and the
    /// adapter supports timestamps.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pass_millis: Option<BTreeMap<String, f64>>,
    /// Encoder of all H.264 videos except the thumbnail video. Missing if there is no such video.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub encoder: Option<H264Encoder>,
    /// Error of the hardware encoder. Present only if libx264 replaced a hardware encoder that failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hardware_failure: Option<String>,
    /// Files that the job wrote.
    pub files: Vec<ManifestFile>,
    /// Warnings about settings and options that have no effect, and about parts of the model that were repaired.
    pub warnings: Vec<String>,
    /// Duration of each stage.
    pub timings: Timings,
}

impl Manifest {
    /// Creates the manifest of a job whose files are complete.
    pub(crate) fn of(
        job: &Job,
        (gpu, renderer): (&Gpu, &Renderer<'_>),
        scene: Scene,
        files: Vec<WrittenFile>,
        moments: &Moments,
    ) -> Self {
        let pass_millis: Option<BTreeMap<_, _>> = renderer.pass_times().map(|times| {
            let frames = f64::from(times.frames.max(1));
            times.millis.into_iter().map(|(pass, millis)| (pass.to_owned(), millis / frames)).collect()
        });
        let adapter = adapter_name(gpu);
        let mut warnings = scene.warnings;
        warnings.extend(missing_times(job, pass_millis.as_ref(), &adapter));
        Self {
            version: env!("CARGO_PKG_VERSION").to_owned(),
            adapter,
            render_settings: job.settings.echoed(),
            frames: scene.shots.len() as u32,
            frame_hash: None,
            pass_millis,
            encoder: None,
            hardware_failure: None,
            files: files.into_iter().map(ManifestFile::from).collect(),
            warnings,
            timings: moments.timings(),
        }
    }
}

/// Returns a warning if the job requested the times of the render passes, but the adapter could not measure them.
fn missing_times(job: &Job, pass_millis: Option<&BTreeMap<String, f64>>, adapter: &str) -> Option<String> {
    let is_missing = job.time_passes && pass_millis.is_none();
    is_missing.then(|| format!("the times of the render passes are unknown: {adapter} does not support timestamps"))
}

/// A file that the job wrote.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ManifestFile {
    /// Kind of the file, as [`plinth_spec::output_file::Declaration::local_name`] names it.
    pub kind: String,
    /// Path of the file.
    pub path: String,
    pub bytes: u64,
    /// Width in pixels; for a dataset, the width of a view.
    pub width: u32,
    /// Height in pixels; for a dataset, the height of a view.
    pub height: u32,
}

impl From<WrittenFile> for ManifestFile {
    fn from(file: WrittenFile) -> Self {
        Self {
            kind: file.file.declaration().local_name.to_owned(),
            path: file.path.display().to_string(),
            bytes: file.bytes,
            width: file.width,
            height: file.height,
        }
    }
}

/// Duration of each stage, in seconds.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Timings {
    /// Time from the start until the model is loaded and the graphics device is open.
    pub load_secs: f64,
    /// Time in which light, textures, geometry and pipelines were prepared.
    pub prepare_secs: f64,
    /// Time from the start until the first frame is drawn.
    pub first_frame_secs: f64,
    /// Time from the first to the last frame.
    pub render_secs: f64,
    /// Share of `render_secs` during which the media writer converted frames or waited for encoders.
    pub write_secs: f64,
    /// Time from the last frame until all files are complete.
    pub finish_secs: f64,
    /// Total duration of the job.
    pub total_secs: f64,
}

/// Points in time at which the stages of a job ended. `begin` is the start of the job.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Moments {
    pub(crate) begin: Instant,
    pub(crate) loaded: Instant,
    pub(crate) prepared: Instant,
    /// Time of the first frame; `None` if no frame had to be drawn.
    pub(crate) first_frame: Option<Instant>,
    pub(crate) rendered: Instant,
    /// Time spent in the media writer before the moment `rendered`.
    pub(crate) writing: Duration,
}

impl Moments {
    /// Returns the duration of each stage. The last stage ends when this method is called.
    fn timings(&self) -> Timings {
        let first = self.first_frame.unwrap_or(self.rendered);
        Timings {
            load_secs: (self.loaded - self.begin).as_secs_f64(),
            prepare_secs: (self.prepared - self.loaded).as_secs_f64(),
            first_frame_secs: (first - self.begin).as_secs_f64(),
            render_secs: (self.rendered - first).as_secs_f64(),
            write_secs: self.writing.as_secs_f64(),
            finish_secs: self.rendered.elapsed().as_secs_f64(),
            total_secs: self.begin.elapsed().as_secs_f64(),
        }
    }
}

#[cfg(test)]
mod tests {
    use plinth_spec::{OutputPaths, RenderSettings};

    use super::*;

    #[test]
    fn an_adapter_without_timestamps_gives_a_warning_if_times_are_requested() {
        let job =
            |time_passes| Job { time_passes, ..Job::new(Vec::new(), RenderSettings::default(), OutputPaths::new()) };
        let warning = missing_times(&job(true), None, "Old GPU").unwrap();
        assert_eq!(warning, "the times of the render passes are unknown: Old GPU does not support timestamps");
        assert_eq!(missing_times(&job(true), Some(&BTreeMap::new()), "New GPU"), None);
        assert_eq!(missing_times(&job(false), None, "Old GPU"), None);
    }
}
