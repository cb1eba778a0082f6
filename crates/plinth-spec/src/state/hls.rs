//! States of a render's HLS packaging.

use super::events::events;
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

events! {
    /// An event that changes the state of a packaging.
    HlsEvent of HlsStatus {
        /// A worker claims the packaging.
        Claim = "claim": Pending => Processing;
        /// A worker returns the packaging to the queue.
        Release = "release": Processing => Pending;
        /// The worker's lease expired. Another worker may claim the packaging.
        Lose = "lose": Processing => Pending;
        /// All files of the stream are stored.
        Finish = "finish": Processing => Ready;
        /// The packaging failed.
        Fail = "fail": Processing => Failed;
        /// The render ended without a video.
        Skip = "skip": Pending => Skipped;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exactly_six_moves_are_allowed() {
        assert_eq!(
            transition_names(),
            [
                ("claim", "pending", "processing"),
                ("release", "processing", "pending"),
                ("lose", "processing", "pending"),
                ("finish", "processing", "ready"),
                ("fail", "processing", "failed"),
                ("skip", "pending", "skipped"),
            ]
        );
    }
}
