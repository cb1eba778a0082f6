// Colour functions: the sRGB transfer function and the tone curve.

// Khronos PBR Neutral tone mapper (Khronos Group, 2024, "Khronos PBR Neutral Tone Mapper", reference code). The input
// is linear Rec.709 radiance. The output is display-referred linear colour in 0..1.
fn tone_map_pbr_neutral(radiance: vec3<f32>) -> vec3<f32> {
    let start_compression = 0.8 - 0.04;
    let desaturation = 0.15;
    let x = min(radiance.r, min(radiance.g, radiance.b));
    let offset = select(0.04, x - 6.25 * x * x, x < 0.08);
    let c = radiance - offset;
    let peak = max(c.r, max(c.g, c.b));
    let d = 1.0 - start_compression;
    let new_peak = 1.0 - d * d / (max(peak, start_compression) + d - start_compression);
    let compressed = c * (new_peak / max(peak, 1e-6));
    let g = 1.0 - 1.0 / (desaturation * (max(peak, start_compression) - new_peak) + 1.0);
    return select(mix(compressed, vec3(new_peak), g), c, peak < start_compression);
}

// Inverse of the tone curve for colours that the curve does not compress: colours with all channels below 0.76. For
// brighter colours, applying the tone curve to the result gives a colour that is darker than `shown`.
fn before_tone_map(shown: vec3<f32>) -> vec3<f32> {
    let lowest = min(shown.r, min(shown.g, shown.b));
    return shown + select(0.04, sqrt(lowest / 6.25) - lowest, lowest < 0.04);
}

// Encodes a linear colour as sRGB (IEC 61966-2-1). The power function is replaced by a polynomial of the fourth root,
// because software drivers take much longer for a power. The polynomial interpolates the power function at the
// Chebyshev nodes of the range. The result differs from the standard by less than 1e-5.
fn srgb_from_linear(linear: vec3<f32>) -> vec3<f32> {
    let c = clamp(linear, vec3(0.0), vec3(1.0));
    let r = sqrt(sqrt(c));
    var curve = fma(r, vec3(-0.06275899), vec3(0.27275224));
    curve = fma(r, curve, vec3(-0.55755565));
    curve = fma(r, curve, vec3(1.244214));
    curve = fma(r, curve, vec3(0.164974));
    curve = fma(r, curve, vec3(-0.06162971));
    return select(curve, 12.92 * c, c <= vec3(0.0031308));
}

// Decodes an sRGB colour to linear (IEC 61966-2-1). The power function is replaced by a polynomial here, too. The
// result differs from the standard by less than 1e-5.
fn linear_from_srgb(encoded: vec3<f32>) -> vec3<f32> {
    var curve = fma(encoded, vec3(-0.04716058), vec3(0.2031366));
    curve = fma(encoded, curve, vec3(-0.40627095));
    curve = fma(encoded, curve, vec3(0.70087075));
    curve = fma(encoded, curve, vec3(0.51585769));
    curve = fma(encoded, curve, vec3(0.03263253));
    curve = fma(encoded, curve, vec3(0.00093115));
    // Software drivers do not replace a division by a constant with a multiplication.
    return select(curve, encoded * (1.0 / 12.92), encoded <= vec3(0.04045));
}

// Rec.709 luminance of a linear colour.
fn luminance(linear: vec3<f32>) -> f32 {
    return dot(linear, vec3(0.2126, 0.7152, 0.0722));
}
