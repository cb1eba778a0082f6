//! States of a render's HLS packaging.

use super::transitions::transitions;
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

transitions!(HlsStatus, HlsEvent:
    Pending, Claim => Processing;
    Processing, Release => Pending;
    Processing, Finish => Ready;
    Processing, Fail => Failed;
    Pending, Skip => Skipped;
);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exactly_five_moves_are_allowed() {
        assert_eq!(
            transition_names(),
            [
                ("claim", "pending", "processing"),
                ("release", "processing", "pending"),
                ("finish", "processing", "ready"),
                ("fail", "processing", "failed"),
                ("skip", "pending", "skipped"),
            ]
        );
    }
}
