//! The worker's side of remote previews: claims requests, renews their leases while they are drawn, and stores the pictures.

use std::sync::Arc;
use std::time::Duration;

use plinth_db::DbError;
use plinth_db::previews::{self, ClaimTimes, Lease, Request, RequestKey};
use plinth_spec::RenderSettings;
use plinth_spec::id::ModelId;
use plinth_spec::preview::PreviewOptions;
use plinth_spec::settings::ParseOptions;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use tokio::sync::oneshot;
use tokio::time::sleep;

use super::{DRAWING_LEASE_MS, HOLDING_MS, MAX_WAIT_MS, RESERVED_MS};
use crate::error::{Result, ServiceError};
use crate::jobs::first_line;
use crate::previews::{MAX_PICTURE_BYTES, PreviewProblem, PreviewReply, PreviewTicket, WantedPreview};
use crate::service::Service;

/// Interval at which a worker renews the lease of a request that it draws.
const RENEWAL_INTERVAL: Duration = Duration::from_millis(DRAWING_LEASE_MS.unsigned_abs() / 3);

/// The part of a request that is stored as JSON. Workspace, payer and model have columns of their own, and the worker looks up the
/// assets.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Travelling {
    sha256: String,
    settings: Value,
    #[serde(flatten)]
    options: PreviewOptions,
}

impl Travelling {
    pub(super) fn of(wanted: WantedPreview) -> Self {
        // All fields are listed, so that the compiler reports a new field.
        let WantedPreview { workspace_id: _, ticket: _, model_id: _, sha256, settings, assets: _, options, reply: _ } =
            wanted;
        Self { sha256, settings: settings.echoed(), options }
    }

    pub(super) fn to_text(&self) -> Result<String> {
        serde_json::to_string(self).map_err(ServiceError::internal)
    }
}

impl Service {
    /// Claims a preview that another process has requested. Returns `None` if no request waits. The result that the caller sends
    /// to [`WantedPreview::reply`] is stored for the other process. If the caller drops `reply`, another worker draws the preview. With `model`,
    /// claims only a preview of this model.
    pub async fn claim_preview(&self, model: Option<&ModelId>) -> Result<Option<WantedPreview>> {
        while let Some(request) = self.claim_request(model).await? {
            match self.wanted(&request).await {
                Ok((wanted, drawn)) => {
                    let service = self.clone();
                    tokio::spawn(async move { service.hold_until_drawn(request.key, drawn).await });
                    return Ok(Some(wanted));
                }
                Err(problem) => self.store_drawn(&request.key, Err(problem)).await?,
            }
        }
        Ok(None)
    }

    /// Returns whether a preview of the model, which another process has requested, waits for a worker.
    pub async fn is_model_wanted(&self, model: &ModelId) -> Result<bool> {
        let mut conn = self.db.read().await?;
        let times = times(self.options.clock.now_ms(&mut conn).await?);
        Ok(previews::is_model_wanted(&mut conn, model, times).await?)
    }

    /// Stores in the database that this worker has unloaded a model.
    pub async fn model_unloaded(&self, model: &ModelId) -> Result<()> {
        let (token, model) = (self.arrivals.token.clone(), model.clone());
        let deleted =
            self.write_lease(move |tx, _now| Box::pin(async move { previews::unload(tx, &model, &token).await }));
        Ok(deleted.await.map(drop)?)
    }

    async fn claim_request(&self, model: Option<&ModelId>) -> Result<Option<Request>> {
        if !self.db.is_shared() {
            // Workers poll SQLite. This read finds out whether a claim is necessary, because a claim is a write transaction, and
            // SQLite runs only one write transaction at a time.
            let mut conn = self.db.read().await?;
            let times = times(self.options.clock.now_ms(&mut conn).await?);
            if !previews::is_any_open(&mut conn, times).await? {
                return Ok(None);
            }
        }
        let (token, model) = (self.arrivals.token.clone(), model.cloned());
        let claimed = self.write_lease(move |tx, now| {
            Box::pin(async move {
                let lease = Lease { token: &token, until: now + DRAWING_LEASE_MS };
                previews::claim(tx, lease, times(now), model.as_ref()).await
            })
        });
        Ok(claimed.await?)
    }

    /// Reads a stored request. Returns the preview to draw, and the receiver of its result.
    /// Errors: the reason why the request cannot be drawn.
    async fn wanted(
        &self,
        request: &Request,
    ) -> std::result::Result<(WantedPreview, oneshot::Receiver<PreviewReply>), PreviewProblem> {
        let unreadable = |error: &dyn std::error::Error| {
            tracing::error!(error = %error, "this version of the worker cannot read the request for a preview");
            PreviewProblem::Internal
        };
        let read: Travelling = serde_json::from_str(&request.request).map_err(|error| unreadable(&error))?;
        let settings = RenderSettings::from_json(&read.settings, ParseOptions { uncapped_length: true });
        let settings = settings.map_err(|error| unreadable(&error))?;
        // The assets may have changed since the request was stored, so they are looked up now.
        let assets = self.find_assets(&request.workspace_id, &settings).await.map_err(|error| {
            tracing::error!(error = %error, cause = ?error.cause, "the assets of a preview cannot be looked up");
            PreviewProblem::Internal
        })?;
        let assets = assets.map_err(|missing| PreviewProblem::OfRequest(missing.message))?;
        let (reply, drawn) = oneshot::channel();
        let wanted = WantedPreview {
            workspace_id: request.workspace_id.clone(),
            ticket: PreviewTicket { payer_id: request.payer_id.clone(), request: Some(request.key.clone()) },
            model_id: request.key.model_id.clone(),
            sha256: read.sha256,
            settings,
            assets,
            options: read.options,
            reply,
        };
        Ok((wanted, drawn))
    }

    /// Renews the lease of a request until the worker has drawn it, then stores the picture.
    async fn hold_until_drawn(&self, key: RequestKey, mut drawn: oneshot::Receiver<PreviewReply>) {
        let ended = loop {
            tokio::select! {
                drawn = &mut drawn => break match drawn {
                    Ok(drawn) => self.store_drawn(&key, drawn).await,
                    Err(_dropped) => self.release_request(&key).await,
                },
                () = sleep(RENEWAL_INTERVAL) => match self.renew_request(&key).await {
                    Ok(true) => {}
                    // The receiver is dropped, so the worker sees that the request was withdrawn.
                    Ok(false) => return,
                    // The lease may expire; then another worker draws the preview.
                    Err(error) => tracing::warn!(error = %error, "the lease of a preview could not be renewed"),
                },
            }
        };
        if let Err(error) = ended {
            tracing::error!(error = %error, cause = ?error.cause, "a drawn preview could not be stored");
        }
    }

    async fn renew_request(&self, key: &RequestKey) -> Result<bool> {
        let (key, token) = (key.clone(), self.arrivals.token.clone());
        let renewed = self.write_lease(move |tx, now| {
            Box::pin(
                async move { previews::renew(tx, &key, Lease { token: &token, until: now + DRAWING_LEASE_MS }).await },
            )
        });
        Ok(renewed.await?)
    }

    async fn store_drawn(&self, key: &RequestKey, drawn: PreviewReply) -> Result<()> {
        let drawn = match drawn {
            Ok(picture) if picture.len() as u64 > MAX_PICTURE_BYTES => {
                tracing::error!(bytes = picture.len(), "the picture of a preview is too large");
                Err(PreviewProblem::Internal)
            }
            drawn => drawn.map(Arc::<[u8]>::from).map_err(storable),
        };
        let (key, token) = (key.clone(), self.arrivals.token.clone());
        let stored = self.write_lease(move |tx, now| {
            Box::pin(async move {
                let lease = Lease { token: &token, until: now + HOLDING_MS };
                // If the picture was not stored, the request was withdrawn or replaced.
                if !previews::finish(tx, &key, lease, &drawn).await? {
                    previews::end_withdrawn(tx, &key, &token, now).await?;
                }
                Ok::<_, DbError>(())
            })
        });
        Ok(stored.await?)
    }

    async fn release_request(&self, key: &RequestKey) -> Result<()> {
        let (key, token) = (key.clone(), self.arrivals.token.clone());
        let released =
            self.write_lease(move |tx, _now| Box::pin(async move { previews::release(tx, &key, &token).await }));
        Ok(released.await?)
    }
}

/// Returns a problem in the form in which it is stored. Its message may quote settings or a model.
fn storable(problem: PreviewProblem) -> PreviewProblem {
    match problem {
        PreviewProblem::OfRequest(message) => PreviewProblem::OfRequest(first_line(&message)),
        PreviewProblem::Internal => PreviewProblem::Internal,
    }
}

const fn times(now: i64) -> ClaimTimes {
    ClaimTimes { now, unreserved_until: now - RESERVED_MS, abandoned_until: now - MAX_WAIT_MS }
}

#[cfg(test)]
mod tests {
    use plinth_spec::preview::PreviewQuestion;
    use serde_json::json;

    use super::*;

    #[test]
    fn a_request_of_a_later_version_can_be_read() {
        let text = r#"{"sha256":"ab","settings":{"zoom":2},"longest":640,"isDraft":true,"position":0.5,"hologram":1}"#;
        let read: Travelling = serde_json::from_str(text).unwrap();
        let settings = json!({"zoom": 2});
        let options = PreviewOptions { longest: 640, is_draft: true, position: Some(0.5), ..PreviewOptions::default() };
        let expected = Travelling { sha256: "ab".to_owned(), settings, options };
        assert_eq!(read, expected);
    }

    #[test]
    fn a_request_arrives_with_its_question() {
        for question in [PreviewQuestion::Surfaces { x: 0.25, y: 1.0 }, PreviewQuestion::DatasetCameras] {
            let options =
                PreviewOptions { longest: 640, watermark: true, question: Some(question), ..PreviewOptions::default() };
            let sent = Travelling { sha256: "ab".to_owned(), settings: json!({"zoom": 2}), options };
            assert_eq!(serde_json::from_str::<Travelling>(&sent.to_text().unwrap()).unwrap(), sent);
        }
    }
}
