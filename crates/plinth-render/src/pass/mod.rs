//! The render passes. Each pass has its own file.

pub(crate) mod accumulated_shadow;
pub(crate) mod around_blended;
pub(crate) mod background;
pub(crate) mod composite;
pub(crate) mod depth_draws;
pub(crate) mod edge_tiles;
pub(crate) mod expand_samples;
pub(crate) mod floor;
pub(crate) mod geometry;
pub(crate) mod glass;
pub(crate) mod packed_shadow;
pub(crate) mod post;
pub(crate) mod pyramid;
pub(crate) mod reflection;
pub(crate) mod scene_color;
pub(crate) mod seen_tiles;
pub(crate) mod shading;
pub(crate) mod shadow_draws;
pub(crate) mod shadow_map;
pub(crate) mod sprites;
pub(crate) mod visibility;

/// Returns a colour attachment that is cleared to zero and stored.
pub(crate) const fn cleared(view: &wgpu::TextureView) -> wgpu::RenderPassColorAttachment<'_> {
    target(view, wgpu::LoadOp::Clear(wgpu::Color::TRANSPARENT))
}

/// Returns a colour attachment whose contents are kept.
pub(crate) const fn kept(view: &wgpu::TextureView) -> wgpu::RenderPassColorAttachment<'_> {
    target(view, wgpu::LoadOp::Load)
}

const fn target(view: &wgpu::TextureView, load: wgpu::LoadOp<wgpu::Color>) -> wgpu::RenderPassColorAttachment<'_> {
    let ops = wgpu::Operations { load, store: wgpu::StoreOp::Store };
    wgpu::RenderPassColorAttachment { view, depth_slice: None, resolve_target: None, ops }
}

/// Returns a depth attachment. The depth is cleared to `clear`, or kept if `clear` is `None`. The depth after the pass
/// is stored if `store` is true.
pub(crate) const fn depth_target(
    view: &wgpu::TextureView,
    clear: Option<f32>,
    store: bool,
) -> wgpu::RenderPassDepthStencilAttachment<'_> {
    let load = match clear {
        Some(value) => wgpu::LoadOp::Clear(value),
        None => wgpu::LoadOp::Load,
    };
    let store = if store { wgpu::StoreOp::Store } else { wgpu::StoreOp::Discard };
    wgpu::RenderPassDepthStencilAttachment {
        view,
        depth_ops: Some(wgpu::Operations { load, store }),
        stencil_ops: None,
    }
}
