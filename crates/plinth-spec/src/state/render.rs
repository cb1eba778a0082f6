//! States of a render.

use super::events::events;
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

// The transitions of the contract (Spec, Render status).
events! {
    /// An event that changes the state of a render.
    RenderEvent of RenderStatus {
        /// A worker claims the render.
        Claim = "claim": Pending => PosterProcessing, PosterDone => VideoProcessing;
        /// The poster is stored.
        PosterStored = "poster stored": PosterProcessing => VideoProcessing;
        /// A worker returns the render to the queue. A stored poster remains.
        Release = "release": PosterProcessing => Pending, VideoProcessing => PosterDone;
        /// The worker's lease expired. Files that it stored are discarded.
        Lose = "lose": PosterProcessing | VideoProcessing => Pending;
        /// All files are stored.
        Finish = "finish": VideoProcessing => Done;
        /// The render failed.
        Fail = "fail": Pending | PosterProcessing | PosterDone | VideoProcessing => Error;
        /// The owner cancels the render.
        Cancel = "cancel": Pending => Failed;
        /// The owner dismisses the failure.
        Dismiss = "dismiss": Error => Failed;
    }
}

impl RenderStatus {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_pair_of_state_and_event_is_decided() {
        assert_eq!(
            transition_names(),
            [
                ("claim", "pending", "poster-processing"),
                ("claim", "poster-done", "video-processing"),
                ("poster stored", "poster-processing", "video-processing"),
                ("release", "poster-processing", "pending"),
                ("release", "video-processing", "poster-done"),
                ("lose", "poster-processing", "pending"),
                ("lose", "video-processing", "pending"),
                ("finish", "video-processing", "done"),
                ("fail", "pending", "error"),
                ("fail", "poster-processing", "error"),
                ("fail", "poster-done", "error"),
                ("fail", "video-processing", "error"),
                ("cancel", "pending", "failed"),
                ("dismiss", "error", "failed"),
            ]
        );
    }

    #[test]
    fn workers_hold_renders_that_they_draw_and_change_none_that_has_ended() {
        let names = |is: fn(RenderStatus) -> bool| -> Vec<&str> {
            RenderStatus::ALL.iter().filter(|status| is(**status)).map(|status| status.as_str()).collect()
        };
        assert_eq!(names(RenderStatus::is_held), ["poster-processing", "video-processing"]);
        assert_eq!(names(RenderStatus::is_final), ["done", "error", "failed"]);
        assert_eq!(names(RenderStatus::has_failed), ["error", "failed"]);
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
