//! When a repeated request answers with the render of the first one.

/// Characters of an `Idempotency-Key` that count; the rest is cut off.
pub const KEY_CHARS: usize = 80;
/// How long a key replays, in milliseconds.
pub const REPLAY_MS: i64 = 30 * 60 * 1000;
/// How long a render answers identical requests of any key, in milliseconds.
pub const RESUBMIT_MS: i64 = 5 * 1000;

/// What makes two requests the same one.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ReplayKey(String);

impl ReplayKey {
    /// From the header's value; an empty one counts as none.
    // Spec, Create-render rules, 4 and 5.
    pub fn from_header(value: Option<&str>) -> Self {
        Self(value.unwrap_or_default().trim().chars().take(KEY_CHARS).collect())
    }

    /// Its text; empty for a request without a key.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Since when a render of this key answers the request.
    pub const fn replays_since(&self, now_ms: i64) -> i64 {
        now_ms - if self.0.is_empty() { RESUBMIT_MS } else { REPLAY_MS }
    }
}

/// Since when a render answers an identical request, whatever keys the two have.
pub const fn resubmit_since(now_ms: i64) -> i64 {
    now_ms - RESUBMIT_MS
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_cut_at_80_characters_not_bytes() {
        let long = "é".repeat(81);
        assert_eq!(ReplayKey::from_header(Some(&long)).as_str(), "é".repeat(80));
        let exact = "k".repeat(80);
        assert_eq!(ReplayKey::from_header(Some(&exact)).as_str(), exact);
    }

    #[test]
    fn a_key_replays_for_30_minutes_and_a_resubmit_for_5_seconds() {
        assert_eq!(ReplayKey::from_header(Some("k")).replays_since(REPLAY_MS), 0);
        for none in [None, Some(""), Some("  ")] {
            assert_eq!(ReplayKey::from_header(none).replays_since(5000), 0);
        }
        assert_eq!(resubmit_since(5000), 0);
    }
}
