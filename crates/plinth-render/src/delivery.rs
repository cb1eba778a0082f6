//! Delivers finished pictures as frames in order.

use half::slice::{HalfBitsSliceExt as _, HalfFloatSliceExt as _};
use plinth_frame::FrameSink;
use plinth_scene::Shot;
use rayon::prelude::*;

use crate::RenderError;

/// Groups consecutive shots with equal pictures. For each shot, `source` is the index of the first shot of its group.
/// For each first shot, `last_use` is the index of the last shot of the group.
pub(crate) struct PictureReuse {
    pub(crate) source: Vec<usize>,
    last_use: Vec<usize>,
}

impl PictureReuse {
    pub(crate) fn of(shots: &[Shot]) -> Self {
        let mut source: Vec<usize> = Vec::with_capacity(shots.len());
        for (i, shot) in shots.iter().enumerate() {
            // Only consecutive frames share a picture. Keeping pictures for later frames would make memory grow with
            // the length of the video.
            let before = i.checked_sub(1).filter(|k| shots[*k].same_picture(shot)).map(|k| source[k]);
            source.push(before.unwrap_or(i));
        }
        let mut last_use = vec![0; shots.len()];
        for (i, s) in source.iter().enumerate() {
            last_use[*s] = i;
        }
        Self { source, last_use }
    }
}

/// Delivers frames in order. A picture that several frames share is delivered several times.
pub(crate) struct Delivery<'a> {
    next: usize,
    plan: &'a PictureReuse,
}

impl<'a> Delivery<'a> {
    pub(crate) const fn new(plan: &'a PictureReuse) -> Self {
        Self { next: 0, plan }
    }

    /// Delivers a picture once for each frame that shows it. Returns its buffer for reuse.
    pub(crate) fn deliver(
        &mut self,
        mut frame: plinth_frame::Frame,
        sink: &mut dyn FrameSink,
    ) -> Result<plinth_frame::Frame, RenderError> {
        let source = frame.index as usize;
        while self.next <= self.plan.last_use[source] {
            frame.index = self.next as u32;
            sink.frame(&frame).map_err(|source| RenderError::Sink { source })?;
            self.next += 1;
        }
        Ok(frame)
    }
}

/// Converts RGBA bytes from premultiplied to straight alpha.
pub(crate) fn straight_bytes(mut pixels: Vec<u8>) -> Vec<u8> {
    for pixel in pixels.as_chunks_mut().0 {
        *pixel = straight(*pixel);
    }
    pixels
}

/// Converts one pixel from premultiplied to straight alpha.
pub(crate) fn straight([r, g, b, a]: [u8; 4]) -> [u8; 4] {
    if a == 0 || a == 255 {
        return [r, g, b, a];
    }
    let alpha = u32::from(a);
    let [r, g, b] = [r, g, b].map(|c| ((u32::from(c) * 255 + alpha / 2) / alpha).min(255) as u8);
    [r, g, b, a]
}

/// Number of pixels that are converted at a time. Their values fit into the processor's first cache.
const PIXELS_AT_A_TIME: usize = 512;

/// Converts half-precision floats with premultiplied alpha to 16-bit integers. If `straight` is true, the result has
/// straight alpha.
pub(crate) fn words_from_halves(mut pixels: Vec<u8>, straight: bool) -> Vec<u8> {
    pixels.par_chunks_mut(8 * PIXELS_AT_A_TIME).for_each(|part| {
        // Transparent black has the same bytes in both formats.
        if part.iter().all(|byte| *byte == 0) {
            return;
        }
        let (mut halves, mut values) = ([0_u16; 4 * PIXELS_AT_A_TIME], [0.0; 4 * PIXELS_AT_A_TIME]);
        let (halves, values) = (&mut halves[..part.len() / 2], &mut values[..part.len() / 2]);
        for (half, bytes) in halves.iter_mut().zip(part.as_chunks::<2>().0) {
            *half = u16::from_ne_bytes(*bytes);
        }
        // Conversions of whole slices use the processor's instruction for eight values.
        halves.reinterpret_cast::<half::f16>().convert_to_f32_slice(values);
        if straight {
            for [r, g, b, alpha] in values.as_chunks_mut::<4>().0 {
                if *alpha > 0.0 && *alpha < 1.0 {
                    let scale = 1.0 / *alpha;
                    (*r, *g, *b) = (*r * scale, *g * scale, *b * scale);
                }
            }
        }
        for (to, value) in part.as_chunks_mut::<2>().0.iter_mut().zip(values) {
            *to = ((value.clamp(0.0, 1.0) * 65535.0 + 0.5) as u16).to_ne_bytes();
        }
    });
    pixels
}
