//! Files of finished renders over HTTP.

use bytes::Bytes;
use plinth_service::jobs::RenderFiles;
use plinth_spec::quality::Codec;
use plinth_store::{ObjectKey, RenderFile};
use plinth_testkit::on_both_databases;
use reqwest::Method;
use serde_json::{Value, json};

use crate::server::Server;

/// A render that is done, with ten bytes in each file.
async fn done(server: &Server) -> String {
    let id = server.upload("chair", Some("{\"length\": 1}")).await.text("renderId");
    let claim = server.service.claim_renders("w", 1).await.unwrap().pop().unwrap();
    let mut files = RenderFiles::default();
    for file in
        [RenderFile::Video(Codec::H264), RenderFile::Web, RenderFile::Thumb, RenderFile::FullPoster, RenderFile::Poster]
    {
        let key = ObjectKey::Render(&claim.render.id, claim.render.attempt, file);
        let stored = server.service.store().put(&key, Bytes::from_static(b"0123456789")).await.unwrap().into();
        match file {
            RenderFile::Video(_) => files.video = Some(stored),
            RenderFile::Web => files.web = Some(stored),
            RenderFile::Thumb => files.thumb = Some(stored),
            RenderFile::FullPoster => files.full_poster = Some(stored),
            _ => files.poster = Some(stored),
        }
    }
    server.service.poster_stored(&claim).await.unwrap().unwrap();
    server.service.finish_render(&claim, files, &[]).await.unwrap().unwrap();
    id
}

async fn videos_answer_ranges_and_conditions(address: &str) {
    let server = Server::start(address).await;
    let id = done(&server).await;
    let path = format!("/renders/{id}/video");
    let get = async |name: &'static str, value: &str| {
        server.request(Method::GET, &path).header(name, value.to_owned()).send().await.unwrap()
    };
    let whole = get("accept", "*/*").await;
    assert_eq!((whole.status().as_u16(), &whole.headers()["content-type"]), (200, &"video/mp4".parse().unwrap()));
    assert_eq!(whole.headers()["accept-ranges"], "bytes");
    let etag = whole.headers()["etag"].to_str().unwrap().to_owned();
    assert_eq!(whole.text().await.unwrap(), "0123456789");
    for (range, status, said, body) in [
        ("bytes=2-4", 206, "bytes 2-4/10", "234"),
        ("bytes=-3", 206, "bytes 7-9/10", "789"),
        ("bytes=8-", 206, "bytes 8-9/10", "89"),
        ("bytes=0-1,4-5", 200, "", "0123456789"),
    ] {
        let part = get("range", range).await;
        assert_eq!(part.status(), status, "{range}");
        let content_range = part.headers().get("content-range").map_or("", |v| v.to_str().unwrap()).to_owned();
        assert_eq!((content_range.as_str(), part.text().await.unwrap().as_str()), (said, body), "{range}");
    }
    let outside = get("range", "bytes=10-").await;
    assert_eq!((outside.status().as_u16(), &outside.headers()["content-range"]), (416, &"bytes */10".parse().unwrap()));
    assert_eq!(get("if-none-match", &etag).await.status(), 304);
    let changed = server.request(Method::GET, &path).header("range", "bytes=0-1").header("if-range", "\"other\"");
    assert_eq!(changed.send().await.unwrap().status(), 200, "the file changed: the whole of it");
    let head = server.request(Method::HEAD, &path).send().await.unwrap();
    assert_eq!((head.status().as_u16(), &head.headers()["content-length"]), (200, &"10".parse().unwrap()));
}

async fn variants_bundle_and_links_are_served(address: &str) {
    let server = Server::start(address).await;
    let id = done(&server).await;
    let get = async |path: &str| server.request(Method::GET, &format!("/renders/{id}/{path}")).send().await.unwrap();
    for (path, kind) in [
        ("video?quality=web", "video/mp4"),
        ("poster", "image/png"),
        ("poster?quality=full", "image/png"),
        ("thumb", "video/mp4"),
    ] {
        let answer = get(path).await;
        assert_eq!(
            (answer.status().as_u16(), answer.headers()["content-type"].to_str().unwrap()),
            (200, kind),
            "{path}"
        );
    }
    let bundle = get("bundle").await;
    assert!(bundle.headers()["cache-control"].to_str().unwrap().contains("immutable"));
    let length: usize = bundle.headers()["content-length"].to_str().unwrap().parse().unwrap();
    assert_eq!(bundle.bytes().await.unwrap().len(), length);
    let link = server.get(&format!("/renders/{id}/download-url?asset=thumb")).await;
    assert_eq!((&link.data()["asset"], &link.data()["expiresIn"]), (&json!("thumb"), &json!(3600)));
    let file = server.http.get(link.text("url")).send().await.unwrap();
    assert!(file.headers()["content-disposition"].to_str().unwrap().starts_with("attachment"));
    assert_eq!(file.text().await.unwrap(), "0123456789");
    let refused = server.get(&format!("/renders/{id}/download-url?asset=hls")).await;
    assert_eq!(refused.refusal(), (400, "bad_request"));
    assert_eq!(
        server.get(&format!("/renders/{id}/download-url?asset=dataset")).await.refusal(),
        (404, "asset_not_found")
    );
    assert_eq!(server.get(&format!("/renders/{id}/dataset")).await.refusal(), (404, "dataset_not_found"));
    let hls = server.get(&format!("/renders/{id}/hls")).await;
    let expected = json!({"id": id, "status": "pending", "masterUrl": Value::Null, "thumbnailsVttUrl": Value::Null});
    assert_eq!(hls.data(), &expected);
    for path in ["master.m3u8", "..%2f..%2fvideo.mp4", "%2e%2e/video.mp4"] {
        assert_eq!(server.get(&format!("/renders/{id}/hls/{path}")).await.refusal(), (404, "not_found"), "{path}");
    }
    let gone = server.send(Method::DELETE, &format!("/renders/{id}"), json!({})).await;
    assert_eq!(gone.data(), &json!({"id": id, "deleted": true}));
}

mod both {
    use super::on_both_databases;
    on_both_databases! {
        videos_answer_ranges_and_conditions
        variants_bundle_and_links_are_served
    }
}
