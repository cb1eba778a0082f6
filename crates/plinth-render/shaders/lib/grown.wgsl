// The overall scale of the frame. Needs types/frame.wgsl, but is not part of it: on software drivers, a pass hands every
// uniform that its text reads to the fragment stage (`flat_uniforms.rs`), and most passes do not need the scale.

// Applies the overall scale of the frame to a point of the model.
fn grown(point: vec3<f32>) -> vec3<f32> {
    return frame.grow_origin + (point - frame.grow_origin) * frame.grow;
}
