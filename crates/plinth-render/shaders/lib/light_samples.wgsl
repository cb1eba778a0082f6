// Unpacks samples of baked light. `upload/gathered_light.rs` packs them.

// Unpacks a colour with nine bits per channel and a shared exponent of five bits.
fn light_color(word: u32) -> vec3<f32> {
    let scale = bitcast<f32>(((word >> 27u) + (127u - 15u - 9u)) << 23u);
    return vec3<f32>(vec3(word, word >> 9u, word >> 18u) & vec3(511u)) * scale;
}

// Unpacks four bytes that represent numbers from −2 to 2.
fn light_bytes(word: u32) -> vec4<f32> {
    // The builtin `unpack4x8snorm` divides each byte by 127, which takes longer on software drivers.
    let bytes = vec4<i32>(vec4(word << 24u, word << 16u, word << 8u, word)) >> vec4(24u);
    return vec4<f32>(bytes) * (1.0 / 64.0);
}
