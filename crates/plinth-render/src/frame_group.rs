//! Bind group 0, which all draws of a frame share. It contains the frame's uniform and the light maps.

use crate::bindings;
use crate::gpu::Gpu;
use crate::prepare::Prepared;
use crate::upload::light_maps::{upload_distances, upload_octahedral, upload_radiance};

/// Textures with the light of the environment, which are computed before the first frame.
pub(crate) struct LightMaps {
    specular: wgpu::TextureView,
    irradiance: wgpu::TextureView,
    distances: wgpu::TextureView,
    radiance: wgpu::TextureView,
}

impl LightMaps {
    pub(crate) fn new(gpu: &Gpu, light: &Prepared) -> Self {
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
    bindings::layout(
        &gpu.device,
        "frame",
        &[
            bindings::uniform(0),
            bindings::texture(1, bindings::FILTERED),
            bindings::sampler(2, wgpu::SamplerBindingType::Filtering),
            bindings::texture(3, wgpu::TextureSampleType::Depth),
            bindings::texture(4, wgpu::TextureSampleType::Depth),
            bindings::sampler(5, wgpu::SamplerBindingType::Comparison),
            bindings::texture(6, bindings::FILTERED),
            bindings::volume(7),
            bindings::volume(8),
        ],
    )
}

/// Creates bind group 0 from the uniform of a frame and the shadow maps of the key light and the sun.
pub(crate) fn frame_group(
    gpu: &Gpu,
    layout: &wgpu::BindGroupLayout,
    buffer: &wgpu::Buffer,
    maps: &LightMaps,
    shadows: [&wgpu::TextureView; 2],
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
    bindings::group(
        &gpu.device,
        "frame",
        layout,
        &[
            buffer.as_entire_binding(),
            bindings::view(&maps.specular),
            wgpu::BindingResource::Sampler(&linear),
            bindings::view(shadows[0]),
            bindings::view(shadows[1]),
            wgpu::BindingResource::Sampler(&comparison),
            bindings::view(&maps.irradiance),
            bindings::view(&maps.distances),
            bindings::view(&maps.radiance),
        ],
    )
}
