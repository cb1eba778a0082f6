//! The filtered environment as a texture.

use half::f16;

use crate::gpu::Gpu;
use crate::ibl::OctahedralMap;

/// Uploads all mips: as floats where they can be filtered and are read by the processor, which need no unpacking
/// there; as half floats otherwise.
pub(crate) fn upload(gpu: &Gpu, map: &OctahedralMap) -> wgpu::TextureView {
    let wide = gpu.is_software() && gpu.device.features().contains(wgpu::Features::FLOAT32_FILTERABLE);
    let (format, texel_bytes) =
        if wide { (wgpu::TextureFormat::Rgba32Float, 16) } else { (wgpu::TextureFormat::Rgba16Float, 8) };
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
        let halves: Vec<[f16; 4]>;
        let bytes: &[u8] = if wide {
            bytemuck::cast_slice(texels)
        } else {
            halves = texels.iter().map(|t| t.map(f16::from_f32)).collect();
            bytemuck::cast_slice(&halves)
        };
        gpu.queue.write_texture(
            wgpu::TexelCopyTextureInfo {
                texture: &texture,
                mip_level: mip as u32,
                origin: wgpu::Origin3d::ZERO,
                aspect: wgpu::TextureAspect::All,
            },
            bytes,
            wgpu::TexelCopyBufferLayout { offset: 0, bytes_per_row: Some(side * texel_bytes), rows_per_image: None },
            size(side),
        );
    }
    texture.create_view(&wgpu::TextureViewDescriptor::default())
}
