//! States of a render.

use crate::named::named;

named! {
    /// Where a render stands.
    RenderStatus {
        /// Waiting for a worker.
        Pending = "pending",
        /// Frames are drawn; there is no poster yet.
        PosterProcessing = "poster-processing",
        /// The poster is there; the video pass was interrupted and waits for a worker.
        PosterDone = "poster-done",
        /// The video is encoded.
        VideoProcessing = "video-processing",
        /// All files are there.
        Done = "done",
        /// It failed.
        Error = "error",
        /// It failed and was dismissed, or it was cancelled.
        Failed = "failed",
    }
}

named! {
    /// What happens to a render.
    RenderEvent {
        /// A worker takes it.
        Claim = "claim",
        /// Its poster is stored.
        PosterStored = "poster stored",
        /// A worker gives it back before anything is stored.
        Release = "release",
        /// Its worker was not heard of for too long: what it stored no longer counts.
        Lose = "lose",
        /// Its files are stored.
        Finish = "finish",
        /// It cannot be made.
        Fail = "fail",
        /// Its owner no longer wants it.
        Cancel = "cancel",
        /// Its owner has seen the failure.
        Dismiss = "dismiss",
    }
}

impl RenderStatus {
    /// The state after an event; `None` when the event is refused.
    // Spec, Render status. A worker that stops in the video pass leaves the poster behind: `poster-done`.
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

    /// Whether nothing more happens by itself.
    pub const fn is_final(self) -> bool {
        matches!(self, Self::Done | Self::Error | Self::Failed)
    }

    /// Whether it ended without its files.
    pub const fn has_failed(self) -> bool {
        matches!(self, Self::Error | Self::Failed)
    }

    /// Whether a worker holds it.
    pub const fn is_held(self) -> bool {
        matches!(self, Self::PosterProcessing | Self::VideoProcessing)
    }
}

impl RenderEvent {
    /// The states that it is allowed in, each with the state that it leads to.
    pub fn moves(self) -> impl Iterator<Item = (RenderStatus, RenderStatus)> {
        RenderStatus::ALL.iter().filter_map(move |from| Some((*from, from.after(self)?)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_pair_of_state_and_event_is_decided() {
        let allowed: Vec<_> = RenderStatus::ALL
            .iter()
            .flat_map(|s| RenderEvent::ALL.iter().filter_map(|e| Some((s.as_str(), e.as_str(), s.after(*e)?.as_str()))))
            .collect();
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
