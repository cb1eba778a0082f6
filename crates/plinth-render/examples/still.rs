//! Renders frames of a model to PNG files, and prints timings. Usage: `still MODEL OUT.png [SETTINGS [ENV.hdr]]`.
#![expect(clippy::print_stdout, clippy::unwrap_used, reason = "a tool for developers")]

use std::sync::Arc;
use std::time::Instant;

use plinth_frame::{Backdrop, Frame, FrameSink, PixelFormat, SinkError};

struct Sink {
    out: String,
    last: Instant,
    times: Vec<f64>,
    cpu: f64,
}

impl FrameSink for Sink {
    fn frame(&mut self, frame: &Frame) -> Result<(), SinkError> {
        if frame.index == 0 {
            self.cpu = cpu();
        }
        self.times.push(self.last.elapsed().as_secs_f64() * 1e3);
        self.last = Instant::now();
        if frame.index == 0 || std::env::args().nth(5).is_some() {
            let mut whole = vec![255_u8; (frame.width * frame.height * 4) as usize];
            match &frame.backdrop {
                Backdrop::Solid([r, g, b]) => {
                    whole.chunks_exact_mut(4).for_each(|p| p.copy_from_slice(&[*r, *g, *b, 255]));
                }
                Backdrop::Picture(pixels) => whole.copy_from_slice(pixels),
                Backdrop::Transparent => {}
            }
            let r = frame.region;
            for y in 0..r.height {
                let to = (((y + r.y) * frame.width + r.x) * 4) as usize;
                let from = (y * r.width * 4) as usize;
                whole[to..to + (r.width * 4) as usize]
                    .copy_from_slice(&frame.pixels[from..from + (r.width * 4) as usize]);
            }
            let name = if frame.index == 0 { self.out.clone() } else { format!("{}.{:03}.png", self.out, frame.index) };
            let mut encoder = png::Encoder::new(std::fs::File::create(name).unwrap(), frame.width, frame.height);
            encoder.set_color(png::ColorType::Rgba);
            encoder.write_header().unwrap().write_image_data(&whole).unwrap();
        }
        Ok(())
    }
}

/// Returns the CPU time of this process in seconds.
fn cpu() -> f64 {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap();
    let fields: Vec<&str> = stat.rsplit(')').next().unwrap().split_whitespace().collect();
    (fields[11].parse::<f64>().unwrap() + fields[12].parse::<f64>().unwrap()) / 100.0
}

fn main() {
    let args: Vec<String> = std::env::args().collect();
    let begin = Instant::now();
    let bytes = std::fs::read(&args[1]).unwrap();
    let model =
        plinth_model::load_glb(&bytes, &plinth_model::LoadOptions { max_texture_side: 2048, ..Default::default() })
            .unwrap();
    println!("load {:?}", begin.elapsed());
    let text = args.get(3).map_or("{}", String::as_str);
    let settings =
        plinth_spec::RenderSettings::from_text(text, plinth_spec::settings::ParseOptions::default()).unwrap();
    let env = args
        .get(4)
        .filter(|e| !e.is_empty())
        .map(|path| plinth_scene::radiance_hdr(&std::fs::read(path).unwrap()).unwrap());
    let scene = plinth_scene::build_scene(Arc::new(model), &settings, env).unwrap();
    println!("scene {:?} {:?}", begin.elapsed(), scene.bounds);
    let gpu = plinth_render::Gpu::open(&plinth_render::GpuOptions::default()).unwrap();
    println!("gpu {:?}", begin.elapsed());
    let (width, height) = settings.video().quality.size(settings.video().aspect);
    let mut renderer = plinth_render::Renderer::new(
        &gpu,
        &scene,
        plinth_render::Picture { width, height, format: PixelFormat::Rgba8 },
        std::env::var_os("CACHE").map(|folder| plinth_render::Cache::open(folder.into(), 1 << 30).unwrap()).as_ref(),
    )
    .unwrap();
    println!("renderer {:?} region {:?}", begin.elapsed(), renderer.region());
    if std::env::var_os("PASS_TIMES").is_some() {
        renderer.time_passes();
    }
    let mut sink = Sink { out: args[2].clone(), last: Instant::now(), times: Vec::new(), cpu: 0.0 };
    renderer.render(&scene, &mut sink).unwrap();
    let rest = &sink.times[1.min(sink.times.len() - 1)..];
    if let Some(times) = renderer.pass_times() {
        for (pass, millis) in &times.millis {
            println!("{pass:16} {:7.1} ms a frame", millis / f64::from(times.frames));
        }
    }
    println!("cpu {:.1} ms a frame", (cpu() - sink.cpu) * 1e3 / rest.len() as f64);
    println!(
        "first {:.0} ms, then {:.1} ms a frame over {}",
        sink.times[0],
        rest.iter().sum::<f64>() / rest.len() as f64,
        rest.len()
    );
}
