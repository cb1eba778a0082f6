//! Converts the model to the input of the bake: meshes with material values at the vertices, and small images.

use std::sync::Arc;

use glam::{Vec2, Vec3};
use plinth_bake::{BakeImage, BakeMesh, BakeTexture};
use plinth_model::{AlphaMode, Material, Model, Primitive, Topology};
use plinth_scene::{PosedPrimitive, Scene};
use rayon::prelude::*;

use super::at_vertex::{base_color, metallic_roughness, texel_rgb};
use crate::pass::floor::{AMBIENT_SIDE, FloorArea};
use crate::upload::geometry::primitive_of;
use crate::upload::texture::linear_from_byte;

/// Reflectance of dielectrics at normal incidence (glTF 2.0, appendix B.3.4).
const DIELECTRIC_F0: Vec3 = Vec3::splat(0.04);

/// Converts a posed primitive to a mesh for the bake.
pub(super) fn bake_mesh(scene: &Scene, posed: &PosedPrimitive, indices: &[u32]) -> BakeMesh {
    let Some(primitive) = primitive_of(scene, posed) else { return BakeMesh::default() };
    if primitive.topology != Topology::Triangles || posed.normals.is_empty() {
        return BakeMesh::default();
    }
    let material = &scene.model.materials[primitive.material];
    let count = posed.positions.len();
    let colors: Vec<[f32; 4]> = (0..count).map(|v| base_color(&scene.model, material, primitive, v)).collect();
    let rgb = |v: usize| Vec3::new(colors[v][0], colors[v][1], colors[v][2]);
    // Metalness and roughness of each vertex.
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
    // If there is a texture, each vertex has only the factor by which the texture is multiplied.
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
        receives_light: !material.unlit,
    }
}

/// Length in world units. A longer edge may cross parts of a texture that the values at the two ends of the edge do not
/// represent.
const TEXTURED_EDGE: f32 = 0.1;
/// Number of texels along the longer side of an image for the bake.
const RAY_IMAGE_SIDE: u32 = 128;

/// Returns the base colour texture of a primitive. Returns `None` if the values at the vertices suffice.
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
    let cutoff = match material.alpha_mode {
        // The alpha of the vertices is ignored, because it is nearly always 1.
        AlphaMode::Mask { cutoff } => Some(cutoff / material.base_color[3].max(1e-3)),
        _ => None,
    };
    Some(BakeTexture {
        uvs: uvs.iter().map(|uv| Vec2::from(reference.transformed(*uv))).collect(),
        image: Arc::new(reduced_image(image, has_holes)),
        cutoff,
    })
}

/// Reduces an image to at most `RAY_IMAGE_SIDE` linear texels per side by averaging. If `has_holes` is false, alpha is
/// 1.
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
                            *sum += linear_from_byte(c);
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

/// Returns the floor as a grid of vertices that receives light but does not block it.
pub(super) fn floor_grid(area: FloorArea) -> BakeMesh {
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
        receives_light: true,
        ..BakeMesh::default()
    }
}
