//! Measures how long it takes to render a dataset, how long to encode and write it, and how long to do both at the same
//! time. `bench/dataset.sh` runs it.
#![expect(clippy::unwrap_used, clippy::print_stdout, reason = "a benchmark")]

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Instant;

use plinth_frame::{Layers, LayersSink, PixelFormat, SinkError};
use plinth_media::{DatasetAbout, DatasetPlan, DatasetWriter};
use plinth_model::{LoadOptions, load_glb};
use plinth_pipeline::{Job, dataset_cameras, run};
use plinth_render::{Gpu, GpuOptions, Picture, Renderer};
use plinth_scene::{DatasetViews, SceneAssets, ViewSet, build_dataset};
use plinth_spec::settings::ParseOptions;
use plinth_spec::{OutputFile, RenderSettings};

/// Every tenth view is kept in memory. Later, each kept view is encoded ten times, in place of the views that were
/// dropped.
const KEPT: u32 = 10;
/// Clock ticks per second in /proc/self/stat.
const TICKS: f64 = 100.0;

fn main() {
    // Cargo adds flags to the arguments.
    let arguments: Vec<String> = std::env::args().skip(1).filter(|argument| !argument.starts_with('-')).collect();
    let [model, quality] = arguments.as_slice() else {
        println!("usage: dataset MODEL DATASET_QUALITY");
        return;
    };
    let settings = serde_json::json!({"output": "dataset", "datasetQuality": quality});
    let settings = RenderSettings::from_json(&settings, ParseOptions::default()).unwrap();
    let model = std::fs::read(model).unwrap();
    let folder = tempfile::tempdir().unwrap();
    println!("{:14} {:>8} {:>8}", "", "wall s", "cpu s");
    let ((kept, set), rendering, render_cpu) = timed("render alone", || rendered(&model, &settings));
    let ((), encoding, encode_cpu) = timed("encode alone", || encoded(&kept, set, folder.path().join("encoded.zip")));
    drop(kept);
    let whole = folder.path().join("whole.zip");
    let ((), together, _) = timed("together", || made(model, settings, &whole));
    let cores = std::thread::available_parallelism().unwrap().get();
    println!("together / the longer of both: {:.2}", together / rendering.max(encoding));
    println!("both cpu / {cores} cores: {:.2} s", (render_cpu + encode_cpu) / cores as f64);
    println!("bytes: {}", std::fs::metadata(&whole).unwrap().len());
}

/// Runs `work`, and prints its wall-clock time and CPU time. Returns the result and both times in seconds.
fn timed<T>(name: &str, work: impl FnOnce() -> T) -> (T, f64, f64) {
    let (begin, before) = (Instant::now(), cpu_secs());
    let made = work();
    let (wall, cpu) = (begin.elapsed().as_secs_f64(), cpu_secs() - before);
    println!("{name:14} {wall:8.2} {cpu:8.2}");
    (made, wall, cpu)
}

/// Returns the CPU time of this process so far, in seconds (fields 14 and 15 of /proc/self/stat, in ticks; see
/// proc(5)).
fn cpu_secs() -> f64 {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap();
    let after_name = stat.rsplit(')').next().unwrap();
    let ticks = after_name.split_whitespace().skip(11).take(2).map(|ticks| ticks.parse::<f64>().unwrap());
    ticks.sum::<f64>() / TICKS
}

/// Renders all views, and returns every tenth of them.
fn rendered(model: &[u8], settings: &RenderSettings) -> (Vec<Layers>, ViewSet) {
    let quality = settings.dataset().quality;
    let side = quality.side();
    let views = DatasetViews::Spread { count: quality.views(), side, coverage: settings.dataset().coverage };
    let gpu = std::thread::spawn(|| Gpu::open(&GpuOptions::default()).unwrap());
    let options = LoadOptions { max_texture_side: side.next_power_of_two(), ..LoadOptions::default() };
    let model = Arc::new(load_glb(model, &options).unwrap());
    let images = BTreeMap::new();
    let assets = SceneAssets { environment: None, images: &images };
    let (scene, set) = build_dataset(model, settings, assets, &views).unwrap();
    let gpu = gpu.join().unwrap();
    let picture = Picture { width: side, height: side, format: PixelFormat::Rgba8 };
    let wanted: Vec<u32> = (0..quality.views()).collect();
    let mut sink = Keep::default();
    Renderer::new(&gpu, &scene, picture, None).unwrap().render_layers(&scene, &wanted, &mut sink).unwrap();
    (sink.kept, set)
}

/// A sink that keeps every tenth view and drops the others.
#[derive(Default)]
struct Keep {
    kept: Vec<Layers>,
    spare: Option<Layers>,
}

impl LayersSink for Keep {
    fn layers(&mut self, layers: Layers) -> Result<(), SinkError> {
        if layers.index.is_multiple_of(KEPT) {
            self.kept.push(layers);
        } else {
            self.spare = Some(layers);
        }
        Ok(())
    }

    fn spare(&mut self) -> Option<Layers> {
        self.spare.take()
    }
}

/// Encodes a dataset with one view per camera. Each kept view is used for ten cameras.
fn encoded(kept: &[Layers], set: ViewSet, target: PathBuf) {
    let (width, height) = (set.intrinsics.width, set.intrinsics.height);
    let views = u32::try_from(set.world_from_camera.len()).unwrap();
    let about = DatasetAbout {
        version: String::new(),
        adapter: String::new(),
        render_settings: serde_json::Value::Null,
        coverage: "hemisphere",
        warnings: Vec::new(),
    };
    let cameras = dataset_cameras(set);
    let plan = DatasetPlan { target, key: String::new(), cameras, watermark: false, splits: false, about };
    let stop = AtomicBool::new(false);
    let mut writer = DatasetWriter::start(plan, &stop).unwrap();
    for index in 0..views {
        let from = &kept[(index / KEPT) as usize];
        let mut layers = writer.spare().unwrap_or_else(|| Layers::nothing(width, height));
        layers.index = index;
        layers.color.copy_from_slice(&from.color);
        layers.depth.copy_from_slice(&from.depth);
        layers.normal.copy_from_slice(&from.normal);
        writer.layers(layers).unwrap();
    }
    writer.finish().unwrap();
}

/// Renders a dataset in the same way as `plinth render`.
fn made(model: Vec<u8>, settings: RenderSettings, target: &Path) {
    let job = Job::new(model, settings, [(OutputFile::Dataset, target.to_owned())].into());
    run(&job, &mut |_| {}, &AtomicBool::new(false)).unwrap();
}
