//! Applies `materialEdits` to the materials of a model.

use std::collections::BTreeMap;
use std::sync::Arc;

use plinth_model::{AlphaMode, Image, Material, Model, Sheen, Texture, TextureRef, Topology, cut_name};
use plinth_spec::settings::{AlphaChoice, Faces, MaterialEdit, RenderSettings};

use crate::assets::SceneAssets;
use crate::build::known_names;
use crate::lights::linear;
use crate::texture_maps::{self, WhitenedImages};
use crate::visible::Visible;
use crate::wireframe::{MAX_EDGES, Wireframes};

/// Default value of the alpha cutoff (glTF 2.0, section 5.19).
const CUTOFF: f32 = 0.5;
/// Maximum number of vertices of all materials that edits make flat-shaded, including instances. Flat shading creates a
/// vertex for each corner of each triangle.
const MAX_FLAT_CORNERS: usize = 30_000_000;

/// Returns the model after applying the material edits of the settings. Images that become textures are scaled down so
/// that no side is longer than `max_side` texels. The geometry of hidden meshes stays as it is. Adds a warning for each
/// edit that has no effect.
pub(crate) fn edited(
    model: Arc<Model>,
    settings: &RenderSettings,
    assets: &SceneAssets<'_>,
    max_side: u32,
    visible: Visible<'_>,
    warnings: &mut Vec<String>,
) -> Arc<Model> {
    if settings.material_edits().is_empty() {
        return model;
    }
    let mut model = Arc::unwrap_or_clone(model);
    // Materials with the same image share it.
    let mut images: BTreeMap<&str, Arc<Image>> = BTreeMap::new();
    let mut whitened_images = WhitenedImages::default();
    let mut geometry = Geometry::new(&model, visible);
    for (name, edit) in settings.material_edits() {
        let named: Vec<usize> =
            (0..model.materials.len()).filter(|i| model.materials[*i].name == cut_name(name)).collect();
        let mut warn = |message: &str| warnings.push(format!("materialEdits.{name}: {message}"));
        if named.is_empty() {
            let known = known_names(model.materials.iter().map(|material| material.name.as_str()));
            warn(&format!("the model has no such material{known}"));
        }
        let image = edit.map_asset_id.as_deref().and_then(|id| {
            if let Some(image) = images.get(id) {
                return Some(Arc::clone(image));
            }
            let image = assets.image(id, max_side).map_err(|error| warn(&format!("the map is unchanged: {error}")));
            Some(Arc::clone(images.entry(id).or_insert(Arc::new(image.ok()?))))
        });
        for index in named {
            let mut work = MaterialEditor { model: &mut model, index, edit, geometry: &mut geometry, warn: &mut warn };
            work.factors();
            work.maps(image.as_ref(), &mut whitened_images);
            work.shape();
        }
    }
    Arc::new(model)
}

/// Returns the maximum side length of textures in texels, for frames whose longer side has `longest` pixels. It is at
/// least twice `longest`, because the frame may show only half of a texture: the other half of an atlas may belong to
/// the back of the model.
pub fn max_texture_side(longest: u32) -> u32 {
    (2 * longest).next_power_of_two().clamp(512, 8192)
}

/// The geometry that the edits of a model add. Its limits apply to all edits together.
struct Geometry<'a> {
    /// For each mesh, how often it is drawn, including instances.
    draws: Vec<usize>,
    /// Number of vertices of the materials that edits have made flat-shaded so far, including instances.
    flat_corners: usize,
    wireframes: Wireframes<'a>,
}

impl<'a> Geometry<'a> {
    fn new(model: &Model, visible: Visible<'a>) -> Self {
        Self { draws: visible.draw_counts(model), flat_corners: 0, wireframes: Wireframes::new(visible) }
    }
}

/// Applies one edit to one material.
struct MaterialEditor<'a, 'v> {
    model: &'a mut Model,
    index: usize,
    edit: &'a MaterialEdit,
    geometry: &'a mut Geometry<'v>,
    warn: &'a mut dyn FnMut(&str),
}

fn set(to: &mut f32, from: Option<f64>) {
    if let Some(value) = from {
        *to = value as f32;
    }
}

fn set_color(to: &mut [f32; 3], from: Option<[u8; 3]>) {
    if let Some(color) = from {
        *to = linear(color).to_array();
    }
}

impl MaterialEditor<'_, '_> {
    /// Applies the numbers, colours and modes of the edit.
    fn factors(&mut self) {
        let edit = self.edit;
        let m = &mut self.model.materials[self.index];
        if let Some(color) = edit.color {
            let [r, g, b] = linear(color).to_array();
            m.base_color = [r, g, b, m.base_color[3]];
        }
        set(&mut m.perceptual_roughness, edit.roughness);
        set(&mut m.metallic, edit.metalness);
        alpha(m, edit);
        emission(m, edit);
        set(&mut m.occlusion_strength, edit.occlusion_strength);
        set(&mut m.environment_strength, edit.environment_strength);
        set(&mut m.normal_scale, edit.normal_scale);
        set(&mut m.specular, edit.specular);
        set_color(&mut m.specular_color, edit.specular_color);
        set(&mut m.ior, edit.ior);
        if let Some(factor) = edit.transmission {
            m.transmission.get_or_insert_default().factor = factor as f32;
        }
        coat(m, edit);
        sheen(m, edit);
        film(m, edit);
        volume(m, edit, self.warn);
        for (name, value) in [("bumpScale", edit.bump_scale), ("displacementScale", edit.displacement_scale)] {
            if value.is_some() {
                (self.warn)(&format!("{name} has no effect: glTF models have no such map"));
            }
        }
    }

    /// Replaces the base colour texture, and removes the textures that the edit turns off.
    fn maps(&mut self, base_color: Option<&Arc<Image>>, whitened_images: &mut WhitenedImages) {
        if let Some(image) = base_color {
            self.replace_base_map(image);
        }
        for (name, used) in &self.edit.texture_maps {
            if !texture_maps::is_known(name) {
                (self.warn)(&format!("textureMaps: there is no map '{name}'"));
            } else if !used {
                texture_maps::remove_map(self.model, self.index, name, whitened_images);
            }
        }
    }

    fn replace_base_map(&mut self, image: &Arc<Image>) {
        let has_coordinates = |p: &plinth_model::Primitive| p.uvs.iter().any(|set| !set.is_empty());
        let parts = self.model.meshes.iter().flat_map(|m| &m.primitives);
        if !parts.filter(|p| p.material == self.index).any(has_coordinates) {
            (self.warn)("mapAssetId has no effect: the surface has no texture coordinates");
            return;
        }
        let old = self.model.materials[self.index].base_color_texture;
        let sampler = old.and_then(|r| self.model.textures.get(r.texture)).map(|t| t.sampler).unwrap_or_default();
        let known = self.model.images.iter().position(|known| Arc::ptr_eq(known, image));
        let image = known.unwrap_or_else(|| {
            self.model.images.push(Arc::clone(image));
            self.model.images.len() - 1
        });
        self.model.textures.push(Texture { image, sampler });
        let texture = self.model.textures.len() - 1;
        let unchanged = TextureRef { texture, uv_set: 0, transform: None };
        self.model.materials[self.index].base_color_texture =
            Some(old.map_or(unchanged, |r| TextureRef { texture, ..r }));
    }

    /// Applies the properties of the edit that change geometry: visible sides, flat shading and wireframe.
    fn shape(&mut self) {
        match self.edit.faces {
            Some(Faces::Front) => self.model.materials[self.index].double_sided = false,
            Some(Faces::Double) => self.model.materials[self.index].double_sided = true,
            Some(Faces::Back) => {
                self.model.materials[self.index].double_sided = false;
                self.primitives().for_each(|(_, primitive)| turn_inside_out(primitive));
            }
            None => {}
        }
        if self.edit.flat_shading == Some(true) {
            self.shade_flat();
        }
        if self.edit.wireframe == Some(true)
            && !self.geometry.wireframes.draw(self.model, self.index, &self.geometry.draws)
        {
            (self.warn)(&format!(
                "wireframe has no effect: the wireframes and their instances would have more than {MAX_EDGES} edges"
            ));
        }
    }

    fn shade_flat(&mut self) {
        let added: usize = self.primitives().map(|(draws, primitive)| draws * primitive.indices.len()).sum();
        let corners = self.geometry.flat_corners + added;
        if corners > MAX_FLAT_CORNERS {
            (self.warn)("flatShading has no effect: the surface has too many triangles");
            return;
        }
        self.geometry.flat_corners = corners;
        let material = self.model.materials[self.index].clone();
        self.primitives().for_each(|(_, primitive)| primitive.shade_flat(&material));
    }

    /// Returns the visible primitives that use the material, and how often each is drawn.
    fn primitives(&mut self) -> impl Iterator<Item = (usize, &mut plinth_model::Primitive)> {
        let index = self.index;
        let visible = self.model.meshes.iter_mut().zip(&self.geometry.draws).filter(|(_, draws)| **draws > 0);
        let all = visible.flat_map(|(mesh, draws)| mesh.primitives.iter_mut().map(move |p| (*draws, p)));
        all.filter(move |(_, p)| p.material == index && p.topology == Topology::Triangles)
    }
}

fn alpha(m: &mut Material, edit: &MaterialEdit) {
    set(&mut m.base_color[3], edit.opacity);
    match edit.alpha_mode {
        Some(AlphaChoice::Opaque) => m.alpha_mode = AlphaMode::Opaque,
        Some(AlphaChoice::Blend) => m.alpha_mode = AlphaMode::Blend,
        Some(AlphaChoice::Mask) if !matches!(m.alpha_mode, AlphaMode::Mask { .. }) => {
            m.alpha_mode = AlphaMode::Mask { cutoff: CUTOFF };
        }
        // If the opacity of an opaque material is lowered, the material becomes blended.
        None if m.alpha_mode == AlphaMode::Opaque && edit.opacity.is_some_and(|o| o < 1.0) => {
            m.alpha_mode = AlphaMode::Blend;
        }
        _ => {}
    }
}

/// Sets the emitted light to the edited colour times the edited intensity. A value that is not edited keeps the model's
/// value. If a component of the model's emission exceeds 1, the largest component counts as the model's intensity.
fn emission(m: &mut Material, edit: &MaterialEdit) {
    let strength = m.emissive.into_iter().fold(1.0, f32::max);
    let mut color = m.emissive.map(|c| c / strength);
    set_color(&mut color, edit.emissive);
    let strength = edit.emissive_intensity.map_or(strength, |i| i as f32);
    m.emissive = color.map(|c| c * strength);
}

fn coat(m: &mut Material, edit: &MaterialEdit) {
    if edit.clearcoat.is_none() && (edit.clearcoat_roughness.is_none() || m.clearcoat.is_none()) {
        return;
    }
    let coat = m.clearcoat.get_or_insert_default();
    set(&mut coat.factor, edit.clearcoat);
    set(&mut coat.roughness, edit.clearcoat_roughness);
}

/// Sets the sheen. The settings have a colour and a strength, as three.js does. glTF has only a colour, so the colour
/// is multiplied by the strength.
fn sheen(m: &mut Material, edit: &MaterialEdit) {
    if edit.sheen.is_none() && edit.sheen_color.is_none() && (edit.sheen_roughness.is_none() || m.sheen.is_none()) {
        return;
    }
    let white = Sheen { color: [1.0; 3], roughness: 1.0, ..Sheen::default() };
    let sheen = m.sheen.get_or_insert(white);
    set_color(&mut sheen.color, edit.sheen_color);
    if let Some(strength) = edit.sheen {
        sheen.color = sheen.color.map(|c| c * strength as f32);
    }
    set(&mut sheen.roughness, edit.sheen_roughness);
}

fn film(m: &mut Material, edit: &MaterialEdit) {
    if edit.iridescence.is_none() && (edit.iridescence_ior.is_none() || m.iridescence.is_none()) {
        return;
    }
    let film = m.iridescence.get_or_insert_default();
    set(&mut film.factor, edit.iridescence);
    set(&mut film.ior, edit.iridescence_ior);
}

fn volume(m: &mut Material, edit: &MaterialEdit, warn: &mut dyn FnMut(&str)) {
    let thickness = edit.thickness.map_or_else(|| m.volume.map_or(0.0, |v| v.thickness), |t| t as f32);
    if thickness <= 0.0 {
        if edit.attenuation_color.is_some() {
            warn("attenuationColor has no effect: the surface has no thickness");
        }
        if let Some(volume) = m.volume.as_mut() {
            volume.thickness = thickness;
        }
        return;
    }
    if edit.thickness.is_none() && edit.attenuation_color.is_none() {
        return;
    }
    let volume = m.volume.get_or_insert_default();
    volume.thickness = thickness;
    if let Some(color) = edit.attenuation_color {
        volume.attenuation_color = linear(color).to_array();
        // The settings have no attenuation distance. If the model has no attenuation distance either, light that passes
        // through the whole thickness gets the attenuation colour.
        if !volume.attenuation_distance.is_finite() {
            volume.attenuation_distance = thickness;
        }
    }
}

/// Swaps front and back faces. Normals and tangents are negated, as the renderer does when it shades a back face.
fn turn_inside_out(primitive: &mut plinth_model::Primitive) {
    for triangle in primitive.indices.as_chunks_mut::<3>().0 {
        triangle.swap(1, 2);
    }
    let negate = |n: &mut [f32; 3]| *n = n.map(|c| -c);
    primitive.normals.iter_mut().for_each(negate);
    // The handedness is negated, too. Otherwise the bitangent would not be negated, because the cross product of two
    // negated vectors stays the same.
    primitive.tangents.iter_mut().for_each(|t| *t = t.map(|c| -c));
    for target in &mut primitive.morph_targets {
        target.normals.iter_mut().chain(&mut target.tangents).for_each(negate);
    }
}
