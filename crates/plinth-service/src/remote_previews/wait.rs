//! The server's side of remote previews: stores the request and waits for the picture.

use std::sync::Arc;
use std::time::Duration;

use plinth_db::is_preview_worker_listening;
use plinth_db::previews::{self, Request, RequestKey, State};
use plinth_spec::ErrorCode;
use plinth_spec::id::AccountId;
use tokio::sync::Notify;
use tokio::time::{Instant, sleep};

use super::claim::Travelling;
use super::{MAX_WAIT_MS, RESERVED_MS};
use crate::access::Caller;
use crate::error::{Result, ServiceError};
use crate::ids::random_text;
use crate::previews::{WantedPreview, not_drawn};
use crate::service::Service;

const REQUEST_ID_CHARS: usize = 16;
/// Interval at which the state of a request is read in addition to notifications, because the worker that draws the preview
/// may be lost.
const CHECK_INTERVAL: Duration = Duration::from_secs(1);
/// Interval at which the state of a request is read if the database sends no notifications.
const POLL_INTERVAL: Duration = Duration::from_millis(10);
/// Time after which an unclaimed request fails if there is no worker that draws previews.
const NOBODY_AFTER: Duration = Duration::from_secs(5);
/// Time after which an unclaimed request fails if all workers that draw previews are busy.
const BUSY_AFTER: Duration = Duration::from_secs(30);

/// A request that waits for its picture. Dropping this value withdraws the request, so that no worker draws it any more.
struct Waiting {
    service: Service,
    key: RequestKey,
    arrival: Arc<Notify>,
    is_open: bool,
}

impl Service {
    /// Requests a preview from the workers of other processes and waits for the result.
    /// Errors: no worker claims the request in time, or the preview cannot be drawn.
    pub(crate) async fn draw_elsewhere(
        &self,
        caller: &Caller,
        page_id: String,
        wanted: WantedPreview,
    ) -> Result<Vec<u8>> {
        let waiting = Waiting::of(self, &caller.account_id, page_id, &wanted);
        let request = Request {
            key: waiting.key.clone(),
            workspace_id: wanted.workspace_id.clone(),
            payer_id: caller.payer_id.clone(),
            request: Travelling::of(wanted).to_text()?,
        };
        let inserting =
            self.write_at(move |tx, now| Box::pin(async move { previews::insert(tx, &request, now).await }));
        inserting.await?;
        // If the worker of this process has started in the meantime, it claims the request.
        self.arrivals.requested.notify_one();
        waiting.picture().await
    }

    /// Returns whether a worker draws previews, as far as the database knows.
    async fn is_any_preview_worker(&self) -> Result<bool> {
        let mut conn = self.db.read().await?;
        if is_preview_worker_listening(&mut conn).await? == Some(true) {
            return Ok(true);
        }
        // Workers do not listen on SQLite, which has no notifications. Such a worker is known only while it draws a preview or has a
        // model loaded.
        let now = self.options.clock.now_ms(&mut conn).await?;
        Ok(previews::is_any_leased(&mut conn, now).await?)
    }
}

impl Waiting {
    fn of(service: &Service, account: &AccountId, page_id: String, wanted: &WantedPreview) -> Self {
        let request_id = random_text(REQUEST_ID_CHARS);
        let arrival = service.arrivals.expect(&request_id);
        let (account_id, model_id) = (account.clone(), wanted.model_id.clone());
        let key = RequestKey { account_id, model_id, page_id, request_id };
        Self { service: service.clone(), key, arrival, is_open: true }
    }

    /// Waits for the picture.
    async fn picture(mut self) -> Result<Vec<u8>> {
        let (begin, mut unclaimed_since, mut called_at) = (Instant::now(), Instant::now(), Instant::now());
        loop {
            let pause = if self.service.arrivals.is_listening() { CHECK_INTERVAL } else { POLL_INTERVAL };
            tokio::select! {
                () = self.arrival.notified() => {}
                () = sleep(pause) => {}
            }
            match self.state().await? {
                State::Drawn(drawn) => return drawn.map_err(not_drawn),
                State::Replaced => {
                    self.is_open = false;
                    return Err(ServiceError::bad_request("a newer preview of this model has replaced this one")
                        .with_status(409));
                }
                State::Drawing => unclaimed_since = Instant::now(),
                State::Waiting => {
                    let waited = unclaimed_since.elapsed();
                    if waited > NOBODY_AFTER && !self.service.is_any_preview_worker().await? {
                        return Err(ServiceError::new(ErrorCode::NotFound, "no worker draws previews at the moment"));
                    }
                    if waited > BUSY_AFTER {
                        return Err(busy());
                    }
                    if called_at.elapsed() > Duration::from_millis(RESERVED_MS.unsigned_abs()) {
                        called_at = Instant::now();
                        self.service.db.write(|tx| Box::pin(previews::call_workers(tx))).await?;
                    }
                }
            }
            if begin.elapsed() > Duration::from_millis(MAX_WAIT_MS.unsigned_abs()) {
                return Err(busy());
            }
        }
    }

    async fn state(&self) -> Result<State> {
        let mut conn = self.service.db.read().await?;
        let now = self.service.options.clock.now_ms(&mut conn).await?;
        Ok(previews::find_state(&mut conn, &self.key, now).await?)
    }
}

fn busy() -> ServiceError {
    let message = "the workers that draw previews are busy; please try again";
    let error = ServiceError::new(ErrorCode::RateLimited, message);
    ServiceError { retry_after_secs: Some(BUSY_AFTER.as_secs()), ..error }
}

impl Drop for Waiting {
    fn drop(&mut self) {
        self.service.arrivals.forget(&self.key.request_id);
        // If there is no runtime, the process is ending. Maintenance then deletes the row.
        let Ok(runtime) = tokio::runtime::Handle::try_current() else { return };
        if !self.is_open {
            return;
        }
        let (db, key) = (self.service.db.clone(), self.key.clone());
        runtime.spawn(async move {
            let closing = db.write(move |tx| Box::pin(async move { previews::close(tx, &key).await }));
            if let Err(error) = closing.await {
                tracing::warn!(error = %error, "the row of a preview could not be cleared; the cleanup deletes it");
            }
        });
    }
}
