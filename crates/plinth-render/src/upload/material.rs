//! Uploads materials: their shader variants, uniforms and textures.

use std::collections::BTreeSet;

use plinth_model::{AlphaMode, Material, Model, Sampler, Texture, TextureRef, TextureSlot, Volume};

use super::texture::Textures;
use crate::bindings;
use crate::gpu::Gpu;
use crate::gpu_types;
use crate::prepare::distance_field::is_polished;
use crate::shader::material_source::{SlotUse, define};

/// How a material is drawn. The class determines the pass that draws the material.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum DrawClass {
    Opaque,
    /// The material is alpha-tested.
    Masked,
    /// The opaque texels of an alpha-blended material, which are drawn with the opaque scene. The other texels have the
    /// class [`Self::Blended`].
    OpaqueTexels,
    /// The material refracts the opaque scene, and is drawn after the opaque scene.
    Transmissive,
    /// The material is alpha-blended, and is drawn last, from back to front.
    Blended,
}

impl DrawClass {
    /// Returns whether the material is drawn over the picture drawn so far.
    pub(crate) const fn is_transparent(self) -> bool {
        matches!(self, Self::Transmissive | Self::Blended)
    }
}

/// The properties that determine the shader variant of a material.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct VariantKey {
    pub(crate) class: DrawClass,
    pub(crate) double_sided: bool,
    pub(crate) defines: BTreeSet<String>,
    pub(crate) slots: Vec<SlotUse>,
}

pub(crate) struct MaterialOnGpu {
    pub(crate) key: VariantKey,
    pub(crate) layout: wgpu::BindGroupLayout,
    /// Bind group 2.
    pub(crate) group: wgpu::BindGroup,
    /// Number of the set of materials that the bind group contains. `place` is the index of this material in the set.
    /// Materials with the same bind group have the same set.
    pub(crate) set: usize,
    pub(crate) place: u32,
    /// Bindings of the alpha test in passes that do not shade. `None` if the material has no alpha test.
    pub(crate) alpha_test: Option<AlphaTest>,
    /// Whether the surface encloses a volume, so that light is refracted where it enters and leaves the volume.
    pub(crate) refracts: bool,
    /// Whether the surface transmits light and is so rough that the scene behind it appears blurred.
    pub(crate) blurs: bool,
    /// Whether the surface casts no shadow, because it transmits most light, or because it lies on another surface,
    /// which casts the shadow.
    pub(crate) shadowless: bool,
    /// Whether the surface lies on another surface, which has the same depth and normal.
    pub(crate) overlay: bool,
    /// For an alpha-blended material, the index of the uploaded material that draws its opaque texels, if there is one.
    pub(crate) opaque_texels: Option<usize>,
}

/// The alpha test of a material in passes that do not shade.
pub(crate) struct AlphaTest {
    pub(crate) slots: Vec<SlotUse>,
    pub(crate) layout: wgpu::BindGroupLayout,
    pub(crate) group: wgpu::BindGroup,
    pub(crate) inputs: AlphaTestInputs,
}

/// Everything that an alpha test reads. Tests with equal inputs give the same result.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct AlphaTestInputs {
    /// The bytes of the material's uniform.
    uniform: Vec<u8>,
    slots: Vec<SlotUse>,
    textures: Vec<(Option<wgpu::TextureView>, Sampler)>,
}

/// Factors that convert the lengths of a volume to world units.
#[derive(Clone, Copy, Debug)]
pub(crate) struct VolumeScale {
    /// Factor for the attenuation distance, which is in units of the model file's scene.
    pub(crate) world_from_scene: f32,
    /// Factor for the thickness, which is in units of the mesh.
    pub(crate) world_from_mesh: f32,
}

/// Creates a buffer for the uniforms of materials. `size` is in bytes.
pub(super) fn material_buffer(gpu: &Gpu, size: u64) -> wgpu::Buffer {
    gpu.device.create_buffer(&wgpu::BufferDescriptor {
        label: Some("material"),
        size,
        usage: wgpu::BufferUsages::UNIFORM | wgpu::BufferUsages::COPY_DST,
        mapped_at_creation: false,
    })
}

/// Uploads a material for a given shader variant. `set` is the index of the uploaded material, which forms a set of its
/// own.
pub(crate) fn upload(
    gpu: &Gpu,
    model: &Model,
    textures: &mut Textures,
    (set, material): (usize, &Material),
    key: VariantKey,
    scale: VolumeScale,
) -> MaterialOnGpu {
    let buffer = material_buffer(gpu, size_of::<gpu_types::Material>() as u64);
    let uniform = uniform(material, scale);
    gpu.write(&buffer, 0, bytemuck::bytes_of(&uniform));
    let (layout, group) = bind(gpu, model, textures, material, &buffer, &key.slots);
    let alpha_test = is_alpha_tested(&key).then(|| {
        let slots: Vec<SlotUse> = key.slots.iter().copied().filter(|s| s.slot == TextureSlot::BaseColor).collect();
        let (layout, group) = bind(gpu, model, textures, material, &buffer, &slots);
        let read = slots.iter().map(|used| {
            let texture = texture_of(model, material, used.slot);
            (textures.view(texture.image, used.slot.encoding()).cloned(), texture.sampler)
        });
        let textures = read.collect();
        let inputs = AlphaTestInputs { uniform: bytemuck::bytes_of(&uniform).to_vec(), slots: slots.clone(), textures };
        AlphaTest { slots, layout, group, inputs }
    });
    let is_transmissive = key.class == DrawClass::Transmissive;
    let refracts = refracts(material);
    // The same factor as in `lib/transmission.wgsl`.
    let blurs = is_transmissive && uniform.roughness * (2.0 * uniform.ior - 2.0).clamp(0.0, 1.0) > 0.0;
    let overlay = material.overlay;
    let shadowless = overlay || is_lucid(model, material);
    let opaque_texels = None;
    MaterialOnGpu { key, layout, group, set, place: 0, alpha_test, refracts, blurs, shadowless, overlay, opaque_texels }
}

/// Returns whether a material has an alpha test in passes that do not shade. Transmissive materials have one if they
/// are masked or blended.
fn is_alpha_tested(key: &VariantKey) -> bool {
    let has_alpha = matches!(key.class, DrawClass::Masked | DrawClass::OpaqueTexels);
    has_alpha || key.defines.contains("BLEND") || key.defines.contains(MASKED_GLASS)
}

/// Returns whether the surface encloses a volume, so that light is refracted where it enters and leaves the volume.
fn refracts(material: &Material) -> bool {
    draw_class(material) == DrawClass::Transmissive && material.volume.is_some_and(|volume| volume.thickness > 0.0)
}

/// Mean transmission above which a surface that does not refract light is lucid.
const LUCID: f32 = 0.5;

/// Returns whether a surface is lucid, which means that it casts no shadow because it transmits most light.
fn is_lucid(model: &Model, material: &Material) -> bool {
    may_be_lucid(material) && mean_transmission(model, material) > LUCID
}

/// Returns whether a surface is lucid unless its maps reduce its transmission.
fn may_be_lucid(material: &Material) -> bool {
    // Refraction changes the direction of light. Therefore a thick transmissive body casts a shadow, and a thin pane
    // does not.
    material.transmission.is_some_and(|transmission| transmission.factor > LUCID) && !refracts(material)
}

/// Returns the maps of metalness and of transmission whose means determine whether a surface is lucid.
fn averaged_maps(material: &Material) -> [Option<TextureRef>; 2] {
    let Some(transmission) = material.transmission.filter(|_transmission| may_be_lucid(material)) else {
        return [None; 2];
    };
    [material.metallic_roughness_texture.filter(|_map| material.metallic > 0.0), transmission.texture]
}

/// Returns the images whose pixels are read when the materials are uploaded.
pub(crate) fn averaged_images(model: &Model) -> impl Iterator<Item = usize> {
    let maps = model.materials.iter().flat_map(averaged_maps).flatten();
    maps.filter_map(|map| Some(model.textures.get(map.texture)?.image))
}

/// Returns the fraction of light that a material transmits, averaged over its textures. Metals transmit none.
fn mean_transmission(model: &Model, material: &Material) -> f32 {
    let [metalness, transmission] = averaged_maps(material);
    material.transmission.map_or(0.0, |of_material| {
        let metalness = material.metallic * mean_of_channel(model, metalness, 2);
        of_material.factor * mean_of_channel(model, transmission, 0) * (1.0 - metalness)
    })
}

/// Returns the mean of a channel of a linear texture, from 0 to 1. Without a texture, returns 1.
fn mean_of_channel(model: &Model, reference: Option<TextureRef>, channel: usize) -> f32 {
    /// Number of texels of which the mean is taken.
    const TEXELS: usize = 1 << 16;
    let texture = reference.and_then(|reference| model.textures.get(reference.texture));
    let Some(image) = texture.and_then(|texture| model.images.get(texture.image)) else { return 1.0 };
    let texels = image.pixels.as_chunks::<4>().0;
    let step = (texels.len() / TEXELS).max(1);
    let read = texels.iter().step_by(step);
    let (sum, count) = read.fold((0.0, 0.0), |(sum, count), texel| (sum + f32::from(texel[channel]), count + 1.0));
    sum / f32::max(255.0 * count, 1.0)
}

/// Returns how a material is drawn.
pub(crate) fn draw_class(material: &Material) -> DrawClass {
    match material.alpha_mode {
        _ if material.transmission.is_some_and(|t| t.factor > 0.0) && !material.unlit => DrawClass::Transmissive,
        AlphaMode::Opaque => DrawClass::Opaque,
        AlphaMode::Mask { .. } => DrawClass::Masked,
        AlphaMode::Blend => DrawClass::Blended,
    }
}

/// Returns the texture slots that the shader variant of a material reads.
pub(crate) fn used_slots(model: &Model, material: &Material) -> Vec<SlotUse> {
    let packed = occlusion_is_packed(model, material);
    TextureSlot::ALL
        .into_iter()
        .filter(|slot| !(packed && *slot == TextureSlot::Occlusion))
        .filter(|slot| !material.unlit || matches!(slot, TextureSlot::BaseColor))
        .filter_map(|slot| {
            let reference = slot.of(material)?;
            Some(SlotUse { slot, second_uv: reference.uv_set == 1, transformed: reference.transform.is_some() })
        })
        .collect()
}

/// Returns whether occlusion, roughness and metalness are in the same image with the same texture coordinates. In this
/// case, one texture lookup reads all of them.
fn occlusion_is_packed(model: &Model, material: &Material) -> bool {
    match (material.occlusion_texture, material.metallic_roughness_texture) {
        (Some(occlusion), Some(roughness)) => {
            let same_image = |a: usize, b: usize| {
                let (a, b): (Option<&Texture>, Option<&Texture>) = (model.textures.get(a), model.textures.get(b));
                a.is_some() && a == b
            };
            same_image(occlusion.texture, roughness.texture)
                && occlusion.uv_set == roughness.uv_set
                && occlusion.transform == roughness.transform
        }
        _ => false,
    }
}

/// Preprocessor define for transmissive materials that are visible only where their alpha is at least the cutoff.
const MASKED_GLASS: &str = "MASKED";

pub(crate) fn variant_key(model: &Model, material: &Material, has_colors: bool) -> VariantKey {
    let slots = used_slots(model, material);
    let class = draw_class(material);
    let mut defines: BTreeSet<String> = slots.iter().map(|used| define(used.slot)).collect();
    let mut set = |name: &str, on: bool| {
        if on {
            defines.insert(name.to_owned());
        }
    };
    let lit = !material.unlit;
    set("LIT", lit);
    set("UNLIT", material.unlit);
    set("ENVIRONMENT_STRENGTH", lit && (material.environment_strength - 1.0).abs() > 1e-6);
    set(
        "BLEND",
        class == DrawClass::Blended || (class == DrawClass::Transmissive && material.alpha_mode == AlphaMode::Blend),
    );
    set(MASKED_GLASS, class == DrawClass::Transmissive && matches!(material.alpha_mode, AlphaMode::Mask { .. }));
    set("VERTEX_COLOR", has_colors);
    set("UV", !slots.is_empty());
    set("UV1", slots.iter().any(|used| used.second_uv));
    set("OCCLUSION_PACKED", lit && occlusion_is_packed(model, material));
    let bumped = slots.iter().any(|used| matches!(used.slot, TextureSlot::Normal | TextureSlot::ClearcoatNormal));
    set("TANGENT", lit && (bumped || material.anisotropy.is_some()));
    set("CLEARCOAT", lit && material.clearcoat.is_some_and(|c| c.factor > 0.0));
    set("SHEEN", lit && material.sheen.is_some_and(|s| s.color.iter().any(|c| *c > 0.0)));
    set("POLISHED", is_polished(model, material));
    set("TRANSMISSION", class == DrawClass::Transmissive);
    set("DISPERSION", class == DrawClass::Transmissive && material.dispersion > 0.0);
    set("IRIDESCENCE", lit && has_film(material));
    set("TINTED_SPECULAR", lit && has_tinted_specular(material));
    set("ANISOTROPY", lit && material.anisotropy.is_some_and(|a| a.strength > 0.0));
    set("DIFFUSE_TRANSMISSION", lit && material.diffuse_transmission.is_some_and(|d| d.factor > 0.0));
    VariantKey { class, double_sided: material.double_sided, defines, slots }
}

fn has_film(material: &Material) -> bool {
    material.iridescence.is_some_and(|film| film.factor > 0.0)
}

/// Returns whether a dielectric may reflect some colours more than others.
fn has_tinted_specular(material: &Material) -> bool {
    let [red, ..] = material.specular_color;
    let is_tinted = material.specular_color.iter().any(|c| (c - red).abs() > 0.0);
    is_tinted || material.specular_color_texture.is_some() || has_film(material)
}

/// Maximum absorption coefficient in inverse world units. A body with this coefficient lets no visible light through,
/// even if it is only a hundred-thousandth of a unit thick. The coefficient must be finite, because in the shader,
/// infinity times a path of length 0 would be NaN.
const MAX_ABSORPTION: f32 = 1e6;

/// Returns the absorption coefficient of a volume for each colour channel, in inverse world units.
fn absorption(volume: Volume, world_from_scene: f32) -> [f32; 3] {
    if !volume.attenuation_distance.is_finite() || volume.attenuation_distance <= 0.0 {
        return [0.0; 3];
    }
    let distance = volume.attenuation_distance * world_from_scene;
    // The logarithm of 0 is infinite.
    volume.attenuation_color.map(|c| (-c.ln() / distance).min(MAX_ABSORPTION))
}

/// Returns the reflectance of a dielectric at normal incidence. The index of refraction 0 stands for an infinite index
/// (KHR_materials_ior).
pub(crate) fn f0_from_ior(ior: f32) -> f32 {
    if ior == 0.0 { 1.0 } else { ((ior - 1.0) / (ior + 1.0)).powi(2) }
}

pub(super) fn uniform(m: &Material, scale: VolumeScale) -> gpu_types::Material {
    let coat = m.clearcoat;
    let sheen = m.sheen;
    let film = m.iridescence;
    let turn = m.anisotropy.map_or(0.0, |a| a.rotation);
    let through = m.diffuse_transmission;
    let volume = m.volume;
    let cutoff = match m.alpha_mode {
        AlphaMode::Mask { cutoff } => cutoff,
        // In passes that do not shade, except for the depth of reflections, a blended surface is visible if its opacity is
        // at least one half.
        AlphaMode::Blend | AlphaMode::Opaque => 0.5,
    };
    gpu_types::Material {
        base_color: m.base_color,
        emissive: m.emissive,
        alpha_cutoff: cutoff,
        metallic: m.metallic,
        roughness: m.perceptual_roughness,
        normal_scale: m.normal_scale,
        occlusion_strength: m.occlusion_strength,
        specular_color: m.specular_color,
        specular_factor: m.specular,
        dielectric_f0: f0_from_ior(m.ior),
        coat: coat.map_or(0.0, |c| c.factor),
        coat_roughness: coat.map_or(0.0, |c| c.roughness),
        coat_normal_scale: coat.map_or(1.0, |c| c.normal_scale),
        sheen_color: sheen.map_or([0.0; 3], |s| s.color),
        sheen_roughness: sheen.map_or(0.0, |s| s.roughness),
        transmission: m.transmission.map_or(0.0, |t| t.factor),
        thickness: volume.map_or(0.0, |v| v.thickness * scale.world_from_mesh),
        ior: m.ior.max(1.0),
        dispersion: m.dispersion,
        absorption: volume.map_or([0.0; 3], |v| absorption(v, scale.world_from_scene)),
        iridescence: film.map_or(0.0, |i| i.factor),
        film_thickness: film.map_or([0.0; 2], |i| [i.thickness_min, i.thickness_max]),
        film_ior: film.map_or(0.0, |i| i.ior),
        anisotropy: m.anisotropy.map_or(0.0, |a| a.strength),
        anisotropy_turn: [turn.cos(), turn.sin()],
        environment_factor: m.environment_strength,
        diffuse_transmission: through.map_or(0.0, |d| d.factor),
        diffuse_transmission_color: through.map_or([1.0; 3], |d| d.color),
        unused: 0,
        uv_rows: uv_rows(m),
    }
}

fn uv_rows(m: &Material) -> [[f32; 4]; 2 * gpu_types::SLOT_COUNT] {
    let mut rows = [[0.0; 4]; 2 * gpu_types::SLOT_COUNT];
    for slot in TextureSlot::ALL {
        let [a, b, c, d, e, f] =
            slot.of(m).and_then(|reference| reference.transform).unwrap_or([1.0, 0.0, 0.0, 0.0, 1.0, 0.0]);
        rows[2 * slot as usize] = [a, b, c, 0.0];
        rows[2 * slot as usize + 1] = [d, e, f, 0.0];
    }
    rows
}

/// Creates bind group 2: the uniform, followed by a texture and a sampler for each used slot.
pub(super) fn bind(
    gpu: &Gpu,
    model: &Model,
    textures: &mut Textures,
    material: &Material,
    buffer: &wgpu::Buffer,
    slots: &[SlotUse],
) -> (wgpu::BindGroupLayout, wgpu::BindGroup) {
    let layout = layout(gpu, slots.len());
    let samplers: Vec<wgpu::Sampler> =
        slots.iter().map(|used| textures.sampler(gpu, texture_of(model, material, used.slot).sampler)).collect();
    let mut entries = vec![wgpu::BindGroupEntry { binding: 0, resource: buffer.as_entire_binding() }];
    for (k, used) in slots.iter().enumerate() {
        let texture = texture_of(model, material, used.slot);
        if let Some(view) = textures.view(texture.image, used.slot.encoding()) {
            entries.push(wgpu::BindGroupEntry {
                binding: 1 + 2 * k as u32,
                resource: wgpu::BindingResource::TextureView(view),
            });
            entries.push(wgpu::BindGroupEntry {
                binding: 2 + 2 * k as u32,
                resource: wgpu::BindingResource::Sampler(&samplers[k]),
            });
        }
    }
    let group = gpu.device.create_bind_group(&wgpu::BindGroupDescriptor {
        label: Some("material"),
        layout: &layout,
        entries: &entries,
    });
    (layout, group)
}

pub(super) fn texture_of(model: &Model, material: &Material, slot: TextureSlot) -> Texture {
    slot.of(material)
        .and_then(|reference| model.textures.get(reference.texture).copied())
        .unwrap_or(Texture { image: 0, sampler: Sampler::default() })
}

fn layout(gpu: &Gpu, slots: usize) -> wgpu::BindGroupLayout {
    let mut entries = vec![bindings::uniform(0)];
    for k in 0..slots as u32 {
        entries.push(bindings::texture(1 + 2 * k, bindings::FILTERED));
        entries.push(bindings::sampler(2 + 2 * k, wgpu::SamplerBindingType::Filtering));
    }
    bindings::layout(&gpu.device, "material", &entries)
}

#[cfg(test)]
mod tests {
    use plinth_model::{Image, ImageFacts, Iridescence, Pixels, Transmission};

    use super::*;

    #[test]
    fn metals_transmit_no_light() {
        let map = Some(TextureRef { texture: 0, uv_set: 0, transform: None });
        let mean = |metallic: f32, map: Option<TextureRef>, blue: u8| {
            let image = Image { width: 1, height: 1, pixels: vec![255, 255, blue, 255].into(), ..Image::default() };
            let model = Model {
                textures: vec![Texture { image: 0, sampler: Sampler::default() }],
                images: vec![image.into()],
                ..Model::default()
            };
            let transmission = Some(Transmission { factor: 0.8, texture: None });
            let glass = Material { transmission, metallic, metallic_roughness_texture: map, ..Material::default() };
            mean_transmission(&model, &glass)
        };
        let without_map = [(0.0, None, 255, 0.8), (1.0, None, 0, 0.0)];
        let with_map = [(1.0, map, 255, 0.0), (1.0, map, 0, 0.8), (0.5, map, 255, 0.4)];
        for (metallic, map, blue, expected) in without_map.into_iter().chain(with_map) {
            let found = mean(metallic, map, blue);
            assert!((found - expected).abs() < 1e-6, "{metallic} {map:?} {blue}: {found}");
        }
    }

    #[test]
    fn pixels_are_read_only_where_they_determine_whether_a_surface_casts_a_shadow() {
        let map = |texture: usize| Some(TextureRef { texture, uv_set: 0, transform: None });
        let unread = || {
            let pixels = Pixels::known(ImageFacts { least: [0; 4] }, 0, || panic!("the image was decoded"));
            Image { width: 1, height: 1, pixels, ..Image::default() }.into()
        };
        let model = |material: &Material| Model {
            materials: vec![material.clone()],
            textures: [0, 1].map(|image| Texture { image, sampler: Sampler::default() }).into(),
            images: vec![unread(), unread()],
            ..Model::default()
        };
        let transmits = |factor: f32| Some(Transmission { factor, texture: map(1) });
        let pane = Material { transmission: transmits(0.8), metallic_roughness_texture: map(0), ..Material::default() };
        let volume = Some(Volume { thickness: 0.1, ..Volume::default() });
        let averaged = |material: &Material| averaged_images(&model(material)).collect::<Vec<_>>();
        assert_eq!(averaged(&pane), [0, 1]);
        assert_eq!(averaged(&Material { metallic: 0.0, ..pane.clone() }), [1]);
        assert_eq!(averaged(&Material { volume, unlit: true, ..pane.clone() }), [0, 1], "it does not refract");
        let shadows = [
            Material { volume, ..pane.clone() },
            Material { transmission: transmits(0.5), ..pane.clone() },
            Material { transmission: None, ..pane },
        ];
        for material in shadows {
            assert!(averaged(&material).is_empty() && !is_lucid(&model(&material), &material), "{material:?}");
        }
    }

    #[test]
    fn specular_reflections_are_tinted_by_colours_textures_and_films() {
        let map = Some(TextureRef { texture: 0, uv_set: 0, transform: None });
        let film = |factor: f32| Some(Iridescence { factor, ..Iridescence::default() });
        let tinted =
            |material: Material| variant_key(&Model::default(), &material, false).defines.contains("TINTED_SPECULAR");
        assert!(!tinted(Material::default()));
        assert!(!tinted(Material { specular_color: [0.3; 3], iridescence: film(0.0), ..Material::default() }));
        assert!(tinted(Material { specular_color: [1.0, 1.0, 0.9], ..Material::default() }));
        assert!(tinted(Material { specular_color_texture: map, ..Material::default() }));
        assert!(tinted(Material { iridescence: film(0.5), ..Material::default() }));
        assert!(!tinted(Material { iridescence: film(0.5), unlit: true, ..Material::default() }));
    }
}
