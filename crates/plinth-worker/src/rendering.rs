//! Renders with the same frames: drawn once, stored for each.

use std::collections::BTreeMap;
use std::error::Error;
use std::path::{Path, PathBuf};
use std::time::Instant;

use plinth_pipeline::EnvironmentFiles;
use plinth_pipeline::child::{ChildEvent, ChildTask, RenderTask};
use plinth_service::jobs::{Claim, RenderAssets, RenderFiles};
use plinth_spec::id::EnvId;
use plinth_spec::settings::ParseOptions;
use plinth_spec::state::RenderStatus;
use plinth_spec::{FailureCode, OutputPaths, RenderSettings};
use plinth_store::{EnvPart, ObjectKey};
use tokio::sync::oneshot;
use tokio_util::sync::CancellationToken;

use crate::child::Ended;
use crate::fetch::download;
use crate::hold::Hold;
use crate::job::JobPlan;
use crate::models::{Wanted, cache_folder, fetch_model, home_folder};
use crate::node::Node;
use crate::outage::{retry_database, retry_store};
use crate::outputs::outputs;
use crate::report::{encoded_in_software, report, report_end, took};
use crate::stop::{Stop, or_cut};
use crate::upload::upload_render;

/// Makes a group of renders with the same frames, and reports of each. `kill`: the worker stops, they are given back.
pub(crate) async fn render(node: &Node, claims: &[Claim], kill: &CancellationToken) {
    let cut = kill.child_token();
    let hold = Hold::new(&node.service, claims, cut.clone());
    match make(node, claims, &cut).await {
        Ok(()) => {}
        Err(Stop::Failed(failure)) => {
            metrics::counter!("plinth_worker_failures_total", "code" => failure.code.as_str()).increment(1);
            for claim in claims {
                let tell = || node.service.fail_render(claim, failure.code, &failure.message);
                report_end("failed", &claim.render.id, tell).await;
            }
        }
        Err(Stop::Cut) if kill.is_cancelled() => {
            for claim in claims {
                report_end("given back", &claim.render.id, || node.service.release_render(claim)).await;
            }
        }
        // Whoever ended the leases has ended the renders.
        Err(Stop::Cut) => {}
    }
    drop(hold);
}

/// One render of a group, and what is known of it already.
struct Part<'a> {
    claim: &'a Claim,
    /// The service has heard of its poster.
    has_poster: bool,
    stored: RenderFiles,
}

async fn make(node: &Node, claims: &[Claim], cut: &CancellationToken) -> Result<(), Stop> {
    let Some(first) = claims.first() else { return Ok(()) };
    let settings = read_settings(first)?;
    let files = outputs(&settings);
    let folder = node.scratch.job().map_err(|error| Stop::preparing(&error))?;
    let group = Group { node, cut, folder: folder.path(), files: &files };
    let mut parts: Vec<Part<'_>> = claims
        .iter()
        // One that another worker gave back after its poster goes on as if it were there: it comes again with the rest.
        .map(|claim| {
            let has_poster = claim.render.status == RenderStatus::VideoProcessing;
            Part { claim, has_poster, stored: RenderFiles::none(settings.video().quality.codec()) }
        })
        .collect();
    let begin = Instant::now();
    let task = or_cut(cut, group.prepare(first, &settings)).await?;
    took("fetch", begin);
    let begin = Instant::now();
    let warnings = group.draw(task, &mut parts).await?;
    took("render", begin);
    let begin = Instant::now();
    or_cut(cut, group.store(&mut parts, &warnings)).await?;
    took("upload", begin);
    Ok(())
}

fn read_settings(claim: &Claim) -> Result<RenderSettings, Stop> {
    // Whether a length was allowed was decided when the render was created.
    RenderSettings::from_text(&claim.render.settings, ParseOptions { uncapped_length: true }).map_err(|error| {
        Stop::failed(FailureCode::RendererCrash, format!("this version does not understand the settings: {error}"))
    })
}

struct Group<'a> {
    node: &'a Node,
    cut: &'a CancellationToken,
    folder: &'a Path,
    files: &'a OutputPaths,
}

impl Group<'_> {
    /// Brings everything that the job needs into its folder.
    async fn prepare(&self, claim: &Claim, settings: &RenderSettings) -> Result<RenderTask, Stop> {
        let Node { service, scratch, options, .. } = self.node;
        let model = PathBuf::from("model.glb");
        let lost = |error: &(dyn Error + 'static)| Stop::fetching(FailureCode::ModelDownloadFailed, "the model", error);
        let sha256 = retry_database(options.outage, "the model", || service.model_sha256(claim))
            .await
            .map_err(|error| lost(&error))?;
        let wanted = Wanted { id: &claim.render.model_id, sha256: &sha256 };
        let file = self.folder.join(&model);
        let fetch = || fetch_model(service.store(), scratch, options.cache_bytes, &wanted, &file);
        retry_store(self.node.options.outage, "the model", fetch).await.map_err(|error| lost(&error))?;
        let RenderAssets { env, images } =
            retry_database(options.outage, "the assets", || service.find_render_assets(claim, settings))
                .await
                .map_err(|error| Stop::fetching(FailureCode::OverlayDownloadFailed, "what the settings name", &error))?
                .map_err(|missing| Stop::failed(missing.code, missing.message))?;
        let mut image_files = BTreeMap::new();
        for (id, image) in images {
            let file = PathBuf::from(format!("image-{id}"));
            let (key, place) = (image.key(), self.folder.join(&file));
            retry_store(self.node.options.outage, "an image", || download(service.store(), &key, &place))
                .await
                .map_err(|error| Stop::fetching(FailureCode::OverlayDownloadFailed, "an image", &error))?;
            image_files.insert(id, file);
        }
        Ok(RenderTask {
            model,
            settings: settings.echoed(),
            environment: match env {
                Some(id) => Some(self.fetch_environment(&id).await?),
                None => None,
            },
            images: image_files,
            outputs: self.files.clone(),
            adapter: options.adapter.clone(),
            ffmpeg: options.ffmpeg.clone(),
            cache: Some(cache_folder(scratch, &claim.render.model_id)),
            encoder: self.node.encoder,
            watermark: claim.is_marked(),
            draft: claim.render.is_system_preview,
        })
    }

    async fn fetch_environment(&self, id: &EnvId) -> Result<EnvironmentFiles, Stop> {
        let store = self.node.service.store();
        let fetch = async |part, name: &str| {
            let file = PathBuf::from(name);
            let (key, place) = (ObjectKey::Env(id, part), self.folder.join(&file));
            let fetched =
                retry_store(self.node.options.outage, "the environment", || download(store, &key, &place)).await;
            fetched.map_err(|error| Stop::fetching(FailureCode::EnvDownloadFailed, "the environment", &error))?;
            Ok::<_, Stop>(file)
        };
        Ok(EnvironmentFiles::GainMap {
            sdr: fetch(EnvPart::Sdr, "env.sdr.webp").await?,
            gain_map: fetch(EnvPart::GainMap, "env.gainmap.webp").await?,
            metadata: fetch(EnvPart::Metadata, "env.metadata.json").await?,
        })
    }

    /// Runs the job; posters are stored while the video is still drawn. Returns what the job had no use for.
    async fn draw(&self, task: RenderTask, parts: &mut [Part<'_>]) -> Result<Vec<String>, Stop> {
        let (tell, posters_written) = oneshot::channel();
        let child_cut = self.cut.child_token();
        let options = &self.node.options;
        // One that was paid for has its time, even where a preview has the same frames.
        let are_previews = parts.iter().all(|part| part.claim.render.is_system_preview);
        let time = if are_previews { options.preview_timeout.min(options.timeout) } else { options.timeout };
        let task = ChildTask::Render(Box::new(task));
        let home = parts.first().map(|part| home_folder(&self.node.scratch, &part.claim.render.workspace_id));
        let plan = JobPlan { task, time, folder: self.folder, home };
        let child = self.node.run_child(plan, &child_cut, Some(tell));
        let posters = async {
            // A job that ends without posters drops the sender.
            let Ok(()) = posters_written.await else { return Ok(()) };
            let shown = or_cut(self.cut, self.show_posters(parts)).await;
            if shown.is_err() {
                child_cut.cancel();
            }
            shown
        };
        let (ended, shown) = tokio::join!(child, posters);
        shown?;
        match ended {
            Ended::Done(ChildEvent::Rendered { manifest }) => {
                encoded_in_software(manifest.hardware_failure.as_deref());
                Ok(manifest.warnings)
            }
            Ended::Done(_other) => Err(Stop::failed(FailureCode::RendererCrash, "the renderer made something else")),
            Ended::Failed(failure) => Err(Stop::Failed(failure)),
            Ended::Cut => Err(Stop::Cut),
        }
    }

    /// Stores the posters of those renders that have none yet, and says so.
    async fn show_posters(&self, parts: &mut [Part<'_>]) -> Result<(), Stop> {
        let service = &self.node.service;
        let stills = self.files.iter().filter(|(file, _place)| file.is_still());
        let stills = stills.map(|(file, place)| (*file, place.clone())).collect();
        for part in parts.iter_mut().filter(|part| !part.has_poster) {
            self.upload(part, &stills).await?;
            let id = &part.claim.render.id;
            part.has_poster =
                report(self.node.options.outage, "poster stored", id, || service.poster_stored(part.claim)).await;
        }
        Ok(())
    }

    /// Stores all files of each render, and finishes it.
    async fn store(&self, parts: &mut [Part<'_>], warnings: &[String]) -> Result<(), Stop> {
        self.show_posters(parts).await?;
        let service = &self.node.service;
        for part in parts {
            self.upload(part, self.files).await?;
            let tell = || service.finish_render(part.claim, &part.stored, warnings);
            report(self.node.options.outage, "finished", &part.claim.render.id, tell).await;
        }
        Ok(())
    }

    async fn upload(&self, part: &mut Part<'_>, files: &OutputPaths) -> Result<(), Stop> {
        let uploaded = upload_render(self.node, self.folder, part.claim, files, &mut part.stored).await;
        uploaded.map_err(|error| Stop::storing(&error))
    }
}
