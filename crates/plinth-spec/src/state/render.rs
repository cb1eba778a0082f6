//! States of a render.

use super::transitions;
use crate::named::named;

named! {
    /// The state of a render.
    RenderStatus {
        /// The render waits for a worker.
        Pending = "pending",
        /// A worker draws frames; no poster is stored yet.
        PosterProcessing = "poster-processing",
        /// The poster is stored. The video was interrupted, so the render waits for another worker.
        PosterDone = "poster-done",
        /// A worker draws and encodes the video; the poster is stored.
        VideoProcessing = "video-processing",
        /// All files are stored.
        Done = "done",
        /// The render failed.
        Error = "error",
        /// The render was cancelled, or it failed and the failure was dismissed.
        Failed = "failed",
    }
}

named! {
    /// An event that changes the state of a render.
    RenderEvent {
        /// A worker claims the render.
        Claim = "claim",
        /// The poster is stored.
        PosterStored = "poster stored",
        /// A worker returns the render to the queue.
        Release = "release",
        /// The worker's lease expired. Files that it stored are discarded.
        Lose = "lose",
        /// All files are stored.
        Finish = "finish",
        /// The render failed.
        Fail = "fail",
        /// The owner cancels the render.
        Cancel = "cancel",
        /// The owner dismisses the failure.
        Dismiss = "dismiss",
    }
}

impl RenderStatus {
    /// Returns the state after an event, or `None` if the event is not allowed in this state.
    // Spec, Render status. If a worker stops while it renders the video, the stored poster remains, and the state is
    // `poster-done`.
    pub const fn after(self, event: RenderEvent) -> Option<Self> {
        use RenderEvent as E;
        match (self, event) {
            (Self::Pending, E::Claim) => Some(Self::PosterProcessing),
            (Self::PosterDone, E::Claim) => Some(Self::VideoProcessing),
            (Self::PosterProcessing, E::PosterStored) => Some(Self::VideoProcessing),
            (Self::PosterProcessing, E::Release) => Some(Self::Pending),
            (Self::VideoProcessing, E::Release) => Some(Self::PosterDone),
            (Self::PosterProcessing | Self::VideoProcessing, E::Lose) => Some(Self::Pending),
            (Self::VideoProcessing, E::Finish) => Some(Self::Done),
            (Self::Pending | Self::PosterProcessing | Self::PosterDone | Self::VideoProcessing, E::Fail) => {
                Some(Self::Error)
            }
            (Self::Pending, E::Cancel) => Some(Self::Failed),
            (Self::Error, E::Dismiss) => Some(Self::Failed),
            _ => None,
        }
    }

    /// Returns whether the state is final: no worker changes it any more.
    pub const fn is_final(self) -> bool {
        matches!(self, Self::Done | Self::Error | Self::Failed)
    }

    /// Returns whether the render ended without files.
    pub const fn has_failed(self) -> bool {
        matches!(self, Self::Error | Self::Failed)
    }

    /// Returns whether a worker has a lease on the render.
    pub const fn is_held(self) -> bool {
        matches!(self, Self::PosterProcessing | Self::VideoProcessing)
    }
}

impl RenderEvent {
    /// Returns the transitions of the event, as pairs of the old and the new state.
    pub fn moves(self) -> impl Iterator<Item = (RenderStatus, RenderStatus)> {
        transitions(RenderStatus::ALL, Self::ALL, RenderStatus::after)
            .filter_map(move |(from, event, to)| (event == self).then_some((from, to)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_pair_of_state_and_event_is_decided() {
        let names =
            |(from, event, to): (RenderStatus, RenderEvent, RenderStatus)| (from.as_str(), event.as_str(), to.as_str());
        let allowed: Vec<_> =
            transitions(RenderStatus::ALL, RenderEvent::ALL, RenderStatus::after).map(names).collect();
        assert_eq!(
            allowed,
            [
                ("pending", "claim", "poster-processing"),
                ("pending", "fail", "error"),
                ("pending", "cancel", "failed"),
                ("poster-processing", "poster stored", "video-processing"),
                ("poster-processing", "release", "pending"),
                ("poster-processing", "lose", "pending"),
                ("poster-processing", "fail", "error"),
                ("poster-done", "claim", "video-processing"),
                ("poster-done", "fail", "error"),
                ("video-processing", "release", "poster-done"),
                ("video-processing", "lose", "pending"),
                ("video-processing", "finish", "done"),
                ("video-processing", "fail", "error"),
                ("error", "dismiss", "failed"),
            ]
        );
    }

    #[test]
    fn nothing_but_dismissing_leaves_a_final_state() {
        for status in RenderStatus::ALL.iter().filter(|s| s.is_final()) {
            for event in RenderEvent::ALL {
                let moved = status.after(*event).is_some();
                assert_eq!(moved, *status == RenderStatus::Error && *event == RenderEvent::Dismiss);
            }
        }
    }

    #[test]
    fn only_waiting_renders_are_claimable() {
        let claimable: Vec<_> = RenderStatus::ALL.iter().filter(|s| s.after(RenderEvent::Claim).is_some()).collect();
        assert_eq!(claimable, [&RenderStatus::Pending, &RenderStatus::PosterDone]);
    }
}
