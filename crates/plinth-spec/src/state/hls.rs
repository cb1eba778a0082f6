//! States of a render's HLS packaging.

use crate::named::named;

named! {
    /// Where the HLS packaging of a render stands.
    HlsStatus {
        /// Waiting for the video, or for a worker.
        Pending = "pending",
        /// A worker packages it.
        Processing = "processing",
        /// It can be played.
        Ready = "ready",
        /// It could not be packaged; the video is not affected.
        Failed = "failed",
        /// There is none: a dataset, a system preview, or a render without video.
        Skipped = "skipped",
    }
}

named! {
    /// What happens to the packaging.
    HlsEvent {
        /// A worker takes it.
        Claim = "claim",
        /// A worker gives it back.
        Release = "release",
        /// Its files are stored.
        Finish = "finish",
        /// It cannot be made.
        Fail = "fail",
        /// The render ended without a video.
        Skip = "skip",
    }
}

impl HlsStatus {
    /// The state after an event; `None` when the event is refused.
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
    /// The states that it is allowed in, each with the state that it leads to.
    pub fn moves(self) -> impl Iterator<Item = (HlsStatus, HlsStatus)> {
        HlsStatus::ALL.iter().filter_map(move |from| Some((*from, from.after(self)?)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exactly_five_moves_are_allowed() {
        let allowed: Vec<_> = HlsStatus::ALL
            .iter()
            .flat_map(|s| HlsEvent::ALL.iter().filter_map(|e| Some((s.as_str(), e.as_str(), s.after(*e)?.as_str()))))
            .collect();
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
