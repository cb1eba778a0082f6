//! Maps rows to the objects that they reference, and object paths to the rows that reference them.

use plinth_db::referencing_rows::{Kind, ReferencingRow};
use plinth_db::renders::Render;
use plinth_spec::EnvPart;
use plinth_spec::id::{EnvId, ModelId, OverlayId, RenderId, StagedId, TextureId};
use plinth_spec::state::HlsStatus;
use plinth_store::{ObjectKey, all_hls_prefix, attempt_prefix, hls_prefix, render_prefix};

use crate::delivery::hls::MASTER;
use crate::error::Result;
use crate::jobs::RenderFiles;

/// The objects that a row references.
#[derive(Clone, Debug, Default)]
pub struct References {
    /// Objects that must exist.
    pub required: Vec<String>,
    /// An object that may exist.
    pub optional: Option<String>,
    /// Folders whose objects all belong to the row.
    pub folders: Vec<String>,
    /// Folders in which a worker may be storing files now.
    pub under_way: Vec<String>,
}

impl References {
    /// Returns the objects that a row references.
    /// Errors: this version cannot parse the row.
    pub fn of(row: &ReferencingRow) -> Result<Self> {
        let mut references = Self::default();
        match row {
            ReferencingRow::Model(id) => references.required.push(ObjectKey::Model(id).path()),
            ReferencingRow::Staged(id) => references.optional = Some(ObjectKey::Staged(id).path()),
            ReferencingRow::Overlay(id) => references.required.push(ObjectKey::Overlay(id).path()),
            ReferencingRow::Texture(id) => references.required.push(ObjectKey::Texture(id).path()),
            ReferencingRow::Env(id, has_thumb) => {
                let parts = EnvPart::required().chain(has_thumb.then_some(EnvPart::Thumb));
                references.required.extend(parts.map(|part| ObjectKey::Env(id, part).path()));
            }
            ReferencingRow::Render(render) => references.add_render(render)?,
        }
        Ok(references)
    }

    fn add_render(&mut self, render: &Render) -> Result<()> {
        let files = RenderFiles::of(render)?;
        if let Some(attempt) = render.files_attempt {
            let keys =
                files.stored.keys().map(|file| ObjectKey::Render(&render.id, attempt, *file, files.codec).path());
            self.required.extend(keys);
            match render.hls_status {
                HlsStatus::Ready => {
                    self.required.push(ObjectKey::Hls(&render.id, attempt, render.hls_attempt, MASTER).path());
                    self.folders.push(hls_prefix(&render.id, attempt, render.hls_attempt));
                }
                // The next attempt may get the number of one whose files are in the store already, if the database was restored.
                HlsStatus::Pending | HlsStatus::Processing => self.under_way.push(all_hls_prefix(&render.id, attempt)),
                _ => {}
            }
        } else if let Some(attempt) = render.poster_attempt {
            self.folders.push(attempt_prefix(&render.id, attempt));
        }
        // The next attempt of a render that was restored as unfinished may also get the number of an earlier one.
        if !render.status.is_final() {
            self.under_way.push(render_prefix(&render.id));
        }
        Ok(())
    }

    /// Returns whether the row references an object.
    pub(crate) fn has(&self, path: &str) -> bool {
        self.required.iter().chain(&self.optional).any(|reference| reference == path)
            || self.folders.iter().chain(&self.under_way).any(|folder| path.starts_with(folder.as_str()))
    }
}

/// Returns the table and the identifier of the row to which an object with this path belongs. Returns `None` for a path
/// that the service does not use.
pub(crate) fn referencing_row(path: &str) -> Option<(Kind, &str)> {
    let (folder, rest) = path.split_once('/')?;
    let (id, _part) = rest.split_once('/').unwrap_or((rest, ""));
    let glb = rest.strip_suffix(".glb");
    match folder {
        "models" => glb.filter(|id| ModelId::parse(id).is_some()).map(|id| (Kind::Model, id)),
        "staged" => glb.filter(|id| StagedId::parse(id).is_some()).map(|id| (Kind::Staged, id)),
        "overlays" => OverlayId::parse(rest).map(|_id| (Kind::Overlay, rest)),
        "textures" => TextureId::parse(rest).map(|_id| (Kind::Texture, rest)),
        "envs" => EnvId::parse(id).map(|_id| (Kind::Env, id)),
        "renders" => RenderId::parse(id).map(|_id| (Kind::Render, id)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use plinth_spec::OutputFile;
    use plinth_spec::quality::Codec;

    use super::*;

    #[test]
    fn every_kind_of_key_maps_to_its_row() {
        let id = "r00000000001";
        let render = RenderId::parse(id).unwrap();
        let (model, overlay) = (ModelId::parse(id).unwrap(), OverlayId::parse(id).unwrap());
        let (texture, env) = (TextureId::parse(id).unwrap(), EnvId::parse(id).unwrap());
        let staged = StagedId::parse(id).unwrap();
        let keys = [
            (ObjectKey::Model(&model), Kind::Model),
            (ObjectKey::Staged(&staged), Kind::Staged),
            (ObjectKey::Overlay(&overlay), Kind::Overlay),
            (ObjectKey::Texture(&texture), Kind::Texture),
            (ObjectKey::Env(&env, EnvPart::Thumb), Kind::Env),
            (ObjectKey::Render(&render, 1, OutputFile::Video, Codec::H264), Kind::Render),
            (ObjectKey::Hls(&render, 1, 1, MASTER), Kind::Render),
        ];
        for (key, kind) in keys {
            assert_eq!(referencing_row(&key.path()), Some((kind, id)), "{key:?}");
        }
        for foreign in ["lost+found/x", "README", "models/notes.txt", "models/x/y00000000001.glb", "renders/2024/a.mp4"]
        {
            assert_eq!(referencing_row(foreign), None, "{foreign}");
        }
    }
}
