// The colour filters. Colours are linear, display-referred and not premultiplied. Unless noted otherwise, black stays
// black.

// Returns the grey that has the Rec.709 luminance of a colour.
fn grey(c: vec3<f32>) -> vec3<f32> {
    return vec3(luminance(c));
}

// Tints a colour, and scales the result so that its largest channel is unchanged. The scaling avoids clipping at white
// and shifts of hue.
fn tinted(c: vec3<f32>, tint: vec3<f32>) -> vec3<f32> {
    return c * tint / max(tint.r, max(tint.g, tint.b));
}

// Changes the contrast around middle grey. The change is applied to the sRGB-encoded colour. A slope of 1 has no
// effect.
fn contrasted(c: vec3<f32>, slope: f32) -> vec3<f32> {
    let e = srgb_from_linear(c);
    let s = e * e * (3.0 - 2.0 * e);
    return linear_from_srgb(mix(e, s, slope - 1.0));
}

#ifdef SEPIA
fn filtered(c: vec3<f32>) -> vec3<f32> {
    return mix(c, tinted(grey(c), vec3(1.0, 0.86, 0.64)), 0.92);
}
#endif
#ifdef BW
fn filtered(c: vec3<f32>) -> vec3<f32> {
    return grey(c);
}
#endif
#ifdef VIVID
fn filtered(c: vec3<f32>) -> vec3<f32> {
    // Colours that are already saturated are changed less, so that their shading remains visible.
    let most = max(c.r, max(c.g, c.b));
    let saturation = (most - min(c.r, min(c.g, c.b))) / max(most, 1e-4);
    let strong = max(mix(grey(c), c, 1.0 + 0.5 * (1.0 - saturation * saturation)), vec3(0.0));
    return contrasted(strong, 1.25);
}
#endif
#ifdef WARM
fn filtered(c: vec3<f32>) -> vec3<f32> {
    return tinted(c, vec3(1.0, 0.93, 0.76));
}
#endif
#ifdef COOL
fn filtered(c: vec3<f32>) -> vec3<f32> {
    return tinted(c, vec3(0.8, 0.92, 1.0));
}
#endif
#ifdef FADED
// Fades a colour as in an old print: the saturation is reduced, and black becomes dark grey.
fn filtered(c: vec3<f32>) -> vec3<f32> {
    let e = srgb_from_linear(mix(grey(c), c, 0.7));
    return linear_from_srgb(0.1 + 0.85 * e);
}
#endif
#ifdef NOIR
fn filtered(c: vec3<f32>) -> vec3<f32> {
    return contrasted(contrasted(grey(c) * 0.85, 1.9), 1.6);
}
#endif
