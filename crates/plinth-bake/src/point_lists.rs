//! A list of values for each sample point, such as the hits of its rays.

use rayon::prelude::*;

/// Number of points whose lists share an allocation.
const POINTS_PER_BLOCK: usize = 64;
/// Maximum number of blocks that a task computes. With two threads, rayon would give up to an eighth of all blocks to the last
/// task, during which the other thread has nothing to do.
const MAX_BLOCKS_PER_TASK: usize = 16;

/// A list of values for each point. The lists of [`POINTS_PER_BLOCK`] consecutive points share an allocation. With many small
/// allocations, the GNU C library would enlarge the memory of each thread page by page, with a system call for each page.
pub(crate) struct PointLists<T> {
    blocks: Vec<Block<T>>,
}

/// The lists of consecutive points.
struct Block<T> {
    /// The lists, one after the other.
    values: Vec<T>,
    /// For each point, the end of its list in `values`.
    ends: Vec<usize>,
}

impl<T> PointLists<T> {
    /// Returns the list of a point.
    pub(crate) fn of(&self, point: usize) -> &[T] {
        let Block { values, ends } = &self.blocks[point / POINTS_PER_BLOCK];
        let index = point % POINTS_PER_BLOCK;
        let start = if index == 0 { 0 } else { ends[index - 1] };
        &values[start..ends[index]]
    }
}

impl<T: Clone + Send> PointLists<T> {
    /// Computes a list and a result for each of `count` points. `compute` gets the index of a point. It adds the values of the
    /// point's list to the end of the vector, and returns the result. Returns the results of all points, and their lists.
    pub(crate) fn compute<R: Default + Send>(
        count: usize,
        compute: impl Fn(usize, &mut Vec<T>) -> R + Sync,
    ) -> (Vec<R>, Self) {
        let mut results: Vec<R> = (0..count).into_par_iter().map(|_point| R::default()).collect();
        let of_block = |values: &mut Vec<T>, (block, results): (usize, &mut [R])| {
            values.clear();
            let mut ends = Vec::with_capacity(results.len());
            for (point, result) in (block * POINTS_PER_BLOCK..).zip(results) {
                *result = compute(point, values);
                ends.push(values.len());
            }
            // The copy has exactly the memory that it needs. `values` keeps its memory for the next block.
            Block { values: values.clone(), ends }
        };
        let blocks = results.par_chunks_mut(POINTS_PER_BLOCK).enumerate().with_max_len(MAX_BLOCKS_PER_TASK);
        let blocks = blocks.map_init(Vec::new, of_block).collect();
        (results, Self { blocks })
    }
}

impl<T: Sync> PointLists<T> {
    /// Returns lists with a value for each value of these lists.
    pub(crate) fn map<U: Send>(&self, value: impl Fn(&T) -> U + Sync) -> PointLists<U> {
        let of_block = |block: &Block<T>| {
            let values = block.values.iter().map(&value).collect();
            Block { values, ends: block.ends.clone() }
        };
        let blocks = self.blocks.par_iter().with_max_len(MAX_BLOCKS_PER_TASK).map(of_block).collect();
        PointLists { blocks }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_point_has_its_own_list_and_result() {
        // The list of point i contains i % 3 times the number i.
        for count in [0, 1, POINTS_PER_BLOCK - 1, POINTS_PER_BLOCK, 5 * POINTS_PER_BLOCK + 7] {
            let (results, lists) = PointLists::compute(count, |i: usize, values: &mut Vec<usize>| {
                values.extend(std::iter::repeat_n(i, i % 3));
                i * 10
            });
            assert_eq!(results, (0..count).map(|i| i * 10).collect::<Vec<_>>());
            let doubled = lists.map(|i| i * 2);
            for i in 0..count {
                assert_eq!(lists.of(i), vec![i; i % 3]);
                assert_eq!(doubled.of(i), vec![i * 2; i % 3]);
            }
        }
    }
}
