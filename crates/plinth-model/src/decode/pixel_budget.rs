//! Limits how many pixels are decoded at the same time.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

/// Maximum number of pixels that are decoded at the same time. An image with more pixels is decoded alone.
const MAX_PIXELS: u64 = 1 << 26;

/// Number of pixels that are being decoded.
static DECODING: Mutex<u64> = Mutex::new(0);
static ENDED: Condvar = Condvar::new();

fn decoding() -> MutexGuard<'static, u64> {
    DECODING.lock().unwrap_or_else(PoisonError::into_inner)
}

/// An image that is being decoded. Dropping this value lets other images begin.
pub(super) struct Decoding {
    pixels: u64,
}

impl Decoding {
    /// Waits until an image with this number of pixels may be decoded.
    pub(super) fn start(pixels: u64) -> Self {
        let is_full = |sum: &mut u64| *sum > 0 && *sum + pixels > MAX_PIXELS;
        let mut sum = ENDED.wait_while(decoding(), is_full).unwrap_or_else(PoisonError::into_inner);
        *sum += pixels;
        Self { pixels }
    }
}

impl Drop for Decoding {
    fn drop(&mut self) {
        *decoding() -= self.pixels;
        ENDED.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    #[test]
    fn large_images_are_decoded_alone() {
        let (now, most) = (AtomicUsize::new(0), AtomicUsize::new(0));
        std::thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| {
                    for _ in 0..100 {
                        let decoding = Decoding::start(2 * MAX_PIXELS);
                        most.fetch_max(now.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
                        std::thread::yield_now();
                        now.fetch_sub(1, Ordering::SeqCst);
                        drop(decoding);
                    }
                });
            }
        });
        assert_eq!(most.into_inner(), 1);
    }
}
