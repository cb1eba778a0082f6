//! Draws the frames of a scene on a GPU or with a software Vulkan driver.
//!
//! [`Gpu`] is an opened device. [`Renderer`] holds everything that does not change during a video. Each frame is drawn
//! by a short list of passes (`frame_plan.rs`). No other crate uses wgpu.

#![expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "counts of vertices, texels and bytes are checked against the device's limits, which fit 32 bits"
)]

mod back_to_front;
mod bindings;
mod cache;
mod compute;
mod deferred_store;
mod delivery;
mod device;
mod device_pose;
mod device_sort;
mod draw_in_order;
mod error;
mod first_shadows;
mod frame_group;
mod frame_plan;
mod frame_uniform;
mod frames;
mod gpu;
mod gpu_scene;
mod gpu_types;
mod host_visibility;
mod ibl;
mod layers;
mod layouts;
mod light_cache;
mod merge;
mod moving_model;
mod opacity;
mod pass;
mod picture_targets;
mod pipelines;
mod pose_light;
mod prepare;
mod readback;
mod recorder;
mod region;
mod renderer;
mod second_device;
mod shader;
mod system;
mod targets;
#[cfg(test)]
mod triangle_scene;
mod upload;
mod used_materials;
mod view;

pub use cache::Cache;
pub use error::RenderError;
pub use gpu::{AdapterKind, AdapterReport, Gpu, GpuError, GpuOptions, adapters};
pub use merge::merge_dense_vertices;
pub use opacity::separate_opaque_triangles;
pub use recorder::PassTimes;
pub use renderer::{Picture, Renderer, backdrop};
