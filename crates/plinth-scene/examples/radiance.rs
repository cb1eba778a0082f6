//! Compares a gain map with the panorama from which it was made: `radiance FILE.hdr SDR.webp GAINMAP.webp
//! METADATA.json`. Prints the relative error per channel, averaged over the sphere, and the relative error of the total
//! light of each channel.
#![expect(clippy::print_stdout, reason = "a tool for developers")]

use plinth_scene::{DARKEST_RADIANCE, EnvironmentMap};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let files: Vec<Vec<u8>> = std::env::args().skip(1).map(std::fs::read).collect::<Result<_, _>>()?;
    let [hdr, sdr, gain, metadata] = files.as_slice() else {
        return Err("usage: radiance FILE.hdr SDR.webp GAINMAP.webp METADATA.json".into());
    };
    let source = plinth_scene::radiance_hdr(hdr)?;
    let decoded = plinth_scene::gain_map(sdr, gain, metadata)?;
    if (source.width, source.height) != (decoded.width, decoded.height) {
        return Err("the panoramas differ in size".into());
    }
    let (error, light) = (mean_error(&source, &decoded), light(&source).into_iter().zip(light(&decoded)));
    let shares: Vec<String> = light.map(|(a, b)| format!("{:+.3} %", 100.0 * (b / a - 1.0))).collect();
    println!("decoded radiance: mean relative error {:.2} %, light {}", 100.0 * error, shares.join(", "));
    Ok(())
}

/// Returns the relative solid angle of a texel.
fn weight(map: &EnvironmentMap, texel: usize) -> f64 {
    let row = texel / map.width as usize;
    ((row as f64 + 0.5) / f64::from(map.height) * std::f64::consts::PI).sin()
}

fn mean_error(source: &EnvironmentMap, decoded: &EnvironmentMap) -> f64 {
    let (mut sum, mut weights) = (0.0, 0.0);
    for (i, (a, b)) in source.pixels.iter().zip(&decoded.pixels).enumerate() {
        for (a, b) in a.iter().zip(b) {
            let (a, b) = (f64::from(*a), f64::from(*b));
            sum += weight(source, i) * (a - b).abs() / a.max(f64::from(DARKEST_RADIANCE));
            weights += weight(source, i);
        }
    }
    sum / weights
}

/// Returns the total light from all directions for each channel.
fn light(map: &EnvironmentMap) -> [f64; 3] {
    let mut out = [0.0; 3];
    for (i, texel) in map.pixels.iter().enumerate() {
        for (sum, value) in out.iter_mut().zip(texel) {
            *sum += weight(map, i) * f64::from(*value);
        }
    }
    out
}
