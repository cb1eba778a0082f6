//! Encodes surface normals as colours.

/// Converts a world-space normal of a scene (+Y up) to the dataset's world space (+Z up): (x, y, z) becomes (x, −z, y).
pub(crate) fn in_set([x, y, z]: [f32; 3]) -> [f32; 3] {
    [x, -z, y]
}

/// Encodes normals in the dataset's world space as R, G, B = (n + 1) / 2 · 255. A pixel without a surface is 128, 128,
/// 128.
pub(crate) fn normals_8(normals: &[[f32; 3]]) -> Vec<u8> {
    // The conversion to a byte truncates and clamps, so adding 0.5 before rounds to the nearest integer.
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
    fn up_is_blue_and_no_surface_is_grey() {
        assert_eq!(
            normals_8(&[[0.0, 1.0, 0.0], [0.0, 0.0, 1.0], [0.0; 3]]),
            [128, 128, 255, 128, 0, 128, 128, 128, 128]
        );
    }
}
