//! Tests of renders that fail, and of their refunds.

use std::os::unix::fs::symlink;
use std::path::PathBuf;
use std::time::Duration;

use plinth_service::admin::{Actor, AssetKind};
use plinth_service::assets::{NewOverlay, NewTexture};
use plinth_spec::FailureCode;
use plinth_spec::state::{HlsStatus, RenderStatus};
use plinth_spec::wire::Render;
use plinth_testkit::{glb_too_large_to_draw, png};
use plinth_worker::WorkerOptions;
use serde_json::json;

use super::deployment::{Deployment, Worker, endless, tiny};
use super::renders::environment;

/// Asserts that the render failed with this code and message and was refunded.
async fn assert_failed(deployment: &Deployment, render: &Render, code: &str, expected: &str) {
    let message = render.error_message.clone().unwrap_or_default();
    let failure_code = render.failure_code.map(FailureCode::as_str);
    assert_eq!((render.status, failure_code), (RenderStatus::Error, Some(code)), "{message}");
    assert!(message.contains(expected), "{message}");
    let scratch = deployment.folder.path().display().to_string();
    assert!(!message.contains(&scratch), "a message contains no local path: {message}");
    assert_eq!(deployment.credits().await, 100, "refunded");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_failure_caused_by_the_model_is_not_refunded() {
    let deployment = Deployment::new().await;
    let settings = json!({"quality": "share", "length": 3});
    let (_, id) = deployment.upload_file("huge", &glb_too_large_to_draw(), Some(settings)).await;
    let render = deployment.render_with_worker(&id, deployment.options()).await;
    assert_eq!((render.status, render.failure_code), (RenderStatus::Error, Some(FailureCode::RendererError)));
    assert!(render.error_message.unwrap().starts_with("nothing can be drawn"));
    assert_eq!(deployment.credits().await, 97);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_clip_that_the_model_lacks_is_a_warning() {
    let deployment = Deployment::new().await;
    let id =
        deployment.upload_and_render("chair", json!({"quality": "share", "animation": "walk", "length": 0.04})).await;
    let render = deployment.render_with_worker(&id, deployment.options()).await;
    assert_eq!(render.status, RenderStatus::Done, "{render:?}");
    assert!(render.warnings.iter().any(|warning| warning.starts_with("animation: ")), "{:?}", render.warnings);
    assert_eq!(deployment.credits().await, 99);
}

/// Returns the warning for the material 'Wood' if the settings assign a texture to it that does not exist.
fn missing_map(texture: &str) -> String {
    format!("materialEdits.Wood: the map is unchanged: the settings name the asset '{texture}', which does not exist")
}

#[tokio::test(flavor = "multi_thread")]
async fn a_model_missing_from_the_store_is_a_failed_download() {
    let deployment = Deployment::new().await;
    let (model, id) = deployment.upload("chair", Some(tiny())).await;
    std::fs::remove_file(deployment.folder.path().join(format!("objects/models/{model}.glb"))).unwrap();
    let render = deployment.render_with_worker(&id, deployment.options()).await;
    assert_failed(&deployment, &render, "model_download_failed", "the model could not be fetched").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_model_deleted_after_the_order_is_still_rendered() {
    let deployment = Deployment::new().await;
    let (model, id) = deployment.upload("chair", Some(tiny())).await;
    deployment.service.delete_model(&deployment.caller, &model).await.unwrap();
    let render = deployment.render_with_worker(&id, deployment.options()).await;
    assert_eq!(render.status, RenderStatus::Done, "{render:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_model_that_was_changed_in_the_store_is_a_failed_download() {
    let deployment = Deployment::new().await;
    let (model, id) = deployment.upload("chair", Some(json!({"quality": "share", "length": 1}))).await;
    std::fs::write(deployment.folder.path().join(format!("objects/models/{model}.glb")), b"glTF and more").unwrap();
    let render = deployment.render_with_worker(&id, deployment.options()).await;
    assert_failed(&deployment, &render, "model_download_failed", "the model could not be fetched").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn assets_in_the_settings_must_exist_and_belong_to_the_workspace() {
    for (settings, code, expected) in [
        (json!({"bgImageId": "abcdefghijkl"}), "overlay_missing", "the overlay 'abcdefghijkl' was deleted or belongs"),
        (
            json!({"envId": "abcdefghijkl"}),
            "env_download_failed",
            "the environment 'abcdefghijkl' was deleted or belongs",
        ),
        (json!({"envId": "../secret"}), "env_download_failed", "the environment '../secret' was deleted"),
    ] {
        let deployment = Deployment::new().await;
        let id = deployment.upload_and_render("chair", settings).await;
        let render = deployment.render_with_worker(&id, deployment.options()).await;
        assert_failed(&deployment, &render, code, expected).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn assets_of_other_workspaces_are_missing() {
    let deployment = Deployment::new().await;
    let eve = deployment.other_caller().await;
    let wall = [200, 30, 40];
    let mut picture = std::io::Cursor::new(Vec::new());
    let wall_of = image::RgbImage::from_pixel(32, 18, image::Rgb(wall));
    wall_of.write_to(&mut picture, image::ImageFormat::Png).unwrap();
    let picture = picture.into_inner();
    let file = Some(deployment.file(&picture).await);
    let overlay = NewOverlay { file, filename: "a.png".to_owned(), ..NewOverlay::default() };
    let overlay = deployment.service.create_overlay(&eve, overlay).await.unwrap().id;
    let file = Some(deployment.file(&picture).await);
    let texture = deployment.service.create_texture(&eve, NewTexture { file, name: None }).await.unwrap().id;
    let env = deployment.service.create_env(&eve, environment(&deployment, [250, 10, 10]).await).await.unwrap().id;
    let (model, _preview) = deployment.upload("chair", None).await;
    let decal = json!({"id": "d", "imageAssetId": overlay, "position": [0, 0, 1], "normal": [0, 0, 1],
                       "euler": [0, 0, 0], "size": 1});
    let worker = deployment.start_worker(deployment.options());
    for (settings, code, expected) in [
        (json!({"bgImageId": overlay}), "overlay_missing", format!("the overlay '{overlay}' was deleted or belongs")),
        (json!({"decals": [decal]}), "overlay_missing", format!("the overlay '{overlay}' was deleted or belongs")),
        (json!({"envId": env}), "env_download_failed", format!("the environment '{env}' was deleted or belongs")),
    ] {
        let id = deployment.render_again(&model, settings, code).await;
        let render = deployment.wait_until_ended(&id).await;
        assert_failed(&deployment, &render, code, &expected).await;
    }
    // After the overlay is published, every account can use it. The texture remains private.
    let publishing =
        deployment.service.set_system_asset(&Actor::Command, AssetKind::Overlay, overlay.as_str(), true, "");
    publishing.await.unwrap();
    let settings = json!({"quality": "share", "length": 0.04, "shadows": false, "bgImageId": overlay,
                          "materialEdits": {"Wood": {"mapAssetId": texture}}});
    let id = deployment.render_again(&model, settings, "published").await;
    let render = deployment.wait_until_ended(&id).await;
    worker.stop().await;
    assert_eq!(render.status, RenderStatus::Done, "{render:?}");
    let about: Vec<&String> = render.warnings.iter().filter(|warning| warning.contains(texture.as_str())).collect();
    assert_eq!(about, [&missing_map(texture.as_str())]);
    let poster = deployment.poster(&id).await;
    assert_eq!((poster.get_pixel(2, 2).0, poster.get_pixel(957, 2).0), (wall, wall));
    assert_eq!(deployment.credits().await, 99);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_overlay_that_cannot_be_downloaded_is_a_failure_and_a_missing_texture_a_warning() {
    let deployment = Deployment::new().await;
    let file = Some(deployment.file(&png(0)).await);
    let overlay = NewOverlay { file, filename: "a.png".to_owned(), ..NewOverlay::default() };
    let overlay = deployment.service.create_overlay(&deployment.caller, overlay).await.unwrap().id;
    let settings = json!({"quality": "share", "length": 0.04, "bgImageId": overlay.as_str(),
                          "materialEdits": {"Wood": {"mapAssetId": "abcdefghijkl"}}});
    let (model, id) = deployment.upload("chair", Some(settings.clone())).await;
    let render = deployment.render_with_worker(&id, deployment.options()).await;
    assert_eq!(render.status, RenderStatus::Done, "{render:?}");
    let about: Vec<&String> = render.warnings.iter().filter(|warning| warning.contains("abcdefghijkl")).collect();
    assert_eq!(about, [&missing_map("abcdefghijkl")]);
    deployment.grant(plinth_spec::funding::Pool::Paid, 1).await;
    std::fs::remove_file(deployment.folder.path().join(format!("objects/overlays/{overlay}"))).unwrap();
    let id = deployment.render_again(&model, settings, "again").await;
    let render = deployment.render_with_worker(&id, deployment.options()).await;
    assert_failed(&deployment, &render, "overlay_download_failed", "an image could not be fetched").await;
}

/// Starts a worker and calls `delete` after the worker has found the assets of a render and before it can download
/// `object`. `delete` must delete the asset of `object`. `earlier` is the name of a file in the job's folder that is
/// downloaded before `object`.
async fn delete_before_download(
    deployment: &Deployment,
    render: &str,
    (earlier, object): (&str, &str),
    delete: impl Future<Output = ()>,
) -> Worker {
    // The worker repeats the download of a link to itself until the link is removed.
    let link = deployment.folder.path().join("objects").join(object);
    std::fs::remove_file(&link).unwrap();
    symlink(&link, &link).unwrap();
    let worker = deployment.start_worker(deployment.options());
    let has_found_assets = || deployment.jobs().iter().any(|job| job.join(earlier).exists());
    deployment.wait_until(render, |_render| has_found_assets()).await;
    delete.await;
    if link.is_symlink() {
        std::fs::remove_file(&link).unwrap();
    }
    worker
}

#[tokio::test(flavor = "multi_thread")]
async fn an_overlay_deleted_before_its_download_is_missing_in_all_renders_with_its_frames() {
    let deployment = Deployment::new().await;
    let mut overlays = Vec::new();
    for shade in [0, 1] {
        let file = Some(deployment.file(&png(shade)).await);
        let overlay = NewOverlay { file, filename: "a.png".to_owned(), ..NewOverlay::default() };
        overlays.push(deployment.service.create_overlay(&deployment.caller, overlay).await.unwrap().id);
    }
    // Images are downloaded in the order of their identifiers.
    overlays.sort();
    let [kept, deleted] = overlays.try_into().unwrap();
    let decal = json!({"id": "d", "imageAssetId": deleted, "position": [0, 0, 1], "normal": [0, 0, 1],
                       "euler": [0, 0, 0], "size": 1});
    let settings = json!({"quality": "share", "length": 0.04, "bgImageId": kept, "decals": [decal]});
    let (model, first) = deployment.upload("chair", Some(settings.clone())).await;
    let mut same_frames = settings;
    same_frames["shadows"] = json!(true);
    let second = deployment.render_again(&model, same_frames, "second").await;
    let delete = async {
        deployment.service.delete_overlay(&deployment.caller, deleted.as_str()).await.unwrap();
    };
    let files = (format!("image-{kept}"), format!("overlays/{deleted}"));
    let worker = delete_before_download(&deployment, &first, (&files.0, &files.1), delete).await;
    let ended = [deployment.wait_until_ended(&first).await, deployment.wait_until_ended(&second).await];
    worker.stop().await;
    for render in &ended {
        let message = format!("the overlay '{deleted}' was deleted or belongs");
        assert_failed(&deployment, render, "overlay_missing", &message).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_texture_deleted_before_its_download_is_a_warning() {
    let deployment = Deployment::new().await;
    let mut textures = Vec::new();
    for shade in [0, 1] {
        let file = Some(deployment.file(&png(shade)).await);
        let texture = NewTexture { file, name: None };
        textures.push(deployment.service.create_texture(&deployment.caller, texture).await.unwrap().id);
    }
    // Images are downloaded in the order of their identifiers.
    textures.sort();
    let [kept, deleted] = textures.try_into().unwrap();
    let settings = json!({"quality": "share", "length": 0.04,
                          "materialEdits": {"Steel": {"mapAssetId": kept}, "Wood": {"mapAssetId": deleted}}});
    let id = deployment.upload_and_render("chair", settings).await;
    let delete = async {
        deployment.service.delete_texture(&deployment.caller, &deleted).await.unwrap();
    };
    let files = (format!("image-{kept}"), format!("textures/{deleted}"));
    let worker = delete_before_download(&deployment, &id, (&files.0, &files.1), delete).await;
    let render = deployment.wait_until_ended(&id).await;
    worker.stop().await;
    assert_eq!(render.status, RenderStatus::Done, "{render:?}");
    let about: Vec<&String> = render.warnings.iter().filter(|warning| warning.contains(&deleted)).collect();
    assert_eq!(about, [&missing_map(&deleted)]);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_environment_deleted_before_its_download_is_named() {
    let deployment = Deployment::new().await;
    let form = environment(&deployment, [250, 10, 10]).await;
    let env = deployment.service.create_env(&deployment.caller, form).await.unwrap().id;
    let id = deployment.upload_and_render("chair", json!({"envId": env})).await;
    let delete = async {
        deployment.service.delete_env(&deployment.caller, &env).await.unwrap();
    };
    let object = format!("envs/{env}/metadata.json");
    let worker = delete_before_download(&deployment, &id, ("env.sdr.webp", &object), delete).await;
    let render = deployment.wait_until_ended(&id).await;
    worker.stop().await;
    let message = format!("the environment '{env}' was deleted or belongs");
    assert_failed(&deployment, &render, "env_download_failed", &message).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn files_that_cannot_be_stored_are_a_failed_upload() {
    let deployment = Deployment::new().await;
    let id = deployment.upload_and_render("chair", tiny()).await;
    std::fs::write(deployment.folder.path().join("objects/renders"), b"where a folder should be").unwrap();
    let options = WorkerOptions { outage: Duration::from_millis(100), ..deployment.options() };
    let render = deployment.render_with_worker(&id, options).await;
    assert_failed(&deployment, &render, "upload_failed", "could not be stored").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_render_is_stored_once_the_store_works_again() {
    let deployment = Deployment::new().await;
    let id = deployment.upload_and_render("chair", tiny()).await;
    let obstacle = deployment.folder.path().join("objects/renders");
    std::fs::write(&obstacle, b"where a folder should be").unwrap();
    let drawn = deployment.folder.path().join("drawn");
    // The process may stay alive after its render, so the script reads its output line by line.
    let note =
        r#""$@" | while read -r line; do case "$line" in *'"rendered"'*) touch DRAWN;; esac; echo "$line"; done"#;
    let note = note.replace("DRAWN", drawn.to_str().unwrap());
    let worker = deployment.start_worker(deployment.options_with(&note));
    let render = deployment.wait_until(&id, |_render| drawn.exists()).await;
    assert_eq!(render.status, RenderStatus::PosterProcessing, "no poster is stored yet");
    std::fs::remove_file(obstacle).unwrap();
    let render = deployment.wait_until_ended(&id).await;
    worker.stop().await;
    assert_eq!(render.status, RenderStatus::Done, "{render:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_killed_job_is_a_renderer_crash() {
    let deployment = Deployment::new().await;
    let id = deployment.upload_and_render("chair", endless()).await;
    let pid = deployment.folder.path().join("pid");
    let options = deployment.options_with(&format!("echo $$ > {}\nexec \"$@\"", pid.display()));
    let worker = deployment.start_worker(options);
    deployment.wait_until(&id, |render| render.status == RenderStatus::VideoProcessing).await;
    let pid = std::fs::read_to_string(pid).unwrap();
    assert!(std::process::Command::new("kill").args(["-KILL", pid.trim()]).status().unwrap().success());
    let render = deployment.wait_until_ended(&id).await;
    worker.stop().await;
    assert_failed(&deployment, &render, "renderer_crash", "the renderer died of signal 9").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_job_that_exits_or_sends_invalid_events_is_a_renderer_crash() {
    let probe = "if ! grep -q '\"render\"' \"$3/job.json\"; then exec \"$@\"; fi";
    for (lines, expected) in [
        ("exit 7", "ended without a result (exit status: 7)"),
        ("echo 'Segmentation fault?'; exec sleep 1000", "sent an invalid event"),
        ("head -c 9000000 /dev/zero | tr '\\0' x; exec sleep 1000", "sent an invalid event"),
    ] {
        let deployment = Deployment::new().await;
        let id = deployment.upload_and_render("chair", tiny()).await;
        let render = deployment.render_with_worker(&id, deployment.options_with(&format!("{probe}\n{lines}"))).await;
        assert_failed(&deployment, &render, "renderer_crash", expected).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn customers_do_not_read_what_the_operator_must_install() {
    let deployment = Deployment::new().await;
    let id = deployment.upload_and_render("chair", tiny()).await;
    let lines = r#"if ! grep -q '"render"' "$3/job.json"; then exec "$@"; fi
        echo '{"event":"failed","code":"encode_failed","message":"install it","customer_message":"please try again"}'"#;
    let render = deployment.render_with_worker(&id, deployment.options_with(lines)).await;
    assert_failed(&deployment, &render, "encode_failed", "please try again").await;
    assert!(!render.error_message.unwrap().contains("install it"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_render_over_its_time_limit_is_killed() {
    let deployment = Deployment::new().await;
    let id = deployment.upload_and_render("chair", endless()).await;
    let options = WorkerOptions { timeout: Duration::from_secs(6), ..deployment.options() };
    let render = deployment.render_with_worker(&id, options).await;
    assert_failed(&deployment, &render, "timeout", "longer than 6 seconds").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_free_preview_has_less_time_than_a_render() {
    let deployment = Deployment::new().await;
    let (_model, preview) = deployment.upload("chair", None).await;
    let options = WorkerOptions { preview_timeout: Duration::ZERO, ..deployment.options() };
    let render = deployment.render_with_worker(&preview, options).await;
    assert_failed(&deployment, &render, "timeout", "longer than 0 seconds").await;
    let id = deployment.upload_and_render("stool", tiny()).await;
    let options = WorkerOptions { preview_timeout: Duration::ZERO, ..deployment.options() };
    assert_eq!(deployment.render_with_worker(&id, options).await.status, RenderStatus::Done);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_test_of_the_machine_may_take_longer_than_a_render() {
    let deployment = Deployment::new().await;
    let id = deployment.upload_and_render("chair", endless()).await;
    let slow = "if ! grep -q '\"render\"' \"$3/job.json\"; then sleep 2; fi\nexec \"$@\"";
    let worker =
        deployment.start_worker(WorkerOptions { timeout: Duration::from_secs(1), ..deployment.options_with(slow) });
    let render = deployment.wait_until(&id, |render| render.status.is_final() || worker.has_ended()).await;
    assert!(!worker.has_ended(), "the worker should wait for renders: {:?}", worker.end().await);
    worker.stop().await;
    assert_failed(&deployment, &render, "timeout", "longer than 1 second").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_render_over_its_memory_limit_is_killed() {
    let deployment = Deployment::new().await;
    let id = deployment.upload_and_render("chair", endless()).await;
    let script = "if ! grep -q '\"render\"' \"$3/job.json\"; then exec \"$@\"; fi\n\
                  exec setsid -w bash -c 'cat /dev/zero | tail -c 700M'";
    let mut options = deployment.options_with(script);
    // The worker's test of ffmpeg needs more than 100 MB.
    options.memory_bytes = 250 << 20;
    let render = deployment.render_with_worker(&id, options).await;
    assert_failed(&deployment, &render, "renderer_crash", "more than 250 MB of memory").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_render_over_its_disk_limit_is_killed() {
    let deployment = Deployment::new().await;
    let id = deployment.upload_and_render("chair", endless()).await;
    // The second file is deleted while it is open.
    let script = "if ! grep -q '\"render\"' \"$3/job.json\"; then exec \"$@\"; fi\n\
                  cd \"$3/out\" && exec setsid -w bash -c 'head -c 30M /dev/zero >1; exec 3>2; rm 2; head -c 30M /dev/zero >&3; sleep 60'";
    let options = WorkerOptions { disk_bytes: 50 << 20, ..deployment.options_with(script) };
    let render = deployment.render_with_worker(&id, options).await;
    assert_failed(&deployment, &render, "renderer_crash", "more than 50 MB of disk space").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cache_that_a_render_has_filled_is_removed() {
    let deployment = Deployment::new().await;
    let id = deployment.upload_and_render("chair", tiny()).await;
    let script = "if ! grep -q '\"render\"' \"$3/job.json\"; then exec \"$@\"; fi\n\
                  head -c 60M /dev/zero >\"$HOME/large\"; exit 1";
    let options = WorkerOptions { disk_bytes: 50 << 20, ..deployment.options_with(script) };
    let own = options.scratch.join("homes").join(deployment.caller.workspace_id.as_str());
    assert_eq!(deployment.render_with_worker(&id, options).await.status, RenderStatus::Error);
    assert!(
        own.join("used").exists() && !own.join("home").exists(),
        "the next render of the workspace would fail, too"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_render_with_many_processes_is_killed() {
    let deployment = Deployment::new().await;
    let id = deployment.upload_and_render("chair", endless()).await;
    let script = "if ! grep -q '\"render\"' \"$3/job.json\"; then exec \"$@\"; fi\n\
                  exec setsid -w bash -c 'for i in $(seq 300); do sleep 60 & done; wait'";
    let render = deployment.render_with_worker(&id, deployment.options_with(script)).await;
    assert_failed(&deployment, &render, "renderer_crash", "more than 256 processes").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_kernel_enforces_the_memory_limit_of_a_render() {
    let deployment = Deployment::new().await;
    let id = deployment.upload_and_render("chair", endless()).await;
    // The script lowers the limit that the kernel enforces below the limit of the worker. The effect is the same as if
    // the job took all memory between two measurements of the worker.
    let bound = "if grep -q '\"render\"' \"$3/job.json\"; then \
                 sed -i 's/\"memoryBytes\":[0-9]*/\"memoryBytes\":90000000/' \"$3/job.json\"; fi\nexec \"$@\"";
    let render = deployment.render_with_worker(&id, deployment.options_with(bound)).await;
    // If a driver gets no memory, it may crash before the program can report the error, as lavapipe of Mesa 25 does.
    let died = render.error_message.as_ref().is_some_and(|message| message.contains("died of signal 11"));
    assert_failed(&deployment, &render, "renderer_crash", if died { "signal" } else { "memory" }).await;
}

/// Runs a worker until it finds no more work. Calls to ffmpeg whose arguments match `pattern` print the message of ffmpeg for a full
/// disk. Then lets the lease of the job expire. Returns the render before this.
async fn leave_on_a_full_disk(deployment: &Deployment, id: &str, pattern: &str) -> Render {
    let lines = format!(
        r#"case "$*" in {pattern}) cat >/dev/null
        echo 'av_interleaved_write_frame(): No space left on device' >&2; exit 1;; esac; exec "$FFMPEG" "$@""#
    );
    let ffmpeg = deployment.ffmpeg_with(&lines);
    let options = WorkerOptions { ffmpeg, exit_when_idle: Some(Duration::ZERO), ..deployment.options() };
    Box::pin(deployment.start_worker(options).end()).await.unwrap();
    let left = deployment.render(id).await;
    deployment.advance_ms(4000);
    assert_eq!(deployment.service.reclaim_expired_leases().await.unwrap().renders, 1, "{left:?}");
    left
}

#[tokio::test(flavor = "multi_thread")]
async fn a_render_returns_to_the_queue_if_ffmpeg_finds_the_disk_full() {
    let deployment = Deployment::new().await;
    let id = deployment.upload_and_render("chair", tiny()).await;
    let left = leave_on_a_full_disk(&deployment, &id, "*960x540*").await;
    assert_eq!((left.status.is_final(), left.failure_code), (false, None), "{left:?}");
    let render = deployment.render_with_worker(&id, deployment.options()).await;
    assert_eq!(render.status, RenderStatus::Done, "{render:?}");
    assert_eq!(deployment.credits().await, 99, "charged once");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_packaging_returns_to_the_queue_if_ffmpeg_finds_the_disk_full() {
    let deployment = Deployment::new().await;
    let id = deployment.upload_and_render("chair", json!({"quality": "share", "length": 0.5})).await;
    let left = leave_on_a_full_disk(&deployment, &id, "*filter_complex*").await;
    assert_eq!((left.status, left.hls_status), (RenderStatus::Done, HlsStatus::Processing));
    let worker = deployment.start_worker(deployment.options());
    deployment.wait_until(&id, |render| render.hls_status == HlsStatus::Ready).await;
    worker.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_packaging_returns_to_the_queue_if_its_files_cannot_be_stored() {
    let deployment = Deployment::new().await;
    let id = deployment.upload_and_render("chair", json!({"quality": "share", "length": 0.5})).await;
    let obstacle = deployment.folder.path().join(format!("objects/renders/{id}/1/hls"));
    let lines = r#"if grep -q '"package"' "$3/job.json"; then touch OBSTACLE; fi; exec "$@""#;
    let options = WorkerOptions {
        outage: Duration::from_millis(100),
        exit_when_idle: Some(Duration::ZERO),
        ..deployment.options_with(&lines.replace("OBSTACLE", obstacle.to_str().unwrap()))
    };
    Box::pin(deployment.start_worker(options).end()).await.unwrap();
    assert_eq!(deployment.render(&id).await.hls_status, HlsStatus::Processing);
    std::fs::remove_file(obstacle).unwrap();
    deployment.advance_ms(4000);
    assert_eq!(deployment.service.reclaim_expired_leases().await.unwrap().renders, 1);
    let worker = deployment.start_worker(deployment.options());
    deployment.wait_until(&id, |render| render.hls_status == HlsStatus::Ready).await;
    worker.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_machine_that_cannot_render_claims_nothing() {
    let deployment = Deployment::new().await;
    let id = deployment.upload_and_render("chair", tiny()).await;
    let options = WorkerOptions { adapter: Some("no such card".to_owned()), ..deployment.options() };
    let error = deployment.start_worker(options).end().await.unwrap_err();
    assert!(error.to_string().starts_with("this machine cannot render; `plinth doctor` says more: "), "{error}");
    assert_eq!(deployment.render(&id).await.status, RenderStatus::Pending);
}

/// Returns the error with which a worker with this ffmpeg ends, and asserts that it has claimed nothing.
async fn rejected_ffmpeg(ffmpeg: PathBuf) -> String {
    let deployment = Deployment::new().await;
    let id = deployment.upload_and_render("chair", tiny()).await;
    let worker = deployment.start_worker(WorkerOptions { ffmpeg, ..deployment.options() });
    let error = Box::pin(worker.end()).await.unwrap_err();
    assert_eq!(deployment.render(&id).await.status, RenderStatus::Pending);
    error.to_string()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_worker_without_ffmpeg_claims_nothing() {
    let error = rejected_ffmpeg("/nowhere/ffmpeg".into()).await;
    assert!(
        error.contains("this machine cannot render") && error.contains("'/nowhere/ffmpeg' cannot be sta"),
        "{error}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_worker_whose_ffmpeg_lacks_an_encoder_claims_nothing_that_needs_it() {
    let deployment = Deployment::new().await;
    for encoder in ["libx264", "prores_ks"] {
        let lines = format!(r#"case "$*" in *{encoder}*) exit 1;; esac; exec "$FFMPEG" "$@""#);
        let error = rejected_ffmpeg(deployment.ffmpeg_with(&lines)).await;
        assert!(error.contains(&format!("cannot encode with {encoder}, which videos need: ")), "{error}");
    }
    // The script still lacks ProRes, which only the quality pro needs.
    let id = deployment.upload_and_render("chair", tiny()).await;
    let (ffmpeg, takes) = (deployment.folder.path().join("ffmpeg"), "share".parse().unwrap());
    let render = deployment.render_with_worker(&id, WorkerOptions { ffmpeg, takes, ..deployment.options() }).await;
    assert_eq!(render.status, RenderStatus::Done, "{render:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_worker_whose_disk_is_full_at_its_start_ends_with_this_reason() {
    let deployment = Deployment::new().await;
    let lines =
        r#"case "$*" in *libx264*) echo "probe.mp4: No space left on device" >&2; exit 1;; esac; exec "$FFMPEG" "$@""#;
    let error = rejected_ffmpeg(deployment.ffmpeg_with(lines)).await;
    assert!(error.contains("cannot encode with libx264, which videos need: the disk with the folder "), "{error}");
    assert!(error.ends_with(" is full: probe.mp4: No space left on device"), "{error}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_worker_with_a_full_disk_empties_its_cache_and_claims_nothing() {
    let deployment = Deployment::new().await;
    let id = deployment.upload_and_render("chair", tiny()).await;
    // If the worker claimed the render, it would fail.
    let fails = "if grep -q '\"render\"' \"$3/job.json\"; then exit 1; fi\nexec \"$@\"";
    let options = WorkerOptions { room_bytes: u64::MAX, ..deployment.options_with(fails) };
    let cached = options.scratch.join("models/model0000000");
    std::fs::create_dir_all(&cached).unwrap();
    let full = deployment.start_worker(options);
    deployment.wait_until(&id, |_render| !cached.exists()).await;
    assert_eq!(deployment.render_with_worker(&id, deployment.options()).await.status, RenderStatus::Done);
    full.stop().await;
}
