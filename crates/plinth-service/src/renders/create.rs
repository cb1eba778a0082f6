//! Creates single renders and batches.

use plinth_spec::id::ModelId;
use plinth_spec::idempotency::ReplayKey;
use plinth_spec::wire::{BatchItem, BatchRender, CreateBatch, CreateRender, CreatedRender};
use plinth_spec::{ErrorCode, limits};

use super::place::{Placed, Wanted, place};
use super::settings::parse_settings;
use super::view::{echoed_settings, is_preview};
use crate::access::Caller;
use crate::error::{Result, ServiceError};
use crate::service::Service;

impl Service {
    /// Creates a render. Returns the earlier render instead if an identical request created one before.
    pub async fn create_render(&self, caller: &Caller, request: CreateRender, key: ReplayKey) -> Result<CreatedRender> {
        let item = BatchItem { model_id: request.model_id, render_settings: request.render_settings };
        let placed = self.place_now(caller, vec![wanted(caller, &item)?], key).await?;
        let [placed] = <[Placed; 1]>::try_from(placed).map_err(|_several| ServiceError::internal("one render"))?;
        Ok(CreatedRender {
            id: placed.render.id.clone(),
            model_id: placed.render.model_id.clone(),
            status: placed.render.status,
            is_preview: is_preview(&placed.render),
            render_settings: echoed_settings(&placed.render.settings, placed.render.pool)?,
            deduped: placed.is_replay.then_some(true),
        })
    }

    /// Creates a batch of up to 100 renders. If one item is invalid, no render is created.
    pub async fn create_batch(
        &self,
        caller: &Caller,
        request: CreateBatch,
        key: ReplayKey,
    ) -> Result<Vec<BatchRender>> {
        let missing = || {
            ServiceError::new(ErrorCode::RendersRequired, "send a list of at least one render in the field 'renders'")
        };
        let items = request.renders.filter(|items| !items.is_empty()).ok_or_else(missing)?;
        if items.len() > limits::BATCH_ITEMS {
            let message = format!("a batch has at most {} renders, not {}", limits::BATCH_ITEMS, items.len());
            return Err(ServiceError::new(ErrorCode::TooMany, message));
        }
        let wanted = items.iter().map(|item| wanted(caller, item)).collect::<Result<_>>()?;
        let placed = self.place_now(caller, wanted, key).await?;
        let rows = placed.into_iter().map(|placed| BatchRender {
            is_preview: is_preview(&placed.render),
            status: placed.render.status,
            id: placed.render.id,
            model_id: placed.render.model_id,
            deduped: placed.is_replay.then_some(true),
        });
        Ok(rows.collect())
    }

    async fn place_now(&self, caller: &Caller, wanted: Vec<Wanted>, key: ReplayKey) -> Result<Vec<Placed>> {
        let payer = caller.payer_id.clone();
        let caller = caller.clone();
        let placed = self.write_locked(payer, move |tx, now| {
            Box::pin(async move { place(tx, &caller, wanted, Some(&key), now).await })
        });
        let placed = placed.await?;
        self.placed.notify_one();
        Ok(placed)
    }
}

fn wanted(caller: &Caller, item: &BatchItem) -> Result<Wanted> {
    let missing = || ServiceError::new(ErrorCode::ModelIdRequired, "send the ID of a model in the field 'modelId'");
    let id = item.model_id.as_deref().filter(|id| !id.is_empty()).ok_or_else(missing)?;
    let settings = parse_settings(caller, item.render_settings.as_ref())?;
    let model_id = ModelId::parse(id).ok_or_else(ServiceError::model_not_found)?;
    Ok(Wanted { model_id, settings, is_strict: false })
}
