//! Records the commands of a frame, and optionally measures the time of each pass.

use std::cell::RefCell;
use std::collections::BTreeMap;

use crate::RenderError;
use crate::gpu::Gpu;

/// Maximum number of passes of a frame whose time can be measured.
const MAX_PASSES: u32 = 256;

/// The time that each pass took, summed over all frames.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PassTimes {
    /// Number of measured frames.
    pub frames: u32,
    /// Milliseconds by the name of the pass, summed over all frames.
    pub millis: BTreeMap<&'static str, f64>,
}

/// Records the passes of one frame.
pub(crate) struct Recorder<'a> {
    pub(crate) encoder: wgpu::CommandEncoder,
    profile: Option<&'a Profile>,
}

impl<'a> Recorder<'a> {
    pub(crate) fn new(gpu: &Gpu, profile: Option<&'a Profile>) -> Self {
        let descriptor = wgpu::CommandEncoderDescriptor { label: Some("frame") };
        Self { encoder: gpu.device.create_command_encoder(&descriptor), profile }
    }

    /// Starts a render pass, and sets `frame` as bind group 0.
    pub(crate) fn pass(
        &mut self,
        label: &'static str,
        frame: &wgpu::BindGroup,
        colors: &[wgpu::RenderPassColorAttachment<'_>],
        depth_stencil_attachment: Option<wgpu::RenderPassDepthStencilAttachment<'_>>,
    ) -> wgpu::RenderPass<'_> {
        let colors: Vec<_> = colors.iter().cloned().map(Some).collect();
        let mut pass = self.encoder.begin_render_pass(&wgpu::RenderPassDescriptor {
            label: Some(label),
            color_attachments: &colors,
            depth_stencil_attachment,
            timestamp_writes: self.profile.and_then(|profile| profile.next(label)),
            ..Default::default()
        });
        pass.set_bind_group(0, frame, &[]);
        pass
    }

    /// Returns all recorded commands. If times are measured, the last commands copy the timestamps to a buffer.
    pub(crate) fn finish(mut self) -> wgpu::CommandEncoder {
        if let Some(profile) = self.profile {
            profile.fetch(&mut self.encoder);
        }
        self.encoder
    }
}

/// Measures the time of passes with timestamps. While times are measured, the device draws only one frame at a time.
pub(crate) struct Profile {
    queries: wgpu::QuerySet,
    resolved: wgpu::Buffer,
    readable: wgpu::Buffer,
    labels: RefCell<Vec<&'static str>>,
    times: RefCell<PassTimes>,
}

impl Profile {
    /// Returns `None` if the adapter does not support timestamps.
    pub(crate) fn new(gpu: &Gpu) -> Option<Self> {
        if !gpu.device.features().contains(wgpu::Features::TIMESTAMP_QUERY) {
            return None;
        }
        let buffer = |usage| {
            gpu.device.create_buffer(&wgpu::BufferDescriptor {
                label: Some("pass times"),
                size: u64::from(2 * MAX_PASSES) * 8,
                usage,
                mapped_at_creation: false,
            })
        };
        Some(Self {
            queries: gpu.device.create_query_set(&wgpu::QuerySetDescriptor {
                label: Some("pass times"),
                ty: wgpu::QueryType::Timestamp,
                count: 2 * MAX_PASSES,
            }),
            resolved: buffer(wgpu::BufferUsages::QUERY_RESOLVE | wgpu::BufferUsages::COPY_SRC),
            readable: buffer(wgpu::BufferUsages::COPY_DST | wgpu::BufferUsages::MAP_READ),
            labels: RefCell::default(),
            times: RefCell::default(),
        })
    }

    fn next(&self, label: &'static str) -> Option<wgpu::RenderPassTimestampWrites<'_>> {
        let mut labels = self.labels.borrow_mut();
        let at = labels.len() as u32;
        (at < MAX_PASSES).then(|| {
            labels.push(label);
            wgpu::RenderPassTimestampWrites {
                query_set: &self.queries,
                beginning_of_pass_write_index: Some(2 * at),
                end_of_pass_write_index: Some(2 * at + 1),
            }
        })
    }

    fn fetch(&self, encoder: &mut wgpu::CommandEncoder) {
        let count = 2 * self.labels.borrow().len() as u32;
        encoder.resolve_query_set(&self.queries, 0..count, &self.resolved, 0);
        encoder.copy_buffer_to_buffer(&self.resolved, 0, &self.readable, 0, u64::from(count) * 8);
    }

    /// Waits for the last submitted frame, and adds the times of its passes.
    pub(crate) fn read(&self, gpu: &Gpu, submission: wgpu::SubmissionIndex) -> Result<(), RenderError> {
        let labels = std::mem::take(&mut *self.labels.borrow_mut());
        self.readable.slice(..).map_async(wgpu::MapMode::Read, |_| {});
        gpu.wait_for(submission)?;
        if let Ok(bytes) = self.readable.slice(..).get_mapped_range() {
            let stamps: &[u64] = bytemuck::cast_slice(&bytes);
            let period = f64::from(gpu.queue.get_timestamp_period());
            let mut times = self.times.borrow_mut();
            times.frames += 1;
            for (label, pair) in labels.into_iter().zip(stamps.chunks_exact(2)) {
                *times.millis.entry(label).or_default() += pair[1].saturating_sub(pair[0]) as f64 * period / 1e6;
            }
        }
        self.readable.unmap();
        gpu.check()
    }

    pub(crate) fn times(&self) -> PassTimes {
        self.times.borrow().clone()
    }
}
