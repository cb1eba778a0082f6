//! What all mutations share.

/// libFuzzer's mutation of bytes. Its arguments are a buffer, the size of the content and the maximum size. It changes the content
/// and returns its new size.
pub type MutateBytes = fn(&mut [u8], usize, usize) -> usize;

/// Returns the content `bytes`, mutated by `mutate` to at most `max_size` bytes.
pub(crate) fn mutated(bytes: &[u8], max_size: usize, mutate: MutateBytes) -> Vec<u8> {
    let mut out = bytes.to_vec();
    out.resize(max_size.max(bytes.len()), 0);
    let size = mutate(&mut out, bytes.len(), max_size.max(bytes.len()));
    out.truncate(size);
    out
}

/// Replaces the input in libFuzzer's buffer, whose size is `size`. Returns the size of the input. If the new input does not fit, the
/// input stays the same.
pub fn replace(buffer: &mut [u8], size: usize, input: &[u8]) -> usize {
    let Some(target) = buffer.get_mut(..input.len()) else { return size };
    target.copy_from_slice(input);
    input.len()
}

/// A generator of random numbers (Marsaglia 2003, "Xorshift RNGs").
pub(crate) struct Random(u32);

impl Random {
    pub(crate) const fn new(seed: u32) -> Self {
        // The state must not be zero.
        Self(seed | 1)
    }

    /// Returns a number from 0 to `end` − 1, or 0 if `end` is 0.
    pub(crate) fn below(&mut self, end: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 17;
        self.0 ^= self.0 << 5;
        self.0 as usize % end.max(1)
    }
}
