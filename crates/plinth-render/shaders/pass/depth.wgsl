// Draws only depth, for shadow maps and for blended surfaces that are seen in the reflecting floor. Masked and blended
// materials are alpha-tested.
#import types/frame.wgsl
#import types/posed.wgsl

// True for the shadow map of the sun, false for the shadow map of the key light.
override SUN_VIEW: bool = false;
// True for the depth of blended surfaces as seen from the camera of a view.
override CAMERA_VIEW: bool = false;

@vertex
fn vs(in: PosedIn) -> PosedOut {
    if CAMERA_VIEW {
        return posed(in, frame.clip_from_world);
    }
    if SUN_VIEW {
        return posed(in, frame.sun_clip_from_world);
    }
    return posed(in, frame.key_clip_from_world);
}

#ifdef ALPHA_TEST
// Alpha from which a blended surface determines the height of its pixel above the floor. Even a faint surface in front
// of nothing is seen there, but texels that are meant to be invisible may have a little alpha, because textures are
// compressed and filtered.
const LEAST_ALPHA: f32 = 1.0 / 32.0;

@fragment
fn fs(v: PosedOut) {
    if tested_alpha(v) < select(alpha_cutoff(), LEAST_ALPHA, CAMERA_VIEW) {
        discard;
    }
}
#endif
