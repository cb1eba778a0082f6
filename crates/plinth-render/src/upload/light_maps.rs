//! The filtered environment and the distance field as textures.

use std::borrow::Cow;

use half::f16;

use crate::distance_field::DistanceField;
use crate::gpu::Gpu;
use crate::ibl::OctahedralMap;

/// Uploads all mips: as floats where they can be filtered and are read by the processor, which need no unpacking
/// there; as half floats otherwise.
pub(crate) fn upload_octahedral(gpu: &Gpu, map: &OctahedralMap) -> wgpu::TextureView {
    let (format, texel_bytes) = format(gpu);
    let size = |side: u32| wgpu::Extent3d { width: side, height: side, depth_or_array_layers: 1 };
    let texture = gpu.device.create_texture(&wgpu::TextureDescriptor {
        label: Some("environment"),
        size: size(map.side),
        mip_level_count: map.mips.len() as u32,
        sample_count: 1,
        dimension: wgpu::TextureDimension::D2,
        format,
        usage: wgpu::TextureUsages::TEXTURE_BINDING | wgpu::TextureUsages::COPY_DST,
        view_formats: &[],
    });
    for (mip, texels) in map.mips.iter().enumerate() {
        let side = (map.side >> mip).max(1);
        let bytes = bytes(format, texels);
        gpu.queue.write_texture(
            wgpu::TexelCopyTextureInfo {
                texture: &texture,
                mip_level: mip as u32,
                origin: wgpu::Origin3d::ZERO,
                aspect: wgpu::TextureAspect::All,
            },
            &bytes,
            wgpu::TexelCopyBufferLayout { offset: 0, bytes_per_row: Some(side * texel_bytes), rows_per_image: None },
            size(side),
        );
    }
    texture.create_view(&wgpu::TextureViewDescriptor::default())
}

/// Uploads a distance field; a single cell where there is none.
pub(crate) fn upload_field(gpu: &Gpu, field: &DistanceField) -> wgpu::TextureView {
    let (format, texel_bytes) = format(gpu);
    let side = field.size.max(glam::UVec3::ONE);
    let size = wgpu::Extent3d { width: side.x, height: side.y, depth_or_array_layers: side.z };
    let texture = gpu.device.create_texture(&wgpu::TextureDescriptor {
        label: Some("distance field"),
        size,
        mip_level_count: 1,
        sample_count: 1,
        dimension: wgpu::TextureDimension::D3,
        format,
        usage: wgpu::TextureUsages::TEXTURE_BINDING | wgpu::TextureUsages::COPY_DST,
        view_formats: &[],
    });
    if !field.cells.is_empty() {
        let layout = wgpu::TexelCopyBufferLayout {
            offset: 0,
            bytes_per_row: Some(side.x * texel_bytes),
            rows_per_image: Some(side.y),
        };
        gpu.queue.write_texture(
            texture.as_image_copy(),
            &bytes(format, bytemuck::cast_slice(&field.cells)),
            layout,
            size,
        );
    }
    texture.create_view(&wgpu::TextureViewDescriptor::default())
}

/// The format of what is filtered, and the bytes of a texel.
fn format(gpu: &Gpu) -> (wgpu::TextureFormat, u32) {
    let wide = gpu.is_software() && gpu.device.features().contains(wgpu::Features::FLOAT32_FILTERABLE);
    if wide { (wgpu::TextureFormat::Rgba32Float, 16) } else { (wgpu::TextureFormat::Rgba16Float, 8) }
}

fn bytes(format: wgpu::TextureFormat, texels: &[[f32; 4]]) -> Cow<'_, [u8]> {
    if format == wgpu::TextureFormat::Rgba32Float {
        return Cow::Borrowed(bytemuck::cast_slice(texels));
    }
    let halves: Vec<[f16; 4]> = texels.iter().map(|t| t.map(f16::from_f32)).collect();
    Cow::Owned(bytemuck::cast_slice(&halves).to_vec())
}
