//! How shaders read pairs of 32-bit words from storage buffers.
//!
//! lavapipe loads each number of a storage buffer in a loop over the pixels that it shades together. Loading two words as
//! one 64-bit number halves the number of these loops, which take a third of the time of shading.

/// Declares the type `Pair` and the function `words`, which returns the two words of a pair. They are appended to every
/// shader.
pub(crate) const fn declarations(has_int64: bool) -> &'static str {
    if has_int64 {
        "
alias Pair = u64;
fn words(pair: Pair) -> vec2<u32> {
    return vec2(u32(pair), u32(pair >> 32u));
}
alias Quad = vec2<u64>;
fn four_words(quad: Quad) -> vec4<u32> {
    return vec4(words(quad.x), words(quad.y));
}
fn first_words(quad: Quad) -> vec2<u32> {
    return words(quad.x);
}
fn last_words(quad: Quad) -> vec2<u32> {
    return words(quad.y);
}
"
    } else {
        "
alias Pair = vec2<u32>;
fn words(pair: Pair) -> vec2<u32> {
    return pair;
}
alias Quad = vec4<u32>;
fn four_words(quad: Quad) -> vec4<u32> {
    return quad;
}
fn first_words(quad: Quad) -> vec2<u32> {
    return quad.xy;
}
fn last_words(quad: Quad) -> vec2<u32> {
    return quad.zw;
}
"
    }
}
