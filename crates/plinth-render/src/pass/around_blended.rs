//! Shades opaque surfaces directly into the picture, except in the part of it over which blended surfaces are drawn.
//!
//! Blended surfaces need the colours of the opaque surfaces behind them without the backdrop, for each sample. These
//! colours are shaded into textures, from which a software driver takes much longer to composite the picture.

use plinth_frame::Region;

use super::composite::ModelParts;
use super::visibility::{intersection, overlap};
use crate::RenderError;
use crate::gpu::Gpu;
use crate::pipelines::{BATCH_FORMAT, FullScreen, FullScreenTarget, full_screen};
use crate::targets::TargetDescriptor;

/// The pipelines that divide the opaque surfaces into those inside and those outside a region. Both cover one region.
pub(crate) struct AroundBlended {
    /// Sets colours to zero.
    empty: wgpu::RenderPipeline,
    /// Sets the numbers of batches to zero, so that their pixels are not shaded. Colours remain the same.
    leave_out: wgpu::RenderPipeline,
}

impl AroundBlended {
    /// Creates the pipelines. Returns `None` if the view always shades all surfaces into the same target.
    pub(crate) fn new(
        gpu: &Gpu,
        frame_layout: &wgpu::BindGroupLayout,
        look: &TargetDescriptor,
    ) -> Result<Option<Self>, RenderError> {
        if !look.around_blended {
            return Ok(None);
        }
        let always = Some((BATCH_FORMAT, wgpu::CompareFunction::Always));
        let colors = &[look.color_format];
        let empty = FullScreenTarget { colors, over: always, ..Default::default() };
        // Blending with a transparent colour changes nothing.
        let blend = Some(wgpu::BlendState::PREMULTIPLIED_ALPHA_BLENDING);
        let leave_out = FullScreenTarget { colors, blend, depth: always, ..Default::default() };
        let create = |label, target| {
            let groups = &[frame_layout];
            full_screen(
                gpu,
                &FullScreen { label, path: "pass/empty.wgsl", defines: &["COLORS"], constants: &[], groups, target },
            )
        };
        Ok(Some(Self { empty: create("empty colors", empty)?, leave_out: create("leave out surfaces", leave_out)? }))
    }

    /// Returns whether it takes less time to shade directly into the picture where possible, in a frame whose surfaces
    /// are in the regions `model`. It takes more draws and may take copies of the region, so at least half of the region
    /// of opaque surfaces must be outside the region of blended surfaces.
    pub(crate) fn saves_time(model: ModelParts) -> bool {
        let area = |part: Region| u64::from(part.width) * u64::from(part.height);
        model.solid.is_some_and(|solid| {
            let blended = model.transparent.filter(|part| overlap(*part, solid));
            2 * blended.map_or(0, |part| area(intersection(part, solid))) <= area(solid)
        })
    }
}

/// The pixels of the canvas that a pass shades.
#[derive(Clone, Copy)]
pub(crate) enum ShadedPixels<'a> {
    All,
    /// The pixels of a region. Their colours are set to zero first.
    Inside(&'a AroundBlended, Region),
    /// The pixels outside a region. The numbers of batches in the region are removed.
    Outside(&'a AroundBlended, Region),
}

impl ShadedPixels<'_> {
    /// Prepares the targets of a pass. Returns the region in which batches must be drawn.
    pub(crate) fn prepare(self, pass: &mut wgpu::RenderPass<'_>, canvas: Region) -> Region {
        let (pipeline, part, drawn) = match self {
            Self::All => return canvas,
            Self::Inside(around, part) => (&around.empty, part, part),
            Self::Outside(around, part) => (&around.leave_out, part, canvas),
        };
        pass.set_pipeline(pipeline);
        pass.set_scissor_rect(part.x, part.y, part.width, part.height);
        pass.draw(0..3, 0..1);
        drawn
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use glam::{Mat4, Vec3};
    use plinth_frame::{Frame, FrameSink, PixelFormat, SinkError};
    use plinth_model::{AlphaMode, Material, Mesh, Model, Node, Primitive};
    use plinth_scene::{Background, EnvironmentMap, Scene, Shot, build_scene};
    use plinth_spec::RenderSettings;

    use super::*;
    use crate::gpu::GpuOptions;
    use crate::pass::visibility::joined;
    use crate::renderer::{Picture, Renderer};

    /// Changes a scene.
    type Change = fn(&mut Scene);

    const PICTURE: Picture = Picture { width: 400, height: 300, format: PixelFormat::Rgba8 };

    #[derive(Default)]
    struct Pixels(Vec<u8>);

    impl FrameSink for Pixels {
        fn frame(&mut self, frame: &Frame) -> Result<(), SinkError> {
            self.0.clone_from(&frame.pixels);
            Ok(())
        }
    }

    fn square([x, y, z]: [f32; 3], half: f32) -> Primitive {
        let corners = [[-half, -half], [half, -half], [half, half], [-half, half]];
        Primitive {
            positions: corners.map(|[dx, dy]| [x + dx, y + dy, z]).to_vec(),
            normals: vec![[0.0, 0.0, 1.0]; 4],
            indices: vec![0, 1, 2, 0, 2, 3],
            ..Primitive::default()
        }
    }

    /// Returns a scene with three opaque squares, which have edges in front of each other, and a blended one.
    fn squares(blended: Primitive) -> Scene {
        let color =
            |r: f32, g: f32, b: f32| Material { base_color: [r, g, b, 1.0], double_sided: true, ..Material::default() };
        let translucent =
            Material { base_color: [0.2, 0.9, 0.3, 0.5], alpha_mode: AlphaMode::Blend, ..color(0.0, 0.0, 0.0) };
        let parts = [
            (square([0.0; 3], 1.0), color(0.9, 0.2, 0.1)),
            (square([0.35, 0.25, 0.2], 0.33), color(0.1, 0.3, 0.9)),
            (square([-0.61, -0.47, 0.3], 0.21), color(0.8, 0.8, 0.2)),
            (blended, translucent),
        ];
        let mut model = Model::default();
        for (i, (primitive, material)) in parts.into_iter().enumerate() {
            let primitive = Primitive { material: i, ..primitive };
            model.materials.push(material);
            model.meshes.push(Mesh { primitives: vec![primitive], ..Mesh::default() });
            model.nodes.push(Node { mesh: Some(i), ..Node::default() });
        }
        let even = EnvironmentMap { width: 4, height: 2, pixels: vec![[0.7; 3]; 8] };
        let mut scene = build_scene(Arc::new(model), &RenderSettings::default(), Some(even)).unwrap();
        scene.background = Background::Solid([32, 64, 96]);
        scene
    }

    fn drawn(renderer: &mut Renderer<'_>, scene: &Scene, shot: &Shot) -> Vec<u8> {
        let mut pixels = Pixels::default();
        renderer.render_one(scene, shot, &mut pixels).unwrap();
        pixels.0
    }

    /// Returns the regions that surfaces cover in the last frame.
    fn parts(renderer: &Renderer<'_>) -> ModelParts {
        let (gpu_scene, view) = (&renderer.gpu_scene, &renderer.view);
        let solid = gpu_scene.solid().filter_map(|i| view.parts[i]).reduce(joined);
        ModelParts { solid, transparent: gpu_scene.transparent_part(view) }
    }

    /// Draws a shot in both ways, and compares the pictures. `expected` is whether surfaces around the blended part are
    /// shaded into the picture.
    fn compare(name: &str, renderer: &mut Renderer<'_>, (scene, shot): (&Scene, &Shot), expected: bool) {
        let divided = drawn(renderer, scene, shot);
        assert_eq!(renderer.view.around_blended(parts(renderer)).is_some(), expected, "{name}");
        let pipelines = renderer.view.around_blended.take();
        assert!(divided == drawn(renderer, scene, shot), "{name}: the pictures differ");
        renderer.view.around_blended = pipelines;
        assert!(divided == drawn(renderer, scene, shot), "{name}: traces of the frame before");
    }

    #[test]
    fn shading_into_the_picture_around_blended_surfaces_does_not_change_it() {
        let gpu = Gpu::open(&GpuOptions::default()).unwrap();
        let nothing: Change = |_scene| ();
        let transparent: Change = |scene| scene.background = Background::Transparent;
        let blurred: Change = |scene| scene.post.aperture = 0.1;
        // With a shadow on the floor, the picture is larger than the region of the model.
        let cases = [
            ("inside a surface", square([-0.3, 0.4, 0.5], 0.15), true, (true, nothing)),
            ("over edges", square([0.02, -0.06, 0.5], 0.3), true, (false, nothing)),
            ("over edges and blurred", square([0.02, -0.06, 0.5], 0.3), true, (true, blurred)),
            ("at the corner", square([0.95, 0.93, 0.5], 0.2), true, (true, transparent)),
            ("hidden", square([0.1, 0.1, -0.5], 0.2), true, (false, transparent)),
            ("over everything", square([0.0, 0.0, 0.5], 1.3), false, (true, nothing)),
        ];
        for (name, blended, expected, (has_shadow, change)) in cases {
            let mut scene = squares(blended);
            scene.shadow = scene.shadow.filter(|_look| has_shadow);
            change(&mut scene);
            let shot = scene.shots[0].clone();
            let mut renderer = Renderer::new(&gpu, &scene, PICTURE, None).unwrap();
            let look = renderer.view.look;
            assert_eq!(look.region != look.model_region, has_shadow, "{name}");
            compare(name, &mut renderer, (&scene, &shot), expected && gpu.is_software());
        }
    }

    #[test]
    fn any_camera_sees_the_same_picture_in_both_ways() {
        let [gpu, mut device] = [(); 2].map(|()| Gpu::open(&GpuOptions::default()).unwrap());
        device.keep_visibility_on_device();
        let scene = squares(square([0.7, 0.6, 0.5], 0.15));
        let seen_from = |x: f32| {
            let position = Vec3::new(x, 0.2, 4.0);
            let mut shot = scene.shots[0].clone();
            (shot.camera.position, shot.camera.view_from_world) = (position, Mat4::from_translation(-position));
            (shot.camera.fov_y, shot.camera.near, shot.camera.far) = (0.7, 0.1, 20.0);
            shot
        };
        // The passes of the device replace only a part of the maps of the frame before.
        for (adapter, gpu) in [("uploaded", &gpu), ("passes", &device)] {
            let [mut renderer, mut fresh] =
                [(); 2].map(|()| Renderer::for_any_camera(gpu, &scene, PICTURE, None).unwrap());
            let mut is_seen = Vec::new();
            // In the third picture the blended square is outside, in the fourth all squares are.
            for x in [0.0, 0.4, -2.2, 9.0, 0.1] {
                let expected = gpu.is_software() && x < 9.0;
                compare(&format!("{adapter}, camera at {x}"), &mut renderer, (&scene, &seen_from(x)), expected);
                let seen = parts(&renderer);
                is_seen.push((seen.solid.is_some(), seen.transparent.is_some()));
            }
            assert_eq!(is_seen, [(true, true), (true, true), (true, false), (false, false), (true, true)]);
            // The next picture follows one in which numbers of batches were removed elsewhere.
            let [moved, expected] = [&mut renderer, &mut fresh].map(|one| drawn(one, &scene, &seen_from(-0.3)));
            assert!(moved == expected, "{adapter}: traces of earlier frames");
        }
    }

    #[test]
    fn only_pictures_that_need_no_conversion_are_shaded_into() {
        let gpu = Gpu::open(&GpuOptions::default()).unwrap();
        let of = |change: Change, format: PixelFormat| {
            let mut scene = squares(square([0.0, 0.0, 0.5], 0.2));
            change(&mut scene);
            let renderer = Renderer::new(&gpu, &scene, Picture { format, ..PICTURE }, None).unwrap();
            renderer.view.around_blended.is_some()
        };
        assert_eq!(of(|_scene| (), PixelFormat::Rgba8), gpu.is_software());
        assert!(!of(|_scene| (), PixelFormat::Rgba16));
        assert!(!of(|scene| scene.post.bloom = 0.5, PixelFormat::Rgba8));
        assert!(!of(|scene| scene.post.vignette = 0.5, PixelFormat::Rgba8));
    }

    #[test]
    fn at_least_half_of_the_opaque_surfaces_must_be_outside() {
        let region = |x, y, width, height| Some(Region { x, y, width, height });
        let saves = |solid, transparent| AroundBlended::saves_time(ModelParts { solid, transparent });
        let solid = region(10, 20, 40, 30);
        assert!(saves(solid, None));
        assert!(saves(solid, region(50, 20, 100, 100)), "beside");
        assert!(saves(solid, region(0, 0, 30, 90)), "half");
        assert!(!saves(solid, region(0, 0, 31, 90)));
        assert!(!saves(solid, solid));
        assert!(!saves(None, region(0, 0, 5, 5)));
    }
}
