// Where light leaves a glass body: its faces that look away from the camera, the nearest of them.
#import types/frame.wgsl

struct FarSideOut {
    @builtin(position) clip: vec4<f32>,
    @location(0) normal: vec3<f32>,
}

@vertex
fn vs(@location(0) position: vec3<f32>, @location(1) normal: vec4<f32>) -> FarSideOut {
    let world = frame.grow_origin.xyz + (position - frame.grow_origin.xyz) * frame.camera.w;
    return FarSideOut(frame.clip_from_world * vec4(world, 1.0), normal.xyz);
}

// The unit normal, outward.
@fragment
fn fs(v: FarSideOut) -> @location(0) vec4<f32> {
    return vec4(normalize(v.normal), 1.0);
}
