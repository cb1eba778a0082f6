// Which triangle each sample shows. A masked material is cut at its cutoff.
enable primitive_index;
#import types/frame.wgsl
#ifdef CUT
#import types/material.wgsl
#endif

struct VisibilityVertex {
    @builtin(position) clip: vec4<f32>,
    // The number of the batch's first triangle.
    @location(0) @interpolate(flat) first_triangle: u32,
#ifdef CUT
    @location(1) uv0: vec2<f32>,
    @location(2) uv1: vec2<f32>,
    @location(3) color: vec4<f32>,
#endif
}

@vertex
fn vs(
    @builtin(instance_index) first_triangle: u32,
    @location(0) position: vec3<f32>,
#ifdef CUT
    @location(3) uv0: vec2<f32>,
    @location(4) uv1: vec2<f32>,
    @location(5) color: vec4<f32>,
#endif
) -> VisibilityVertex {
    let world = frame.grow_origin.xyz + (position - frame.grow_origin.xyz) * frame.camera.w;
    var out: VisibilityVertex;
    out.clip = frame.clip_from_world * vec4(world, 1.0);
    out.first_triangle = first_triangle;
#ifdef CUT
    out.uv0 = uv0;
    out.uv1 = uv1;
    out.color = color;
#endif
    return out;
}

struct VisibilityOut {
    // The triangle's number, low and high half.
    @location(0) triangle: vec2<u32>,
#ifdef CUT
    @builtin(sample_mask) coverage: u32,
#endif
}

#ifdef CUT
override SAMPLES: u32 = 4u;

//{material textures}

// Coverage of a masked texel: the alpha ramp is sharpened to one pixel and turned into samples.
fn mask_coverage(alpha: f32, cutoff: f32) -> u32 {
    let sharp = clamp((alpha - cutoff) / max(fwidth(alpha), 1e-4) + 0.5, 0.0, 1.0);
    let samples = u32(sharp * f32(SAMPLES) + 0.5);
    return (1u << samples) - 1u;
}
#endif

@fragment
fn fs(v: VisibilityVertex, @builtin(primitive_index) primitive: u32) -> VisibilityOut {
    let triangle = v.first_triangle + primitive;
    var out: VisibilityOut;
    out.triangle = vec2(triangle & 0xffffu, triangle >> 16u);
#ifdef CUT
    let alpha = tex_base_color(v.uv0, v.uv1).a * material.base_color.a * v.color.a;
    out.coverage = mask_coverage(alpha, material.emissive.w);
    if out.coverage == 0u {
        discard;
    }
#endif
    return out;
}
