//! Everything about light that is worked out before the first frame.

use std::f32::consts::PI;
use std::sync::Arc;

use glam::{Vec2, Vec3};
use plinth_bake::{BakeImage, BakeLight, BakeMesh, BakeOptions, BakeTexture, BakedMesh, Sun, bake, extract_sun};
use plinth_model::{AlphaMode, Material, Model, Primitive, Topology};
use plinth_scene::{EnvironmentMap, PointLikeLight, PosedPrimitive, Scene};
use rayon::prelude::*;

use crate::distance_field::{DistanceField, is_worthwhile};
use crate::ibl::{OctahedralMap, irradiance_map, prefilter};
use crate::pass::floor::{AMBIENT_SIDE, FloorArea};
use crate::upload::at_vertex::{base_color, metallic_roughness, texel_rgb};
use crate::upload::geometry::{Posed, primitive_of};
use crate::upload::texture::linear_from_srgb;

/// Side of the filtered environment at roughness 0, in texels.
const MAP_SIDE: u32 = 512;
/// Roughness steps of the filtered environment.
const MAP_MIPS: u32 = 6;

/// Positions of the camera that are asked what they see.
const MAX_EYES: usize = 24;

/// Light prepared for drawing.
pub(crate) struct PreparedLight {
    pub(crate) sun: Option<Sun>,
    /// Radiance; each mip is filtered for a roughness.
    pub(crate) specular: OctahedralMap,
    pub(crate) irradiance: OctahedralMap,
    /// Per posed primitive.
    pub(crate) baked: Vec<BakedMesh>,
    /// What polished surfaces reflect of the model.
    pub(crate) field: DistanceField,
    /// Per cell of the floor's grid: share of the environment's light that arrives.
    pub(crate) floor_ambient: Vec<f32>,
}

/// Filters the environment and gathers its light on the model.
pub(crate) fn prepare(scene: &Scene, posed: &Posed<'_>, floor: Option<FloorArea>) -> PreparedLight {
    let (environment, sun) = extract_sun(&scene.environment);
    let environment = with_soft_lights(environment, &scene.lights);
    let mut meshes: Vec<BakeMesh> =
        posed.primitives.iter().zip(posed.indices).map(|(one, indices)| bake_mesh(scene, one, indices)).collect();
    let lights = bake_lights(scene, sun.as_ref());
    let eyes = eyes(scene);
    let options = if scene.fine_light { BakeOptions::default().finer() } else { BakeOptions::default() };
    let options = BakeOptions { surfaces: is_worthwhile(scene, posed.primitives), ..options };
    meshes.extend(floor.map(floor_grid));
    let ((specular, irradiance), mut baked) = rayon::join(
        || (prefilter(&environment, MAP_SIDE, MAP_MIPS), irradiance_map(&environment)),
        || bake(&meshes, &environment, &lights, &eyes, &options),
    );
    let floor_ambient = if floor.is_some() {
        let grid: Vec<f32> =
            baked.meshes.pop().unwrap_or_default().front.iter().map(|v| v.direct.dot(Vec3::splat(1.0 / 3.0))).collect();
        softened(&grid, AMBIENT_SIDE as usize)
    } else {
        Vec::new()
    };
    for light in baked.meshes.iter_mut().flat_map(BakedMesh::all_mut) {
        *light = light.occluded(scene.occlusion);
    }
    let field = DistanceField::new(posed.moving, &baked.surfaces);
    PreparedLight { sun, specular, irradiance, baked: baked.meshes, field, floor_ambient }
}

/// A square grid with each value mixed with its neighbours' by binomial weights.
fn softened(grid: &[f32], side: usize) -> Vec<f32> {
    let along = |grid: &[f32], step: usize, place: fn(usize, usize) -> usize| -> Vec<f32> {
        (0..grid.len())
            .map(|i| {
                let at = place(i, side);
                let before = if at == 0 { i } else { i - step };
                let after = if at + 1 == side { i } else { i + step };
                0.25 * grid[before] + 0.5 * grid[i] + 0.25 * grid[after]
            })
            .collect()
    };
    along(&along(grid, 1, |i, side| i % side), side, |i, side| i / side)
}

/// Angular radius of lights that are drawn into the environment, in radians.
const SOFT_LIGHT_RADIUS: f32 = 0.3;

/// Parallel lights cast no shadow of their own: as soft discs of the environment they cost nothing per pixel, are
/// dimmed where the model is in their way, and leave soft highlights.
fn with_soft_lights(mut environment: EnvironmentMap, lights: &[PointLikeLight]) -> EnvironmentMap {
    for light in lights {
        let PointLikeLight::Directional { to_light, irradiance } = *light else { continue };
        let edge = SOFT_LIGHT_RADIUS.cos();
        // A cosine-shaped disc: its irradiance is that of even radiance over the solid angle, times one half.
        let radiance = irradiance / (0.5 * PI * SOFT_LIGHT_RADIUS.sin().powi(2));
        for i in 0..environment.width * environment.height {
            let facing = environment.direction(i % environment.width, i / environment.width).dot(to_light);
            if facing > edge {
                let shape = (facing - edge) / (1.0 - edge);
                let pixel = &mut environment.pixels[i as usize];
                *pixel = (Vec3::from(*pixel) + radiance * shape).to_array();
            }
        }
    }
    environment
}

/// Positions of the camera that stand for all of them.
fn eyes(scene: &Scene) -> Vec<Vec3> {
    let step = scene.shots.len().div_ceil(MAX_EYES).max(1);
    scene.shots.iter().step_by(step).map(|shot| shot.camera.position).collect()
}

/// Lights whose bounces are gathered: the sun and the key.
fn bake_lights(scene: &Scene, sun: Option<&Sun>) -> Vec<BakeLight> {
    let sun = sun.map(|s| BakeLight::Directional { to_light: s.to_light, irradiance: s.irradiance });
    let key = scene.key_light.map(|key| BakeLight::Point {
        position: key.position,
        intensity: key.irradiance * key.position.distance_squared(key.target),
    });
    sun.into_iter().chain(key).collect()
}

/// Reflectance of what is no metal, at normal incidence (glTF 2.0, appendix B.3.4).
const DIELECTRIC_F0: Vec3 = Vec3::splat(0.04);

/// A posed primitive as the bake sees it.
fn bake_mesh(scene: &Scene, posed: &PosedPrimitive, indices: &[u32]) -> BakeMesh {
    let Some(primitive) = primitive_of(scene, posed) else { return BakeMesh::default() };
    if primitive.topology != Topology::Triangles || posed.normals.is_empty() {
        return BakeMesh::default();
    }
    let material = &scene.model.materials[primitive.material];
    let count = posed.positions.len();
    let colors: Vec<[f32; 4]> = (0..count).map(|v| base_color(&scene.model, material, primitive, v)).collect();
    let rgb = |v: usize| Vec3::new(colors[v][0], colors[v][1], colors[v][2]);
    // Metallic and roughness.
    let metal_rough: Vec<(f32, f32)> =
        (0..count).map(|v| metallic_roughness(&scene.model, material, primitive, v)).collect();
    let emissive = Vec3::from(material.emissive);
    let emission = if emissive == Vec3::ZERO {
        Vec::new()
    } else {
        (0..count).map(|v| emissive * texel_rgb(&scene.model, material.emissive_texture, primitive, v)).collect()
    };
    let transmission = material.transmission.map_or(0.0, |t| t.factor) * (1.0 - material.metallic);
    let texture = bake_texture(&scene.model, material, primitive, &posed.positions, indices);
    // With a texture, vertices have what it is multiplied by.
    let plain = |v: usize| {
        let [r, g, b, a] = material.base_color;
        let [vr, vg, vb, va] = primitive.colors.get(v).copied().unwrap_or([1.0; 4]);
        [r * vr, g * vg, b * vb, a * va]
    };
    let alpha = |v: usize| if texture.is_some() { plain(v)[3] } else { colors[v][3] };
    let transparency = match material.alpha_mode {
        AlphaMode::Opaque if transmission == 0.0 => Vec::new(),
        AlphaMode::Opaque => vec![transmission; count],
        AlphaMode::Mask { .. } if texture.is_some() => vec![transmission; count],
        AlphaMode::Mask { cutoff } => (0..count).map(|v| if alpha(v) < cutoff { 1.0 } else { transmission }).collect(),
        AlphaMode::Blend => (0..count).map(|v| 1.0 - alpha(v) * (1.0 - transmission)).collect(),
    };
    let albedo = |v: usize| {
        let [r, g, b, _] = if texture.is_some() { plain(v) } else { colors[v] };
        Vec3::new(r, g, b) * ((1.0 - transmission) * (1.0 - metal_rough[v].0))
    };
    let mut indices = indices.to_vec();
    if posed.mirrored {
        indices.as_chunks_mut::<3>().0.iter_mut().for_each(|t| t.swap(1, 2));
    }
    BakeMesh {
        positions: posed.positions.clone(),
        normals: posed.normals.clone(),
        indices,
        albedo: (0..count).map(albedo).collect(),
        f0: (0..count).map(|v| DIELECTRIC_F0.lerp(rgb(v), metal_rough[v].0)).collect(),
        roughness: metal_rough.into_iter().map(|(_, roughness)| roughness).collect(),
        emission,
        transparency,
        texture,
        double_sided: material.double_sided,
        occludes: !material.overlay,
        receives: !material.unlit,
    }
}

/// Edges from this length on, in world units, have more of a texture between their ends than these tell.
const TEXTURED_EDGE: f32 = 0.1;
/// Texels along the longer side of an image as rays see it.
const RAY_IMAGE_SIDE: u32 = 128;

/// The base colour of a primitive between its vertices, where these do not tell it.
fn bake_texture(
    model: &Model,
    material: &Material,
    primitive: &Primitive,
    positions: &[Vec3],
    indices: &[u32],
) -> Option<BakeTexture> {
    let reference = material.base_color_texture?;
    let has_holes = material.alpha_mode != AlphaMode::Opaque;
    let is_large = || {
        indices.as_chunks::<3>().0.iter().any(|[a, b, c]| {
            let [a, b, c] = [a, b, c].map(|i| positions[*i as usize]);
            a.distance(b).max(b.distance(c)).max(c.distance(a)) > TEXTURED_EDGE
        })
    };
    if !is_large() {
        return None;
    }
    let image = model.images.get(model.textures.get(reference.texture)?.image)?;
    let uvs = primitive.uvs.get(reference.uv_set)?;
    let transform = |[s, t]: [f32; 2]| {
        reference
            .transform
            .map_or(Vec2::new(s, t), |[a, b, c, d, e, f]| Vec2::new(a * s + b * t + c, d * s + e * t + f))
    };
    let cutoff = match material.alpha_mode {
        // The factor and the vertices' alpha are nearly always 1.
        AlphaMode::Mask { cutoff } => Some(cutoff / material.base_color[3].max(1e-3)),
        _ => None,
    };
    Some(BakeTexture {
        uvs: uvs.iter().map(|uv| transform(*uv)).collect(),
        image: Arc::new(reduced_image(image, has_holes)),
        cutoff,
    })
}

/// An image averaged to a few texels, linear; without holes its alpha is 1.
fn reduced_image(image: &plinth_model::Image, has_holes: bool) -> BakeImage {
    let step = (image.width.max(image.height).div_ceil(RAY_IMAGE_SIDE)).max(1);
    let (width, height) = ((image.width / step).max(1), (image.height / step).max(1));
    let texels = (0..width * height)
        .into_par_iter()
        .map(|i| {
            let (x0, y0) = (i % width * step, i / width * step);
            let (mut sum, mut count) = ([0.0_f32; 4], 0.0);
            for y in y0..(y0 + step).min(image.height) {
                for x in x0..(x0 + step).min(image.width) {
                    let at = (y as usize * image.width as usize + x as usize) * 4;
                    if let Some([r, g, b, a]) = image.pixels.get(at..at + 4).and_then(|p| p.first_chunk::<4>()) {
                        for (sum, c) in sum.iter_mut().zip([*r, *g, *b]) {
                            *sum += linear_from_srgb(f32::from(c) / 255.0);
                        }
                        sum[3] += if has_holes { f32::from(*a) / 255.0 } else { 1.0 };
                        count += 1.0;
                    }
                }
            }
            sum.map(|s| s / f32::max(count, 1.0))
        })
        .collect();
    BakeImage { width: width as usize, height: height as usize, texels }
}

/// The floor as a grid that receives light and blocks none.
fn floor_grid(area: FloorArea) -> BakeMesh {
    let side = AMBIENT_SIDE;
    let at = |i: u32| (i as f32 + 0.5) / side as f32 * 2.0 - 1.0;
    let positions: Vec<Vec3> = (0..side * side)
        .map(|i| area.center + Vec3::new(at(i % side) * area.half.x, 1e-3, at(i / side) * area.half.y))
        .collect();
    let indices = (0..(side - 1) * (side - 1))
        .flat_map(|i| {
            let a = i / (side - 1) * side + i % (side - 1);
            [a, a + side, a + 1, a + 1, a + side, a + side + 1]
        })
        .collect();
    let count = positions.len();
    BakeMesh {
        positions,
        normals: vec![Vec3::Y; count],
        indices,
        albedo: vec![Vec3::ZERO; count],
        occludes: false,
        receives: true,
        ..BakeMesh::default()
    }
}

/// Irradiance of uniform radiance.
pub(crate) fn irradiance_of_uniform(radiance: Vec3) -> Vec3 {
    radiance * PI
}
