//! A ring of buffers with which finished pictures are copied from the device to memory.

use std::collections::VecDeque;
use std::sync::mpsc::{Receiver, channel};

use plinth_frame::Region;

use crate::RenderError;
use crate::gpu::Gpu;

/// The pictures that are being copied. A picture consists of one or more textures ("planes").
pub(crate) struct Readback {
    free: Vec<wgpu::Buffer>,
    pending: VecDeque<PendingCopy>,
    planes: Vec<Plane>,
}

/// A texture of a picture, and the offset of its copy in the buffer.
struct Plane {
    region: Region,
    row_bytes: u32,
    padded_row_bytes: u32,
    offset: u64,
}

impl Plane {
    fn padded_bytes(&self) -> u64 {
        u64::from(self.padded_row_bytes) * u64::from(self.region.height)
    }

    fn view<'a>(&self, buffer: &'a [u8]) -> PlaneView<'a> {
        let start = self.offset as usize;
        PlaneView {
            padded: &buffer[start..start + self.padded_bytes() as usize],
            row_bytes: self.row_bytes as usize,
            padded_row_bytes: self.padded_row_bytes as usize,
        }
    }
}

/// The copied pixels of a texture, which are valid while the buffer is mapped.
pub(crate) struct PlaneView<'a> {
    padded: &'a [u8],
    row_bytes: usize,
    padded_row_bytes: usize,
}

impl PlaneView<'_> {
    /// Returns the rows from top to bottom.
    pub(crate) fn rows(&self) -> impl Iterator<Item = &[u8]> {
        self.padded.chunks_exact(self.padded_row_bytes).map(|row| &row[..self.row_bytes])
    }

    /// Returns all rows without padding. The memory of `spare` is reused.
    pub(crate) fn packed(&self, spare: Vec<u8>) -> Vec<u8> {
        let mut pixels = spare;
        pixels.clear();
        pixels.reserve(self.padded.len() / self.padded_row_bytes * self.row_bytes);
        self.rows().for_each(|row| pixels.extend_from_slice(row));
        pixels
    }
}

struct PendingCopy {
    buffer: wgpu::Buffer,
    mapped: Receiver<Result<(), wgpu::BufferAsyncError>>,
    index: u32,
    submission: wgpu::SubmissionIndex,
}

impl Readback {
    /// Creates a ring of `depth` buffers. `planes` are the regions and the numbers of bytes per pixel of the textures.
    pub(crate) fn new(gpu: &Gpu, planes: &[(Region, u32)], depth: usize) -> Self {
        let mut size = 0;
        let planes = planes
            .iter()
            .map(|(region, bytes_per_pixel)| {
                let row_bytes = region.width * bytes_per_pixel;
                let padded_row_bytes = row_bytes.next_multiple_of(wgpu::COPY_BYTES_PER_ROW_ALIGNMENT);
                let plane = Plane { region: *region, row_bytes, padded_row_bytes, offset: size };
                size += plane.padded_bytes();
                plane
            })
            .collect();
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
        Self { free, pending: VecDeque::new(), planes }
    }

    /// Returns whether the oldest picture must be taken before another picture can be copied.
    pub(crate) fn is_full(&self) -> bool {
        self.free.is_empty()
    }

    /// Returns whether no picture is being copied.
    pub(crate) fn is_empty(&self) -> bool {
        self.pending.is_empty()
    }

    /// Adds commands to `encoder` that copy the textures to a free buffer, and submits them. Does nothing if no buffer
    /// is free.
    pub(crate) fn submit(
        &mut self,
        gpu: &Gpu,
        mut encoder: wgpu::CommandEncoder,
        textures: &[&wgpu::Texture],
        index: u32,
    ) -> Option<wgpu::SubmissionIndex> {
        let buffer = self.free.pop()?;
        for (plane, texture) in self.planes.iter().zip(textures) {
            let (width, height) = (plane.region.width, plane.region.height);
            encoder.copy_texture_to_buffer(
                texture.as_image_copy(),
                wgpu::TexelCopyBufferInfo {
                    buffer: &buffer,
                    layout: wgpu::TexelCopyBufferLayout {
                        offset: plane.offset,
                        bytes_per_row: Some(plane.padded_row_bytes),
                        rows_per_image: Some(height),
                    },
                },
                wgpu::Extent3d { width, height, depth_or_array_layers: 1 },
            );
        }
        let submission = gpu.queue.submit([encoder.finish()]);
        let (sender, mapped) = channel();
        buffer.slice(..).map_async(wgpu::MapMode::Read, move |result| {
            // The receiver is dropped only if the whole render was abandoned.
            let _sent = sender.send(result);
        });
        self.pending.push_back(PendingCopy { buffer, mapped, index, submission: submission.clone() });
        Some(submission)
    }

    /// Waits for the oldest picture, and calls `read` with its index and its planes. Returns `None` if no picture is
    /// being copied.
    pub(crate) fn take<T>(
        &mut self,
        gpu: &Gpu,
        read: impl FnOnce(u32, &[PlaneView<'_>]) -> T,
    ) -> Result<Option<T>, RenderError> {
        let Some(oldest) = self.pending.pop_front() else { return Ok(None) };
        gpu.wait_for(oldest.submission)?;
        let lost = || RenderError::DeviceLost { message: "a finished picture could not be read".to_owned() };
        match oldest.mapped.recv() {
            Ok(Ok(())) => {}
            _ => return Err(gpu.check().err().unwrap_or_else(lost)),
        }
        let taken = {
            let view = oldest.buffer.get_mapped_range(..).map_err(|_refused| lost())?;
            let planes: Vec<_> = self.planes.iter().map(|plane| plane.view(&view)).collect();
            read(oldest.index, &planes)
        };
        oldest.buffer.unmap();
        self.free.push(oldest.buffer);
        Ok(Some(taken))
    }
}
