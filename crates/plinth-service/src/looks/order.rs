//! Finds out to which models a look can be applied.

use plinth_db::models;
use plinth_spec::id::ModelId;
use plinth_spec::state::ModelStatus;

use crate::access::Caller;
use crate::error::Result;
use crate::ids::random_text;
use crate::service::Service;

/// Length of the idempotency key of an order.
const KEY_CHARS: usize = 24;

/// A model that was chosen for an order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Candidate {
    /// Identifier, as it was passed to [`Service::order_candidates`].
    pub id: String,
    /// Display name; empty if there is no such model.
    pub name: String,
    /// Reason why the model cannot be rendered; `None` if the model can be rendered.
    pub problem: Option<&'static str>,
}

/// Returns an idempotency key for a form, so that its renders are ordered only once if the form is sent several times.
pub fn new_order_key() -> String {
    random_text(KEY_CHARS)
}

impl Service {
    /// Looks up models that were chosen for an order, and finds out which of them cannot be rendered. Returns a model once, even
    /// if `ids` contains it several times.
    pub async fn order_candidates(&self, caller: &Caller, ids: &[&str]) -> Result<Vec<Candidate>> {
        let mut conn = self.db.read().await?;
        let mut candidates: Vec<Candidate> = Vec::with_capacity(ids.len());
        for id in ids {
            if candidates.iter().any(|known| known.id == *id) {
                continue;
            }
            let model = match ModelId::parse(id) {
                Some(id) => models::find(&mut conn, &caller.workspace_id, &id).await?,
                None => None,
            };
            let problem = match model.as_ref().map(|model| model.status) {
                Some(ModelStatus::Active) => None,
                Some(ModelStatus::Archived) => Some("it is archived; unarchive it first"),
                Some(ModelStatus::Deleted) | None => Some("there is no such model in this workspace"),
            };
            let name = model.map(|model| model.title.unwrap_or(model.original_name)).unwrap_or_default();
            candidates.push(Candidate { id: (*id).to_owned(), name, problem });
        }
        Ok(candidates)
    }
}
