// Geometry of points and lines on the screen. Points are drawn as discs; lines (LINES) are drawn as bands with round
// ends. The size of points and lines in pixels depends on the camera, so it is computed here. Needs types/frame.wgsl,
// types/pool.wgsl, types/visibility.wgsl, lib/triangle.wgsl.

struct Sprite {
    // The two ends, in pixels of the render target. Both ends of a point are the same.
    a: vec2<f32>,
    b: vec2<f32>,
    // Distances of the two ends along the camera's axis.
    distances: vec2<f32>,
    // Positions of the two ends on the line segment, 0..1. The positions differ from 0 and 1 if the line is clipped at
    // the near plane.
    parts: vec2<f32>,
    // Radius in pixels. The radius is 0 if the point or line is not in front of the camera.
    radius: f32,
}

fn pixel_of(clip: vec4<f32>) -> vec2<f32> {
    return (clip.xy / clip.w * vec2(0.5, -0.5) + 0.5) * frame.target_size;
}

fn near_distance() -> f32 {
    return frame.distance_numerator / frame.depth_range;
}

// Returns the geometry of the point or line with this number within the batch.
fn sprite_of(number: u32) -> Sprite {
    var s: Sprite;
    let near = near_distance();
#ifdef LINES
    let from_a = frame.clip_from_world * vec4(grown(position_of(2u * number)), 1.0);
    let from_b = frame.clip_from_world * vec4(grown(position_of(2u * number + 1u)), 1.0);
    if max(from_a.w, from_b.w) <= near {
        return s;
    }
    s.parts = vec2(0.0, 1.0);
    if from_a.w < near {
        s.parts.x = (near - from_a.w) / (from_b.w - from_a.w);
    }
    if from_b.w < near {
        s.parts.y = (near - from_a.w) / (from_b.w - from_a.w);
    }
    let a = mix(from_a, from_b, s.parts.x);
    let b = mix(from_a, from_b, s.parts.y);
    s.radius = pool.least_pixels;
#else
    let a = frame.clip_from_world * vec4(grown(position_of(number)), 1.0);
    if a.w <= near {
        return s;
    }
    let b = a;
    let projected = pool.sprite_radius * frame.grow / (a.w * frame.pixel_size);
    s.radius = clamp(projected, pool.least_pixels, pool.most_pixels);
#endif
    s.a = pixel_of(a);
    s.b = pixel_of(b);
    s.distances = vec2(a.w, b.w);
    return s;
}

// Finds the point on the line that is nearest to a pixel on the screen. x is the position of this point between the
// ends, 0..1. y is its squared distance from the pixel, in squared pixels.
fn nearest_place(s: Sprite, at: vec2<f32>) -> vec2<f32> {
#ifdef LINES
    let along = s.b - s.a;
    let t = clamp(dot(at - s.a, along) / max(dot(along, along), 1e-12), 0.0, 1.0);
    let away = at - (s.a + along * t);
    return vec2(t, dot(away, away));
#else
    let away = at - s.a;
    return vec2(0.0, dot(away, away));
#endif
}

fn is_covered(s: Sprite, at: vec2<f32>) -> bool {
    return nearest_place(s, at).y <= s.radius * s.radius;
}

// Returns whether the camera sees the side to which a vertex normal points. A disc at the outline of the model is
// visible even if its normal points slightly away from the camera.
fn is_front(normal: vec3<f32>, to_camera: vec3<f32>) -> bool {
    return dot(normal, to_camera) > -0.25 * length(normal) * length(to_camera);
}

// Returns the samples of a pixel that the sprite covers, as a bit mask. The samples are at Vulkan's standard locations.
fn covered_samples(s: Sprite, at: vec2<f32>) -> u32 {
    if SAMPLES != 4u {
        return select(0u, 1u, is_covered(s, at));
    }
    return select(0u, 1u, is_covered(s, at + vec2(-0.125, -0.375)))
        | select(0u, 2u, is_covered(s, at + vec2(0.375, -0.125)))
        | select(0u, 4u, is_covered(s, at + vec2(-0.375, 0.125)))
        | select(0u, 8u, is_covered(s, at + vec2(0.125, 0.375)));
}

// Returns the distance along the camera's axis at a position between the ends on the screen, 0..1.
fn distance_along(s: Sprite, t: f32) -> f32 {
    return 1.0 / mix(1.0 / s.distances.x, 1.0 / s.distances.y, t);
}

// Returns the vertices of a sprite and their weights at a pixel, in the same form as for triangles. The derivatives are
// 0, so textures are read without mip levels.
fn seen_sprite(number: u32, at: vec2<f32>) -> Seen {
    var out: Seen;
    out.facing = 1.0;
#ifdef LINES
    let s = sprite_of(number);
    let t = nearest_place(s, at).x;
    let part = mix(s.parts.x, s.parts.y, t / s.distances.y * distance_along(s, t));
    out.corners = vec3(2u * number, 2u * number + 1u, 2u * number + 1u);
    out.weights = vec3(1.0 - part, part, 0.0);
#else
    out.corners = vec3(number);
    out.weights = vec3(1.0, 0.0, 0.0);
#endif
    let a = posed_vertex(out.corners.x);
    let b = posed_vertex(out.corners.y);
    out.p0 = a.position;
    out.p1 = b.position;
    out.p2 = out.p1;
    out.normals = vec3(a.normal, b.normal, b.normal);
    return out;
}
