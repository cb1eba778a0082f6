//! Creates single renders and batches.

use plinth_spec::id::ModelId;
use plinth_spec::idempotency::ReplayKey;
use plinth_spec::wire::{BatchItem, BatchRender, CreateBatch, CreateRender, CreatedRender};
use plinth_spec::{ErrorCode, limits};

use super::insert::{CreatedOrReplayed, Wanted, insert_renders};
use super::settings::parse_settings;
use super::view::{echoed_settings, is_preview};
use crate::access::Caller;
use crate::error::{Result, ServiceError};
use crate::service::Service;

impl Service {
    /// Creates a render. If an identical request was made before, returns the render of that request instead.
    pub async fn create_render(&self, caller: &Caller, request: CreateRender, key: ReplayKey) -> Result<CreatedRender> {
        let item = BatchItem { model_id: request.model_id, render_settings: request.render_settings };
        let created = self.insert_now(caller, vec![wanted(caller, &item)?], key).await?;
        let [created] =
            <[CreatedOrReplayed; 1]>::try_from(created).map_err(|_several| ServiceError::internal("one render"))?;
        Ok(CreatedRender {
            id: created.render.id.clone(),
            model_id: created.render.model_id.clone(),
            status: created.render.status,
            is_preview: is_preview(&created.render),
            render_settings: echoed_settings(&created.render.settings, created.render.pool)?,
            deduped: created.is_replay.then_some(true),
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
        let wanted = items
            .iter()
            .enumerate()
            .map(|(index, item)| wanted(caller, item).map_err(|error| error.of_render(index, items.len())))
            .collect::<Result<_>>()?;
        let created = self.insert_now(caller, wanted, key).await?;
        let rows = created.into_iter().map(|created| BatchRender {
            is_preview: is_preview(&created.render),
            status: created.render.status,
            id: created.render.id,
            model_id: created.render.model_id,
            deduped: created.is_replay.then_some(true),
        });
        Ok(rows.collect())
    }

    async fn insert_now(&self, caller: &Caller, wanted: Vec<Wanted>, key: ReplayKey) -> Result<Vec<CreatedOrReplayed>> {
        let payer = caller.payer_id.clone();
        let caller = caller.clone();
        let created = self.write_locked(payer, move |tx, now| {
            Box::pin(async move { insert_renders(tx, &caller, wanted, Some(&key), now).await })
        });
        let created = created.await?;
        self.queued.notify_one();
        Ok(created)
    }
}

fn wanted(caller: &Caller, item: &BatchItem) -> Result<Wanted> {
    let missing = || ServiceError::new(ErrorCode::ModelIdRequired, "send the ID of a model in the field 'modelId'");
    let id = item.model_id.as_deref().filter(|id| !id.is_empty()).ok_or_else(missing)?;
    let settings = parse_settings(caller, item.render_settings.as_ref())?;
    let model_id = ModelId::parse(id).ok_or_else(ServiceError::model_not_found)?;
    Ok(Wanted { model_id, settings, is_strict: false })
}
