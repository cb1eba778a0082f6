// Where light leaves a glass body: its faces that look away from the camera, the nearest of them.
#import types/frame.wgsl
#import types/posed.wgsl

@vertex
fn vs(in: PosedIn) -> PosedOut {
    return posed(in, frame.clip_from_world);
}

// xyz: the unit normal, outward; w: distance along the camera's axis from the model's middle.
@fragment
fn fs(v: PosedOut) -> @location(0) vec4<f32> {
    return vec4(normalize(v.normal), v.distance - dot(frame.grow_origin - frame.camera_position, frame.camera_axis));
}
