//! The filtered environment as a cube texture.

use crate::gpu::Gpu;
use crate::ibl::SpecularCube;

/// Uploads all faces and mips.
pub(crate) fn upload(gpu: &Gpu, cube: &SpecularCube) -> wgpu::TextureView {
    let size = |side: u32| wgpu::Extent3d { width: side, height: side, depth_or_array_layers: 6 };
    let texture = gpu.device.create_texture(&wgpu::TextureDescriptor {
        label: Some("environment"),
        size: size(cube.side),
        mip_level_count: cube.mips.len() as u32,
        sample_count: 1,
        dimension: wgpu::TextureDimension::D2,
        format: wgpu::TextureFormat::Rgba16Float,
        usage: wgpu::TextureUsages::TEXTURE_BINDING | wgpu::TextureUsages::COPY_DST,
        view_formats: &[],
    });
    for (mip, texels) in cube.mips.iter().enumerate() {
        let side = (cube.side >> mip).max(1);
        gpu.queue.write_texture(
            wgpu::TexelCopyTextureInfo {
                texture: &texture,
                mip_level: mip as u32,
                origin: wgpu::Origin3d::ZERO,
                aspect: wgpu::TextureAspect::All,
            },
            bytemuck::cast_slice(texels),
            wgpu::TexelCopyBufferLayout { offset: 0, bytes_per_row: Some(side * 8), rows_per_image: Some(side) },
            size(side),
        );
    }
    texture.create_view(&wgpu::TextureViewDescriptor {
        dimension: Some(wgpu::TextureViewDimension::Cube),
        ..Default::default()
    })
}
