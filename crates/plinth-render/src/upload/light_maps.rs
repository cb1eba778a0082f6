//! Uploads the filtered environment and the distance field as textures.

use std::borrow::Cow;

use half::f16;

use crate::gpu::Gpu;
use crate::ibl::OctahedralMap;
use crate::prepare::distance_field::DistanceField;

/// Uploads all mip levels of a map. The texels are 32-bit floats on software drivers that can filter such textures,
/// because 32-bit floats need not be unpacked. On all other adapters, the texels are half-precision floats.
pub(crate) fn upload_octahedral(gpu: &Gpu, map: &OctahedralMap) -> wgpu::TextureView {
    let format = format(gpu);
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
            wgpu::TexelCopyBufferLayout {
                offset: 0,
                bytes_per_row: format.block_copy_size(None).map(|texel| side * texel),
                rows_per_image: None,
            },
            size(side),
        );
    }
    texture.create_view(&wgpu::TextureViewDescriptor::default())
}

/// Uploads the distances of a distance field. Without a field, the texture has a single cell.
pub(crate) fn upload_distances(gpu: &Gpu, field: &DistanceField) -> wgpu::TextureView {
    if is_wide(gpu) {
        return upload_field(gpu, field, wgpu::TextureFormat::R32Float, bytemuck::cast_slice(&field.distances));
    }
    let halves: Vec<f16> = field.distances.iter().map(|d| f16::from_f32(*d)).collect();
    upload_field(gpu, field, wgpu::TextureFormat::R16Float, bytemuck::cast_slice(&halves))
}

/// Uploads the radiance of a distance field. Without a field, the texture has a single cell.
pub(crate) fn upload_radiance(gpu: &Gpu, field: &DistanceField) -> wgpu::TextureView {
    let format = format(gpu);
    upload_field(gpu, field, format, &bytes(format, bytemuck::cast_slice(&field.radiance)))
}

fn upload_field(gpu: &Gpu, field: &DistanceField, format: wgpu::TextureFormat, cells: &[u8]) -> wgpu::TextureView {
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
    if !cells.is_empty() {
        let layout = wgpu::TexelCopyBufferLayout {
            offset: 0,
            bytes_per_row: format.block_copy_size(None).map(|texel| side.x * texel),
            rows_per_image: Some(side.y),
        };
        gpu.queue.write_texture(texture.as_image_copy(), cells, layout, size);
    }
    texture.create_view(&wgpu::TextureViewDescriptor::default())
}

fn is_wide(gpu: &Gpu) -> bool {
    gpu.is_software() && gpu.device.features().contains(wgpu::Features::FLOAT32_FILTERABLE)
}

/// Returns the texture format of colours that are filtered.
fn format(gpu: &Gpu) -> wgpu::TextureFormat {
    if is_wide(gpu) { wgpu::TextureFormat::Rgba32Float } else { wgpu::TextureFormat::Rgba16Float }
}

fn bytes(format: wgpu::TextureFormat, texels: &[[f32; 4]]) -> Cow<'_, [u8]> {
    if format == wgpu::TextureFormat::Rgba32Float {
        return Cow::Borrowed(bytemuck::cast_slice(texels));
    }
    let halves: Vec<[f16; 4]> = texels.iter().map(|t| t.map(f16::from_f32)).collect();
    Cow::Owned(bytemuck::cast_slice(&halves).to_vec())
}
