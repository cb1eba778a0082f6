//! Directions of surfaces as colours.

/// World-space normals of a scene (+Y up) in the world of the set (+Z up): (x, y, z) becomes (x, −z, y).
pub(crate) fn in_set([x, y, z]: [f32; 3]) -> [f32; 3] {
    [x, -z, y]
}

/// R, G, B = (n + 1) / 2 · 255 of the set's axes; 128, 128, 128 where there is no surface.
pub(crate) fn normals_8(normals: &[[f32; 3]]) -> Vec<u8> {
    // Cut to the nearest whole number; the cut keeps to the range of a byte.
    let value = |c: f32| ((c + 1.0) * 127.5 + 0.5) as u8;
    let is_surface = |n: &[f32; 3]| n.iter().any(|c| c.abs() > 0.0);
    let mut out = vec![0; normals.len() * 3];
    for (to, n) in out.as_chunks_mut::<3>().0.iter_mut().zip(normals) {
        *to = if is_surface(n) { in_set(*n).map(value) } else { [128; 3] };
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn up_is_blue_and_nothing_is_grey() {
        assert_eq!(
            normals_8(&[[0.0, 1.0, 0.0], [0.0, 0.0, 1.0], [0.0; 3]]),
            [128, 128, 255, 128, 0, 128, 128, 128, 128]
        );
    }
}
