//! Arrays of eight numbers, which the compiler turns into vector instructions.

/// Number of numbers that are processed together: the four samples of two neighbouring pixels.
pub(crate) const LANES: usize = 8;

pub(crate) type Ints = [i32; LANES];
pub(crate) type Floats = [f32; LANES];

/// Returns an array of the values of a function.
#[inline(always)]
pub(crate) fn lanes<T: Copy + Default>(value: impl Fn(usize) -> T) -> [T; LANES] {
    let mut out = [T::default(); LANES];
    for (lane, out) in out.iter_mut().enumerate() {
        *out = value(lane);
    }
    out
}

/// Adds the same number to all numbers. Results that do not fit wrap around.
#[inline(always)]
pub(crate) fn added(values: Ints, step: i32) -> Ints {
    lanes(|lane| values[lane].wrapping_add(step))
}

/// Adds the same number to all numbers.
#[inline(always)]
pub(crate) fn raised(values: Floats, step: f32) -> Floats {
    lanes(|lane| values[lane] + step)
}
