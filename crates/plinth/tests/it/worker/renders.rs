//! Tests of successful renders.

use plinth_db::queue;
use plinth_db::renders::{self, Render};
use plinth_service::assets::{EnvPartFile, NewEnv};
use plinth_spec::funding::Pool;
use plinth_spec::id::RenderId;
use plinth_spec::state::{HlsStatus, RenderStatus};
use plinth_spec::{EnvPart, OutputFile};
use plinth_testkit::probe;
use plinth_worker::WorkerOptions;
use serde_json::{Value, json};

use super::deployment::{Deployment, tiny};

#[tokio::test(flavor = "multi_thread")]
async fn a_render_stores_all_its_files_and_is_packaged() {
    let deployment = Deployment::new().await;
    let id = deployment.upload_and_render("chair", json!({"quality": "share", "length": 0.5})).await;
    let worker = deployment.start_worker(deployment.options());
    let render = deployment.wait_until_ended(&id).await;
    assert_eq!((render.status, &render.error_message), (RenderStatus::Done, &None));
    assert!(render.has_web_variant && render.has_thumb && render.file_size > Some(1000), "{render:?}");
    let outputs = [
        (OutputFile::Video, "video/mp4"),
        (OutputFile::Web, "video/mp4"),
        (OutputFile::Thumb, "video/mp4"),
        (OutputFile::FullPoster, "image/png"),
        (OutputFile::Poster, "image/png"),
    ];
    for (output, kind) in outputs {
        let file = deployment.service.render_file(&deployment.caller, &id, output).await.unwrap();
        assert_eq!(file.content_type, kind);
        assert!(file.blob.size > 500, "{output:?}: {}", file.blob.size);
    }
    let packaged = deployment
        .wait_until(&id, |render| render.hls_status != HlsStatus::Pending && !is_packaging(render.hls_status));
    assert_eq!(packaged.await.hls_status, HlsStatus::Ready);
    for name in ["master.m3u8", "thumbnails.vtt"] {
        deployment.service.hls_file(&deployment.caller, &id, name).await.unwrap();
    }
    worker.stop().await;
    assert_eq!(deployment.jobs(), Vec::<std::path::PathBuf>::new(), "the folders of the jobs are deleted");
    assert_eq!(deployment.credits().await, 99);
}

#[tokio::test(flavor = "multi_thread")]
async fn compiled_shaders_are_kept_for_the_next_render_of_a_workspace() {
    let deployment = Deployment::new().await;
    let id = deployment.upload_and_render("chair", tiny()).await;
    let worker = deployment.start_worker(WorkerOptions { adapter: Some("cpu".to_owned()), ..deployment.options() });
    deployment.wait_until_ended(&id).await;
    worker.stop().await;
    let home = deployment.options().scratch.join("homes").join(deployment.caller.workspace_id.as_str()).join("home");
    let cache = std::fs::read_dir(home.join(".cache")).unwrap().map(|entry| entry.unwrap().path());
    let kept: Vec<_> = cache.flat_map(|folder| std::fs::read_dir(folder).unwrap()).collect();
    assert!(!kept.is_empty(), "the driver has stored compiled shaders");
}

fn is_packaging(status: HlsStatus) -> bool {
    status == HlsStatus::Processing
}

#[tokio::test(flavor = "multi_thread")]
async fn each_tier_and_aspect_has_its_size() {
    let deployment = Deployment::new().await;
    let (model, _preview) = deployment.upload("chair", None).await;
    let mut wanted = Vec::new();
    for (aspect, size) in [("16:9", (960, 540)), ("1:1", (540, 540)), ("9:16", (540, 960))] {
        let settings = json!({"quality": "share", "length": 0.04, "aspect": aspect});
        wanted.push((deployment.render_again(&model, settings, aspect).await, aspect, size));
    }
    let worker = deployment.start_worker(deployment.options());
    for (id, aspect, (width, height)) in wanted {
        let render = deployment.wait_until_ended(&id).await;
        assert_eq!(render.status, RenderStatus::Done, "{render:?}");
        let video = deployment.folder.path().join("video.mp4");
        std::fs::write(&video, deployment.content(&id, OutputFile::Video).await).unwrap();
        let (stream, _file) = probe(&video);
        assert_eq!((&stream["width"], &stream["height"]), (&json!(width), &json!(height)), "{aspect}");
        assert_eq!(deployment.poster(&id).await.dimensions(), (width, height), "{aspect}");
    }
    worker.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn equal_frames_are_drawn_once_and_stored_for_each() {
    let deployment = Deployment::new().await;
    let (model, first) = deployment.upload("chair", Some(tiny())).await;
    let again = json!({"quality": "share", "length": 0.04, "shadows": true});
    let second = deployment.render_again(&model, again, "second").await;
    let other = deployment.render_again(&model, json!({"quality": "share", "length": 0.08}), "other").await;
    let worker = deployment.start_worker(deployment.options_that_log_tasks());
    let ended = [
        deployment.wait_until_ended(&first).await,
        deployment.wait_until_ended(&second).await,
        deployment.wait_until_ended(&other).await,
    ];
    worker.stop().await;
    assert!(ended.iter().all(|render| render.status == RenderStatus::Done), "{ended:?}");
    assert_eq!(ended[0].file_size, ended[1].file_size);
    assert_eq!(deployment.render_tasks().len(), 2, "two of the three renders share their frames");
    for id in [&first, &second] {
        deployment.service.render_file(&deployment.caller, id, OutputFile::Video).await.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn only_previews_and_free_renders_are_watermarked() {
    let deployment = Deployment::new().await;
    let (model, preview) = deployment.upload("chair", None).await;
    let paid = deployment.render_again(&model, tiny(), "paid").await;
    deployment.grant(Pool::Paid, -99).await;
    deployment.grant(Pool::Free, 10).await;
    let free = deployment.render_again(&model, tiny(), "free").await;
    let worker = deployment.start_worker(deployment.options_that_log_tasks());
    let ended = [
        deployment.wait_until_ended(&preview).await,
        deployment.wait_until_ended(&paid).await,
        deployment.wait_until_ended(&free).await,
    ];
    worker.stop().await;
    assert!(ended.iter().all(|render| render.status == RenderStatus::Done), "{ended:?}");
    assert_eq!((ended[0].is_system_preview, ended[0].hls_status), (true, HlsStatus::Skipped));
    assert_eq!((ended[1].is_preview, ended[2].is_preview), (false, true));
    let tasks = deployment.render_tasks();
    let tasks = tasks.iter().map(|task| (&task["settings"]["length"], &task["watermark"], &task["draft"]));
    // The free preview has the lowest priority.
    let expected = [
        (&json!(0.04), &json!(false), &json!(false)),
        (&json!(0.04), &json!(true), &json!(false)),
        (&Value::Null, &json!(true), &json!(true)),
    ];
    assert_eq!(tasks.collect::<Vec<_>>(), expected);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_free_render_with_the_frames_of_a_system_preview_is_no_draft() {
    let deployment = Deployment::new().await;
    let (_model, cancelled) = deployment.upload("chair", Some(tiny())).await;
    let id = RenderId::parse(&cancelled).unwrap();
    let mut conn = deployment.service.db().read().await.unwrap();
    let render = renders::find_anywhere(&mut conn, &id).await.unwrap().unwrap();
    drop(conn);
    deployment.service.cancel_render(&deployment.caller, &cancelled).await.unwrap();
    let [preview, free] = ["preview00000", "free00000000"].map(|id| RenderId::parse(id).unwrap());
    // The account of the free render is not in the queue, so that the preview is claimed first.
    let other = deployment.other_caller().await.account_id;
    let rows = [
        Render { id: preview.clone(), is_system_preview: true, pool: None, credits: 0, ..render.clone() },
        Render { id: free.clone(), payer_id: other, pool: Some(Pool::Free), ..render },
    ];
    let inserting = deployment.service.db().write(move |tx| {
        Box::pin(async move {
            renders::insert_all(tx, &rows).await?;
            queue::enter(tx, queue::Kind::Render, [rows[0].work_class], &rows[0].payer_id).await
        })
    });
    inserting.await.unwrap();
    let worker = deployment.start_worker(deployment.options_that_log_tasks());
    for id in [&preview, &free] {
        let render = deployment.wait_until_ended(id.as_str()).await;
        assert_eq!(render.status, RenderStatus::Done, "{render:?}");
    }
    worker.stop().await;
    let drafts: Vec<_> = deployment.render_tasks().iter().map(|task| task["draft"].clone()).collect();
    assert_eq!(drafts, [json!(false)], "the renders share their frames");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_environment_of_the_workspace_lights_the_model() {
    let deployment = Deployment::new().await;
    let (model, _preview) = deployment.upload("chair", None).await;
    let mut colors = Vec::new();
    let worker = deployment.start_worker(deployment.options());
    for color in [[250, 10, 10], [10, 10, 250]] {
        let env =
            deployment.service.create_env(&deployment.caller, environment(&deployment, color).await).await.unwrap().id;
        let settings = json!({"quality": "share", "length": 0.04, "envId": env, "shadows": false,
                              "spotlightIntensity": 0, "lightsIntensity": 0, "ambientIntensity": 0});
        let id = deployment.render_again(&model, settings, &env).await;
        let render = deployment.wait_until_ended(&id).await;
        assert_eq!(render.status, RenderStatus::Done, "{render:?}");
        // A pixel inside of the triangle, whose right angle is at the lower left.
        colors.push(deployment.poster(&id).await.get_pixel(440, 310).0);
    }
    worker.stop().await;
    let [[r1, _, b1], [r2, _, b2]] = colors.try_into().unwrap();
    assert!(r1 > b1 + 40 && b2 > r2 + 40, "{r1} {b1} {r2} {b2}");
}

/// Returns the form of a single-colour environment. Its gain map has no effect.
pub(super) async fn environment(deployment: &Deployment, color: [u8; 3]) -> NewEnv {
    let webp = |color| {
        let mut bytes = std::io::Cursor::new(Vec::new());
        image::RgbImage::from_pixel(16, 8, image::Rgb(color)).write_to(&mut bytes, image::ImageFormat::WebP).unwrap();
        bytes.into_inner()
    };
    let [zero, one] = [[0.0; 3], [1.0; 3]];
    let metadata = json!({"gamma": one, "hdrCapacityMin": 0.0, "hdrCapacityMax": 1.0, "offsetSdr": zero,
                          "offsetHdr": zero, "gainMapMin": zero, "gainMapMax": zero});
    let parts = [
        (EnvPart::Sdr, webp(color)),
        (EnvPart::GainMap, webp([0; 3])),
        (EnvPart::Metadata, metadata.to_string().into_bytes()),
    ];
    let mut new = NewEnv::default();
    for (part, bytes) in parts {
        new.files.push(EnvPartFile { part, file: deployment.file(&bytes).await });
    }
    new
}

#[tokio::test(flavor = "multi_thread")]
async fn a_dataset_stores_its_zip() {
    let deployment = Deployment::new().await;
    let id = deployment.upload_and_render("chair", json!({"output": "dataset", "datasetQuality": "100x800"})).await;
    let render = deployment.render_with_worker(&id, deployment.options()).await;
    assert_eq!(render.status, RenderStatus::Done, "{render:?}");
    assert!(render.dataset_zip_size > Some(1_000_000) && render.file_size.is_none(), "{render:?}");
    assert_eq!(render.hls_status, HlsStatus::Skipped);
    let file = deployment.service.render_file(&deployment.caller, &id, OutputFile::Dataset).await.unwrap();
    assert_eq!((file.content_type.as_ref(), Some(file.blob.size)), ("application/zip", render.dataset_zip_size));
    assert_eq!(deployment.credits().await, 60);
}

#[tokio::test(flavor = "multi_thread")]
async fn two_workers_run_each_render_once() {
    let deployment = Deployment::with_postgres_and_s3().await;
    let (model, first) = deployment.upload("chair", Some(tiny())).await;
    let mut ids = vec![first];
    for n in 2..=8 {
        let settings = json!({"quality": "share", "length": f64::from(n) * 0.04});
        ids.push(deployment.render_again(&model, settings, &n.to_string()).await);
    }
    let workers =
        ["a", "b"].map(|name| deployment.start_worker(WorkerOptions { name: name.to_owned(), ..deployment.options() }));
    for id in &ids {
        let render = deployment.wait_until_ended(id).await;
        assert_eq!(render.status, RenderStatus::Done, "{render:?}");
    }
    for id in &ids {
        deployment.wait_until(id, |render| render.hls_ready).await;
    }
    for worker in workers {
        worker.stop().await;
    }
    let mut conn = deployment.service.db().read().await.unwrap();
    for id in &ids {
        let row = renders::find_anywhere(&mut conn, &RenderId::parse(id).unwrap()).await.unwrap().unwrap();
        assert_eq!((row.attempt, row.files_attempt, row.hls_attempt), (1, Some(1), 1));
    }
    deployment.credits().await;
}
