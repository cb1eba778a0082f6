//! Downloads of model files and output files of renders.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::ops::Range;

use plinth_db::renders::Render;
use plinth_spec::settings::ParseOptions;
use plinth_spec::state::RenderStatus;
use plinth_spec::{ErrorCode, OutputFile, RenderSettings};
use plinth_store::{Blob, BlobStream, ObjectKey};

use super::disposition::attachment;
use crate::access::Caller;
use crate::error::{Result, ServiceError};
use crate::jobs::RenderFiles;
use crate::service::Service;

/// A file to send to the caller.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Delivery {
    pub(crate) path: String,
    /// Metadata of the stored file, such as size and ETag.
    pub blob: Blob,
    /// MIME type of the response.
    pub content_type: Cow<'static, str>,
    /// Value of the header `Content-Disposition`; `None` if the client should display the file instead of saving it.
    pub disposition: Option<String>,
}

/// Returns the error for a file that a render does not have.
fn missing(file: OutputFile) -> ServiceError {
    let (code, noun) = file.declaration().missing;
    ServiceError::new(code, format!("the render has no {noun}, or it is not ready yet"))
}

/// Returns the store key of a render's file, or `None` if the file is not available. The poster is available as soon as
/// it is stored. All other files are available when the render is done.
pub(super) fn locate(render: &Render, file: OutputFile) -> Result<Option<ObjectKey<'_>>> {
    let files = RenderFiles::of(render)?;
    let key = |attempt| ObjectKey::Render(&render.id, attempt, file, files.codec);
    if render.status == RenderStatus::Done {
        return Ok(render.files_attempt.filter(|_attempt| files.get(file).is_some()).map(key));
    }
    let is_early = file.is_still() && !render.status.is_final();
    let Some(attempt) = render.poster_attempt.filter(|_attempt| is_early) else { return Ok(None) };
    // A dataset passes through the state `poster-done`, too, but has no poster.
    let settings = RenderSettings::from_text(&render.settings, ParseOptions { uncapped_length: true });
    let output = settings.map_err(ServiceError::internal)?.video().output;
    Ok(OutputFile::all_of(output).any(|one| one == file).then(|| key(attempt)))
}

impl Service {
    /// Finds the GLB of a model.
    pub async fn model_file(&self, caller: &Caller, id: &str) -> Result<Delivery> {
        let model = self.model_row(caller, id).await?;
        let missing = || ServiceError::new(ErrorCode::FileNotFound, "the model's file is missing from storage");
        let disposition = Some(attachment(&model.original_name));
        self.deliver(&ObjectKey::Model(&model.id), disposition).await?.ok_or_else(missing)
    }

    /// Finds an output file of a render.
    pub async fn render_file(&self, caller: &Caller, id: &str, file: OutputFile) -> Result<Delivery> {
        let render = self.render_row(caller, id).await?;
        let key = locate(&render, file)?.ok_or_else(|| missing(file))?;
        self.deliver(&key, None).await?.ok_or_else(|| missing(file))
    }

    /// Lists the files of a render with their sizes in bytes. The list is empty until the render is done.
    pub async fn list_render_files(&self, caller: &Caller, id: &str) -> Result<Vec<(OutputFile, u64)>> {
        let render = self.render_row(caller, id).await?;
        let files =
            if render.status == RenderStatus::Done { RenderFiles::of(&render)?.stored } else { BTreeMap::new() };
        Ok(files.into_iter().map(|(file, stored)| (file, stored.size)).collect())
    }

    pub(crate) async fn deliver(&self, key: &ObjectKey<'_>, disposition: Option<String>) -> Result<Option<Delivery>> {
        let blob = self.store.find(key).await?;
        let content_type = Cow::Borrowed(key.content_type());
        Ok(blob.map(|blob| Delivery { path: key.path(), blob, content_type, disposition }))
    }

    /// Opens the content of a file. With `range`, opens only these bytes.
    /// Errors: `not_found` if the file was deleted after it was found.
    pub async fn open_delivery(&self, delivery: &Delivery, range: Option<Range<u64>>) -> Result<BlobStream> {
        self.store.read_path(&delivery.path, range).await.map_err(|error| {
            if error.is_not_found() {
                ServiceError::new(ErrorCode::NotFound, "the file was deleted")
            } else {
                error.into()
            }
        })
    }
}
