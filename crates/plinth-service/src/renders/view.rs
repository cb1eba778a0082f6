//! Converts renders to their API form.

use plinth_db::renders;
use plinth_spec::OutputFile;
use plinth_spec::funding::Pool;
use plinth_spec::state::{HlsStatus, RenderStatus};
use plinth_spec::wire::{Render, Timestamp};
use serde_json::Value;

use crate::error::{Result, ServiceError};
use crate::jobs::RenderFiles;

/// Returns the settings as the request contained them. Adds `preview: true` if the free pool paid for the render.
pub(crate) fn echoed_settings(settings: &str, pool: Option<Pool>) -> Result<Value> {
    let mut settings: Value = serde_json::from_str(settings).map_err(ServiceError::internal)?;
    if pool == Some(Pool::Free)
        && let Some(members) = settings.as_object_mut()
    {
        members.insert("preview".to_owned(), Value::Bool(true));
    }
    Ok(settings)
}

/// Returns whether the free pool paid for the render.
pub(super) fn is_preview(render: &renders::Render) -> bool {
    render.pool == Some(Pool::Free)
}

/// Converts a render to its API form.
pub(crate) fn view(render: &renders::Render) -> Result<Render> {
    let files = RenderFiles::of(render)?;
    let size = |file| files.get(file).map(|stored| stored.size);
    let warnings: Vec<String> = serde_json::from_str(&render.warnings).map_err(ServiceError::internal)?;
    let failed = render.status == RenderStatus::Error;
    Ok(Render {
        id: render.id.clone(),
        model_id: render.model_id.clone(),
        status: render.status,
        render_settings: echoed_settings(&render.settings, render.pool)?,
        file_size: size(OutputFile::Video),
        error_message: render.error_message.clone(),
        failure_code: render.failure_code.filter(|_code| failed),
        has_web_variant: size(OutputFile::Web).is_some(),
        has_thumb: size(OutputFile::Thumb).is_some(),
        is_preview: is_preview(render),
        is_system_preview: render.is_system_preview,
        unlocked_at: None,
        progress: render.state().progress,
        hls_status: render.hls_status,
        hls_ready: render.hls_status == HlsStatus::Ready,
        dataset_zip_size: size(OutputFile::Dataset),
        warnings,
        created_at: Timestamp(render.created_at),
        updated_at: Timestamp(render.updated_at),
    })
}
