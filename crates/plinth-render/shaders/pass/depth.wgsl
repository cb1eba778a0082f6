// Depth only: the shadow maps. A masked or blended material is cut at its cutoff.
#import types/frame.wgsl
#import types/posed.wgsl

// The view is the sun's; the key light's otherwise.
override SUN_VIEW: bool = false;

@vertex
fn vs(in: PosedIn) -> PosedOut {
    if SUN_VIEW {
        return posed(in, frame.sun_clip_from_world);
    }
    return posed(in, frame.key_clip_from_world);
}

#ifdef CUT
@fragment
fn fs(v: PosedOut) {
    if cut_alpha(v) < alpha_cutoff() {
        discard;
    }
}
#endif
