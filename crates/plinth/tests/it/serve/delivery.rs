//! Tests of downloads of the files of finished renders: headers, byte ranges and links.

use std::io::Read as _;

use flate2::read::GzDecoder;
use plinth_service::jobs::RenderFiles;
use plinth_spec::OutputFile;
use plinth_spec::quality::Codec;
use plinth_store::ObjectKey;
use plinth_testkit::{Answer, Client, glb_with_triangle, header};
use reqwest::Method;
use serde_json::{Value, json};

use super::backstage::{Backstage, PACKAGING, VIDEO, content};
use super::on_both;
use super::server::Served;

/// Paths of the files of a finished video, their media types, and the names of the stored files.
const FILES: [(&str, &str, &str); 10] = [
    ("video", "video/mp4", "video.mp4"),
    ("video?quality=web", "video/mp4", "web.mp4"),
    ("poster", "image/png", "poster.small.png"),
    ("poster?quality=full", "image/png", "poster.png"),
    ("thumb", "video/mp4", "thumb.mp4"),
    ("hls/master.m3u8", "application/vnd.apple.mpegurl", "master.m3u8"),
    ("hls/540p/init.mp4", "video/mp4", "540p/init.mp4"),
    ("hls/540p/0.m4s", "video/iso.segment", "540p/0.m4s"),
    ("hls/thumbnails.vtt", "text/vtt", "thumbnails.vtt"),
    ("hls/sprite-0.jpg", "image/jpeg", "sprite-0.jpg"),
];

async fn files_have_correct_headers_and_support_ranges(served: Served) {
    let client = &served.client;
    let id = served.finished().await;
    for (path, kind, file) in FILES {
        let path = format!("/renders/{id}/{path}");
        let expected = content(file);
        let (text, size) = (expected.as_str(), expected.len());
        let whole = client.get_with(&path, "accept", "*/*").await;
        let headers = whole.headers().clone();
        let etag = header(&headers, "etag").to_owned();
        assert_eq!(whole.status(), 200, "{path}");
        for (name, value) in [
            ("content-type", kind),
            ("content-length", &size.to_string()),
            ("accept-ranges", "bytes"),
            ("cache-control", "private, no-cache"),
            ("x-content-type-options", "nosniff"),
            ("content-security-policy", "default-src 'none'; sandbox"),
        ] {
            assert_eq!(header(&headers, name), value, "{path}: {name}");
        }
        assert!(etag.len() > 2 && etag.starts_with('"') && etag.ends_with('"'), "{path}: {etag}");
        assert_eq!(whole.text().await.unwrap(), text, "{path}");
        for (name, value, status, range) in [
            ("range", "bytes=2-4", 206, 2..5),
            ("range", "bytes=-3", 206, size - 3..size),
            ("range", &format!("bytes={}-", size - 2), 206, size - 2..size),
            ("range", "bytes=0-", 206, 0..size),
            ("range", "bytes=5-99", 206, 5..size),
            ("range", "bytes=0-1,4-5", 200, 0..size),
            ("range", "bytes=4-2", 200, 0..size),
            ("range", "lines=0-1", 200, 0..size),
            ("if-match", &etag, 200, 0..size),
            ("if-match", &format!("\"other\", {etag}"), 200, 0..size),
            ("if-match", "*", 200, 0..size),
            ("if-none-match", "\"other\"", 200, 0..size),
            ("if-none-match", &etag, 304, 0..0),
            ("if-none-match", &format!("\"other\", W/{etag}"), 304, 0..0),
            ("if-none-match", "*", 304, 0..0),
        ] {
            let answer = client.get_with(&path, name, value).await;
            let headers = answer.headers().clone();
            let installation = format!("bytes {}-{}/{size}", range.start, range.end.max(1) - 1);
            let installation = (status, if status == 206 { installation.as_str() } else { "" });
            assert_eq!((answer.status().as_u16(), header(&headers, "content-range")), installation, "{path} {value}");
            assert_eq!(header(&headers, "etag"), etag, "{path} {value}");
            assert_eq!(answer.text().await.unwrap(), text[range], "{path} {value}");
        }
        let outside = client.get_with(&path, "range", &format!("bytes={size}-")).await;
        assert_eq!(header(outside.headers(), "content-range"), format!("bytes */{size}"), "{path}");
        let outside = Answer::of(outside).await;
        assert_eq!(outside.rejection(), (416, "range_not_satisfiable"), "{path}");
        for known in ["\"other\"", &format!("W/{etag}")] {
            let changed = client.request(Method::GET, &path).header("range", "bytes=0-1").header("if-match", known);
            assert_eq!(Answer::to(changed).await.rejection(), (412, "precondition_failed"), "{path}: {known}");
        }
        for (known, status) in [(etag.as_str(), 206), ("\"other\"", 200)] {
            let part = client.request(Method::GET, &path).header("range", "bytes=0-1").header("if-range", known);
            assert_eq!(part.send().await.unwrap().status(), status, "{path}: the file {known}");
        }
        let head = client.request(Method::HEAD, &path).header("range", "bytes=0-1").send().await.unwrap();
        assert_eq!(head.status(), 200, "{path}");
        assert_eq!(header(head.headers(), "content-length"), size.to_string(), "{path}");
        assert_eq!(head.bytes().await.unwrap().len(), 0, "{path}");
    }
}

async fn text_files_of_streams_are_compressed(served: Served) {
    let client = &served.client;
    let id = served.finished().await;
    for (file, is_text) in [("master.m3u8", true), ("thumbnails.vtt", true), ("540p/0.m4s", false)] {
        let path = format!("/renders/{id}/hls/{file}");
        let plain = client.get_with(&path, "accept-encoding", "gzip;q=0").await;
        let plain_tag = header(plain.headers(), "etag").to_owned();
        assert_eq!(header(plain.headers(), "content-encoding"), "", "{file}");
        assert_eq!(plain.text().await.unwrap(), content(file));

        let sent = client.get_with(&path, "accept-encoding", "br, gzip").await;
        let headers = sent.headers().clone();
        let tag = header(&headers, "etag").to_owned();
        let (encoding, vary) = if is_text { ("gzip", "accept, accept-encoding") } else { ("", "accept") };
        assert_eq!((header(&headers, "content-encoding"), header(&headers, "vary")), (encoding, vary), "{file}");
        assert_eq!(tag != plain_tag, is_text, "{file}: different contents have different tags");
        let bytes = sent.bytes().await.unwrap();
        assert_eq!(header(&headers, "content-length"), bytes.len().to_string(), "{file}");
        let mut text = String::new();
        if is_text {
            GzDecoder::new(&bytes[..]).read_to_string(&mut text).unwrap();
        } else {
            text = String::from_utf8(bytes.into()).unwrap();
        }
        assert_eq!(text, content(file));

        let again = client.request(Method::GET, &path).header("accept-encoding", "gzip").header("if-none-match", &tag);
        assert_eq!(again.send().await.unwrap().status(), 304, "{file}");
        let part = client.request(Method::GET, &path).header("accept-encoding", "gzip").header("range", "bytes=1-2");
        let part = part.send().await.unwrap();
        assert_eq!((part.status().as_u16(), header(part.headers(), "content-encoding")), (206, ""), "{file}");
        assert_eq!(header(part.headers(), "etag"), plain_tag, "{file}");
        assert_eq!(part.text().await.unwrap(), content(file)[1..3]);
    }
}

async fn a_bundle_has_all_files_and_is_reproducible(served: Served) {
    let client = &served.client;
    let path = format!("/renders/{}/bundle", served.finished().await);
    let bundle = client.get_with(&path, "accept", "*/*").await;
    let headers = bundle.headers().clone();
    assert!(
        header(&headers, "cache-control").contains("immutable")
            && !header(&headers, "cache-control").contains("public")
    );
    assert_eq!(
        (header(&headers, "content-type"), header(&headers, "x-content-type-options")),
        ("application/zip", "nosniff")
    );
    assert!(header(&headers, "content-disposition").starts_with("attachment; "));
    let bytes = bundle.bytes().await.unwrap();
    assert_eq!(header(&headers, "content-length"), bytes.len().to_string());
    let mut archive = zip::ZipArchive::new(std::io::Cursor::new(bytes)).unwrap();
    for name in ["video.mp4", "web.mp4", "poster.png", "thumb.mp4"] {
        assert_eq!(std::io::read_to_string(archive.by_name(name).unwrap()).unwrap(), content(name));
    }
    assert_eq!(archive.len(), 4);
    let again = client.get_with(&path, "accept", "*/*").await.bytes().await.unwrap();
    assert_eq!(again, archive.into_inner().into_inner(), "every download of the bundle has the same bytes");
}

/// Requests a path of a render. Returns status and error code; the code is empty for a success.
async fn code(client: &Client, id: &str, path: &str) -> (u16, String) {
    let answer = client.get(&format!("/renders/{id}/{path}")).await;
    if answer.status == 200 { (200, String::new()) } else { (answer.status, answer.rejection().1.to_owned()) }
}

/// Returns the status and the code for a missing file.
fn missing(code: &str) -> (u16, String) {
    (404, code.to_owned())
}

/// Returns the status and the empty code for an existing file.
fn there() -> (u16, String) {
    (200, String::new())
}

/// The error code of a missing file depends on the file. The test covers pending renders, renders of which only the
/// poster is done, and renders of other kinds.
async fn missing_files_have_specific_error_codes(served: Served) {
    let client = &served.client;
    let backstage = Backstage::of(&served).await;
    let codes = async |id: &str| {
        let mut all = Vec::new();
        for path in ["video", "video?quality=web", "poster", "thumb", "bundle", "dataset", "hls/master.m3u8"] {
            all.push(code(client, id, path).await);
        }
        for asset in ["", "video", "web", "poster", "full_poster", "thumb", "dataset"] {
            all.push(code(client, id, &format!("download-url?asset={asset}")).await);
        }
        all
    };
    let video = client.upload("video", Some(json!({"quality": "share", "length": 1}))).await.text("renderId");
    let bad = (400, "bad_request".to_owned());
    let waiting = codes(&video).await;
    let nothing = ["video_not_found", "video_not_found", "poster_not_found", "thumb_not_found", "video_not_found"];
    assert_eq!(waiting[..5], nothing.map(missing));
    assert_eq!(waiting[5..7], ["dataset_not_found", "not_found"].map(missing));
    assert_eq!(waiting[7], bad, "an empty asset name is unknown");
    assert_eq!(waiting[8..], ["asset_not_found"; 6].map(missing));
    assert_eq!(code(client, &video, "poster?quality=full").await, missing("poster_not_found"));
    assert_eq!(code(client, &video, "download-url").await, missing("asset_not_found"), "the video");
    for asset in ["hls", "bundle"] {
        assert_eq!(code(client, &video, &format!("download-url?asset={asset}")).await, bad, "{asset} has no links");
    }
    let view = client.get(&format!("/renders/{video}/hls")).await;
    let expected = json!({"id": video, "status": "pending", "masterUrl": null, "thumbnailsVttUrl": null});
    assert_eq!(view.data(), &expected);
    backstage.finish(&video, Codec::H264, &VIDEO).await;
    let done = codes(&video).await;
    assert!(done[..5].iter().all(|one| *one == there()), "{done:?}");
    assert_eq!(done[5..7], ["dataset_not_found", "not_found"].map(missing));
    assert!(done[8..13].iter().all(|one| *one == there()), "{done:?}");
    assert_eq!(done[13..], ["asset_not_found"].map(missing));
    let shown = client.get(&format!("/renders/{video}")).await;
    for (name, value) in [
        ("status", json!("done")),
        ("fileSize", json!(content("video.mp4").len())),
        ("hasWebVariant", json!(true)),
        ("hasThumb", json!(true)),
        ("hlsStatus", json!("pending")),
        ("hlsReady", json!(false)),
        ("datasetZipSize", Value::Null),
    ] {
        assert_eq!(shown.data()[name], value, "{name}");
    }
    backstage.package(&video, &["master.m3u8", "thumbnails.vtt"]).await;
    let view = client.get(&format!("/renders/{video}/hls")).await;
    let base = format!("{}/v1/renders/{video}/hls", client.base);
    let expected = json!({"id": video, "status": "ready", "masterUrl": format!("{base}/master.m3u8"),
                          "thumbnailsVttUrl": format!("{base}/thumbnails.vtt")});
    assert_eq!(view.data(), &expected);
    let shown = client.get(&format!("/renders/{video}")).await;
    assert_eq!((&shown.data()["hlsStatus"], &shown.data()["hlsReady"]), (&json!("ready"), &json!(true)));
}

async fn other_kinds_of_renders_have_other_files(served: Served) {
    let client = &served.client;
    let backstage = Backstage::of(&served).await;
    let order = async |name: &str, settings: Value| client.upload(name, Some(settings)).await.text("renderId");
    served.installation.admin(&["credits", "grant", super::server::EMAIL, "1000"]);
    let pro = order("pro", json!({"quality": "pro", "length": 0.1})).await;
    backstage.finish(&pro, Codec::ProRes4444, &[OutputFile::Video, OutputFile::FullPoster, OutputFile::Poster]).await;
    let mov = client.get_with(&format!("/renders/{pro}/video"), "accept", "*/*").await;
    assert_eq!((mov.status().as_u16(), header(mov.headers(), "content-type")), (200, "video/quicktime"));
    assert_eq!(mov.text().await.unwrap(), content("video.mov"));
    let bytes = client.get_with(&format!("/renders/{pro}/video"), "accept", "application/octet-stream").await;
    let media_type = |name| header(bytes.headers(), name).to_owned();
    assert_eq!((media_type("content-type"), media_type("vary")), ("application/octet-stream".into(), "accept".into()));
    assert_eq!(bytes.text().await.unwrap(), content("video.mov"));
    // This render has none of these files.
    for (path, rejection) in [
        ("video?quality=web", "video_not_found"),
        ("thumb", "thumb_not_found"),
        ("dataset", "dataset_not_found"),
        ("download-url?asset=web", "asset_not_found"),
        ("download-url?asset=thumb", "asset_not_found"),
        ("download-url?asset=dataset", "asset_not_found"),
    ] {
        assert_eq!(code(client, &pro, path).await, missing(rejection), "{path}");
    }
    let bundle = client.get_with(&format!("/renders/{pro}/bundle"), "accept", "*/*").await.bytes().await.unwrap();
    let mut archive = zip::ZipArchive::new(std::io::Cursor::new(bundle)).unwrap();
    for name in ["video.mov", "poster.png"] {
        assert_eq!(std::io::read_to_string(archive.by_name(name).unwrap()).unwrap(), content(name));
    }
    assert_eq!(archive.len(), 2, "the bundle contains only existing files");

    let set = order("set", json!({"output": "dataset", "datasetQuality": "100x800"})).await;
    assert_eq!(code(client, &set, "dataset").await, missing("dataset_not_found"), "not done");
    backstage.finish(&set, Codec::H264, &[OutputFile::Dataset]).await;
    let zip = client.get_with(&format!("/renders/{set}/dataset"), "accept", "*/*").await;
    assert_eq!((zip.status().as_u16(), header(zip.headers(), "content-type")), (200, "application/zip"));
    assert_eq!(zip.text().await.unwrap(), content("dataset.zip"));
    let zip = client.get_with(&format!("/renders/{set}/dataset"), "range", "bytes=1-2").await;
    assert_eq!((zip.status().as_u16(), header(zip.headers(), "content-type")), (206, "application/zip"));
    for (path, rejection) in [
        ("video", "video_not_found"),
        ("video?quality=web", "video_not_found"),
        ("thumb", "thumb_not_found"),
        ("bundle", "video_not_found"),
        ("hls/master.m3u8", "not_found"),
        ("download-url", "asset_not_found"),
        ("download-url?asset=web", "asset_not_found"),
        ("download-url?asset=thumb", "asset_not_found"),
    ] {
        assert_eq!(code(client, &set, path).await, missing(rejection), "{path}");
    }
    let link = client.get(&format!("/renders/{set}/download-url?asset=dataset")).await.text("url");
    assert_eq!(client.http.get(&link).send().await.unwrap().text().await.unwrap(), content("dataset.zip"));
    let shown = client.get(&format!("/renders/{set}")).await;
    let size = content("dataset.zip").len();
    assert_eq!((&shown.data()["datasetZipSize"], &shown.data()["fileSize"]), (&json!(size), &Value::Null));
    assert_eq!(shown.data()["hlsStatus"], "skipped");
}

/// A dataset has no posters and no links to posters, neither during nor after the render.
async fn a_dataset_has_no_posters(served: Served) {
    let client = &served.client;
    let backstage = Backstage::of(&served).await;
    let settings = json!({"output": "dataset", "datasetQuality": "100x800"});
    let set = client.upload("set", Some(settings)).await.text("renderId");
    let claim = backstage.claim(&set).await;
    let without = async |when: &str| {
        for path in ["poster", "poster?quality=full"] {
            assert_eq!(code(client, &set, path).await, missing("poster_not_found"), "{when}: {path}");
        }
        for asset in ["poster", "full_poster"] {
            let path = format!("download-url?asset={asset}");
            assert_eq!(code(client, &set, &path).await, missing("asset_not_found"), "{when}: {path}");
        }
    };
    backstage.service.poster_stored(&claim).await.unwrap().unwrap();
    without("video-processing").await;
    backstage.service.release_render(&claim).await.unwrap().unwrap();
    assert_eq!(client.get(&format!("/renders/{set}")).await.data()["status"], "poster-done");
    without("poster-done").await;
    let claim = backstage.claim(&set).await;
    let stored = backstage.store(&claim, OutputFile::Dataset, Codec::H264).await;
    let made = RenderFiles { codec: Codec::H264, stored: [(OutputFile::Dataset, stored)].into() };
    backstage.service.finish_render(&claim, &made, &[]).await.unwrap().unwrap();
    without("done").await;
}

/// The HLS stream is available only after the packaging. The video file is available before.
async fn streaming_is_available_after_packaging(served: Served) {
    let client = &served.client;
    let backstage = Backstage::of(&served).await;
    for fails in [false, true] {
        let made = client.upload(&format!("{fails}"), Some(json!({"quality": "share", "length": 1}))).await;
        let id = made.text("renderId");
        let is = async |status: &str| {
            let view = client.get(&format!("/renders/{id}/hls")).await;
            let expected = json!({"id": id, "status": status, "masterUrl": null, "thumbnailsVttUrl": null});
            assert_eq!((view.status, view.data()), (200, &expected));
            let shown = client.get(&format!("/renders/{id}")).await;
            assert_eq!((&shown.data()["hlsStatus"], &shown.data()["hlsReady"]), (&json!(status), &json!(false)));
            for name in PACKAGING {
                assert_eq!(code(client, &id, &format!("hls/{name}")).await, missing("not_found"), "{status}: {name}");
            }
        };
        is("pending").await;
        backstage.finish(&id, Codec::H264, &VIDEO).await;
        is("pending").await;
        let claim = backstage.service.claim_packaging("test").await.unwrap().unwrap();
        assert_eq!(claim.render.id.as_str(), id);
        // Files of an incomplete packaging are not served.
        for name in PACKAGING {
            let key = ObjectKey::Hls(&claim.render.id, claim.render.attempt, claim.render.hls_attempt, name);
            backstage.service.store().put(&key, content(name).into()).await.unwrap();
        }
        is("processing").await;
        assert_eq!(code(client, &id, "video").await, there());
        if fails {
            backstage.service.fail_packaging(&claim).await.unwrap().unwrap();
            is("failed").await;
        } else {
            backstage.service.finish_packaging(&claim, 1000).await.unwrap().unwrap();
            for name in PACKAGING {
                assert_eq!(code(client, &id, &format!("hls/{name}")).await, there(), "{name}");
            }
        }
        assert_eq!(client.get(&format!("/renders/{id}")).await.data()["status"], "done");
        assert_eq!(code(client, &id, "video").await, there());
    }
}

async fn a_downloaded_model_has_its_name(served: Served) {
    let client = &served.client;
    let made = client.upload("chair ü; 1", None).await;
    let path = format!("/models/{}/file", made.text("modelId"));
    let glb = glb_with_triangle("chair ü; 1");
    let whole = client.get_with(&path, "accept", "*/*").await;
    let headers = whole.headers().clone();
    assert_eq!(header(&headers, "content-type"), "model/gltf-binary");
    assert_eq!(header(&headers, "content-length"), glb.len().to_string());
    let name = header(&headers, "content-disposition");
    assert!(name.starts_with("attachment; ") && name.contains("filename*=UTF-8''chair%20%C3%BC%3B%201.glb"), "{name}");
    assert_eq!(whole.bytes().await.unwrap(), glb);
    let end = client.get_with(&path, "range", "bytes=-4").await;
    assert_eq!((end.status().as_u16(), end.bytes().await.unwrap().as_ref()), (206, &glb[glb.len() - 4..]));
    assert_eq!(client.get_with(&path, "if-none-match", header(&headers, "etag")).await.status(), 304);
    // The file is missing in the store, although a row references it.
    std::fs::remove_dir_all(served.installation.objects().join("models")).unwrap();
    assert_eq!(client.get(&path).await.rejection(), (404, "file_not_found"));
    assert_eq!(client.get(&format!("{path}-url")).await.rejection(), (404, "file_not_found"));
}

on_both! {
    files_have_correct_headers_and_support_ranges text_files_of_streams_are_compressed a_bundle_has_all_files_and_is_reproducible
    missing_files_have_specific_error_codes other_kinds_of_renders_have_other_files a_dataset_has_no_posters
    streaming_is_available_after_packaging a_downloaded_model_has_its_name
}
