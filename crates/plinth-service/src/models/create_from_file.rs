//! The steps that all kinds of upload share: check the file, store it, then create the model and its render in one
//! transaction.

use plinth_db::models::{self, Contents, Model};
use plinth_db::{Tx, model_contents, renders, staged};
use plinth_spec::id::{ModelId, RenderId, StagedId};
use plinth_spec::state::ModelStatus;
use plinth_spec::wire::UploadResult;
use plinth_spec::{ErrorCode, RenderSettings};
use plinth_store::ObjectKey;

use super::check::{Checked, Format};
use super::incoming::ReceivedFile;
use super::storage_limit::check_model_storage;
use super::upload::Uploaded;
use crate::access::Caller;
use crate::error::{Result, ServiceError};
use crate::ids::New as _;
use crate::renders::{
    Wanted, check_free_uploads, check_funds, free_uploads_since, insert_renders, insert_system_preview,
};
use crate::service::Service;
use crate::write::Inserted;

/// A file that was received, by an upload or by a download.
#[derive(Debug)]
pub(crate) struct ReceivedModel {
    pub file: ReceivedFile,
    pub name: String,
    pub format: Format,
    /// Settings of the render. An upload without settings gets a free preview.
    pub settings: Option<RenderSettings>,
    /// Error code for a file that is not a valid model.
    pub code: ErrorCode,
    /// The staged upload to mark as finalized, if the file was a staged upload.
    pub staged: Option<StagedId>,
}

impl Service {
    /// Creates a model and a render from a file. If the workspace has an active model with the same file, only creates
    /// a render of this model.
    // Source: Spec, Upload and finalize rules, 1 to 3.
    pub(super) async fn create_from_file(&self, caller: &Caller, received: ReceivedModel) -> Result<Uploaded> {
        match &received.settings {
            Some(settings) => self.check_funds_early(caller, settings).await?,
            None if self.may_have_preview(caller, &received).await? => {}
            None => self.check_free_upload(caller).await?,
        }
        let creation = Creation {
            caller: caller.clone(),
            sha256: received.file.sha256.clone(),
            new_model: None,
            settings: received.settings,
            staged: received.staged,
            free_per_day: self.options.free_uploads_per_day,
            most_bytes: self.options.account_storage_bytes,
        };
        // If an active model has the same file, the file was checked at its first upload and is not checked again. A ZIP
        // is always converted, because only its GLB can be compared with stored files.
        if received.format == Format::Glb {
            if let Some(uploaded) = self.run(&creation).await? {
                return Ok(uploaded);
            }
            self.check_storable(caller, received.file.size).await?;
        }
        let checked = self.check_model(&caller.payer_id, received.file, received.format, received.code).await?;
        let (model, names) = new_model(caller, received.name, &checked)?;
        let contents = serde_json::to_string(&checked.contents).map_err(ServiceError::internal)?;
        let creation = Creation { sha256: model.sha256.clone(), ..creation };
        if received.format == Format::Zip {
            if let Some(uploaded) = self.run(&creation).await? {
                return Ok(uploaded);
            }
            self.check_storable(caller, model.file_size).await?;
        }
        let key = ObjectKey::Model(&model.id);
        let (prefix, files) = (key.path(), [(key, checked.glb.path())]);
        let creation = Creation { new_model: Some((model.clone(), names, contents)), ..creation };
        let inserting = self.store_referenced(caller, prefix, &files, |tx, now| {
            Box::pin(async move {
                let created = creation.run(tx, now).await?;
                let created =
                    created.ok_or_else(|| ServiceError::internal("no model was created for a stored file"))?;
                Ok(if created.is_new { Inserted::Referenced(created) } else { Inserted::Unneeded(created) })
            })
        });
        let created = inserting.await?;
        self.queued.notify_one();
        Ok(created)
    }

    /// Creates a render of the existing model with this file. Returns `None` if no active model has the file.
    async fn run(&self, creation: &Creation) -> Result<Option<Uploaded>> {
        let attempt = creation.clone();
        let uploaded =
            self.write_locked(creation.caller.payer_id.clone(), |tx, now| Box::pin(attempt.run(tx, now))).await?;
        if uploaded.is_some() {
            self.queued.notify_one();
        }
        Ok(uploaded)
    }

    /// Returns whether a model with this file may already have a free preview. Always returns true for a ZIP, because only
    /// its converted GLB can be compared with stored files.
    async fn may_have_preview(&self, caller: &Caller, received: &ReceivedModel) -> Result<bool> {
        if received.format == Format::Zip {
            return Ok(true);
        }
        let mut conn = self.db.read().await?;
        let known = models::find_active_by_sha256(&mut conn, &caller.workspace_id, &received.file.sha256).await?;
        let Some(model) = known else { return Ok(false) };
        Ok(renders::find_system_preview(&mut conn, &model).await?.is_some())
    }

    /// Rejects an upload early if the balance does not cover its render.
    pub(super) async fn check_funds_early(&self, caller: &Caller, settings: &RenderSettings) -> Result<()> {
        let wanted = Wanted::of_upload(ModelId::new_random(), settings.clone());
        check_funds(&mut self.db.read().await?, &caller.payer_id, &wanted).await
    }

    /// Rejects an upload early if the account has used up its free previews.
    pub(super) async fn check_free_upload(&self, caller: &Caller) -> Result<()> {
        let mut conn = self.db.read().await?;
        let now = self.options.clock.now_ms(&mut conn).await?;
        let used = renders::count_system_previews(&mut conn, &caller.payer_id, free_uploads_since(now)).await?;
        check_free_uploads(used, self.options.free_uploads_per_day)
    }
}

/// The transaction that creates a model and its first render.
#[derive(Clone, Debug)]
struct Creation {
    caller: Caller,
    /// Hex SHA-256 of the model's file.
    sha256: String,
    /// Model to insert if no active model has the file, with its names, and its other contents as JSON. The file of this model
    /// is already in the store.
    new_model: Option<(Model, Contents, String)>,
    settings: Option<RenderSettings>,
    staged: Option<StagedId>,
    free_per_day: u32,
    /// Maximum total size of the models of the paying account, in bytes.
    most_bytes: u64,
}

impl Creation {
    /// Creates the model and the render. The transaction must have locked the paying account. Returns `None` and
    /// changes nothing if no model has the file and `new_model` is `None`.
    async fn run(self, tx: &mut Tx, now: i64) -> Result<Option<Uploaded>> {
        let known = models::find_active_by_sha256(tx, &self.caller.workspace_id, &self.sha256).await?;
        if known.is_none() && self.new_model.is_none() {
            return Ok(None);
        }
        if let Some(staged) = &self.staged
            && !staged::finalize(tx, staged, now).await?
        {
            return Err(ServiceError::new(ErrorCode::NotFound, "this upload was already finalized"));
        }
        let (id, is_new) = match (known, &self.new_model) {
            (Some(known), _) => (known, false),
            (None, Some((model, names, contents))) => {
                check_model_storage(tx, &self.caller.payer_id, model.file_size, self.most_bytes).await?;
                models::insert(tx, &Model { created_at: now, updated_at: now, ..model.clone() }, names).await?;
                model_contents::insert(tx, &model.id, contents).await?;
                (model.id.clone(), true)
            }
            (None, None) => return Ok(None),
        };
        let render_id = self.insert_render(tx, &id, now).await?;
        let result = UploadResult { model_id: id, render_id, duplicate: (!is_new).then_some(true) };
        Ok(Some(Uploaded { result, is_new }))
    }

    async fn insert_render(self, tx: &mut Tx, model: &ModelId, now: i64) -> Result<RenderId> {
        let Some(settings) = self.settings else {
            return insert_system_preview(tx, &self.caller, model, self.free_per_day, now).await;
        };
        let wanted = Wanted::of_upload(model.clone(), settings);
        let created = insert_renders(tx, &self.caller, vec![wanted], None, now).await?;
        let first = created.into_iter().next().ok_or_else(|| ServiceError::internal("one render"))?;
        Ok(first.render.id)
    }
}

fn new_model(caller: &Caller, name: String, checked: &Checked) -> Result<(Model, Contents)> {
    let json = |names: &[String]| serde_json::to_string(names).map_err(ServiceError::internal);
    let contents = Contents {
        animations: serde_json::to_string(&checked.animations).map_err(ServiceError::internal)?,
        mesh_names: Some(json(&checked.mesh_names)?),
        material_names: Some(json(&checked.material_names)?),
    };
    let model = Model {
        id: ModelId::new_random(),
        workspace_id: caller.workspace_id.clone(),
        original_name: glb_name(name),
        title: None,
        sku: None,
        tags: Vec::new(),
        file_size: checked.glb.size,
        sha256: checked.glb.sha256.clone(),
        animation_count: checked.animations.len() as u64,
        status: ModelStatus::Active,
        created_at: 0,
        updated_at: 0,
    };
    Ok((model, contents))
}

/// Replaces the extension of the name of a ZIP with `.glb`, because the stored file, which clients can download, is a
/// GLB.
fn glb_name(name: String) -> String {
    match name.rsplit_once('.') {
        Some((stem, extension)) if extension.eq_ignore_ascii_case("zip") => format!("{stem}.glb"),
        _ => name,
    }
}
