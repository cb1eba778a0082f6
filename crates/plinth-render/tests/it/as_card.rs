//! On a graphics card, the device poses moving vertices and sorts triangles. The pictures must be the same as if the processor
//! does so.

use std::sync::LazyLock;

use glam::{Mat4, Quat, Vec3};
use plinth_frame::PixelFormat;
use plinth_model::{
    AlphaMode, Animation, Anisotropy, Channel, Interpolation, Material, Model, MorphTarget, Node, Primitive, Property,
    Skin, Transform, Transmission, Trs,
};
use plinth_render::{Gpu, GpuOptions, Picture, Renderer};
use plinth_scene::Scene;

use crate::models::{Kept, ball, model, scene, square, straight_on, whole};

const SIDE: u32 = 96;
const PICTURE: Picture = Picture { width: SIDE, height: SIDE, format: PixelFormat::Rgba8 };

/// Returns an adapter that draws everything, for which the processor poses the vertices and sorts the triangles.
fn prepared_by_processor() -> &'static Gpu {
    static GPU: LazyLock<Gpu> = LazyLock::new(|| {
        let mut gpu = Gpu::open(&GpuOptions::default()).unwrap();
        gpu.keep_visibility_on_device();
        gpu
    });
    &GPU
}

/// Returns an adapter that also poses the vertices and sorts the triangles.
fn prepared_by_device() -> &'static Gpu {
    static GPU: LazyLock<Gpu> = LazyLock::new(|| {
        let mut gpu = Gpu::open(&GpuOptions::default()).unwrap();
        gpu.act_as_card();
        gpu
    });
    &GPU
}

fn colored(r: f32, g: f32, b: f32) -> Material {
    Material { base_color: [r, g, b, 1.0], perceptual_roughness: 0.6, ..Material::default() }
}

/// Returns a model with a clip of one second.
fn playing(mut model: Model, node: usize, property: Property, values: Vec<f32>) -> Model {
    let channel = Channel { node, property, interpolation: Interpolation::Linear, times: vec![0.0, 1.0], values };
    model.animations.push(Animation { name: "clip".to_owned(), duration: 1.0, channels: vec![channel] });
    model
}

fn quarter_turn() -> Vec<f32> {
    let turned = Quat::from_euler(glam::EulerRot::XYZ, 0.4, 0.5, std::f32::consts::FRAC_PI_2);
    Quat::IDENTITY.to_array().into_iter().chain(turned.to_array()).collect()
}

/// Returns a ball with tangents around the vertical axis, and a material whose highlights follow the tangents.
fn brushed() -> (Primitive, Material) {
    let mut ball = ball(20, 30);
    ball.tangents = ball.normals.iter().map(|[x, _, z]| [-*z, 0.0, *x, 1.0]).collect();
    // The turned highlights show on which side of the tangent the second tangent is.
    let anisotropy = Some(Anisotropy { strength: 0.9, rotation: 0.7, ..Anisotropy::default() });
    (ball, Material { anisotropy, metallic: 1.0, perceptual_roughness: 0.4, ..colored(0.9, 0.6, 0.3) })
}

/// Returns a ball whose upper half follows a joint that bends away from the lower half. The vertices between the halves follow
/// both joints. The skin lacks the joint of the lowest vertices, which therefore stay in their places.
fn bending() -> Model {
    let (mut ball, material) = brushed();
    let share = |y: f32| ((y + 0.3) / 0.6).clamp(0.0, 1.0);
    let influences = |y: f32| {
        if y < -0.9 {
            ([7, 0, 0, 0], [1.0, 0.0, 0.0, 0.0])
        } else {
            ([0, 1, 0, 0], [1.0 - share(y), share(y), 0.0, 0.0])
        }
    };
    (ball.joints, ball.weights) = ball.positions.iter().map(|[_, y, _]| influences(*y)).unzip();
    let mut model =
        model(vec![(ball, material, [0.0; 3], 1.0), (square(), colored(0.2, 0.5, 0.2), [0.0, 0.0, -0.7], 1.2)]);
    model.nodes[0].skin = Some(0);
    model.nodes.push(Node::default());
    model.nodes.push(Node { parent: Some(2), ..Node::default() });
    model.skins.push(Skin { joints: vec![2, 3], inverse_bind: vec![Mat4::IDENTITY; 2] });
    playing(model, 3, Property::Rotation, quarter_turn())
}

/// Returns a ball with flat or smooth normals that two morph targets deform.
fn morphing(is_flat: bool) -> Model {
    let (smooth, material) = brushed();
    let ball = if is_flat { flat(&smooth) } else { smooth };
    let along = |axis: usize, size: f32| -> MorphTarget {
        let of = |p: &[f32; 3]| -> [f32; 3] { std::array::from_fn(|i| if i == axis { p[axis] * size } else { 0.0 }) };
        let positions = ball.positions.iter().map(of).collect();
        let normals = ball.normals.iter().map(|n| of(n).map(|c| -c * 0.5)).collect();
        MorphTarget { positions, normals, tangents: vec![[0.1, 0.0, 0.0]; ball.positions.len()] }
    };
    let morph_targets = vec![along(0, 0.4), MorphTarget::default(), along(1, -0.6)];
    let mut model = model(vec![(Primitive { morph_targets, ..ball }, material, [0.0; 3], 0.9)]);
    model.nodes[0].weights = vec![0.0; 3];
    playing(model, 0, Property::Weights, vec![0.0, 0.0, 0.2, 1.0, 0.5, 0.9])
}

/// Returns the model with two instances of its first mesh.
fn twice(mut model: Model) -> Model {
    let at = |x: f32, y: f32| {
        Transform::Trs(Trs { translation: Vec3::new(x, y, 0.0), scale: Vec3::splat(0.6), ..Trs::default() })
    };
    model.nodes[0].instances = vec![at(-0.6, 0.3), at(0.6, -0.3)];
    model
}

/// Returns a primitive in which no two triangles share a vertex, with the normals of the triangles.
fn flat(smooth: &Primitive) -> Primitive {
    let mut out = Primitive { is_flat: true, ..Primitive::default() };
    for triangle in smooth.indices.as_chunks::<3>().0 {
        let corners = triangle.map(|v| Vec3::from(smooth.positions[v as usize]));
        let normal = (corners[1] - corners[0]).cross(corners[2] - corners[0]).normalize_or(Vec3::Y);
        for (v, corner) in triangle.iter().zip(corners) {
            out.indices.push(out.positions.len() as u32);
            out.positions.push(corner.to_array());
            out.normals.push(normal.to_array());
            out.tangents.extend(smooth.tangents.get(*v as usize));
        }
    }
    out
}

/// Returns a half-transparent, an alpha-tested and two opaque parts on a node that turns, and one part that does not move.
fn turning() -> Model {
    let masked = Material { alpha_mode: AlphaMode::Mask { cutoff: 0.5 }, double_sided: true, ..colored(0.9, 0.1, 0.1) };
    let blended = Material { alpha_mode: AlphaMode::Blend, base_color: [0.2, 0.3, 0.9, 0.5], ..Material::default() };
    let (brushed, metal) = brushed();
    let mut model = model(vec![
        (square(), colored(0.8, 0.8, 0.8), [0.0, 0.0, -1.2], 1.5),
        (brushed, metal, [0.3, 0.1, 0.0], 0.5),
        (ball(10, 16), colored(0.1, 0.9, 0.1), [-0.5, -0.3, 0.2], 0.4),
        (square(), masked, [0.1, 0.6, 0.1], 0.3),
        (square(), blended, [0.1, -0.5, 0.6], 0.4),
    ]);
    model.nodes.iter_mut().skip(1).for_each(|node| node.parent = Some(0));
    model.nodes.insert(0, Node::default());
    for node in model.nodes.iter_mut().skip(2) {
        node.parent = Some(0);
    }
    playing(model, 0, Property::Rotation, quarter_turn())
}

/// Returns the model with materials that let light through. Its batches are drawn from back to front.
fn blended(mut model: Model) -> Model {
    for material in &mut model.materials {
        (material.alpha_mode, material.base_color[3], material.double_sided) = (AlphaMode::Blend, 0.6, true);
    }
    model
}

/// Returns the model with a material of glass for its first part, which is drawn through a visibility buffer.
fn transmissive(mut model: Model) -> Model {
    let glass = Transmission { factor: 0.8, ..Transmission::default() };
    model.materials[0] = Material { transmission: Some(glass), perceptual_roughness: 0.1, ..Material::default() };
    model
}

/// Returns a model that shrinks and becomes its mirror image.
fn mirroring() -> Model {
    let (brushed, metal) = brushed();
    let parts =
        vec![(brushed, metal, [0.4, 0.1, 0.0], 0.6), (ball(10, 16), colored(0.1, 0.4, 0.9), [0.5, -0.6, 0.1], 0.4)];
    let mut model = model(parts);
    model.nodes.iter_mut().for_each(|node| node.parent = Some(0));
    model.nodes.insert(0, Node::default());
    model.nodes[0].parent = None;
    playing(model, 0, Property::Scale, vec![1.0, 1.0, 1.0, -1.0, 1.0, 1.0])
}

/// Returns a model whose vertices are far from the origin of their mesh.
fn far_away() -> Model {
    const FAR: f32 = 4096.0;
    let (mut ball, metal) = brushed();
    ball.positions.iter_mut().for_each(|position| position[0] += FAR);
    let mut model = model(vec![(ball, metal, [-FAR, 0.0, 0.0], 1.0)]);
    model.nodes.push(Node { local: Transform::Trs(Trs::default()), ..Node::default() });
    playing(model, 0, Property::Translation, vec![-FAR - 0.3, 0.0, 0.0, -FAR + 0.3, 0.2, 0.0])
}

/// Returns the model without tangents. Its highlights follow a fixed direction.
fn without_tangents(mut model: Model) -> Model {
    model.meshes[0].primitives[0].tangents = Vec::new();
    model
}

fn pictures(gpu: &Gpu, scene: &Scene) -> Vec<Vec<[u8; 3]>> {
    let mut kept = Kept::default();
    Renderer::new(gpu, scene, PICTURE, None).unwrap().render(scene, &mut kept).unwrap();
    kept.frames.iter().map(whole).collect()
}

#[test]
fn the_device_poses_vertices_as_the_processor_does() {
    let cases = [
        ("bending", bending()),
        ("morphing instances", twice(morphing(false))),
        ("flat", morphing(true)),
        ("bending and blended", blended(bending())),
        ("flat and blended", blended(morphing(true))),
        ("turning and blended", blended(turning())),
        ("bending and transmissive", transmissive(bending())),
        ("turning", turning()),
        ("mirroring", mirroring()),
        ("far away", far_away()),
        ("without tangents", without_tangents(far_away())),
    ];
    for (name, model) in cases {
        let mut settings = straight_on();
        settings["animation"] = "clip".into();
        settings["spotlightIntensity"] = 1.into();
        settings["shadows"] = true.into();
        let mut scene = scene(model, &settings);
        let at = |time: f32| plinth_scene::Shot { clip_time: Some(time), ..scene.shots[0].clone() };
        scene.shots = [0.0, 0.21, 0.77, 1.0].map(at).to_vec();
        let expected = compared(name, &scene);
        let moved = expected.windows(2).all(|pair| pair[0].iter().zip(&pair[1]).filter(|(a, b)| a != b).count() > 60);
        assert!(moved, "{name}: the model does not move");
    }
}

/// Asserts that the pictures of a scene hardly depend on who prepares them. Returns the pictures.
fn compared(name: &str, scene: &Scene) -> Vec<Vec<[u8; 3]>> {
    let (expected, found) = (pictures(prepared_by_processor(), scene), pictures(prepared_by_device(), scene));
    for (k, (expected, found)) in expected.iter().zip(&found).enumerate() {
        let steps = expected.iter().zip(found).map(|(a, b)| (0..3).map(|c| a[c].abs_diff(b[c])).max().unwrap_or(0));
        let different = steps.clone().filter(|step| *step > 4).count();
        let largest = steps.max();
        assert!(different <= 8, "{name}, frame {k}: {different} pixels differ, by at most {largest:?} levels");
    }
    expected
}

#[test]
fn the_device_sorts_triangles_as_the_processor_does() {
    // The number of triangles decides how many steps a sorted batch needs. Several batches share the buffer of keys.
    for (rings, sectors) in [(4, 6), (16, 17), (40, 60)] {
        let blended = |r: f32, g: f32, b: f32| Material {
            alpha_mode: AlphaMode::Blend,
            base_color: [r, g, b, 0.5],
            double_sided: true,
            ..Material::default()
        };
        // The vertex colours change from triangle to triangle, so that their order is visible.
        let striped = || {
            let mut ball = flat(&ball(rings, sectors));
            ball.positions.iter_mut().for_each(|[x, y, z]| {
                let dent = 1.0 - 0.4 * (*x * 5.0).sin() * (*y * 7.0).cos();
                (*x, *y, *z) = (*x * dent, *y * dent, *z * dent);
            });
            ball.colors = (0..ball.positions.len())
                .map(|v| if v / 3 % 2 == 0 { [1.0; 4] } else { [0.1, 0.1, 0.1, 1.0] })
                .collect();
            ball
        };
        let parts = vec![
            (striped(), blended(0.9, 0.2, 0.1), [-0.3, 0.0, 0.0], 0.8),
            (striped(), blended(0.1, 0.3, 0.9), [0.5, 0.1, 0.3], 0.6),
        ];
        let settings = serde_json::json!({"length": 0.1, "shadows": false, "bgColor": "#204060"});
        let scene = scene(model(parts), &settings);
        let expected = compared(&format!("{rings} rings"), &scene);
        assert!(expected.len() > 2);
    }
}
