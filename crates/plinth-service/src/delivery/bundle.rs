//! All files of a render in one ZIP.

use plinth_spec::ErrorCode;
use plinth_spec::state::RenderStatus;
use plinth_store::{BlobStream, BundleEntry, ObjectKey, RenderFile, bundle_length, bundle_stream};

use crate::access::Caller;
use crate::error::{Result, ServiceError};
use crate::jobs::RenderFiles;
use crate::service::Service;

/// A ZIP that is made as it is read.
pub struct Bundle {
    /// Its length.
    pub length: u64,
    /// Its name.
    pub name: String,
    /// Its content.
    pub content: BlobStream,
}

impl Service {
    /// Video, web video, poster and thumbnail video of a finished render.
    pub async fn render_bundle(&self, caller: &Caller, id: &str) -> Result<Bundle> {
        let render = self.render_row(caller, id).await?;
        let missing = || ServiceError::new(ErrorCode::VideoNotFound, "the render has no video, or not yet");
        let files = RenderFiles::of(&render)?;
        let attempt = render.files_attempt.filter(|_| render.status == RenderStatus::Done && files.video.is_some());
        let attempt = attempt.ok_or_else(missing)?;
        let wanted = [RenderFile::Video(files.codec()), RenderFile::Web, RenderFile::FullPoster, RenderFile::Thumb];
        let entries: Vec<BundleEntry<'_>> = wanted
            .into_iter()
            .filter_map(|file| {
                let stored = files.get(file)?.into();
                let key = ObjectKey::Render(&render.id, attempt, file);
                Some(BundleEntry { name: file.name().to_owned(), key, stored })
            })
            .collect();
        let name = format!("{}.zip", render.id);
        Ok(Bundle { length: bundle_length(&entries), name, content: bundle_stream(&self.store, &entries) })
    }
}
