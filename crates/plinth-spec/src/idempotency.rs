//! When a repeated request answers with the render of the first one.

use crate::state::RenderStatus;

/// Characters of an `Idempotency-Key` that count; the rest is cut off.
pub const KEY_CHARS: usize = 80;
/// How long a key replays, in milliseconds.
pub const REPLAY_MS: i64 = 30 * 60 * 1000;
/// How long an identical request without a key replays, in milliseconds.
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

    /// How long it replays, in milliseconds.
    pub const fn window_ms(&self) -> i64 {
        if self.0.is_empty() { RESUBMIT_MS } else { REPLAY_MS }
    }

    /// Whether a render of the same key and settings answers the request.
    pub fn replays(&self, status: RenderStatus, created_at_ms: i64, now_ms: i64) -> bool {
        let failed = matches!(status, RenderStatus::Error | RenderStatus::Failed);
        !failed && now_ms - created_at_ms <= self.window_ms()
    }
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
        let key = ReplayKey::from_header(Some("k"));
        assert!(key.replays(RenderStatus::Done, 0, REPLAY_MS));
        assert!(!key.replays(RenderStatus::Done, 0, REPLAY_MS + 1));
        for none in [None, Some(""), Some("  ")] {
            let bare = ReplayKey::from_header(none);
            assert!(bare.replays(RenderStatus::Pending, 0, RESUBMIT_MS));
            assert!(!bare.replays(RenderStatus::Pending, 0, RESUBMIT_MS + 1));
        }
    }

    #[test]
    fn failed_renders_are_never_replayed() {
        for status in RenderStatus::ALL {
            let expected = !matches!(status, RenderStatus::Error | RenderStatus::Failed);
            assert_eq!(ReplayKey::from_header(Some("k")).replays(*status, 0, 0), expected, "{}", status.as_str());
        }
    }
}
