//! Lists of the batches in a tile.

use crate::{MAX_TILE_BATCHES, TileBatches};

/// The batches of the first or of the second surfaces in a tile, while its pixels are written.
#[derive(Default)]
pub(crate) struct SeenBatches {
    pub(crate) list: TileBatches,
    count: usize,
    /// The batch of the last surface: neighbouring pixels often show the same batch.
    last: u16,
}

impl SeenBatches {
    /// Adds a batch, given by its number plus 1, unless it is 0, in the list, or there is no room for it.
    #[inline(always)]
    pub(crate) fn add(&mut self, batch: u16) {
        if batch != 0 && batch != self.last {
            self.last = batch;
            self.add_other(batch);
        }
    }

    fn add_other(&mut self, batch: u16) {
        if self.count < MAX_TILE_BATCHES && !self.list[..self.count].contains(&batch) {
            self.list[self.count] = batch;
            self.count += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn listed(batches: impl IntoIterator<Item = u16>) -> TileBatches {
        let mut seen = SeenBatches::default();
        for batch in batches {
            seen.add(batch);
        }
        seen.list
    }

    #[test]
    fn batches_are_listed_once_while_there_is_room() {
        let mut expected = TileBatches::default();
        expected[..3].copy_from_slice(&[7, 3, u16::MAX]);
        assert_eq!(listed([0, 7, 7, 0, 7, 3, 7, 3, u16::MAX, 0]), expected);
        let all: TileBatches = std::array::from_fn(|k| 100 - k as u16);
        assert_eq!(listed((1..=100).rev().chain([100, 1])), all);
    }
}
