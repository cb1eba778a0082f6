//! Bind group 0, which all draws of a frame share, and which contains the frame's uniform buffer and the light maps.

use std::sync::{Arc, PoisonError};

use crate::bindings;
use crate::gpu::Gpu;
use crate::pass::packed_shadow::packed_texture;
use crate::pass::shadow_map::ShadowMap;
use crate::prepare::Prepared;
use crate::upload::light_maps::{upload_distances, upload_octahedral, upload_radiance};

/// Textures with the light of the environment, which are computed before the first frame.
#[derive(Clone)]
pub(crate) struct LightMaps {
    specular: wgpu::TextureView,
    irradiance: wgpu::TextureView,
    distances: wgpu::TextureView,
    radiance: wgpu::TextureView,
}

/// Maximum number of entries of `LightMapsCache`: one for drafts, and one for the full picture.
const MAX_ENTRIES: usize = 2;

/// The light with which scenes were drawn last, and the light maps that were created from it. The most recent light
/// comes first.
pub(crate) type LightMapsCache = Vec<(Arc<Prepared>, LightMaps)>;

impl LightMaps {
    /// Returns the maps of a light from the device's cache, or uploads them. If the model moves, the maps
    /// are not cached.
    pub(crate) fn of(gpu: &Gpu, light: &Arc<Prepared>, moving: &[bool]) -> Self {
        let Some(cache) = gpu.device.cache().filter(|_cache| !moving.contains(&true)) else {
            return Self::new(gpu, light);
        };
        let mut kept = cache.light_maps.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_light, maps)) = kept.iter().find(|(known, _maps)| Arc::ptr_eq(known, light)) {
            return maps.clone();
        }
        let maps = Self::new(gpu, light);
        kept.insert(0, (Arc::clone(light), maps.clone()));
        kept.truncate(MAX_ENTRIES);
        maps
    }

    fn new(gpu: &Gpu, light: &Prepared) -> Self {
        Self {
            specular: upload_octahedral(gpu, &light.environment.specular),
            irradiance: upload_octahedral(gpu, &light.environment.irradiance),
            distances: upload_distances(gpu, &light.model.field),
            radiance: upload_radiance(gpu, &light.model.field),
        }
    }
}

/// Creates the layout of bind group 0.
pub(crate) fn frame_layout(gpu: &Gpu) -> wgpu::BindGroupLayout {
    let mut entries = vec![
        bindings::uniform(0),
        bindings::texture(1, bindings::FILTERED),
        bindings::sampler(2, wgpu::SamplerBindingType::Filtering),
        bindings::texture(3, wgpu::TextureSampleType::Depth),
        bindings::texture(4, wgpu::TextureSampleType::Depth),
        bindings::sampler(5, wgpu::SamplerBindingType::Comparison),
        bindings::texture(6, bindings::FILTERED),
        bindings::volume(7),
        bindings::volume(8),
    ];
    if gpu.is_software() {
        entries.extend([
            bindings::texture(9, bindings::UNFILTERED),
            bindings::texture(10, bindings::UNFILTERED),
            bindings::sampler(11, wgpu::SamplerBindingType::NonFiltering),
        ]);
    }
    bindings::layout(&gpu.device, "frame", &entries)
}

/// Creates bind group 0 from the uniform of a frame and the shadow maps of the key light and the sun.
pub(crate) fn frame_group(
    gpu: &Gpu,
    layout: &wgpu::BindGroupLayout,
    buffer: &wgpu::Buffer,
    maps: &LightMaps,
    shadows: [&ShadowMap; 2],
) -> wgpu::BindGroup {
    let linear = gpu.device.create_sampler(&wgpu::SamplerDescriptor {
        label: Some("linear"),
        mag_filter: wgpu::FilterMode::Linear,
        min_filter: wgpu::FilterMode::Linear,
        mipmap_filter: wgpu::MipmapFilterMode::Linear,
        ..Default::default()
    });
    let comparison = gpu.device.create_sampler(&wgpu::SamplerDescriptor {
        label: Some("shadow"),
        mag_filter: wgpu::FilterMode::Linear,
        min_filter: wgpu::FilterMode::Linear,
        compare: Some(wgpu::CompareFunction::LessEqual),
        ..Default::default()
    });
    let nearest = gpu.device.create_sampler(&wgpu::SamplerDescriptor::default());
    let unused = gpu.is_software().then(|| packed_texture(gpu, 1));
    let mut resources = vec![
        buffer.as_entire_binding(),
        bindings::view(&maps.specular),
        wgpu::BindingResource::Sampler(&linear),
        bindings::view(&shadows[0].view),
        bindings::view(&shadows[1].view),
        wgpu::BindingResource::Sampler(&comparison),
        bindings::view(&maps.irradiance),
        bindings::view(&maps.distances),
        bindings::view(&maps.radiance),
    ];
    if let Some(unused) = &unused {
        let packed = shadows.map(|map| map.packed.as_ref().map_or(unused, |packed| &packed.view));
        resources.extend(packed.map(bindings::view));
        resources.push(wgpu::BindingResource::Sampler(&nearest));
    }
    bindings::group(&gpu.device, "frame", layout, &resources)
}
