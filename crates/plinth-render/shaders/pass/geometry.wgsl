// The first surface of each pixel, at its middle: normal and distance, for layers that lie on the colour pixel by pixel.
// Masked and blended materials count where they are more there than not.
#import types/frame.wgsl
#import types/posed.wgsl

@vertex
fn vs(in: PosedIn) -> PosedOut {
    return posed(in, frame.clip_from_world);
}

// xyz: unit world-space normal on the side that is seen; w: distance along the camera's axis, 0 where nothing is.
@fragment
fn fs(v: PosedOut, @builtin(front_facing) front: bool) -> @location(0) vec4<f32> {
#ifdef CUT
    if cut_alpha(v) < alpha_cutoff() {
        discard;
    }
#endif
    return vec4(normalize(v.normal) * select(-1.0, 1.0, front), v.distance);
}
