//! Preview pictures of models for lists.

use plinth_db::renders::{self, Render};
use plinth_spec::OutputFile;
use plinth_spec::id::ModelId;

use super::file::locate;
use crate::access::Caller;
use crate::error::Result;
use crate::service::Service;

/// Maximum number of a model's newest renders that are searched for a video with pictures. Datasets are skipped,
/// because they have no pictures.
const SEARCHED: u32 = 8;

/// Signed links to the pictures of a model's newest finished video.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cover {
    /// Link to the small poster.
    pub poster: String,
    /// Link to the thumbnail video; `None` if the render has none.
    pub thumb: Option<String>,
}

impl Service {
    /// Returns the covers of models, in the order of `ids`: `None` for a model without a finished video.
    pub async fn model_covers(&self, caller: &Caller, ids: &[ModelId]) -> Result<Vec<Option<Cover>>> {
        let mut covers = Vec::with_capacity(ids.len());
        for id in ids {
            let done = renders::newest_done(&mut self.db.read().await?, &caller.workspace_id, id, SEARCHED).await?;
            let mut cover = None;
            for render in &done {
                if let Some(poster) = self.picture_link(render, OutputFile::Poster).await? {
                    cover = Some(Cover { poster, thumb: self.picture_link(render, OutputFile::Thumb).await? });
                    break;
                }
            }
            covers.push(cover);
        }
        Ok(covers)
    }

    /// Creates a link to a file of a render. Returns `None` if the render does not have the file.
    pub(crate) async fn picture_link(&self, render: &Render, file: OutputFile) -> Result<Option<String>> {
        let Some(key) = locate(render, file)? else { return Ok(None) };
        let name = format!("{}-{}", render.id, file.as_str());
        Ok(Some(self.get_link(&key, None, &super::disposition::attachment(&name)).await?.0))
    }
}
