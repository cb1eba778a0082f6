//! Lifetimes of signed URLs.

/// Default lifetime of a signed URL, in seconds.
pub const EXPIRES_DEFAULT_SECS: i64 = 3600;
/// Shortest lifetime of a signed URL, in seconds.
pub const EXPIRES_MIN_SECS: i64 = 60;
/// Longest lifetime of a signed URL, in seconds.
pub const EXPIRES_MAX_SECS: i64 = 604_800;

/// Returns the lifetime of a signed URL in seconds: the requested lifetime, clamped to the allowed range, or the
/// default lifetime if no lifetime is requested.
pub fn clamp_expires_secs(requested: Option<i64>) -> i64 {
    requested.unwrap_or(EXPIRES_DEFAULT_SECS).clamp(EXPIRES_MIN_SECS, EXPIRES_MAX_SECS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lifetimes_out_of_range_are_clamped() {
        let cases = [(None, 3600), (Some(59), 60), (Some(60), 60), (Some(604_801), 604_800), (Some(-5), 60)];
        for (requested, expected) in cases {
            assert_eq!(clamp_expires_secs(requested), expected);
        }
    }
}
