//! Previews for programs that use the API. Their pictures carry the watermark of free previews, because programs could otherwise
//! make whole videos of previews.

use std::ops::RangeInclusive;

use plinth_spec::limits::{PREVIEW_SIDE_DEFAULT, PREVIEW_SIDE_MAX, PREVIEW_SIDE_MIN};
use plinth_spec::preview::{DatasetCameras, PreviewAnswer, PreviewOptions, PreviewQuestion, SurfacesAtPoint};
use plinth_spec::wire::{DrawPreview, FindCameras, FindSurfaces};
use serde_json::{Map, Value};

use super::Preview;
use crate::access::Caller;
use crate::error::{Result, ServiceError};
use crate::ids::random_text;
use crate::renders::parse_settings;
use crate::service::Service;

/// Length of the random identifier of a request. Requests of the web UI have the identifier of their page instead, and a newer
/// request with the same identifier replaces the older one.
const REQUEST_ID_CHARS: usize = 24;
const SIDES: RangeInclusive<u32> = PREVIEW_SIDE_MIN..=PREVIEW_SIDE_MAX;

impl Service {
    /// Draws a frame of a model for a program, as a PNG with watermark.
    /// Errors: those of [`Self::preview`], or a size or position outside of its range.
    pub async fn draw_preview(&self, caller: &Caller, model: &str, wanted: DrawPreview) -> Result<Vec<u8>> {
        let longest = wanted.longest.unwrap_or(PREVIEW_SIDE_DEFAULT);
        if !SIDES.contains(&longest) {
            let message = format!("longest must be a whole number from {} to {}", SIDES.start(), SIDES.end());
            return Err(ServiceError::bad_request(message));
        }
        let mut preview = request(caller, wanted.render_settings, wanted.position)?;
        preview.options.longest = longest;
        preview.options.is_draft = wanted.draft.unwrap_or(false);
        self.preview(caller, model, preview).await
    }

    /// Finds the surfaces that are visible at a point of a frame.
    /// Errors: those of [`Self::preview`], or a point or position outside of the frame or the video.
    pub async fn find_surfaces(&self, caller: &Caller, model: &str, wanted: FindSurfaces) -> Result<SurfacesAtPoint> {
        // A missing number is rejected like a number outside of the frame.
        let [x, y] = [wanted.x, wanted.y].map(|share| share.unwrap_or(f64::NAN));
        let preview = request(caller, wanted.render_settings, wanted.position)?;
        match self.preview_answer(caller, model, preview, PreviewQuestion::Surfaces { x, y }).await? {
            PreviewAnswer::Surfaces(found) => Ok(found),
            PreviewAnswer::DatasetCameras(_) => Err(other_answer()),
        }
    }

    /// Returns the cameras of a dataset.
    /// Errors: those of [`Self::preview`], or the settings are not those of a dataset.
    pub async fn find_cameras(&self, caller: &Caller, model: &str, wanted: FindCameras) -> Result<DatasetCameras> {
        let preview = request(caller, wanted.render_settings, None)?;
        match self.preview_answer(caller, model, preview, PreviewQuestion::DatasetCameras).await? {
            PreviewAnswer::DatasetCameras(cameras) => Ok(cameras),
            PreviewAnswer::Surfaces(_) => Err(other_answer()),
        }
    }
}

/// Returns a preview with these settings, with a watermark and in the default size.
fn request(caller: &Caller, settings: Option<Value>, position: Option<f64>) -> Result<Preview> {
    if position.is_some_and(|share| !(0.0..=1.0).contains(&share)) {
        return Err(ServiceError::bad_request("position must be a number from 0 to 1"));
    }
    // Settings that are no object are rejected here, because the next step takes an object.
    parse_settings(caller, settings.as_ref())?;
    let settings = match settings {
        Some(Value::Object(settings)) => settings,
        _ => Map::new(),
    };
    let page_id = random_text(REQUEST_ID_CHARS);
    let options =
        PreviewOptions { longest: PREVIEW_SIDE_DEFAULT, position, watermark: true, ..PreviewOptions::default() };
    Ok(Preview { settings, options, page_id })
}

fn other_answer() -> ServiceError {
    ServiceError::internal("the answer to another question")
}
