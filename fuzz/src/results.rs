//! Results of renders, as a worker stores them.

use axum::body::Bytes;
use plinth_service::Service;
use plinth_service::jobs::{Claim, RenderFiles};
use plinth_spec::OutputFile;
use plinth_spec::settings::{ParseOptions, RenderSettings};
use plinth_store::ObjectKey;
use serde_json::json;

use crate::installation::NAME;
use crate::{PIXEL, stored_zip};

/// Content of all files but datasets. No request checks whether it has the format of the file.
const CONTENT: &[u8] = b"0123456789";
/// Names of the files of an HLS stream.
const STREAM: [&str; 6] =
    ["master.m3u8", "540p/index.m3u8", "540p/init.mp4", "540p/0.m4s", "thumbnails.vtt", "sprite-0.jpg"];

/// Finishes all queued renders. Each has all of its files, and its video has an HLS stream.
pub(crate) async fn finish_renders(service: &Service) {
    while let Some(claim) = service.claim_renders("fuzz", 1).await.expect("a database").pop() {
        finish_render(service, &claim).await;
    }
    while let Some(claim) = service.claim_packaging("fuzz").await.expect("a database") {
        finish_packaging(service, &claim).await;
    }
}

async fn finish_render(service: &Service, claim: &Claim) {
    let render = &claim.render;
    let settings = RenderSettings::from_text(&render.settings, ParseOptions::default()).expect("valid settings");
    let codec = settings.video().quality.codec();
    let mut files = RenderFiles::none(codec);
    for file in OutputFile::all_of(settings.video().output) {
        let content = if file == OutputFile::Dataset { Bytes::from(dataset()) } else { Bytes::from_static(CONTENT) };
        let key = ObjectKey::Render(&render.id, render.attempt, file, codec);
        let stored = service.store().put(&key, content).await.expect("a store");
        files.stored.insert(file, stored.into());
    }
    service.poster_stored(claim).await.expect("a database").expect("the claim is valid");
    let warnings = [NAME.to_owned()];
    service.finish_render(claim, &files, &warnings).await.expect("a database").expect("the claim is valid");
}

async fn finish_packaging(service: &Service, claim: &Claim) {
    let render = &claim.render;
    for name in STREAM {
        let key = ObjectKey::Hls(&render.id, render.attempt, render.hls_attempt, name);
        service.store().put(&key, Bytes::from_static(CONTENT)).await.expect("a store");
    }
    let bytes = (STREAM.len() * CONTENT.len()) as u64;
    service.finish_packaging(claim, bytes).await.expect("a database").expect("the claim is valid");
}

/// Returns the archive of a dataset with one view.
fn dataset() -> Vec<u8> {
    let manifest = json!({
        "version": "1",
        "adapter": NAME,
        "coverage": "sphere",
        "warnings": [NAME],
        "views": 1,
        "width": 1,
        "height": 1,
        "files": [{"path": "images/0000.png", "bytes": PIXEL.len()}],
    });
    let transforms = json!({
        "camera_angle_x": 1.0,
        "fl_x": 1.0,
        "depth_near": 1.0,
        "depth_far": 2.0,
        "model_from_scene": [[1, 0, 0, 0], [0, 1, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1]],
    });
    stored_zip(&[
        ("manifest.json", manifest.to_string().as_bytes()),
        ("transforms.json", transforms.to_string().as_bytes()),
        ("images/0000.png", PIXEL),
    ])
}
