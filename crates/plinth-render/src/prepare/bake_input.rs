//! Converts the model to the input of the bake: meshes with material values at the vertices, and small images.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use glam::{Vec2, Vec3, Vec4};
use plinth_bake::{BakeImage, BakeMesh, BakeTexture};
use plinth_model::{AlphaMode, Image, Material, Model, Primitive, TextureRef, Topology};
use plinth_scene::{PosedPrimitive, Scene};
use rayon::prelude::*;

use super::at_vertex::{base_color, dielectric_f0, metallic_roughness, relative_passing_share, texel_red, texture_uv};
use crate::pass::floor::{AMBIENT_SIDE, FloorArea};
use crate::upload::geometry::primitive_of;
use crate::upload::levels::linear_bytes;

/// Converts posed primitives to meshes for the bake. `indices` contains the triangles of each primitive. Primitives that
/// need the same image share it.
pub(super) fn bake_meshes(scene: &Scene, posed: &[PosedPrimitive], indices: &[Vec<u32>]) -> Vec<BakeMesh> {
    let primitives = || posed.par_iter().zip(indices);
    let needed: Vec<PerTexture<ReducedImageKey>> =
        primitives().map(|(one, indices)| ReducedImageKey::needed(scene, one, indices)).collect();
    let distinct: BTreeSet<ReducedImageKey> =
        needed.iter().flat_map(|of| [of.base_color, of.emission]).flatten().collect();
    let images: BTreeMap<ReducedImageKey, Arc<BakeImage>> = distinct
        .into_par_iter()
        .filter_map(|wanted| Some((wanted, Arc::new(wanted.texels_of(scene.model.images.get(wanted.image)?)))))
        .collect();
    primitives()
        .zip(&needed)
        .map(|((one, indices), needed)| {
            let image = |wanted: Option<ReducedImageKey>| wanted.and_then(|wanted| images.get(&wanted).cloned());
            let images = PerTexture { base_color: image(needed.base_color), emission: image(needed.emission) };
            bake_mesh(scene, one, indices, images)
        })
        .collect()
}

/// One value for each texture of a primitive that the bake reads. `None` if it does not need the texture.
#[derive(Debug)]
struct PerTexture<T> {
    base_color: Option<T>,
    emission: Option<T>,
}

/// Returns the primitive of a mesh that takes part in the bake.
fn baked_primitive<'a>(scene: &'a Scene, posed: &PosedPrimitive) -> Option<&'a Primitive> {
    let primitive = primitive_of(scene, posed)?;
    (primitive.topology == Topology::Triangles && !posed.normals.is_empty()).then_some(primitive)
}

/// Converts a posed primitive to a mesh for the bake.
fn bake_mesh(scene: &Scene, posed: &PosedPrimitive, indices: &[u32], images: PerTexture<Arc<BakeImage>>) -> BakeMesh {
    let Some(primitive) = baked_primitive(scene, posed) else { return BakeMesh::default() };
    let material = &scene.model.materials[primitive.material];
    let count = posed.positions.len();
    let colors: Vec<[f32; 4]> = (0..count).map(|v| base_color(&scene.model, material, primitive, v)).collect();
    let rgb = |v: usize| Vec3::new(colors[v][0], colors[v][1], colors[v][2]);
    // Metalness and roughness of each vertex.
    let metal_rough: Vec<(f32, f32)> =
        (0..count).map(|v| metallic_roughness(&scene.model, material, primitive, v)).collect();
    let emission = if emits_light(material) { Vec3::from(material.emissive) } else { Vec3::ZERO };
    let base_f0: Vec<Vec3> = (0..count).map(|v| dielectric_f0(&scene.model, material, primitive, v)).collect();
    // Of the light that passes through the surface of its dielectric part, this fraction is transmitted.
    let transmitted_share =
        |v: usize| material.transmission.map_or(0.0, |t| t.factor * texel_red(&scene.model, t.texture, primitive, v));
    let transmission = |v: usize| transmitted_share(v) * (1.0 - metal_rough[v].0);
    let is_metal = metal_rough.iter().all(|(metallic, _)| *metallic >= 1.0);
    let transmits = material.transmission.is_some_and(|t| t.factor > 0.0) && !is_metal;
    let texture = bake_texture(&scene.model, primitive, material.base_color_texture, images.base_color);
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
        Vec3::new(r, g, b) * ((1.0 - transmitted_share(v)) * (1.0 - metal_rough[v].0))
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
        passing: passing_shares(&base_f0),
        is_tinted_dielectric: is_tinted_dielectric(&base_f0, &metal_rough),
        f0: (0..count).map(|v| base_f0[v].lerp(rgb(v), metal_rough[v].0).clamp(Vec3::ZERO, Vec3::ONE)).collect(),
        roughness: metal_rough.into_iter().map(|(_, roughness)| roughness).collect(),
        emission,
        transparency,
        texture,
        emission_texture: bake_texture(&scene.model, primitive, material.emissive_texture, images.emission),
        double_sided: material.double_sided,
        occludes: !material.overlay,
        receives_light: !material.unlit,
        is_shadow_catcher: false,
    }
}

/// Returns [`BakeMesh::passing`] of vertices whose dielectric parts have these reflectances at normal incidence.
fn passing_shares(base_f0: &[Vec3]) -> Vec<f32> {
    let is_less = base_f0.iter().any(|f0| relative_passing_share(*f0) < 1.0);
    if is_less { base_f0.iter().map(|f0| relative_passing_share(*f0)).collect() } else { Vec::new() }
}

/// Returns [`BakeMesh::is_tinted_dielectric`] of vertices with these metalnesses and roughnesses, whose dielectric parts
/// have the reflectances `base_f0` at normal incidence.
fn is_tinted_dielectric(base_f0: &[Vec3], metal_rough: &[(f32, f32)]) -> bool {
    let is_tinted = |(f0, (metallic, _)): (&Vec3, &(f32, f32))| *metallic < 0.5 && f0.min_element() < f0.max_element();
    base_f0.iter().zip(metal_rough).any(is_tinted)
}

/// Returns a texture of a primitive with the texture coordinates of all vertices.
fn bake_texture(
    model: &Model,
    primitive: &Primitive,
    reference: Option<TextureRef>,
    image: Option<Arc<BakeImage>>,
) -> Option<BakeTexture> {
    let (reference, image) = (reference?, image?);
    let sampler = model.textures.get(reference.texture)?.sampler;
    Some(BakeTexture {
        uvs: (0..primitive.positions.len()).map(|v| Vec2::from(texture_uv(reference, primitive, v))).collect(),
        image,
        wrap: [sampler.wrap_u, sampler.wrap_v],
        is_masked: matches!(model.materials[primitive.material].alpha_mode, AlphaMode::Mask { .. }),
    })
}

/// Length in world units. A longer edge may cross parts of a texture that the values at the two ends of the edge do not
/// represent.
const TEXTURED_EDGE: f32 = 0.1;
/// Number of texels along the longer side of an image for the bake.
const RAY_IMAGE_SIDE: u32 = 128;

/// Returns whether a material emits light. The emission of unlit materials is ignored.
fn emits_light(material: &Material) -> bool {
    Vec3::from(material.emissive) != Vec3::ZERO && !material.unlit
}

/// Identifies an image for the bake.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct ReducedImageKey {
    /// Index of the image in the model.
    image: usize,
    opacity: TexelOpacity,
}

/// How the opacity of a texel depends on its alpha.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum TexelOpacity {
    Opaque,
    /// The texel is opaque if its alpha, multiplied by `factor`, is at least `cutoff`. Both are the bits of an `f32`.
    Masked {
        factor: u32,
        cutoff: u32,
    },
    Blended,
}

impl TexelOpacity {
    fn of_material(material: &Material) -> Self {
        match material.alpha_mode {
            AlphaMode::Opaque => Self::Opaque,
            // The alpha of the vertices is ignored, because it is nearly always 1.
            AlphaMode::Mask { cutoff } => {
                Self::Masked { factor: material.base_color[3].to_bits(), cutoff: cutoff.to_bits() }
            }
            AlphaMode::Blend => Self::Blended,
        }
    }

    fn of_alpha(self, alpha: u8) -> f32 {
        let alpha = f32::from(alpha) / 255.0;
        match self {
            Self::Opaque => 1.0,
            Self::Masked { factor, cutoff } => {
                f32::from(u8::from(alpha * f32::from_bits(factor) >= f32::from_bits(cutoff)))
            }
            Self::Blended => alpha,
        }
    }
}

impl ReducedImageKey {
    /// Returns the images that the bake needs for a primitive. It does not need those for which the values at the vertices
    /// suffice.
    fn needed(scene: &Scene, posed: &PosedPrimitive, indices: &[u32]) -> PerTexture<Self> {
        let none = PerTexture { base_color: None, emission: None };
        let Some(primitive) = baked_primitive(scene, posed) else { return none };
        let material = &scene.model.materials[primitive.material];
        let image = |reference: Option<TextureRef>| Some(scene.model.textures.get(reference?.texture)?.image);
        let has_holes = material.alpha_mode != AlphaMode::Opaque;
        let is_large = || {
            indices.as_chunks::<3>().0.iter().any(|triangle| {
                let [a, b, c] = triangle.map(|i| posed.positions[i as usize]);
                a.distance(b).max(b.distance(c)).max(c.distance(a)) > TEXTURED_EDGE
            })
        };
        // The values at the corners of small triangles represent their colour, but not their holes: the corners of cards
        // with hair or leaves are hardly ever opaque. Lamps, too, are often between the vertices.
        let base_color = image(material.base_color_texture).filter(|_image| has_holes || is_large());
        let emission = image(material.emissive_texture).filter(|_image| emits_light(material));
        let (of_base_color, of_emission) = (TexelOpacity::of_material(material), TexelOpacity::Opaque);
        PerTexture {
            base_color: base_color.map(|image| Self { image, opacity: of_base_color }),
            emission: emission.map(|image| Self { image, opacity: of_emission }),
        }
    }

    /// Reduces an image to at most `RAY_IMAGE_SIDE` linear texels per side by averaging the opacities and the colours of
    /// texels. Colours are weighted by opacity, because invisible texels may have any colour.
    fn texels_of(self, image: &Image) -> BakeImage {
        let step = (image.width.max(image.height).div_ceil(RAY_IMAGE_SIDE)).max(1);
        let (width, height) = ((image.width / step).max(1), (image.height / step).max(1));
        // Images that are not decoded have no pixels.
        let (pixels, columns) = (image.pixels.as_chunks::<4>().0, image.width as usize);
        let (linear, is_opaque) = (linear_bytes(), self.opacity == TexelOpacity::Opaque);
        let texels = (0..width * height)
            .into_par_iter()
            .map(|i| {
                let span =
                    |i: u32, count: u32, size: u32| (i * size / count) as usize..((i + 1) * size / count) as usize;
                let (mut visible, mut all) = (Vec4::ZERO, Vec4::ZERO);
                let in_row = span(i % width, width, image.width);
                for y in span(i / width, height, image.height) {
                    let row = y * columns;
                    let row = pixels.get(row + in_row.start..row + in_row.end).unwrap_or_default();
                    for [r, g, b, a] in row {
                        let [r, g, b] = [r, g, b].map(|byte| linear[usize::from(*byte)]);
                        let color = Vec4::new(r, g, b, 1.0);
                        if !is_opaque {
                            visible += color * self.opacity.of_alpha(*a);
                        }
                        all += color;
                    }
                }
                if is_opaque {
                    visible = all;
                }
                let color = if visible.w > 0.0 { visible / visible.w } else { all / all.w.max(1.0) };
                color.truncate().extend(visible.w / all.w.max(1.0)).to_array()
            })
            .collect();
        BakeImage { width: width as usize, height: height as usize, texels }
    }
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
        receives_light: true,
        is_shadow_catcher: true,
        ..BakeMesh::default()
    }
}

#[cfg(test)]
mod tests {
    use plinth_model::{Mesh, Node, Sampler, Texture, Transmission, Wrap};
    use plinth_scene::build_scene;
    use plinth_spec::RenderSettings;

    use super::*;

    /// Returns the input of the bake for a small square with the corners of a texture, beside a point that is far away.
    /// Each `step`-th row of the texture has the value `high` in all channels, and the others 0. The second set of
    /// texture coordinates is empty.
    fn small_square(material: Material, step: u32, high: u8) -> BakeMesh {
        let corners = [[0.0, 0.0], [1.0, 0.0], [1.0, 1.0], [0.0, 1.0]];
        let square = Primitive {
            positions: corners.iter().map(|[x, y]| [0.01 * x, 0.01 * y, 0.0]).chain([[1.0, 1.0, 1.0]]).collect(),
            normals: vec![[0.0, 0.0, 1.0]; 5],
            uvs: vec![corners.iter().map(|[s, t]| [0.9 * s, 0.9 * t]).chain([[0.0; 2]]).collect(), Vec::new()],
            indices: vec![0, 1, 2, 0, 2, 3, 4, 4, 4],
            ..Primitive::default()
        };
        let row = |y: u32| if y.is_multiple_of(step) { high } else { 0 };
        let pixels = (0..256_u32).flat_map(|y| std::iter::repeat_n(row(y), 256 * 4)).collect::<Vec<_>>();
        let model = Model {
            nodes: vec![Node { mesh: Some(0), ..Node::default() }],
            meshes: vec![Mesh { primitives: vec![square], ..Mesh::default() }],
            materials: vec![material],
            textures: vec![Texture { image: 0, sampler: Sampler::default() }],
            images: vec![Image { width: 256, height: 256, pixels: pixels.into(), ..Image::default() }.into()],
            ..Model::default()
        };
        let scene = build_scene(Arc::new(model), &RenderSettings::default(), None).unwrap();
        let posed = scene.pose(None);
        bake_meshes(&scene, &posed, &[vec![0, 1, 2, 0, 2, 3]]).remove(0)
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
    fn cards_share_an_image_if_the_opacity_of_its_texels_is_the_same() {
        let card = |material: usize| Primitive {
            positions: vec![[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]],
            normals: vec![[0.0, 0.0, 1.0]; 3],
            uvs: vec![vec![[0.0; 2]; 3]],
            indices: vec![0, 1, 2],
            material,
            ..Primitive::default()
        };
        let leaf = |alpha_mode: AlphaMode, opacity: f32| Material {
            base_color: [1.0, 1.0, 1.0, opacity],
            base_color_texture: TEXTURE,
            alpha_mode,
            ..Material::default()
        };
        let mask = |cutoff: f32| AlphaMode::Mask { cutoff };
        // The first two materials have the same image with the same opacity.
        let materials = [
            leaf(mask(0.5), 1.0),
            Material { perceptual_roughness: 0.2, ..leaf(mask(0.5), 1.0) },
            leaf(mask(0.6), 1.0),
            leaf(mask(0.5), 0.9),
            leaf(AlphaMode::Blend, 1.0),
            leaf(AlphaMode::Opaque, 1.0),
        ];
        let parts = 0..materials.len();
        let node = Node { mesh: Some(0), ..Node::default() };
        let model = Model {
            nodes: vec![node.clone(), node],
            meshes: vec![Mesh { primitives: parts.map(card).collect(), ..Mesh::default() }],
            materials: materials.to_vec(),
            textures: vec![Texture { image: 0, sampler: Sampler::default() }],
            images: vec![Image { width: 2, height: 2, pixels: vec![140; 16].into(), ..Image::default() }.into()],
            ..Model::default()
        };
        let scene = build_scene(Arc::new(model), &RenderSettings::default(), None).unwrap();
        let posed = scene.pose(None);
        let meshes = bake_meshes(&scene, &posed, &vec![vec![0, 1, 2]; posed.len()]);
        let images: Vec<_> = meshes.iter().map(|mesh| &mesh.texture.as_ref().unwrap().image).collect();
        assert_eq!(images.len(), 12);
        let is_shared = |a: usize, b: usize| Arc::ptr_eq(images[a], images[b]);
        assert!((0..6).all(|i| is_shared(i, i + 6)), "between nodes");
        assert!(is_shared(0, 1), "between materials");
        let distinct: BTreeSet<_> = images.iter().map(|image| Arc::as_ptr(image)).collect();
        assert_eq!(distinct.len(), 5);
    }

    #[test]
    fn invisible_texels_have_no_part_in_the_colour() {
        // Half of the texels are black and invisible.
        for alpha_mode in [AlphaMode::Blend, AlphaMode::Mask { cutoff: 0.5 }] {
            let leaf = Material { base_color_texture: TEXTURE, alpha_mode, ..Material::default() };
            let texture = small_square(leaf, 2, 255).texture.unwrap();
            let error = |texel: &[f32; 4]| (Vec4::from(*texel) - Vec4::new(1.0, 1.0, 1.0, 0.5)).abs().max_element();
            assert!(texture.image.texels.iter().all(|texel| error(texel) < 1e-6), "{:?}", texture.image.texels);
        }
    }

    #[test]
    fn all_rows_of_an_image_are_read() {
        let pixels =
            (0..129 * 67_u32).flat_map(|i| [if i / 129 == 66 { 255 } else { 0 }, 0, 0, 255]).collect::<Vec<_>>();
        let image = Image { width: 129, height: 67, pixels: pixels.into(), ..Image::default() };
        let reduced = ReducedImageKey { image: 0, opacity: TexelOpacity::Opaque }.texels_of(&image);
        assert_eq!((reduced.width, reduced.height), (64, 33));
        assert!(reduced.texels[32 * 64..].iter().all(|texel| texel[0] > 0.3), "{:?}", reduced.texels.last());
    }

    #[test]
    fn lamps_between_the_vertices_emit_light() {
        let lamp = || Material { emissive: [4.0, 2.0, 1.0], emissive_texture: TEXTURE, ..Material::default() };
        let mesh = small_square(lamp(), 2, 255);
        assert_eq!(mesh.emission, Vec3::new(4.0, 2.0, 1.0));
        let texture = mesh.emission_texture.unwrap();
        assert!(texture.image.texels.iter().all(|texel| (texel[0] - 0.5).abs() < 1e-6), "{:?}", texture.image.texels);
        assert_eq!(texture.wrap, [Wrap::Repeat; 2]);
        let unlit = small_square(Material { unlit: true, ..lamp() }, 2, 255);
        assert!(unlit.emission == Vec3::ZERO && unlit.emission_texture.is_none());
    }

    #[test]
    fn a_metal_reflects_at_most_the_light_that_it_receives() {
        let metal = Material { base_color: [5.0, 0.5, 0.0, 1.0], metallic: 1.0, ..Material::default() };
        let f0 = small_square(metal, 1, 255).f0;
        assert!(f0.iter().all(|f0| (*f0 - Vec3::new(1.0, 0.5, 0.0)).abs().max_element() < 1e-6), "{f0:?}");
    }

    /// Converters write the metals of KHR_materials_pbrSpecularGlossiness as black dielectrics with a very high index of
    /// refraction, whose reflections have the colour of the metal (KHR_materials_specular, "Conversions").
    #[test]
    fn a_dielectric_reflects_what_its_index_of_refraction_and_its_specular_colour_say() {
        let f0 = |ior: f32, specular: f32, specular_color: [f32; 3], texture: Option<TextureRef>, value: u8| {
            let [specular_texture, specular_color_texture] = [texture; 2];
            let textures = Material { specular_texture, specular_color_texture, ..Material::default() };
            let mesh = small_square(Material { ior, specular, specular_color, metallic: 0.0, ..textures }, 1, value);
            let passing = mesh.passing.first().copied().unwrap_or(1.0);
            (mesh.f0[0], mesh.albedo[0] * passing)
        };
        let (gold, white) = ([1.0, 0.7, 0.3], [1.0; 3]);
        let close = |found: Vec3, expected: [f32; 3]| (found - Vec3::from(expected)).abs().max_element() < 1e-4;
        assert_eq!(f0(1.5, 1.0, white, None, 255).0, Vec3::splat(0.04));
        assert!((f0(1.5, 1.0, white, None, 255).1 - 1.0).abs().max_element() < 1e-6);
        for ior in [0.0, 1e6] {
            let (mirror, scattered) = f0(ior, 1.0, gold, None, 255);
            assert!(close(mirror, gold) && close(scattered, [0.0; 3]), "{ior}: {mirror} {scattered}");
        }
        assert!(close(f0(2.0, 0.5, [1.0, 1.0, 100.0], None, 255).0, [1.0 / 18.0, 1.0 / 18.0, 0.5]));
        assert!(close(f0(1.0, 1.0, white, None, 255).0, [0.0; 3]));
        assert!(close(f0(1.5, 1.0, white, TEXTURE, 255).0, [0.04; 3]));
        assert!(close(f0(1.5, 1.0, white, TEXTURE, 0).0, [0.0; 3]));
    }

    #[test]
    fn the_albedo_of_a_dielectric_includes_the_light_that_its_surface_reflects() {
        let dielectric = |ior: f32| small_square(Material { ior, metallic: 0.0, ..Material::default() }, 1, 255);
        let (usual, dense) = (dielectric(1.5), dielectric(2.0));
        assert!(usual.passing.is_empty());
        assert_eq!(usual.albedo, dense.albedo);
        let expected: f32 = (1.0 - 1.0 / 9.0) / 0.96;
        assert!(dense.passing.iter().all(|share| (share - expected).abs() < 1e-5), "{:?}", dense.passing);
        assert_eq!(dense.passing.len(), dense.positions.len());
    }

    #[test]
    fn only_dielectrics_with_coloured_reflections_are_tinted() {
        let is_tinted = |metallic: f32, specular_color: [f32; 3]| {
            let material = Material { metallic, specular_color, ..Material::default() };
            small_square(Material { base_color: [1.0, 0.7, 0.3, 1.0], ..material }, 1, 255).is_tinted_dielectric
        };
        let (gold, white) = ([1.0, 0.7, 0.3], [1.0; 3]);
        assert!(is_tinted(0.0, gold));
        assert!(!is_tinted(0.0, white) && !is_tinted(0.5, gold) && !is_tinted(1.0, white));
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

    /// A dielectric reflects or transmits, and a metal does neither. What is half a metal does half of it.
    #[test]
    fn a_surface_that_is_partly_a_metal_scatters_what_its_dielectric_part_does_not_transmit() {
        for (metallic, factor) in [(0.0, 0.8_f32), (0.5, 0.0), (0.5, 0.8), (0.5, 1.0), (1.0, 0.8)] {
            let transmission = Some(Transmission { factor, texture: None });
            let mesh = small_square(Material { transmission, metallic, ..Material::default() }, 1, 255);
            let expected = (1.0 - factor) * (1.0 - metallic);
            let is_expected = |albedo: &Vec3| (*albedo - expected).abs().max_element() < 1e-6;
            assert!(mesh.albedo.iter().all(is_expected), "{metallic} {factor}: {:?}", mesh.albedo);
        }
    }

    #[test]
    fn glass_transmits_where_its_texture_says_that_it_is_no_metal() {
        let transmission = Some(Transmission { factor: 1.0, texture: None });
        for alpha_mode in [AlphaMode::Opaque, AlphaMode::Blend] {
            let jar = || Material {
                transmission,
                metallic: 1.0,
                metallic_roughness_texture: TEXTURE,
                alpha_mode,
                ..Material::default()
            };
            let glass = small_square(jar(), 1, 0).transparency;
            assert!(glass.len() == 5 && glass.iter().all(|share| (share - 1.0).abs() < 1e-6), "{glass:?}");
            let metal = small_square(jar(), 1, 255).transparency;
            assert!(metal.iter().all(|share| *share == 0.0), "{metal:?}");
        }
    }

    #[test]
    fn missing_texture_coordinates_are_zero() {
        // An empty set and one that does not exist.
        for uv_set in [1, 2] {
            let painted = |transform: Option<[f32; 6]>| {
                let texture = Some(TextureRef { texture: 0, uv_set, transform });
                let material = Material {
                    base_color_texture: texture,
                    metallic: 0.0,
                    emissive: [1.0; 3],
                    emissive_texture: texture,
                    ..Material::default()
                };
                // Only the first row of the texture is white.
                small_square(material, 256, 255)
            };
            let (first_row, middle) = (painted(None), painted(Some([1.0, 0.0, 0.0, 0.0, 1.0, 0.5])));
            assert!(first_row.albedo.iter().all(|albedo| albedo.min_element() > 0.9), "{:?}", first_row.albedo);
            assert!(middle.albedo.iter().all(|albedo| *albedo == Vec3::ZERO), "{:?}", middle.albedo);
            assert_eq!(first_row.emission_texture.unwrap().uvs, [Vec2::ZERO; 5]);
            assert_eq!(middle.emission_texture.unwrap().uvs, [Vec2::new(0.0, 0.5); 5]);
        }
    }
}
