//! The previews that wait for a worker, and which of them is drawn next.
//!
//! Requests are drawn in the order of their arrival. An account has one request at a time, so accounts take turns after each
//! picture. If more models are asked for than may be loaded, such turns would load a model for each picture. A model that was
//! loaded in place of another one is therefore drawn for some time before others get their turn.

use std::collections::VecDeque;
use std::time::Duration;

use plinth_service::previews::WantedPreview;
use plinth_spec::id::ModelId;
use tokio::sync::mpsc;
use tokio::time::{Instant, sleep_until};

use crate::node::Node;

/// Maximum time for which only one model is drawn after it was loaded. It is shorter if the model was loaded faster: others wait
/// at most twice as long as with turns of one picture.
const MAX_TURN: Duration = Duration::from_secs(2);
/// Maximum time in which the next request for this model must arrive after a picture. Otherwise its turn ends.
const MAX_GAP: Duration = Duration::from_millis(100);
/// Interval at which a worker polls for requests of other processes within [`BUSY_TIME`] after a request, if the database
/// does not notify workers. The next request is likely in this time: a user turns the model or moves a slider.
const BUSY_POLL_INTERVAL: Duration = Duration::from_millis(10);
/// Time after a request in which the worker polls at [`BUSY_POLL_INTERVAL`].
const BUSY_TIME: Duration = Duration::from_secs(2);
/// Interval after [`BUSY_TIME`], until [`crate::options::WorkerOptions::preview_idle`] has passed since the request.
const POLL_INTERVAL: Duration = Duration::from_millis(100);
/// Pause after an error of the database while polling for requests of other processes.
const ERROR_PAUSE: Duration = Duration::from_secs(2);

/// The requests of this process and of others, and the turn of a model.
pub(crate) struct PreviewQueue {
    receiver: mpsc::Receiver<WantedPreview>,
    /// Requests of this process, in the order of their arrival.
    here: VecDeque<WantedPreview>,
    elsewhere: Elsewhere,
    /// Whether requests of other processes come next, if both kinds wait.
    is_elsewhere_next: bool,
    turn: Option<Turn>,
}

/// The turn of a model that was loaded in place of another one. Until its end, other models are not drawn.
struct Turn {
    model: ModelId,
    /// Time at which the turn ends, even if more requests for the model arrive.
    until: Instant,
    /// Time by which the next request must arrive.
    expected_until: Instant,
    /// Maximum time from a picture to the next request.
    gap: Duration,
}

/// Polls for requests of other processes.
struct Elsewhere {
    /// Time of the next poll, unless a notification comes first.
    look_at: Instant,
    /// Time at which the last request was claimed; `None` if none was claimed yet.
    claimed: Option<Instant>,
}

impl PreviewQueue {
    /// Creates a queue. Requests of this process arrive at `receiver`.
    pub(crate) fn new(receiver: mpsc::Receiver<WantedPreview>) -> Self {
        let elsewhere = Elsewhere { look_at: Instant::now(), claimed: None };
        Self { receiver, here: VecDeque::new(), elsewhere, is_elsewhere_next: false, turn: None }
    }

    /// Waits until there may be a request to draw. Can be dropped without losing one.
    pub(crate) async fn changed(&mut self, node: &Node) {
        if self.next_here().is_some() {
            return;
        }
        let end_of_turn = self.turn.as_ref().map(|turn| turn.expected_until);
        tokio::select! {
            // `recv` never returns `None`, because the service keeps the sender.
            Some(next) = self.receiver.recv() => self.here.push_back(next),
            () = node.service.preview_requested() => self.elsewhere.look_at = Instant::now(),
            () = sleep_until(self.elsewhere.look_at) => {}
            () = sleep_until(end_of_turn.unwrap_or_else(Instant::now)), if end_of_turn.is_some() => {}
        }
    }

    /// Removes and returns the next request, if there is one.
    pub(crate) async fn take(&mut self, node: &Node) -> Option<WantedPreview> {
        self.receive();
        // If the reply is closed, the request was cancelled, for example because the user has changed another setting.
        self.here.retain(|next| !next.reply.is_closed());
        let now = Instant::now();
        if self.turn.take_if(|turn| turn.expected_until <= now).is_some() {
            self.elsewhere.look_at = now;
        }
        let claimed = if self.is_elsewhere_next { self.claim(node).await } else { None };
        if claimed.is_some() {
            self.is_elsewhere_next = false;
            return claimed;
        }
        if let Some(next) = self.next_here().and_then(|at| self.here.remove(at)) {
            self.is_elsewhere_next = true;
            return Some(next);
        }
        self.claim(node).await
    }

    /// Returns whether a request for the model waits.
    pub(crate) async fn is_wanted(&mut self, node: &Node, model: &ModelId) -> bool {
        self.receive();
        if self.here.iter().any(|waiting| waiting.model_id == *model && !waiting.reply.is_closed()) {
            return true;
        }
        node.service.is_model_wanted(model).await.unwrap_or_else(|error| {
            tracing::warn!(error = %error, cause = ?error.cause, "looking for previews of a model failed");
            false
        })
    }

    /// Receives the requests of this process that have arrived.
    fn receive(&mut self) {
        while let Ok(next) = self.receiver.try_recv() {
            self.here.push_back(next);
        }
    }

    /// Returns the position of the next request of this process.
    fn next_here(&self) -> Option<usize> {
        let is_next = |next: &WantedPreview| self.turn.as_ref().is_none_or(|turn| turn.model == next.model_id);
        self.here.iter().position(is_next)
    }

    async fn claim(&mut self, node: &Node) -> Option<WantedPreview> {
        let model = self.turn.as_ref().map(|turn| &turn.model);
        if self.elsewhere.look_at > Instant::now() { None } else { self.elsewhere.claim(node, model).await }
    }

    /// Notes that a picture of a model was drawn. `loading` is how long it took if the model was loaded for it in place of
    /// another one.
    pub(crate) fn drawn(&mut self, model: &ModelId, loading: Option<Duration>) {
        let now = Instant::now();
        match (&mut self.turn, loading) {
            (turn, Some(loading)) => *turn = Some(Turn::after_loading(model.clone(), loading, now)),
            (Some(turn), None) => turn.expected_until = turn.until.min(now + turn.gap),
            (None, None) => {}
        }
    }
}

impl Turn {
    fn after_loading(model: ModelId, loading: Duration, now: Instant) -> Self {
        let (until, gap) = (now + loading.min(MAX_TURN), MAX_GAP.min(loading / 4));
        Self { model, until, expected_until: until.min(now + gap), gap }
    }
}

impl Elsewhere {
    /// Claims the next request, if there is one and this worker may claim it. With `model`, only one for this model.
    async fn claim(&mut self, node: &Node, model: Option<&ModelId>) -> Option<WantedPreview> {
        let claimed = if node.may_claim_previews() { node.service.claim_preview(model).await } else { Ok(None) };
        let now = Instant::now();
        let (next, pause) = match claimed {
            Ok(Some(next)) => {
                self.claimed = Some(now);
                (Some(next), Duration::ZERO)
            }
            Ok(None) => (None, self.pause(node, now)),
            Err(error) => {
                tracing::error!(error = %error, cause = ?error.cause, "looking for previews failed");
                (None, ERROR_PAUSE)
            }
        };
        self.look_at = now + pause;
        next
    }

    /// Returns the pause after a poll that found no request.
    fn pause(&self, node: &Node, now: Instant) -> Duration {
        match self.claimed.map(|at| now - at) {
            Some(since) if !node.service.notifies_workers() && since < node.options.preview_idle => {
                if since < BUSY_TIME { BUSY_POLL_INTERVAL } else { POLL_INTERVAL }
            }
            _ => node.options.poll,
        }
    }
}
