// Transmissive and blended surfaces, drawn from back to front over the opaque scene.
#import types/frame.wgsl
#import types/material.wgsl
#import types/surface_point.wgsl
#import types/surface_io.wgsl
#import lib/grown.wgsl
#import lib/octahedral.wgsl

@vertex
fn vs(in: VertexIn) -> VertexOut {
    let world = grown(in.position);
    var out: VertexOut;
    out.clip = frame.clip_from_world * vec4(world, 1.0);
    out.world = world;
    out.normal = from_octahedral(in.normal);
#ifdef TANGENT
    out.tangent = vec4(from_octahedral(in.tangent.xy), sign(in.tangent.z));
#endif
#ifdef UV
    out.uv0 = in.uv0;
#endif
#ifdef UV1
    out.uv1 = in.uv1;
#endif
#ifdef VERTEX_COLOR
    out.color = in.color;
#endif
#ifdef LIT
    out.triangle = in.index / 3u;
    out.weights = vec2<f32>(vec2(in.index % 3u) == vec2(1u, 2u));
#endif
    return out;
}

//{material textures}
#import lib/surface.wgsl

@fragment
fn fs(v: VertexOut, @builtin(front_facing) front: bool) -> @location(0) vec4<f32> {
    var p: SurfacePoint;
    p.world = v.world;
    p.normal = v.normal;
    p.front = front;
#ifdef TANGENT
    p.tangent = v.tangent;
#endif
#ifdef UV
    p.uv0 = v.uv0;
    p.uv1 = v.uv0;
#endif
#ifdef UV1
    p.uv1 = v.uv1;
#endif
#ifdef VERTEX_COLOR
    p.color = v.color;
#endif
#ifdef LIT
    // The rows of a picture are numbered from top to bottom, so this is the normal of the triangle towards the camera.
    let towards_camera = cross(dpdy(v.world), dpdx(v.world));
    p.normal = normal_or(v.normal, towards_camera * select(-1.0, 1.0, front));
    let unit = normalize(p.normal);
    let dx = dpdx(unit);
    let dy = dpdy(unit);
    p.normal_turn = dot(dx, dx) + dot(dy, dy);
    let corners = 3u * v.triangle + vec3(0u, 1u, 2u);
    p.light = gathered_light(v.triangle, corners, vec3(1.0 - v.weights.x - v.weights.y, v.weights), front);
#endif
    var base = base_color(p);
#ifdef MASKED
    if base.a < material.alpha_cutoff {
        discard;
    }
#endif
#ifndef BLEND
    base.a = 1.0;
#endif
    return surface_color(p, base);
}
