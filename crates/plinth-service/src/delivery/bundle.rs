//! Bundles: the files of a render as one ZIP archive.

use plinth_spec::state::RenderStatus;
use plinth_spec::{ErrorCode, OutputFile};
use plinth_store::{BlobStream, BundleEntry, ObjectKey, bundle_length, bundle_stream};

use crate::access::Caller;
use crate::error::{Result, ServiceError};
use crate::jobs::RenderFiles;
use crate::service::Service;

/// A ZIP archive that is generated while it is read.
pub struct Bundle {
    /// Length in bytes.
    pub length: u64,
    /// File name.
    pub name: String,
    /// Content of the archive.
    pub content: BlobStream,
}

impl Service {
    /// Bundles the files of a finished video into a ZIP archive.
    pub async fn render_bundle(&self, caller: &Caller, id: &str) -> Result<Bundle> {
        let render = self.render_row(caller, id).await?;
        let missing =
            || ServiceError::new(ErrorCode::VideoNotFound, "the render has no video, or its video is not ready yet");
        let files = RenderFiles::of(&render)?;
        let has_video = render.status == RenderStatus::Done && files.get(OutputFile::Video).is_some();
        let attempt = render.files_attempt.filter(|_attempt| has_video).ok_or_else(missing)?;
        let bundled = files.stored.iter().filter(|(file, _stored)| file.declaration().is_bundled);
        let entries: Vec<BundleEntry<'_>> = bundled
            .map(|(file, stored)| BundleEntry {
                name: file.file_name(files.codec),
                key: ObjectKey::Render(&render.id, attempt, *file, files.codec),
                stored: (*stored).into(),
            })
            .collect();
        let name = format!("{}.zip", render.id);
        Ok(Bundle { length: bundle_length(&entries), name, content: bundle_stream(&self.store, &entries) })
    }
}
