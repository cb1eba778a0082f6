// Draws the nearest back faces of a glass body, at which light leaves the body.
#import types/frame.wgsl
#import types/posed.wgsl

@vertex
fn vs(in: PosedIn) -> PosedOut {
    return posed(in, frame.clip_from_world);
}

// xyz: outward unit normal; w: distance from the centre of the model along the camera's axis.
@fragment
fn fs(v: PosedOut) -> @location(0) vec4<f32> {
    let outward = normalize(normal_or(v.normal, frame.camera_axis));
    return vec4(outward, v.distance - dot(frame.grow_origin - frame.camera_position, frame.camera_axis));
}
