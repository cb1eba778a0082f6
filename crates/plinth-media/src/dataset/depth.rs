//! Encodes depth as the grey values of images.

/// Number of grey levels per scene unit in the `depth_metric` images.
const METRIC_STEPS: f64 = 1000.0;
/// Value that is added before a number is converted to an integer. The conversion truncates and clamps, so the sum is
/// rounded to the nearest integer in the range.
const HALF: f64 = 0.5;

/// Encodes depth as bytes 0..=255 between the depth limits of the dataset. A reader computes depth = pixel / 255 · (far
/// − near) + near. A pixel without a surface is 255.
pub(crate) fn depth_8(depth: &[f32], near: f64, far: f64) -> Vec<u8> {
    let scale = 255.0 / (far - near);
    let value = |d: f32| ((f64::from(d) - near) * scale + HALF) as u8;
    depth.iter().map(|d| if *d > 0.0 { value(*d) } else { u8::MAX }).collect()
}

/// Encodes depth as big-endian integers 0..=65534 between the depth limits of the dataset. A reader computes depth =
/// pixel / 65535 · (far − near) + near. A pixel without a surface is 65535, and no other pixel is: a depth within half a
/// step of the far limit, or beyond it because of rounding, is 65534.
pub(crate) fn depth_16(depth: &[f32], near: f64, far: f64) -> Vec<u8> {
    let scale = 65_535.0 / (far - near);
    encoded_16(depth, u16::MAX, |d| (((d - near) * scale + HALF) as u16).min(u16::MAX - 1))
}

/// Encodes depth in thousandths of a unit as big-endian 16-bit values. A pixel is 0 if it shows no surface or a surface
/// beyond [`METRIC_LIMIT`]. All other pixels are at least 1.
pub(crate) fn depth_metric(depth: &[f32]) -> Vec<u8> {
    let steps = |d: f64| if d <= METRIC_LIMIT { ((d * METRIC_STEPS + HALF) as u16).max(1) } else { 0 };
    encoded_16(depth, 0, steps)
}

/// The largest depth that `depth_metric` images can represent, in scene units.
pub(crate) const METRIC_LIMIT: f64 = 65_535.0 / METRIC_STEPS;

fn encoded_16(depth: &[f32], nothing: u16, value: impl Fn(f64) -> u16) -> Vec<u8> {
    let mut out = vec![0; depth.len() * 2];
    for (to, d) in out.as_chunks_mut::<2>().0.iter_mut().zip(depth) {
        *to = if *d > 0.0 { value(f64::from(*d)) } else { nothing }.to_be_bytes();
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn depth_decodes_within_half_a_step_and_closer_is_darker() {
        let (near, far) = (2.1, 5.7);
        let evenly = (0..=1000_u16).map(|i| 2.1 + 3.6 * f32::from(i) / 1000.0);
        // Because of rounding, a surface can be a little beyond the far limit.
        let depth: Vec<f32> = evenly.chain([5.7_f32.next_up()]).collect();
        let bytes = depth_8(&depth, near, far);
        assert!(bytes.is_sorted() && bytes[0] == 0 && bytes[1000..] == [255; 2]);
        let levels: Vec<u16> =
            depth_16(&depth, near, far).as_chunks().0.iter().map(|b| u16::from_be_bytes(*b)).collect();
        assert_eq!(levels[1000..], [65_534; 2], "65535 means that there is no surface");
        let step = (far - near) / 65_535.0;
        let metric: Vec<u16> = depth_metric(&depth).as_chunks().0.iter().map(|b| u16::from_be_bytes(*b)).collect();
        for (i, d) in depth.iter().map(|d| f64::from(*d)).enumerate() {
            let decode = |value: f64, max: f64| value / max * (far - near) + near;
            assert!((decode(bytes[i].into(), 255.0) - d).abs() <= 0.500_01 * (far - near) / 255.0);
            assert!((decode(levels[i].into(), 65_535.0) - d.min(far - step)).abs() <= 0.51 * step);
            assert!((f64::from(metric[i]) * 0.001 - d).abs() <= 0.000_500_1);
        }
    }

    #[test]
    fn pixels_without_a_surface_have_reserved_values() {
        assert_eq!(depth_8(&[0.0], 1.0, 2.0), [255]);
        assert_eq!(depth_16(&[0.0], 1.0, 2.0), [255, 255]);
        assert_eq!(depth_metric(&[0.0, 1e-5]), [0, 0, 0, 1]);
        assert_eq!(depth_metric(&[65.5, 66.0]), [0xFF, 0xDC, 0, 0]);
    }
}
