//! Builds the entries of bind group layouts and bind groups.

/// The shader stages that can access most bindings: vertex and fragment.
const STAGES: wgpu::ShaderStages = wgpu::ShaderStages::VERTEX_FRAGMENT;

pub(crate) const FILTERED: wgpu::TextureSampleType = wgpu::TextureSampleType::Float { filterable: true };
pub(crate) const UNFILTERED: wgpu::TextureSampleType = wgpu::TextureSampleType::Float { filterable: false };

const fn entry(binding: u32, ty: wgpu::BindingType) -> wgpu::BindGroupLayoutEntry {
    wgpu::BindGroupLayoutEntry { binding, visibility: STAGES, ty, count: None }
}

/// Returns the layout entry of a 2D texture.
pub(crate) const fn texture(binding: u32, sample_type: wgpu::TextureSampleType) -> wgpu::BindGroupLayoutEntry {
    multisampled(binding, sample_type, 1)
}

/// Returns the layout entry of a multisampled 2D texture.
pub(crate) const fn multisampled(
    binding: u32,
    sample_type: wgpu::TextureSampleType,
    samples: u32,
) -> wgpu::BindGroupLayoutEntry {
    let view_dimension = wgpu::TextureViewDimension::D2;
    entry(binding, wgpu::BindingType::Texture { sample_type, view_dimension, multisampled: samples > 1 })
}

/// Returns the layout entry of a 3D texture that can be filtered.
pub(crate) const fn volume(binding: u32) -> wgpu::BindGroupLayoutEntry {
    let view_dimension = wgpu::TextureViewDimension::D3;
    entry(binding, wgpu::BindingType::Texture { sample_type: FILTERED, view_dimension, multisampled: false })
}

/// Returns the layout entry of a sampler.
pub(crate) const fn sampler(binding: u32, kind: wgpu::SamplerBindingType) -> wgpu::BindGroupLayoutEntry {
    entry(binding, wgpu::BindingType::Sampler(kind))
}

/// Returns the layout entry of a uniform buffer.
pub(crate) const fn uniform(binding: u32) -> wgpu::BindGroupLayoutEntry {
    buffer(binding, wgpu::BufferBindingType::Uniform)
}

/// Returns the layout entry of a part of a uniform buffer with a dynamic offset. The part has `bytes` bytes.
pub(crate) const fn dynamic_uniform(binding: u32, bytes: u64) -> wgpu::BindGroupLayoutEntry {
    let ty = wgpu::BufferBindingType::Uniform;
    let min_binding_size = std::num::NonZeroU64::new(bytes);
    entry(binding, wgpu::BindingType::Buffer { ty, has_dynamic_offset: true, min_binding_size })
}

/// Returns the layout entry of a read-only storage buffer that vertex and fragment shaders can read.
pub(crate) const fn vertex_storage(binding: u32) -> wgpu::BindGroupLayoutEntry {
    buffer(binding, wgpu::BufferBindingType::Storage { read_only: true })
}

/// Returns the layout entry of a read-only storage buffer that fragment shaders can read.
pub(crate) const fn storage(binding: u32) -> wgpu::BindGroupLayoutEntry {
    wgpu::BindGroupLayoutEntry {
        visibility: wgpu::ShaderStages::FRAGMENT,
        ..buffer(binding, wgpu::BufferBindingType::Storage { read_only: true })
    }
}

/// Returns the layout entry of a storage buffer to which fragment shaders write.
pub(crate) const fn written_storage(binding: u32) -> wgpu::BindGroupLayoutEntry {
    wgpu::BindGroupLayoutEntry {
        visibility: wgpu::ShaderStages::FRAGMENT,
        ..buffer(binding, wgpu::BufferBindingType::Storage { read_only: false })
    }
}

/// Makes a binding accessible to compute shaders only.
pub(crate) const fn for_compute(entry: wgpu::BindGroupLayoutEntry) -> wgpu::BindGroupLayoutEntry {
    wgpu::BindGroupLayoutEntry { visibility: wgpu::ShaderStages::COMPUTE, ..entry }
}

const fn buffer(binding: u32, ty: wgpu::BufferBindingType) -> wgpu::BindGroupLayoutEntry {
    entry(binding, wgpu::BindingType::Buffer { ty, has_dynamic_offset: false, min_binding_size: None })
}

/// Creates a bind group layout from its entries.
pub(crate) fn layout(
    device: &crate::device::Device,
    label: &str,
    entries: &[wgpu::BindGroupLayoutEntry],
) -> wgpu::BindGroupLayout {
    device.create_bind_group_layout(&wgpu::BindGroupLayoutDescriptor { label: Some(label), entries })
}

/// Creates a bind group. The index of each resource is its binding number.
pub(crate) fn group(
    device: &wgpu::Device,
    label: &str,
    layout: &wgpu::BindGroupLayout,
    resources: &[wgpu::BindingResource<'_>],
) -> wgpu::BindGroup {
    group_from(device, label, layout, 0, resources)
}

/// Creates a bind group. The binding number of each resource is its index plus `first`.
pub(crate) fn group_from(
    device: &wgpu::Device,
    label: &str,
    layout: &wgpu::BindGroupLayout,
    first: u32,
    resources: &[wgpu::BindingResource<'_>],
) -> wgpu::BindGroup {
    let entries: Vec<_> =
        (first..).zip(resources).map(|(binding, r)| wgpu::BindGroupEntry { binding, resource: r.clone() }).collect();
    device.create_bind_group(&wgpu::BindGroupDescriptor { label: Some(label), layout, entries: &entries })
}

/// Returns a texture view as the resource of a bind group.
pub(crate) const fn view(view: &wgpu::TextureView) -> wgpu::BindingResource<'_> {
    wgpu::BindingResource::TextureView(view)
}
