//! States of a render's HLS packaging.

use super::transitions;
use crate::named::named;

named! {
    /// The state of a render's HLS packaging.
    HlsStatus {
        /// The packaging waits until the video is done and a worker claims it.
        Pending = "pending",
        /// A worker packages the video.
        Processing = "processing",
        /// The stream can be played.
        Ready = "ready",
        /// The packaging failed; the video is not affected.
        Failed = "failed",
        /// The render gets no stream, because it is a dataset or a system preview, or ended without a video.
        Skipped = "skipped",
    }
}

named! {
    /// An event that changes the state of a packaging.
    HlsEvent {
        /// A worker claims the packaging.
        Claim = "claim",
        /// A worker returns the packaging to the queue.
        Release = "release",
        /// All files of the stream are stored.
        Finish = "finish",
        /// The packaging failed.
        Fail = "fail",
        /// The render ended without a video.
        Skip = "skip",
    }
}

impl HlsStatus {
    /// Returns the state after an event, or `None` if the event is not allowed in this state.
    pub const fn after(self, event: HlsEvent) -> Option<Self> {
        use HlsEvent as E;
        match (self, event) {
            (Self::Pending, E::Claim) => Some(Self::Processing),
            (Self::Pending, E::Skip) => Some(Self::Skipped),
            (Self::Processing, E::Release) => Some(Self::Pending),
            (Self::Processing, E::Finish) => Some(Self::Ready),
            (Self::Processing, E::Fail) => Some(Self::Failed),
            _ => None,
        }
    }
}

impl HlsEvent {
    /// Returns the transitions of the event, as pairs of the old and the new state.
    pub fn moves(self) -> impl Iterator<Item = (HlsStatus, HlsStatus)> {
        transitions(HlsStatus::ALL, Self::ALL, HlsStatus::after)
            .filter_map(move |(from, event, to)| (event == self).then_some((from, to)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exactly_five_moves_are_allowed() {
        let names = |(from, event, to): (HlsStatus, HlsEvent, HlsStatus)| (from.as_str(), event.as_str(), to.as_str());
        let allowed: Vec<_> = transitions(HlsStatus::ALL, HlsEvent::ALL, HlsStatus::after).map(names).collect();
        assert_eq!(
            allowed,
            [
                ("pending", "claim", "processing"),
                ("pending", "skip", "skipped"),
                ("processing", "release", "pending"),
                ("processing", "finish", "ready"),
                ("processing", "fail", "failed"),
            ]
        );
    }
}
