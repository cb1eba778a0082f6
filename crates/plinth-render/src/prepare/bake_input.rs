//! Converts the model to the input of the bake: meshes with material values at the vertices, and small images.

use std::sync::Arc;

use glam::{Vec2, Vec3};
use plinth_bake::{BakeImage, BakeMesh, BakeTexture};
use plinth_model::{AlphaMode, Material, Model, Primitive, Topology};
use plinth_scene::{PosedPrimitive, Scene};
use rayon::prelude::*;

use super::at_vertex::{base_color, metallic_roughness, texel_red, texel_rgb};
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
    let transmission = |v: usize| {
        let share = material.transmission.map_or(0.0, |t| t.factor * texel_red(&scene.model, t.texture, primitive, v));
        share * (1.0 - material.metallic)
    };
    let transmits = material.transmission.is_some_and(|t| t.factor > 0.0) && material.metallic < 1.0;
    let texture = bake_texture(&scene.model, material, primitive, &posed.positions, indices);
    // If there is a texture, each vertex has only the factor by which the texture is multiplied.
    let plain = |v: usize| {
        let [r, g, b, a] = material.base_color;
        let [vr, vg, vb, va] = primitive.colors.get(v).copied().unwrap_or([1.0; 4]);
        [r * vr, g * vg, b * vb, a * va]
    };
    let alpha = |v: usize| if texture.is_some() { plain(v)[3] } else { colors[v][3] };
    let transparency = match material.alpha_mode {
        AlphaMode::Opaque if !transmits => Vec::new(),
        AlphaMode::Opaque => (0..count).map(transmission).collect(),
        AlphaMode::Mask { .. } if texture.is_some() => (0..count).map(transmission).collect(),
        AlphaMode::Mask { cutoff } => {
            (0..count).map(|v| if alpha(v) < cutoff { 1.0 } else { transmission(v) }).collect()
        }
        AlphaMode::Blend => (0..count).map(|v| 1.0 - alpha(v) * (1.0 - transmission(v))).collect(),
    };
    let albedo = |v: usize| {
        let [r, g, b, _] = if texture.is_some() { plain(v) } else { colors[v] };
        Vec3::new(r, g, b) * ((1.0 - transmission(v)) * (1.0 - metal_rough[v].0))
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
    // The values at the corners of small triangles represent their colour, but not their holes: the corners of cards with
    // hair or leaves are hardly ever opaque.
    if !has_holes && !is_large() {
        return None;
    }
    let image = model.images.get(model.textures.get(reference.texture)?.image)?;
    let uvs = primitive.uvs.get(reference.uv_set)?;
    let opacity = |alpha: u8| match material.alpha_mode {
        AlphaMode::Opaque => 1.0,
        // The alpha of the vertices is ignored, because it is nearly always 1.
        AlphaMode::Mask { cutoff } => f32::from(u8::from(f32::from(alpha) / 255.0 * material.base_color[3] >= cutoff)),
        AlphaMode::Blend => f32::from(alpha) / 255.0,
    };
    Some(BakeTexture {
        uvs: uvs.iter().map(|uv| Vec2::from(reference.transformed(*uv))).collect(),
        image: Arc::new(reduced_image(image, opacity)),
        is_masked: matches!(material.alpha_mode, AlphaMode::Mask { .. }),
    })
}

/// Reduces an image to at most `RAY_IMAGE_SIDE` linear texels per side by averaging the colours and the opacities of
/// texels. `opacity` returns the opacity of a texel, given its alpha.
fn reduced_image(image: &plinth_model::Image, opacity: impl Fn(u8) -> f32 + Sync) -> BakeImage {
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
                        sum[3] += opacity(*a);
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

#[cfg(test)]
mod tests {
    use plinth_model::{Image, Mesh, Node, Sampler, Texture, TextureRef, Transmission};
    use plinth_scene::build_scene;
    use plinth_spec::RenderSettings;

    use super::*;

    /// Returns the input of the bake for a small square with the corners of a texture, beside a point that is far away.
    /// Each `step`-th row of the texture has the value `high` in all channels, and the others 0.
    fn small_square(material: Material, step: u32, high: u8) -> BakeMesh {
        let corners = [[0.0, 0.0], [1.0, 0.0], [1.0, 1.0], [0.0, 1.0]];
        let square = Primitive {
            positions: corners.iter().map(|[x, y]| [0.01 * x, 0.01 * y, 0.0]).chain([[1.0, 1.0, 1.0]]).collect(),
            normals: vec![[0.0, 0.0, 1.0]; 5],
            uvs: vec![corners.iter().map(|[s, t]| [0.9 * s, 0.9 * t]).chain([[0.0; 2]]).collect()],
            indices: vec![0, 1, 2, 0, 2, 3, 4, 4, 4],
            ..Primitive::default()
        };
        let row = |y: u32| if y.is_multiple_of(step) { high } else { 0 };
        let pixels = (0..256_u32).flat_map(|y| std::iter::repeat_n(row(y), 256 * 4)).collect();
        let model = Model {
            nodes: vec![Node { mesh: Some(0), ..Node::default() }],
            meshes: vec![Mesh { primitives: vec![square], ..Mesh::default() }],
            materials: vec![material],
            textures: vec![Texture { image: 0, sampler: Sampler::default() }],
            images: vec![Image { width: 256, height: 256, pixels, ..Image::default() }.into()],
            ..Model::default()
        };
        let scene = build_scene(Arc::new(model), &RenderSettings::default(), None).unwrap();
        let posed = scene.pose(None);
        bake_mesh(&scene, &posed[0], &[0, 1, 2, 0, 2, 3])
    }

    const TEXTURE: Option<TextureRef> = Some(TextureRef { texture: 0, uv_set: 0, transform: None });

    #[test]
    fn holes_of_small_triangles_are_the_fraction_of_texels_below_the_cutoff() {
        let leaf = |cutoff: f32| Material {
            base_color_texture: TEXTURE,
            alpha_mode: AlphaMode::Mask { cutoff },
            ..Material::default()
        };
        let texels = |mesh: BakeMesh| mesh.texture.filter(|texture| texture.is_masked).unwrap().image.texels.clone();
        // Each texel of the bake is the mean of two rows, of which one is opaque.
        assert!(texels(small_square(leaf(0.5), 2, 255)).iter().all(|texel| (texel[3] - 0.5).abs() < 1e-6));
        assert!(texels(small_square(leaf(0.6), 2, 128)).iter().all(|texel| texel[3] == 0.0));
        assert!(texels(small_square(leaf(0.4), 2, 128)).iter().all(|texel| (texel[3] - 0.5).abs() < 1e-6));
    }

    #[test]
    fn a_surface_transmits_what_its_texture_says() {
        let transmission = Some(Transmission { factor: 0.8, texture: TEXTURE });
        let pane = || Material { transmission, metallic: 0.0, ..Material::default() };
        let clear = small_square(pane(), 1, 255);
        assert!(clear.transparency.iter().all(|share| (share - 0.8).abs() < 1e-6), "{:?}", clear.transparency);
        let black = small_square(pane(), 1, 0);
        assert!(black.transparency.iter().all(|share| *share == 0.0), "{:?}", black.transparency);
        assert!(black.albedo.iter().all(|albedo| albedo.min_element() > 0.9));
    }
}
