//! WGSL types with which shaders read several 32-bit words of a storage buffer at once.
//!
//! lavapipe loads each number of a storage buffer in a loop over the pixels that it shades together. Loading two words
//! as one 64-bit number halves the number of these loops, which take a third of the time of shading.

/// Returns declarations that are appended to every shader: the types `TwoWords` and `FourWords` of elements of storage
/// buffers, and functions that return their words as vectors of `u32`.
pub(crate) const fn declarations(has_int64: bool) -> &'static str {
    if has_int64 {
        "
alias TwoWords = u64;
fn two_words(packed: TwoWords) -> vec2<u32> {
    return vec2(u32(packed), u32(packed >> 32u));
}
alias FourWords = vec2<u64>;
fn four_words(packed: FourWords) -> vec4<u32> {
    return vec4(two_words(packed.x), two_words(packed.y));
}
fn first_words(packed: FourWords) -> vec2<u32> {
    return two_words(packed.x);
}
fn last_words(packed: FourWords) -> vec2<u32> {
    return two_words(packed.y);
}
"
    } else {
        "
alias TwoWords = vec2<u32>;
fn two_words(packed: TwoWords) -> vec2<u32> {
    return packed;
}
alias FourWords = vec4<u32>;
fn four_words(packed: FourWords) -> vec4<u32> {
    return packed;
}
fn first_words(packed: FourWords) -> vec2<u32> {
    return packed.xy;
}
fn last_words(packed: FourWords) -> vec2<u32> {
    return packed.zw;
}
"
    }
}
