//! Files of models and renders.

use std::borrow::Cow;
use std::ops::Range;

use plinth_db::renders::Render;
use plinth_spec::settings::{Output, ParseOptions};
use plinth_spec::state::RenderStatus;
use plinth_spec::{ErrorCode, RenderSettings};
use plinth_store::{Blob, BlobStream, ObjectKey, RenderFile};

use super::disposition::attachment;
use crate::access::Caller;
use crate::error::{Result, ServiceError};
use crate::jobs::RenderFiles;
use crate::service::Service;

/// A file to hand out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Delivery {
    pub(super) path: String,
    /// Size, and what changes with the content.
    pub blob: Blob,
    /// What it is served as.
    pub content_type: Cow<'static, str>,
    /// `Content-Disposition`, where it is a download.
    pub disposition: Option<String>,
}

/// A file of a render that can be asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RenderOutput {
    /// The video.
    Video,
    /// The web video.
    Web,
    /// The thumbnail video.
    Thumb,
    /// The poster in full size.
    FullPoster,
    /// The small poster.
    Poster,
    /// The dataset.
    Dataset,
}

impl RenderOutput {
    /// The file, given how the render's video is encoded.
    pub(super) const fn file(self, files: RenderFiles) -> RenderFile {
        match self {
            Self::Video => RenderFile::Video(files.codec()),
            Self::Web => RenderFile::Web,
            Self::Thumb => RenderFile::Thumb,
            Self::FullPoster => RenderFile::FullPoster,
            Self::Poster => RenderFile::Poster,
            Self::Dataset => RenderFile::Dataset,
        }
    }

    fn missing(self) -> ServiceError {
        let (code, what) = match self {
            Self::Video | Self::Web => (ErrorCode::VideoNotFound, "video"),
            Self::Thumb => (ErrorCode::ThumbNotFound, "thumbnail video"),
            Self::FullPoster | Self::Poster => (ErrorCode::PosterNotFound, "poster"),
            Self::Dataset => (ErrorCode::DatasetNotFound, "dataset"),
        };
        ServiceError::new(code, format!("the render has no {what}, or not yet"))
    }
}

/// Where a file of a render lies: posters as soon as they are stored, everything else when all is done.
pub(super) fn locate(render: &Render, output: RenderOutput) -> Result<Option<(i64, RenderFile)>> {
    let files = RenderFiles::of(render)?;
    let file = output.file(files);
    if render.status == RenderStatus::Done {
        let attempt = render.files_attempt.filter(|_attempt| files.get(file).is_some());
        return Ok(attempt.map(|attempt| (attempt, file)));
    }
    let is_early = matches!(output, RenderOutput::Poster | RenderOutput::FullPoster) && !render.status.is_final();
    let Some(attempt) = render.poster_attempt.filter(|_attempt| is_early) else { return Ok(None) };
    // A dataset has none, although its views are marked as drawn in the same way.
    let settings = RenderSettings::from_text(&render.settings, ParseOptions { uncapped_length: true });
    let is_video = settings.map_err(ServiceError::internal)?.video().output == Output::Video;
    Ok(is_video.then_some((attempt, file)))
}

impl Service {
    /// A model's GLB.
    pub async fn model_file(&self, caller: &Caller, id: &str) -> Result<Delivery> {
        let model = self.model_row(caller, id).await?;
        let missing = || ServiceError::new(ErrorCode::FileNotFound, "the model's file is missing from storage");
        let disposition = Some(attachment(&model.original_name));
        self.deliver(&ObjectKey::Model(&model.id), disposition).await?.ok_or_else(missing)
    }

    /// A file of a render.
    pub async fn render_file(&self, caller: &Caller, id: &str, output: RenderOutput) -> Result<Delivery> {
        let render = self.render_row(caller, id).await?;
        let (attempt, file) = locate(&render, output)?.ok_or_else(|| output.missing())?;
        let key = ObjectKey::Render(&render.id, attempt, file);
        self.deliver(&key, None).await?.ok_or_else(|| output.missing())
    }

    pub(super) async fn deliver(&self, key: &ObjectKey<'_>, disposition: Option<String>) -> Result<Option<Delivery>> {
        let blob = self.store.find(key).await?;
        let content_type = Cow::Borrowed(key.content_type());
        Ok(blob.map(|blob| Delivery { path: key.path(), blob, content_type, disposition }))
    }

    /// The content of a file, or a part of it.
    pub async fn open_delivery(&self, delivery: &Delivery, range: Option<Range<u64>>) -> Result<BlobStream> {
        Ok(self.store.read_path(&delivery.path, range).await?)
    }
}
