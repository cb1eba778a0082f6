//! Gives transparent texels the colour of their neighbours. Otherwise texture filtering would mix in the colour that
//! the file stores under zero alpha, and the mixed colour would be visible as a fringe.

use plinth_model::Image;

/// One level of an image pyramid. Each texel is a sum of colours weighted by alpha, followed by the sum of the weights.
struct Level {
    width: usize,
    height: usize,
    texels: Vec<[f32; 4]>,
}

/// Gives each transparent texel the colour of the nearest visible texels (pull-push algorithm: Gortler et al. 1996,
/// "The Lumigraph", section 3.3).
pub(crate) fn filled(mut image: Image) -> Image {
    let clear = |texel: &[u8; 4]| texel[3] == 0;
    let texels = image.pixels.as_chunks::<4>().0;
    if !texels.iter().any(clear) || texels.iter().all(clear) {
        return image;
    }
    let first = texels.iter().map(|texel| {
        let [r, g, b, a] = texel.map(f32::from);
        [r * a, g * a, b * a, a]
    });
    let (width, height) = (image.width as usize, image.height as usize);
    let mut levels = vec![Level { width, height, texels: first.collect() }];
    while let Some(level) = levels.last().filter(|l| l.width > 1 || l.height > 1) {
        let next = halved(level);
        levels.push(next);
    }
    image.encoded_hash = None;
    for (i, texel) in image.pixels.as_chunks_mut::<4>().0.iter_mut().enumerate().filter(|(_, texel)| clear(texel)) {
        let (x, y) = (i % width, i / width);
        let known = levels.iter().enumerate().find_map(|(k, level)| {
            let at = (y >> k).min(level.height - 1) * level.width + (x >> k).min(level.width - 1);
            Some(level.texels[at]).filter(|sum| sum[3] > 0.0)
        });
        if let Some([r, g, b, a]) = known {
            let byte = |sum: f32| (sum / a).round() as u8;
            *texel = [byte(r), byte(g), byte(b), 0];
        }
    }
    image
}

fn halved(level: &Level) -> Level {
    let (width, height) = (level.width.div_ceil(2), level.height.div_ceil(2));
    let texel = |i: usize| {
        let (x, y) = (i % width * 2, i / width * 2);
        let mut sum = [0.0; 4];
        for (x, y) in [(x, y), (x + 1, y), (x, y + 1), (x + 1, y + 1)] {
            if x < level.width && y < level.height {
                let from = level.texels[y * level.width + x];
                sum = std::array::from_fn(|c| sum[c] + from[c]);
            }
        }
        sum
    };
    Level { width, height, texels: (0..width * height).map(texel).collect() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn transparent_texels_take_the_colour_of_their_neighbours() {
        let mut pixels = vec![0; 4 * 4 * 4];
        pixels[0..4].copy_from_slice(&[200, 10, 30, 255]);
        let image = Image { width: 4, height: 4, pixels: pixels.into(), ..Image::default() };
        let filled = filled(image);
        assert!(filled.pixels.as_chunks::<4>().0.iter().all(|p| p[..3] == [200, 10, 30]), "{:?}", filled.pixels);
        assert_eq!(filled.pixels.iter().skip(3).step_by(4).filter(|a| **a > 0).count(), 1);
    }
}
