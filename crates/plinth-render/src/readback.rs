//! A ring of buffers through which finished pictures come back.

use std::collections::VecDeque;
use std::sync::mpsc::{Receiver, channel};

use plinth_frame::Region;

use crate::RenderError;
use crate::gpu::Gpu;

/// Pictures on their way back.
pub(crate) struct Readback {
    free: Vec<wgpu::Buffer>,
    pending: VecDeque<Pending>,
    row_bytes: u32,
    padded_row_bytes: u32,
    region: Region,
}

struct Pending {
    buffer: wgpu::Buffer,
    mapped: Receiver<Result<(), wgpu::BufferAsyncError>>,
    index: u32,
    submission: wgpu::SubmissionIndex,
}

impl Readback {
    /// A ring of `depth` buffers for pictures of the region's size.
    pub(crate) fn new(gpu: &Gpu, region: Region, bytes_per_pixel: u32, depth: usize) -> Self {
        let row_bytes = region.width * bytes_per_pixel;
        let padded_row_bytes = row_bytes.next_multiple_of(wgpu::COPY_BYTES_PER_ROW_ALIGNMENT);
        let size = u64::from(padded_row_bytes) * u64::from(region.height);
        let free = (0..depth)
            .map(|_| {
                gpu.device.create_buffer(&wgpu::BufferDescriptor {
                    label: Some("readback"),
                    size,
                    usage: wgpu::BufferUsages::COPY_DST | wgpu::BufferUsages::MAP_READ,
                    mapped_at_creation: false,
                })
            })
            .collect();
        Self { free, pending: VecDeque::new(), row_bytes, padded_row_bytes, region }
    }

    /// Whether the oldest picture must be taken before another can be copied.
    pub(crate) fn is_full(&self) -> bool {
        self.free.is_empty()
    }

    /// Copies the target into a free buffer at the end of `encoder` and submits it.
    /// Nothing when no buffer is free.
    pub(crate) fn submit(
        &mut self,
        gpu: &Gpu,
        mut encoder: wgpu::CommandEncoder,
        target: &wgpu::Texture,
        index: u32,
    ) -> Option<wgpu::SubmissionIndex> {
        let buffer = self.free.pop()?;
        encoder.copy_texture_to_buffer(
            target.as_image_copy(),
            wgpu::TexelCopyBufferInfo {
                buffer: &buffer,
                layout: wgpu::TexelCopyBufferLayout {
                    offset: 0,
                    bytes_per_row: Some(self.padded_row_bytes),
                    rows_per_image: Some(self.region.height),
                },
            },
            wgpu::Extent3d { width: self.region.width, height: self.region.height, depth_or_array_layers: 1 },
        );
        let submission = gpu.queue.submit([encoder.finish()]);
        let (sender, mapped) = channel();
        buffer.slice(..).map_async(wgpu::MapMode::Read, move |result| {
            // The receiver is gone only when the whole render was given up.
            let _sent = sender.send(result);
        });
        self.pending.push_back(Pending { buffer, mapped, index, submission: submission.clone() });
        Some(submission)
    }

    /// Waits for the oldest picture: its index and tightly packed rows. `None` when none is on its way.
    pub(crate) fn take(&mut self, gpu: &Gpu) -> Result<Option<(u32, Vec<u8>)>, RenderError> {
        let Some(oldest) = self.pending.pop_front() else { return Ok(None) };
        gpu.wait_for(oldest.submission)?;
        let lost = || RenderError::DeviceLost { words: "a finished picture could not be read".to_owned() };
        match oldest.mapped.recv() {
            Ok(Ok(())) => {}
            _ => return Err(gpu.check().err().unwrap_or_else(lost)),
        }
        let mut pixels = Vec::with_capacity(self.row_bytes as usize * self.region.height as usize);
        {
            let view = oldest.buffer.get_mapped_range(..).map_err(|_refused| lost())?;
            for row in view.chunks_exact(self.padded_row_bytes as usize) {
                pixels.extend_from_slice(&row[..self.row_bytes as usize]);
            }
        }
        oldest.buffer.unmap();
        self.free.push(oldest.buffer);
        Ok(Some((oldest.index, pixels)))
    }
}
