//! The hash of all frames of a video, with which two renders can be compared.

use plinth_frame::{Backdrop, Frame, Region};
use sha2::{Digest, Sha256};

/// Tag of a frame that has the backdrop of the frame before it.
const SAME_BACKDROP: u8 = 3;

/// Hash of all frames in order, with the pixels inside and outside their regions, and of the opaque background of
/// transparent frames.
pub(crate) struct FrameHash {
    hash: Sha256,
    /// Backdrop of the last frame. A backdrop is hashed only if it differs from the one before, because usually all
    /// frames have the same one.
    backdrop: Option<Backdrop>,
}

impl FrameHash {
    /// Starts a hash with the background of output files that have no alpha channel. Transparent frames do not contain
    /// this background.
    pub(crate) fn new(opaque_background: &Backdrop) -> Self {
        let mut out = Self { hash: Sha256::new(), backdrop: None };
        out.add_backdrop(opaque_background);
        out
    }

    pub(crate) fn add(&mut self, frame: &Frame) {
        let Region { x, y, width, height } = frame.region;
        for number in [frame.index, frame.width, frame.height, x, y, width, height] {
            self.hash.update(number.to_le_bytes());
        }
        if self.backdrop.as_ref() == Some(&frame.backdrop) {
            self.hash.update([SAME_BACKDROP]);
        } else {
            self.add_backdrop(&frame.backdrop);
            self.backdrop = Some(frame.backdrop.clone());
        }
        self.hash.update(&frame.pixels);
    }

    fn add_backdrop(&mut self, backdrop: &Backdrop) {
        match backdrop {
            Backdrop::Transparent => self.hash.update([0]),
            Backdrop::Solid([r, g, b]) => self.hash.update([1, *r, *g, *b]),
            Backdrop::Picture(pixels) => {
                self.hash.update([2]);
                self.hash.update(pixels.as_slice());
            }
        }
    }

    /// Returns the hash in hexadecimal.
    pub(crate) fn finish(self) -> String {
        hex::encode(self.hash.finalize())
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::sync::Arc;

    use plinth_frame::PixelFormat;

    use super::*;

    /// Returns a frame of 2 × 2 pixels, of which one is drawn.
    fn frame_with(backdrop: Backdrop) -> Frame {
        Frame {
            index: 0,
            width: 2,
            height: 2,
            region: Region { x: 0, y: 0, width: 1, height: 1 },
            backdrop,
            format: PixelFormat::Rgba8,
            pixels: vec![1, 2, 3, 255],
        }
    }

    #[test]
    fn the_background_of_transparent_frames_changes_the_hash() {
        let hash_of = |background: Backdrop| {
            let mut hash = FrameHash::new(&background);
            hash.add(&frame_with(Backdrop::Transparent));
            hash.finish()
        };
        let picture = |last: u8| Backdrop::Picture(Arc::new([[7; 15].as_slice(), &[last]].concat()));
        let backgrounds = [Backdrop::Solid([0; 3]), Backdrop::Solid([1; 3]), picture(254), picture(255)];
        let count = backgrounds.len();
        assert_eq!(backgrounds.map(hash_of).into_iter().collect::<BTreeSet<String>>().len(), count);
    }

    #[test]
    fn every_pixel_of_a_frame_changes_the_hash() {
        let frame = frame_with(Backdrop::Solid([255; 3]));
        let hash_of = |frames: &[Frame]| {
            let mut hash = FrameHash::new(&Backdrop::Solid([255; 3]));
            for frame in frames {
                hash.add(frame);
            }
            hash.finish()
        };
        let with = |backdrop: Backdrop| Frame { backdrop, ..frame.clone() };
        let picture = |last: u8| with(Backdrop::Picture(Arc::new([[7; 15].as_slice(), &[last]].concat())));
        let moved = Frame { region: Region { x: 1, ..frame.region }, ..frame.clone() };
        let other = Frame { pixels: vec![1, 2, 4, 255], ..frame.clone() };
        let frames = [
            frame.clone(),
            with(Backdrop::Solid([0; 3])),
            with(Backdrop::Transparent),
            picture(254),
            picture(255),
            moved,
            other,
        ];
        let one: BTreeSet<String> = frames.iter().map(|frame| hash_of(std::slice::from_ref(frame))).collect();
        assert_eq!(one.len(), frames.len());
        let second: BTreeSet<String> = frames.iter().map(|other| hash_of(&[frame.clone(), other.clone()])).collect();
        assert_eq!(second.len(), frames.len());
    }
}
