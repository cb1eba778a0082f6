// Points and lines as a camera sees them: round splats, and bands with round ends (LINES). Their size depends on the
// screen, so it is computed here. Needs types/frame.wgsl, types/batch.wgsl, types/visibility.wgsl, lib/triangle.wgsl.

struct Sprite {
    // Ends in pixels of the target; for a point both are the same.
    a: vec2<f32>,
    b: vec2<f32>,
    // Their distances along the camera's axis.
    distances: vec2<f32>,
    // Positions of the ends on the segment, 0..1: a line that starts behind the camera is clipped at the near plane.
    parts: vec2<f32>,
    // Radius in pixels; 0 if nothing is in front of the camera.
    radius: f32,
}

fn pixel_of(clip: vec4<f32>) -> vec2<f32> {
    return (clip.xy / clip.w * vec2(0.5, -0.5) + 0.5) * frame.target_size;
}

fn near_distance() -> f32 {
    return frame.distance_numerator / frame.depth_range;
}

// The point or line with this number within the batch.
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
    s.radius = batch.least_pixels;
#else
    let a = frame.clip_from_world * vec4(grown(position_of(number)), 1.0);
    if a.w <= near {
        return s;
    }
    let b = a;
    let projected = batch.sprite_radius * frame.grow / (a.w * frame.pixel_size);
    s.radius = clamp(projected, batch.least_pixels, batch.most_pixels);
#endif
    s.a = pixel_of(a);
    s.b = pixel_of(b);
    s.distances = vec2(a.w, b.w);
    return s;
}

// The point on the line between the ends that is nearest to a pixel: x is its position on the screen in 0..1, y the
// squared distance in pixels.
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

// Whether the side to which a vertex normal points is visible. A splat at an outline is visible even if its centre has
// just turned away.
fn is_front(normal: vec3<f32>, to_camera: vec3<f32>) -> bool {
    return dot(normal, to_camera) > -0.25 * length(normal) * length(to_camera);
}

// The samples of a pixel (Vulkan's standard locations) that the sprite covers.
fn covered_samples(s: Sprite, at: vec2<f32>) -> u32 {
    if SAMPLES != 4u {
        return select(0u, 1u, is_covered(s, at));
    }
    return select(0u, 1u, is_covered(s, at + vec2(-0.125, -0.375)))
        | select(0u, 2u, is_covered(s, at + vec2(0.375, -0.125)))
        | select(0u, 4u, is_covered(s, at + vec2(-0.375, 0.125)))
        | select(0u, 8u, is_covered(s, at + vec2(0.125, 0.375)));
}

// Distance along the camera's axis at a position on the screen in 0..1.
fn distance_along(s: Sprite, t: f32) -> f32 {
    return 1.0 / mix(1.0 / s.distances.x, 1.0 / s.distances.y, t);
}

// The vertices and weights of a sprite at a pixel, in the form used for triangles. Textures are read at full size.
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
    out.p0 = position_of(out.corners.x);
    out.p1 = position_of(out.corners.y);
    out.p2 = out.p1;
    return out;
}
