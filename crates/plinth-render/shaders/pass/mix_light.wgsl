// Interpolates the baked light of a pool between two poses, if a graphics card draws. The Rust counterpart is
// `plinth_bake::LightInterpolator`.
#import lib/color.wgsl
#import lib/light_samples.wgsl

struct LightMix {
    count: u32,
    // 0 for the light of the first pose, 1 for that of the second.
    share: f32,
}

@group(0) @binding(0) var<uniform> mixture: LightMix;
@group(0) @binding(1) var<storage, read> before: array<vec4<u32>>;
@group(0) @binding(2) var<storage, read> after: array<vec4<u32>>;
@group(0) @binding(3) var<storage, read_write> mixed: array<vec4<u32>>;

// Packs a colour into nine bits per channel and a shared exponent of five bits. The Rust counterpart is
// `shared_exponent` in `upload/gathered_light.rs`.
fn packed_color(linear: vec3<f32>) -> u32 {
    let color = clamp(linear, vec3(0.0), vec3(65408.0));
    let most = max(max(color.r, max(color.g, color.b)), 1e-30);
    let least = max(i32(bitcast<u32>(most) >> 23u) - 127 + 1 + 15, 0);
    // If the largest channel would be rounded up to ten bits, the exponent must be larger.
    let exponent = least + select(0, 1, round(most * power_of_two(24 - least)) > 511.0);
    let bits = vec3<u32>(round(color * power_of_two(24 - exponent)));
    return bits.r | (bits.g << 9u) | (bits.b << 18u) | (u32(exponent) << 27u);
}

fn power_of_two(power: i32) -> f32 {
    return bitcast<f32>(u32(power + 127) << 23u);
}

// Packs four numbers from −2 to 2 into bytes.
fn packed_bytes(numbers: vec4<f32>) -> u32 {
    let bytes = bitcast<vec4<u32>>(vec4<i32>(clamp(round(numbers * 64.0), vec4(-128.0), vec4(127.0)))) & vec4(0xffu);
    return bytes.x | (bytes.y << 8u) | (bytes.z << 16u) | (bytes.w << 24u);
}

@compute @workgroup_size(256)
fn cs(@builtin(global_invocation_id) id: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>) {
    let i = id.y * groups.x * 256u + id.x;
    if i >= mixture.count {
        return;
    }
    let a = before[i];
    let b = after[i];
    let indirect_a = light_color(a.y);
    let indirect_b = light_color(b.y);
    let indirect = mix(indirect_a, indirect_b, mixture.share);
    // `blocked` is stored divided by the luminance of `indirect`.
    let blocked_a = light_bytes(a.w) * luminance(indirect_a);
    let blocked_b = light_bytes(b.w) * luminance(indirect_b);
    let inverse = select(0.0, 1.0 / luminance(indirect), luminance(indirect) > 0.0);
    mixed[i] = vec4(
        packed_color(mix(light_color(a.x), light_color(b.x), mixture.share)),
        packed_color(indirect),
        packed_bytes(mix(light_bytes(a.z), light_bytes(b.z), mixture.share)),
        packed_bytes(mix(blocked_a, blocked_b, mixture.share) * inverse),
    );
}
