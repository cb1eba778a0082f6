//! Tests of the URLs of HLS files.

use super::backstage::{PACKAGING, content};
use super::endpoints::UNKNOWN;
use super::on_both;
use super::raw::get;
use super::server::Served;

/// The last part of the path must be the name of a file of the packaged video.
async fn streaming_files_are_those_of_the_packaging(served: Served) {
    let id = served.finished().await;
    let eve = served.client(&served.installation.account("eve@example.org"));
    let other = served.finished_of(&eve).await;
    let (base, token) = (served.client.base.as_str(), served.client.token.as_str());
    for name in PACKAGING {
        let answer = get(base, token, &format!("/v1/renders/{id}/hls/{name}"), "");
        assert_eq!((answer.status, answer.body.as_str()), (200, content(name).as_str()), "{name}");
        assert_eq!(get(base, &eve.token, &format!("/v1/renders/{id}/hls/{name}"), "").code(), "render_not_found");
    }
    for path in [
        "",
        ".",
        "..",
        "../video",
        "../1/video.mp4",
        "%2e%2e/video.mp4",
        "..%2fvideo.mp4",
        "..%2f..%2fvideo.mp4",
        "%2e%2e%2f%2e%2e%2fposter.png",
        "%252e%252e/video.mp4",
        "..\\video.mp4",
        "..%5cvideo.mp4",
        "540p/../master.m3u8",
        "540p/./0.m4s",
        "540p//0.m4s",
        "/master.m3u8",
        "//etc/passwd",
        "%2fetc%2fpasswd",
        "master.m3u8/",
        "master.m3u8%00",
        "master.m3u8%00.jpg",
        "master.m3u8;x",
        "MASTER.M3U8",
        "540p",
        "540p/",
        "missing.m3u8",
        "540p/1.m4s",
        "a/b/c.m4s",
        "video.mp4",
        "http://169.254.169.254/x.mp4",
        "%ff.mp4",
    ] {
        let answer = get(base, token, &format!("/v1/renders/{id}/hls/{path}"), "");
        assert_eq!((answer.status, answer.code().as_str()), (404, "not_found"), "{path}: {answer:?}");
    }
    for path in [
        format!("../../{other}/hls/master.m3u8"),
        format!("..%2f..%2f{other}%2fhls%2fmaster.m3u8"),
        format!("../../../{other}/1/hls/1/master.m3u8"),
    ] {
        let answer = get(base, token, &format!("/v1/renders/{id}/hls/{path}"), "");
        assert_eq!((answer.status, answer.code().as_str()), (404, "not_found"), "{path}: {answer:?}");
    }
    assert_eq!(get(base, token, &format!("/v1/renders/{UNKNOWN}/hls/master.m3u8"), "").code(), "render_not_found");
}

on_both! { streaming_files_are_those_of_the_packaging }
