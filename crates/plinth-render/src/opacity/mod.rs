//! Determines which parts of alpha-blended surfaces are opaque. Many materials are alpha-blended because of a few
//! translucent texels, or for no reason. The opaque parts are drawn with the opaque scene, so that they hide what is
//! behind them regardless of the order in which triangles are drawn, and are shaded once per pixel.
//!
//! Triangles whose texels are all opaque get an opaque material (`separate.rs`). The other triangles are drawn with the
//! opaque scene where their texels are opaque, and are then drawn again, blended (`texels.rs`).

mod blocks;
mod separate;
mod texels;

use std::collections::{BTreeMap, BTreeSet};

use glam::Vec2;
use plinth_model::{AlphaMode, Material, Model, Primitive, Sampler, TextureRef};
use rayon::prelude::*;

use blocks::OpaqueBlocks;

pub use separate::separate_opaque_triangles;
pub(crate) use texels::with_opaque_texels;

/// Alpha from which a point of a surface is drawn as opaque. What is behind such a point changes its colour by at most
/// half a step of an 8-bit channel.
pub(crate) const MIN_OPAQUE_ALPHA: f32 = 254.5 / 255.0;

/// Returns the indices of the alpha-blended materials that can have opaque parts. Transmissive materials and materials
/// that lie on other surfaces are left out.
fn blended_materials(model: &Model) -> BTreeSet<usize> {
    let can_be_opaque = |material: &Material| {
        let transmits = material.transmission.is_some_and(|transmission| transmission.factor > 0.0) && !material.unlit;
        material.alpha_mode == AlphaMode::Blend
            && material.base_color[3] >= MIN_OPAQUE_ALPHA
            && !transmits
            && !material.overlay
    };
    (0..model.materials.len()).filter(|i| can_be_opaque(&model.materials[*i])).collect()
}

/// The opaque parts of the images that contain the alpha of materials.
struct OpaqueImages<'a> {
    model: &'a Model,
    blocks: BTreeMap<usize, OpaqueBlocks>,
}

impl<'a> OpaqueImages<'a> {
    fn new(model: &'a Model, materials: &BTreeSet<usize>) -> Self {
        let used = materials.iter().filter_map(|i| {
            let texture = model.materials[*i].base_color_texture?.texture;
            Some(model.textures.get(texture)?.image)
        });
        let used: BTreeSet<usize> = used.collect();
        let blocks = used.into_par_iter().filter_map(|i| Some((i, OpaqueBlocks::new(model.images.get(i)?))));
        Self { model, blocks: blocks.collect() }
    }

    /// Returns the opacity of a material whose alpha factor is 1.
    fn of(&self, material: &Material) -> Opacity<'_> {
        let texture = material.base_color_texture.and_then(|reference| {
            let texture = self.model.textures.get(reference.texture)?;
            Some((reference, texture.sampler, self.blocks.get(&texture.image)?))
        });
        Opacity { texture }
    }
}

/// The opacity of a material whose alpha factor is 1.
struct Opacity<'a> {
    texture: Option<(TextureRef, Sampler, &'a OpaqueBlocks)>,
}

impl Opacity<'_> {
    /// Returns whether all points of a triangle are opaque. `corners` are indices of the primitive's vertices.
    fn is_opaque(&self, primitive: &Primitive, corners: [u32; 3]) -> bool {
        let are_opaque =
            corners.iter().all(|i| primitive.colors.get(*i as usize).is_none_or(|c| c[3] >= MIN_OPAQUE_ALPHA));
        are_opaque
            && self.texture.is_none_or(|(reference, sampler, blocks)| {
                let [a, b, c] = uvs(reference, primitive, corners);
                blocks.all_opaque(a.min(b).min(c), a.max(b).max(c), sampler)
            })
    }

    /// Estimates the share of a triangle that is opaque, from four points.
    fn opaque_share(&self, primitive: &Primitive, corners: [u32; 3]) -> f32 {
        let twelfths = [[4.0, 4.0, 4.0], [8.0, 2.0, 2.0], [2.0, 8.0, 2.0], [2.0, 2.0, 8.0]];
        let points = twelfths.map(|weights| weights.map(|weight| weight / 12.0));
        let is_opaque = |weights: &&[f32; 3]| {
            let alpha = |i: u32| primitive.colors.get(i as usize).map_or(1.0, |color| color[3]);
            let alpha: f32 = corners.iter().zip(*weights).map(|(i, weight)| alpha(*i) * weight).sum();
            alpha >= MIN_OPAQUE_ALPHA
                && self.texture.is_none_or(|(reference, sampler, blocks)| {
                    let uvs = uvs(reference, primitive, corners);
                    let uv: Vec2 = uvs.iter().zip(*weights).map(|(uv, weight)| *uv * *weight).sum();
                    blocks.all_opaque(uv, uv, sampler)
                })
        };
        points.iter().filter(is_opaque).count() as f32 / points.len() as f32
    }
}

/// Returns the texture coordinates at the corners of a triangle.
fn uvs(reference: TextureRef, primitive: &Primitive, corners: [u32; 3]) -> [Vec2; 3] {
    let set = primitive.uvs.get(reference.uv_set);
    let at = |i: u32| set.and_then(|set| set.get(i as usize)).copied().unwrap_or_default();
    corners.map(|i| Vec2::from(reference.transformed(at(i))))
}
