//! Tests of downloads, HLS streams and signed links.

use bytes::Bytes;
use futures_util::StreamExt as _;
use plinth_db::link_secrets::{self, LinkSecret};
use plinth_db::{storage, workspaces};
use plinth_service::delivery::LocalLink;
use plinth_service::jobs::{Claim, RenderFiles};
use plinth_spec::quality::Codec;
use plinth_spec::settings::Output;
use plinth_spec::{ErrorCode, OutputFile, limits};
use plinth_store::{BlobStream, ObjectKey};
use plinth_testkit::{glb_with_triangle, on_both_databases};
use serde_json::json;
use url::Url;

use crate::model_storage::{CHEAP, team_with};
use crate::test_service::{self, TestService, code, files_of, some_files, upload};

async fn all(mut stream: BlobStream) -> Vec<u8> {
    let mut out = Vec::new();
    while let Some(piece) = stream.next().await {
        out.extend(piece.unwrap());
    }
    out
}

/// Stores output files as a worker does.
async fn store(test_service: &TestService, claim: &Claim, files: &RenderFiles) {
    for file in files.stored.keys() {
        let key = ObjectKey::Render(&claim.render.id, claim.render.attempt, *file, files.codec);
        test_service.service.store().put(&key, Bytes::from_static(b"abc")).await.unwrap();
    }
}

async fn files_are_available_after_the_worker_reports_them(address: &str) {
    let test_service = TestService::new(address).await;
    let (service, caller) = (&test_service.service, &test_service.caller);
    let id = test_service.upload("chair", Some("{}")).await.unwrap().result.render_id.to_string();
    let get = async |output| service.render_file(caller, &id, output).await;
    assert_eq!(code(get(OutputFile::Video).await), ErrorCode::VideoNotFound);
    assert_eq!(code(get(OutputFile::Web).await), ErrorCode::VideoNotFound);
    assert_eq!(code(get(OutputFile::Thumb).await), ErrorCode::ThumbNotFound);
    assert_eq!(code(get(OutputFile::Poster).await), ErrorCode::PosterNotFound);
    assert_eq!(code(get(OutputFile::Dataset).await), ErrorCode::DatasetNotFound);
    assert_eq!(code(service.render_bundle(caller, &id).await.map(drop)), ErrorCode::VideoNotFound);
    assert_eq!(code(service.download_url(caller, &id, None, None).await), ErrorCode::AssetNotFound);
    assert_eq!(code(service.download_url(caller, &id, Some("hls"), None).await), ErrorCode::BadRequest);

    let claim = test_service.claim().await;
    store(&test_service, &claim, &some_files()).await;
    assert_eq!(
        code(get(OutputFile::Video).await),
        ErrorCode::VideoNotFound,
        "a stored file is not available before the report"
    );
    service.poster_stored(&claim).await.unwrap().unwrap();
    assert_eq!(service.list_render_files(caller, &id).await.unwrap(), []);
    assert!(get(OutputFile::Poster).await.is_ok(), "the poster is available before the video");
    assert_eq!(code(get(OutputFile::Video).await), ErrorCode::VideoNotFound);
    service.finish_render(&claim, &some_files(), &[]).await.unwrap().unwrap();
    let video = get(OutputFile::Video).await.unwrap();
    assert_eq!((video.content_type.as_ref(), video.blob.size), ("video/mp4", 3));
    assert_eq!(all(service.open_delivery(&video, Some(1..2)).await.unwrap()).await, b"b");
    assert_eq!(get(OutputFile::FullPoster).await.unwrap().content_type, "image/png");
    assert_eq!(
        code(get(OutputFile::Dataset).await),
        ErrorCode::DatasetNotFound,
        "the render is a video and has no dataset"
    );

    let listed = service.list_render_files(caller, &id).await.unwrap();
    assert_eq!(listed, OutputFile::all_of(Output::Video).map(|file| (file, 3)).collect::<Vec<_>>());

    let bundle = service.render_bundle(caller, &id).await.unwrap();
    let zip = all(bundle.content).await;
    assert_eq!(zip.len() as u64, bundle.length);
    let archive = zip::ZipArchive::new(std::io::Cursor::new(zip)).unwrap();
    let names: Vec<_> = archive.file_names().map(|name| name.unwrap().into_owned()).collect();
    assert_eq!(names, ["video.mp4", "web.mp4", "poster.png", "thumb.mp4"]);
    let link = service.download_url(caller, &id, Some("thumb"), Some(1)).await.unwrap();
    assert_eq!(link.expires_in, 60);
    assert!(link.url.contains("/_o/renders/") && link.url.contains("thumb.mp4"));

    service.delete_render(caller, &id).await.unwrap();
    assert_eq!(code(get(OutputFile::Video).await), ErrorCode::RenderNotFound);
    assert_eq!(service.clean_up().await.unwrap().objects, 0, "deleting the render has deleted its files already");
}

async fn the_files_of_a_failed_render_are_hidden_and_deleted(address: &str) {
    let test_service = TestService::new(address).await;
    let (service, caller) = (&test_service.service, &test_service.caller);
    let id = test_service.upload("chair", Some("{}")).await.unwrap().result.render_id.to_string();
    let claim = test_service.claim().await;
    store(&test_service, &claim, &some_files()).await;
    service.poster_stored(&claim).await.unwrap().unwrap();
    service.fail_render(&claim, plinth_spec::FailureCode::EncodeFailed, "").await.unwrap().unwrap();
    assert_eq!(code(service.render_file(caller, &id, OutputFile::Poster).await), ErrorCode::PosterNotFound);
    assert_eq!(
        service.clean_up().await.unwrap().objects,
        0,
        "the files are kept while the worker may still be storing some"
    );
    test_service.wait_ms(3_600_001);
    assert_eq!(service.clean_up().await.unwrap().objects, 5);
}

async fn the_renders_of_a_deleted_team_are_deleted_after_they_have_ended(address: &str) {
    let test_service = TestService::new(address).await;
    let (service, owner) = (&test_service.service, &test_service.caller);
    let grace = test_service::caller(service, "grace@example.org").await;
    let (team, editor) = team_with(&test_service, &grace).await;
    upload(service, &editor, "x.glb", &glb_with_triangle("a"), CHEAP).await.unwrap();
    let claim = test_service.claim().await;
    store(&test_service, &claim, &some_files()).await;
    service.poster_stored(&claim).await.unwrap().unwrap();
    // Unlike members, an operator can delete a workspace with unfinished renders.
    service.delete_workspace(&team).await.unwrap();
    assert_eq!(service.clean_up().await.unwrap().renders, 0, "the render has not ended");
    service.finish_render(&claim, &some_files(), &[]).await.unwrap().unwrap();
    let hold = service.hold_storage().await.unwrap();
    assert_eq!(service.clean_up().await.unwrap().renders, 0, "a backup may be copying the files");
    hold.release().await.unwrap();
    let swept = service.clean_up().await.unwrap();
    assert_eq!(
        (swept.renders, swept.objects),
        (1, 1),
        "of the objects, only the model's file: a worker may package the render"
    );
    let mut conn = service.db().read().await.unwrap();
    assert_eq!(storage::of_account(&mut conn, &owner.account_id).await.unwrap(), 0);
    assert_eq!(storage::find_miscounted(&mut conn).await.unwrap(), []);
    assert_eq!(workspaces::find_miscounted(&mut conn).await.unwrap(), []);
    drop(conn);
    test_service.wait_ms(3_600_000);
    let swept = service.clean_up().await.unwrap();
    assert_eq!((swept.renders, swept.objects), (0, some_files().stored.len() as u64));
}

async fn queued_renders_of_a_deleted_team_are_cancelled_and_refunded(address: &str) {
    let test_service = TestService::new(address).await;
    let service = &test_service.service;
    let grace = test_service::caller(service, "grace@example.org").await;
    let (team, editor) = team_with(&test_service, &grace).await;
    let paid = async || test_service.account().await.paid;
    upload(service, &editor, "x.glb", &glb_with_triangle("a"), CHEAP).await.unwrap();
    let claim = test_service.claim().await;
    for (name, settings) in [("b", CHEAP), ("c", None)] {
        upload(service, &editor, "y.glb", &glb_with_triangle(name), settings).await.unwrap();
    }
    assert_eq!(paid().await, 98);
    service.delete_workspace(&team).await.unwrap();
    assert_eq!(paid().await, 99, "a worker has claimed the other render");
    assert!(service.claim_renders("worker", 1).await.unwrap().is_empty());
    assert_eq!(service.clean_up().await.unwrap().renders, 2);
    // A worker that stops returns its render to the queue.
    service.release_render(&claim).await.unwrap().unwrap();
    assert_eq!(service.clean_up().await.unwrap().renders, 1);
    assert_eq!(paid().await, 100);
    test_service.assert_balanced().await;
}

async fn a_prores_video_and_a_dataset_have_their_own_types(address: &str) {
    let test_service = TestService::new(address).await;
    test_service.grant(plinth_spec::funding::Pool::Paid, 1000).await;
    let model = test_service.model("chair").await;
    test_service
        .service
        .fail_render(&test_service.claim().await, plinth_spec::FailureCode::Timeout, "")
        .await
        .unwrap()
        .unwrap();
    let pro = test_service.render(&model, json!({"quality": "pro", "length": 1}), None).await.unwrap();
    let claim = test_service.claim().await;
    let files = files_of(Output::Video, Codec::ProRes4444);
    store(&test_service, &claim, &files).await;
    test_service.service.poster_stored(&claim).await.unwrap().unwrap();
    test_service.service.finish_render(&claim, &files, &[]).await.unwrap().unwrap();
    let video =
        test_service.service.render_file(&test_service.caller, pro.id.as_str(), OutputFile::Video).await.unwrap();
    assert_eq!(video.content_type, "video/quicktime");

    let set = test_service.render(&model, json!({"output": "dataset"}), None).await.unwrap();
    let claim = test_service.claim().await;
    let files = files_of(Output::Dataset, Codec::H264);
    store(&test_service, &claim, &files).await;
    test_service.service.poster_stored(&claim).await.unwrap().unwrap();
    test_service.service.finish_render(&claim, &files, &[]).await.unwrap().unwrap();
    let file =
        test_service.service.render_file(&test_service.caller, set.id.as_str(), OutputFile::Dataset).await.unwrap();
    assert_eq!(file.content_type, "application/zip");
    let view = test_service.service.render(&test_service.caller, set.id.as_str()).await.unwrap();
    assert_eq!((view.dataset_zip_size, view.file_size), (Some(3), None));
    assert!(
        test_service.service.claim_packaging("w").await.unwrap().is_some(),
        "the video is packaged, the dataset is not"
    );
    assert!(test_service.service.claim_packaging("w").await.unwrap().is_none());
}

async fn hls_files_are_available_when_ready_and_by_valid_names_only(address: &str) {
    let test_service = TestService::new(address).await;
    let (service, caller) = (&test_service.service, &test_service.caller);
    let id = test_service.upload("chair", Some("{}")).await.unwrap().result.render_id.to_string();
    let claim = test_service.claim().await;
    service.poster_stored(&claim).await.unwrap().unwrap();
    service.finish_render(&claim, &some_files(), &[]).await.unwrap().unwrap();
    let claim = service.claim_packaging("w").await.unwrap().unwrap();
    let key = ObjectKey::Hls(&claim.render.id, claim.render.attempt, claim.render.hls_attempt, "master.m3u8");
    service.store().put(&key, Bytes::from_static(b"#EXTM3U")).await.unwrap();
    assert_eq!(code(service.hls_file(caller, &id, "master.m3u8").await), ErrorCode::NotFound, "not ready");
    assert_eq!(service.hls(caller, &id, "http://x/v1/renders").await.unwrap().master_url, None);
    service.finish_packaging(&claim, 1000).await.unwrap().unwrap();
    let view = service.hls(caller, &id, "http://x/v1/renders").await.unwrap();
    assert_eq!(view.master_url.unwrap(), format!("http://x/v1/renders/{id}/hls/master.m3u8"));
    let file = service.hls_file(caller, &id, "master.m3u8").await.unwrap();
    assert_eq!(file.content_type, "application/vnd.apple.mpegurl");
    for name in ["../../../models/x.glb", "..%2fvideo.mp4", "missing.m3u8", ""] {
        assert_eq!(code(service.hls_file(caller, &id, name).await), ErrorCode::NotFound, "{name}");
    }
}

async fn a_models_file_is_downloaded_under_its_name(address: &str) {
    let test_service = TestService::new(address).await;
    let (service, caller) = (&test_service.service, &test_service.caller);
    let id = test_service.model("stühle").await;
    let file = service.model_file(caller, &id).await.unwrap();
    assert!(file.disposition.as_ref().unwrap().contains("st%C3%BChle.glb"));
    assert_eq!(all(service.open_delivery(&file, None).await.unwrap()).await, glb_with_triangle("stühle"));
    let url = service.model_file_url(caller, &id, Some(1_000_000)).await.unwrap();
    assert_eq!(url.expires_in, 604_800);
    let key = plinth_spec::id::ModelId::parse(&id).unwrap();
    service.store().delete(&ObjectKey::Model(&key)).await.unwrap();
    assert_eq!(
        code(service.open_delivery(&file, None).await.map(drop)),
        ErrorCode::NotFound,
        "deleted after it was found"
    );
    assert_eq!(code(service.model_file(caller, &id).await), ErrorCode::FileNotFound);
    assert_eq!(code(service.model_file_url(caller, &id, None).await), ErrorCode::FileNotFound);
}

/// Splits a link into its parts, as the HTTP API does.
pub(crate) fn parts(url: &str) -> LocalLink {
    let url = Url::parse(url).unwrap();
    let parameter = |name: &str| {
        url.query_pairs().find(|(known, _)| known == name).map(|(_, value)| value.into_owned()).unwrap_or_default()
    };
    LocalLink {
        path: url.path().trim_start_matches("/_o/").to_owned(),
        expires_at_secs: parameter("exp").parse().unwrap(),
        content_type: parameter("type"),
        disposition: parameter("disp"),
        secret_id: parameter("kid"),
        signature: parameter("sig"),
    }
}

async fn links_of_earlier_secrets_end_with_their_time_or_when_revoked(address: &str) {
    let test_service = TestService::new(address).await;
    let (service, caller) = (&test_service.service, &test_service.caller);
    let model = test_service.model("chair").await;
    let week = Some(limits::EXPIRES_MAX_SECS);
    let link = async || parts(&service.model_file_url(caller, &model, week).await.unwrap().url);
    let is_valid = async |link: &LocalLink| service.local_file(link.clone()).await.is_ok();
    let old = link().await;
    let made = service.rotate_link_secret(false).await.unwrap();
    let new = link().await;
    assert!(!made.id.is_empty() && new.secret_id == made.id && old.secret_id != made.id);
    assert!(is_valid(&old).await && is_valid(&new).await);
    let swapped = LocalLink { secret_id: new.secret_id.clone(), ..old.clone() };
    let unnamed = LocalLink { secret_id: String::new(), ..old.clone() };
    assert!(!is_valid(&swapped).await && !is_valid(&unnamed).await);
    // A second process, which has not signed a link yet, knows both secrets.
    let beside = test_service.beside(address).await;
    assert!(beside.local_file(old.clone()).await.is_ok() && beside.local_file(new.clone()).await.is_ok());
    test_service.wait_ms(limits::EXPIRES_MAX_SECS * 1000 - 1000);
    assert!(is_valid(&old).await, "a link that was signed before the rotation works until it expires");
    test_service.wait_ms(2 * 3600 * 1000);
    let ids: Vec<String> = service.link_secrets().await.unwrap().into_iter().map(|secret| secret.id).collect();
    assert_eq!(ids, [made.id.as_str()]);
    assert!(service.clean_up().await.unwrap().rows >= 1, "the cleanup deletes the old secret");
    let newer = link().await;
    service.rotate_link_secret(true).await.unwrap();
    assert!(!is_valid(&newer).await && is_valid(&link().await).await);
    assert_eq!(service.link_secrets().await.unwrap().len(), 1);
}

async fn links_with_a_malformed_identifier_are_not_valid(address: &str) {
    let test_service = TestService::new(address).await;
    let (service, caller) = (&test_service.service, &test_service.caller);
    let model = test_service.model("chair").await;
    let link = parts(&service.model_file_url(caller, &model, None).await.unwrap().url);
    for id in ["\0", "a\0b", "k3Jd92LmQx7\0", "x", "k3Jd92LmQx7é"] {
        let link = LocalLink { secret_id: id.to_owned(), ..link.clone() };
        assert_eq!(code(service.local_file(link.clone()).await), ErrorCode::Forbidden, "{id:?}");
        assert_eq!(code(service.begin_local_put(&link, None).await.map(drop)), ErrorCode::Forbidden, "{id:?}");
    }
}

/// The first secret of an old installation has no identifier, so the links that it signed contain none.
async fn links_without_an_identifier_stay_valid(address: &str) {
    let test_service = TestService::new(address).await;
    let (service, caller) = (&test_service.service, &test_service.caller);
    let first = LinkSecret { id: String::new(), secret: "as before".to_owned(), created_at: 0, ends_at: None };
    let inserting = service.db().write(|tx| Box::pin(async move { link_secrets::insert(tx, &first).await }));
    inserting.await.unwrap();
    let model = test_service.model("chair").await;
    let url = service.model_file_url(caller, &model, None).await.unwrap().url;
    assert!(!url.contains("kid") && service.local_file(parts(&url)).await.is_ok(), "{url}");
    service.rotate_link_secret(false).await.unwrap();
    assert!(service.local_file(parts(&url)).await.is_ok());
}

mod both {
    use super::on_both_databases;
    on_both_databases! {
        links_of_earlier_secrets_end_with_their_time_or_when_revoked
        links_with_a_malformed_identifier_are_not_valid
        links_without_an_identifier_stay_valid
        files_are_available_after_the_worker_reports_them
        the_files_of_a_failed_render_are_hidden_and_deleted
        the_renders_of_a_deleted_team_are_deleted_after_they_have_ended
        queued_renders_of_a_deleted_team_are_cancelled_and_refunded
        a_prores_video_and_a_dataset_have_their_own_types
        hls_files_are_available_when_ready_and_by_valid_names_only
        a_models_file_is_downloaded_under_its_name
    }
}
