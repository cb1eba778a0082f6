//! The set of triangles that are visible in a part of the canvas.

use std::sync::atomic::{AtomicU64, Ordering};

/// A set of numbers of triangles, to which several threads add.
#[derive(Default)]
pub(crate) struct TriangleSet {
    bits: Vec<AtomicU64>,
}

impl TriangleSet {
    /// Removes all numbers, and makes room for those up to and including `last`.
    pub(crate) fn reset(&mut self, last: usize) {
        self.bits.clear();
        self.bits.resize_with(last / 64 + 1, AtomicU64::default);
    }

    #[inline(always)]
    pub(crate) fn insert(&self, number: u32) {
        let (word, bit) = (&self.bits[number as usize / 64], 1_u64 << (number % 64));
        // Most numbers are already in the set. Reading is faster than writing.
        if word.load(Ordering::Relaxed) & bit == 0 {
            word.fetch_or(bit, Ordering::Relaxed);
        }
    }

    /// Replaces the contents of `list` by the numbers in ascending order.
    pub(crate) fn write(&mut self, list: &mut Vec<u32>) {
        list.clear();
        for (first, word) in (0..).step_by(64).zip(&mut self.bits) {
            let mut bits = *word.get_mut();
            while bits != 0 {
                list.push(first + bits.trailing_zeros());
                bits &= bits - 1;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_listed_once_in_ascending_order() {
        let mut set = TriangleSet::default();
        set.reset(128);
        for number in [128, 5, 63, 64, 5, 1] {
            set.insert(number);
        }
        let mut list = vec![9];
        set.write(&mut list);
        assert_eq!(list, [1, 5, 63, 64, 128]);
        set.reset(10);
        set.write(&mut list);
        assert!(list.is_empty());
    }
}
