// Draws only depth, for shadow maps. Masked and blended materials are alpha-tested.
#import types/frame.wgsl
#import types/posed.wgsl

// True for the shadow map of the sun, false for the shadow map of the key light.
override SUN_VIEW: bool = false;

@vertex
fn vs(in: PosedIn) -> PosedOut {
    if SUN_VIEW {
        return posed(in, frame.sun_clip_from_world);
    }
    return posed(in, frame.key_clip_from_world);
}

#ifdef ALPHA_TEST
@fragment
fn fs(v: PosedOut) {
    if tested_alpha(v) < alpha_cutoff() {
        discard;
    }
}
#endif
