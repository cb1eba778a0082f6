//! Measures the CPU work for each frame, during which a fast graphics card would have to wait. `bench/card.sh` runs it.
#![expect(clippy::unwrap_used, clippy::print_stdout, reason = "a benchmark")]

use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use plinth_frame::{Frame, FrameSink, PixelFormat, SinkError};
use plinth_model::{LoadOptions, load_glb};
use plinth_render::{Cache, Gpu, Picture, Renderer};
use plinth_scene::{Scene, build_scene};
use plinth_spec::RenderSettings;
use plinth_spec::settings::ParseOptions;

/// Clock ticks per second in /proc/self/stat.
const TICKS: f64 = 100.0;

fn main() {
    // Cargo adds flags to the arguments.
    let models = std::env::args().skip(1).filter(|argument| !argument.starts_with('-'));
    println!(
        "{:32} {:>10} {:>8} {:>7} {:>12} {:>12} {:>12}",
        "model", "triangles", "moves", "light", "ms per frame", "CPU ms", "bytes written"
    );
    for model in models {
        measure(Path::new(&model));
    }
}

/// Statistics of the frames of a video. The first frame is not counted, because preparations take most of its time.
#[derive(Default)]
struct Frames {
    begin: Option<(Instant, f64, u64)>,
    count: u32,
}

struct Counted<'a> {
    gpu: &'a Gpu,
    frames: Frames,
}

impl FrameSink for Counted<'_> {
    fn frame(&mut self, _frame: &Frame) -> Result<(), SinkError> {
        if self.frames.begin.is_none() {
            self.frames.begin = Some((Instant::now(), cpu_secs(), self.gpu.written_bytes()));
        } else {
            self.frames.count += 1;
        }
        Ok(())
    }
}

fn measure(path: &Path) {
    let settings = serde_json::json!({"quality": "standard", "length": 10, "animation": "*"});
    let settings = RenderSettings::from_json(&settings, ParseOptions::default()).unwrap();
    let options = LoadOptions { max_texture_side: 2048, ..LoadOptions::default() };
    let model = Arc::new(load_glb(&std::fs::read(path).unwrap(), &options).unwrap());
    let triangles: usize =
        model.meshes.iter().flat_map(|mesh| &mesh.primitives).map(|primitive| primitive.indices.len() / 3).sum();
    let scene = build_scene(model, &settings, None).unwrap();
    let (width, height) = settings.video().quality.size(settings.video().aspect);
    let picture = Picture { width, height, format: PixelFormat::Rgba8 };
    let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    let moves = if scene.shots.iter().any(|shot| shot.clip_time.is_some()) { "yes" } else { "no" };
    let folder = tempfile::tempdir().unwrap();
    let cache = Cache::open(folder.path().to_owned(), u64::MAX).unwrap();
    for light in ["new", "known"] {
        let [elapsed, cpu, written] = per_frame(&scene, picture, &cache);
        println!("{name:32} {triangles:>10} {moves:>8} {light:>7} {elapsed:>12.2} {cpu:>12.2} {written:>12.0}");
    }
}

/// Draws a video. Returns the elapsed milliseconds, the CPU milliseconds and the written bytes per frame.
fn per_frame(scene: &Scene, picture: Picture, cache: &Cache) -> [f64; 3] {
    let gpu = Gpu::open_without_drawing().unwrap();
    let mut renderer = Renderer::new(&gpu, scene, picture, Some(cache)).unwrap();
    let mut sink = Counted { gpu: &gpu, frames: Frames::default() };
    renderer.render(scene, &mut sink).unwrap();
    let Frames { begin, count } = sink.frames;
    let (begin, cpu, written) = begin.unwrap();
    let totals =
        [begin.elapsed().as_secs_f64() * 1e3, (cpu_secs() - cpu) * 1e3, (gpu.written_bytes() - written) as f64];
    totals.map(|total| total / f64::from(count.max(1)))
}

/// Returns the CPU time of this process so far, in seconds (fields 14 and 15 of /proc/self/stat, in ticks; see
/// proc(5)).
fn cpu_secs() -> f64 {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap();
    let after_name = stat.rsplit(')').next().unwrap();
    let ticks = after_name.split_whitespace().skip(11).take(2).map(|ticks| ticks.parse::<f64>().unwrap());
    ticks.sum::<f64>() / TICKS
}
