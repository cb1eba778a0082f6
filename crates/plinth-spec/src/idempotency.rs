//! Rules that decide when a repeated request returns the render that an earlier request created.

/// Maximum length of an `Idempotency-Key`, in characters. Longer keys are truncated.
pub const KEY_CHARS: usize = 80;
/// Time in milliseconds after the creation of a render. During this time, a request with the same key returns this
/// render.
pub const REPLAY_MS: i64 = 30 * 60 * 1000;
/// Time in milliseconds after the creation of a render. During this time, an identical request returns this render,
/// even if the keys differ.
pub const RESUBMIT_MS: i64 = 5 * 1000;

/// The idempotency key of a request. It is empty if the request has no key.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ReplayKey(String);

impl ReplayKey {
    /// Parses the value of the `Idempotency-Key` header. A blank value counts as no key. Control characters are left out, because
    /// databases cannot store all of them.
    // Source: Spec, Create-render rules, 4 and 5.
    pub fn from_header(value: Option<&str>) -> Self {
        let text = value.unwrap_or_default().trim_matches(|c: char| c.is_whitespace() || c.is_control());
        Self(text.chars().filter(|c| !c.is_control()).take(KEY_CHARS).collect())
    }

    /// Returns the key as a string. The string is empty for a request without a key.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns the earliest creation time of a render that a request with this key may return, as Unix time in
    /// milliseconds. Without a key, only renders of the last five seconds are returned.
    pub const fn replays_since(&self, now_ms: i64) -> i64 {
        now_ms - if self.0.is_empty() { RESUBMIT_MS } else { REPLAY_MS }
    }
}

/// Returns the earliest creation time of a render that an identical request may return, in milliseconds since 1970. The
/// keys of the requests may differ.
pub const fn resubmit_since(now_ms: i64) -> i64 {
    now_ms - RESUBMIT_MS
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_truncated_to_80_characters_not_bytes() {
        let long = "é".repeat(81);
        assert_eq!(ReplayKey::from_header(Some(&long)).as_str(), "é".repeat(80));
        let exact = "k".repeat(80);
        assert_eq!(ReplayKey::from_header(Some(&exact)).as_str(), exact);
    }

    #[test]
    fn control_characters_are_no_part_of_a_key() {
        for (value, key) in [("\0 a\0b\n ", "ab"), ("a b", "a b"), ("\0 \0", "")] {
            assert_eq!(ReplayKey::from_header(Some(value)).as_str(), key, "{value:?}");
        }
    }

    #[test]
    fn keys_are_valid_for_30_minutes_and_identical_requests_for_5_seconds() {
        assert_eq!(ReplayKey::from_header(Some("k")).replays_since(10_000_000), 8_200_000);
        for none in [None, Some(""), Some("  ")] {
            assert_eq!(ReplayKey::from_header(none).replays_since(10_000_000), 9_995_000);
        }
        assert_eq!(resubmit_since(10_000_000), 9_995_000);
    }
}
