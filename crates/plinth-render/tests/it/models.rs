//! Small models and their scenes, and sinks that store the frames or views that they receive.

use std::collections::BTreeMap;
use std::sync::{Arc, LazyLock};

use plinth_frame::{Backdrop, Frame, FrameSink, Layers, LayersSink, PixelFormat, SinkError};
use plinth_model::{Material, Mesh, Model, Node, Primitive, Transform, Trs};
use plinth_render::{Cache, Gpu, GpuOptions, Picture, Renderer};
use plinth_scene::{Background, EnvironmentMap, Scene, SceneAssets, build_scene};
use plinth_spec::RenderSettings;
use plinth_spec::settings::ParseOptions;
use serde_json::Value;

/// Returns a ball of radius 1 with smooth normals.
pub(crate) fn ball(rings: u32, sectors: u32) -> Primitive {
    let mut ball = Primitive::default();
    for ring in 0..=rings {
        let polar = std::f32::consts::PI * ring as f32 / rings as f32;
        for sector in 0..=sectors {
            let azimuth = 2.0 * std::f32::consts::PI * sector as f32 / sectors as f32;
            let p = [polar.sin() * azimuth.cos(), polar.cos(), polar.sin() * azimuth.sin()];
            ball.positions.push(p);
            ball.normals.push(p);
        }
    }
    let at = |ring: u32, sector: u32| ring * (sectors + 1) + sector;
    for ring in 0..rings {
        for sector in 0..sectors {
            let (a, b) = (at(ring, sector), at(ring, sector + 1));
            let (c, d) = (at(ring + 1, sector), at(ring + 1, sector + 1));
            ball.indices.extend([a, b, c, b, d, c]);
        }
    }
    ball
}

/// Returns a square that faces +Z. Its side length is 2.
pub(crate) fn square() -> Primitive {
    Primitive {
        positions: vec![[-1.0, -1.0, 0.0], [1.0, -1.0, 0.0], [1.0, 1.0, 0.0], [-1.0, 1.0, 0.0]],
        normals: vec![[0.0, 0.0, 1.0]; 4],
        indices: vec![0, 1, 2, 0, 2, 3],
        ..Primitive::default()
    }
}

/// Returns a model with one node per part. A part is a primitive, a material, a position and a scale.
pub(crate) fn model(parts: Vec<(Primitive, Material, [f32; 3], f32)>) -> Model {
    let mut out = Model::default();
    for (i, (mut primitive, material, translation, scale)) in parts.into_iter().enumerate() {
        primitive.material = i;
        out.materials.push(material);
        out.meshes.push(Mesh { name: format!("part {i}"), primitives: vec![primitive] });
        let trs = Trs { translation: translation.into(), scale: glam::Vec3::splat(scale), ..Trs::default() };
        out.nodes.push(Node {
            name: format!("part {i}"),
            mesh: Some(i),
            local: Transform::Trs(trs),
            ..Node::default()
        });
    }
    out
}

/// Returns a scene in uniform white light.
pub(crate) fn scene(model: Model, settings: &Value) -> Scene {
    scene_with(model, settings, even(), &BTreeMap::new())
}

/// Returns an environment with the radiance 1 in all directions.
pub(crate) fn even() -> EnvironmentMap {
    EnvironmentMap { width: 4, height: 2, pixels: vec![[1.0; 3]; 8] }
}

/// Returns a scene with the given environment and images.
pub(crate) fn scene_with(
    model: Model,
    settings: &Value,
    environment: EnvironmentMap,
    images: &BTreeMap<String, Vec<u8>>,
) -> Scene {
    let settings = RenderSettings::from_json(settings, ParseOptions::default()).unwrap();
    build_scene(Arc::new(model), &settings, SceneAssets { environment: Some(environment), images }).unwrap()
}

/// Returns a PNG file.
pub(crate) fn png(width: u32, height: u32, pixel: impl Fn(u32, u32) -> [u8; 4]) -> Vec<u8> {
    let pixels: Vec<u8> = (0..height).flat_map(|y| (0..width).flat_map(|x| pixel(x, y)).collect::<Vec<_>>()).collect();
    let mut bytes = Vec::new();
    let mut encoder = png::Encoder::new(&mut bytes, width, height);
    encoder.set_color(png::ColorType::Rgba);
    encoder.write_header().unwrap().write_image_data(&pixels).unwrap();
    bytes
}

/// Returns settings of a camera on the +Z axis, 4 units away from the centre of the model. There are no shadows and no
/// lights.
pub(crate) fn straight_on() -> Value {
    serde_json::json!({
        "effect": "keyframes", "aspect": "1:1", "shadows": false, "length": 0.04,
        "spotlightIntensity": 0, "lightsIntensity": 0, "ambientIntensity": 0, "bgColor": "#204060",
        "keyframes": [{"pose": {"position": [0, 0, 4], "lookAt": [0, 0, 0], "fov": 40}}],
    })
}

#[derive(Default)]
pub(crate) struct Kept {
    pub(crate) frames: Vec<Frame>,
    pub(crate) layers: Vec<Layers>,
}

impl FrameSink for Kept {
    fn frame(&mut self, frame: &Frame) -> Result<(), SinkError> {
        self.frames.push(frame.clone());
        Ok(())
    }
}

impl LayersSink for Kept {
    fn layers(&mut self, layers: Layers) -> Result<(), SinkError> {
        self.layers.push(layers);
        Ok(())
    }

    fn spare(&mut self) -> Option<Layers> {
        None
    }
}

/// Returns the best available adapter.
pub(crate) fn gpu() -> &'static Gpu {
    static GPU: LazyLock<Gpu> = LazyLock::new(|| Gpu::open(&GpuOptions::default()).unwrap());
    &GPU
}

/// Returns the images of the first view of a scene. Each image has `side` × `side` pixels.
pub(crate) fn layers(scene: Scene, side: u32) -> Layers {
    cached_layers(scene, side, None)
}

/// Returns the same images as [`layers`]. Baked light is read from the cache if the cache contains it.
pub(crate) fn cached_layers(mut scene: Scene, side: u32, cache: Option<&Cache>) -> Layers {
    scene.background = Background::Transparent;
    let picture = Picture { width: side, height: side, format: PixelFormat::Rgba8 };
    let mut kept = Kept::default();
    Renderer::new(gpu(), &scene, picture, cache).unwrap().render_layers(&scene, &[0], &mut kept).unwrap();
    kept.layers.remove(0)
}

/// Returns all frames of a scene.
pub(crate) fn frames(scene: &Scene, width: u32, height: u32, format: PixelFormat) -> Vec<Frame> {
    cached_frames(scene, Picture { width, height, format }, None)
}

/// Returns all frames of a scene. Baked light is read from the cache if the cache contains it.
pub(crate) fn cached_frames(scene: &Scene, picture: Picture, cache: Option<&Cache>) -> Vec<Frame> {
    let mut kept = Kept::default();
    Renderer::new(gpu(), scene, picture, cache).unwrap().render(scene, &mut kept).unwrap();
    kept.frames
}

/// Returns the first frame of a scene as R, G, B values, row by row.
pub(crate) fn picture(scene: &Scene, side: u32) -> Vec<[u8; 3]> {
    whole(&frames(scene, side, side, PixelFormat::Rgba8)[0])
}

/// Returns all pixels of a frame: its region, and its backdrop around the region. The frame must have 8 bits per
/// channel.
pub(crate) fn whole(frame: &Frame) -> Vec<[u8; 3]> {
    let count = (frame.width * frame.height) as usize;
    let mut whole = match &frame.backdrop {
        Backdrop::Solid(color) => vec![*color; count],
        Backdrop::Picture(pixels) => pixels.as_chunks::<4>().0.iter().map(|p| [p[0], p[1], p[2]]).collect(),
        Backdrop::Transparent => vec![[0; 3]; count],
    };
    let part = frame.region;
    for (y, row) in (part.y..).zip(frame.pixels.chunks_exact(part.width as usize * 4)) {
        for (x, pixel) in (part.x..).zip(row.as_chunks::<4>().0) {
            whole[(y * frame.width + x) as usize] = [pixel[0], pixel[1], pixel[2]];
        }
    }
    whole
}
