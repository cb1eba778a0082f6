//! Tests of the page of a finished render: its stream, its bundle, links that work without a sign-in, and failures.

use plinth_spec::FailureCode;
use reqwest::Method;
use serde_json::json;

use super::backstage::{Backstage, PACKAGING, content};
use super::browser::Page;
use super::on_both;
use super::server::{EMAIL, Served};

const BOB: &str = "bob@example.org";
const UNKNOWN: &str = "AAAAAAAAAAAA";

async fn the_page_sends_only_files_of_the_stream_and_only_to_members(served: Served) {
    let id = served.finished().await;
    served.installation.account(BOB);
    let (mut alice, bob) = (served.browser(EMAIL).await, served.browser(BOB).await);
    for name in PACKAGING {
        let path = format!("/renders/{id}/hls/{name}");
        let file = alice.get(&path).await;
        assert_eq!((file.status, file.html.as_str()), (200, content(name).as_str()), "{name}");
        assert!(file.header("cache-control").starts_with("private"), "{name}");
        assert_eq!(bob.get(&path).await.status, 404, "{name}");
    }
    for name in ["nothing.m3u8", "%2e%2e%2fvideo.mp4", "..%5cvideo.mp4", "540p%2f..%2fmaster.m3u8", "%2fetc%2fpasswd"] {
        assert_eq!(alice.get(&format!("/renders/{id}/hls/{name}")).await.status, 404, "{name}");
    }
    assert_eq!(alice.get(&format!("/renders/{UNKNOWN}/hls/master.m3u8")).await.status, 404);
    assert_eq!(bob.get(&format!("/renders/{id}/bundle")).await.status, 404);
    let bundle = alice.get(&format!("/renders/{id}/bundle")).await;
    assert!(
        bundle.status == 200 && bundle.header("content-type") == "application/zip" && bundle.html.starts_with("PK")
    );
    let page = alice.get(&format!("/renders/{id}")).await;
    assert!(page.shows(&format!("data-stream=\"/renders/{id}/hls/master.m3u8\"")), "{}", page.html);
    assert!(page.shows("Settings that differ from their defaults") && page.shows("controls"), "{}", page.html);
    alice.send("/sign-out", &[]).await;
    assert_ne!(alice.get(&format!("/renders/{id}/hls/master.m3u8")).await.status, 200);
}

/// Safari requests media in ranges, and plays none of a server that ignores them.
async fn files_of_the_stream_support_ranges_and_conditions(served: Served) {
    let id = served.finished().await;
    let alice = served.browser(EMAIL).await;
    let path = format!("/renders/{id}/hls/540p/init.mp4");
    let text = content("540p/init.mp4");
    let size = text.len();
    let whole = alice.get(&path).await;
    let etag = whole.header("etag");
    assert_eq!((whole.status, whole.header("accept-ranges")), (200, "bytes"));
    assert_eq!(whole.header("content-length"), size.to_string());
    assert!(etag.len() > 2, "{whole:?}");
    let get = async |headers: &[(&str, &str)]| {
        let request = alice.request(Method::GET, &path);
        Page::of(headers.iter().fold(request, |request, (name, value)| request.header(*name, *value))).await
    };
    for (headers, range) in [
        (vec![("range", "bytes=0-1")], 0..2),
        (vec![("range", "bytes=2-4")], 2..5),
        (vec![("range", "bytes=-3")], size - 3..size),
        (vec![("range", "bytes=2-4"), ("if-range", etag)], 2..5),
        (vec![("range", "bytes=2-4"), ("if-match", etag)], 2..5),
    ] {
        let part = get(&headers).await;
        let described = format!("bytes {}-{}/{size}", range.start, range.end - 1);
        assert_eq!((part.status, part.header("content-range")), (206, described.as_str()), "{headers:?}");
        assert_eq!((part.header("content-type"), part.html.as_str()), ("video/mp4", &text[range]), "{headers:?}");
        assert!(part.header("cache-control").starts_with("private, max-age"), "{headers:?}");
    }
    for (headers, status) in [
        (vec![("range", "bytes=0-1"), ("if-range", "\"other\"")], 200),
        (vec![("if-none-match", etag)], 304),
        (vec![("if-match", "\"other\"")], 412),
    ] {
        assert_eq!(get(&headers).await.status, status, "{headers:?}");
    }
    let after_the_end = format!("bytes={size}-");
    let outside = get(&[("range", after_the_end.as_str())]).await;
    assert_eq!((outside.status, outside.header("content-range")), (416, format!("bytes */{size}").as_str()));
    assert_eq!(outside.header("cache-control"), "no-store");
    let head = Page::of(alice.request(Method::HEAD, &path).header("range", "bytes=0-1")).await;
    assert_eq!((head.status, head.header("content-length"), head.html.as_str()), (200, size.to_string().as_str(), ""));
}

async fn links_open_without_a_sign_in_and_are_made_only_by_members(served: Served) {
    let id = served.finished().await;
    served.installation.account(BOB);
    let (mut alice, mut bob) = (served.browser(EMAIL).await, served.browser(BOB).await);
    let path = format!("/renders/{id}/links");
    let fields = |asset| [("asset", asset), ("expires", "3600")];
    let page = alice.send(&path, &fields("video")).await;
    assert!(page.status == 200 && page.shows("A link for 1 hour"), "{}", page.html);
    let link = page.between("aria-label=\"The link\"><code>", "</code>").replace("&#38;", "&").replace("&amp;", "&");
    assert_eq!(reqwest::get(&link).await.unwrap().status(), 200, "{link}");
    let snippet = alice.send(&path, &fields("embed")).await;
    assert!(
        snippet.status == 200 && snippet.shows("&#60;video controls") && !snippet.shows("<video"),
        "{}",
        snippet.html
    );
    assert_eq!(bob.send(&path, &fields("video")).await.status, 404);
    assert_eq!(bob.send(&path, &fields("embed")).await.status, 404);
    for wrong in ["nothing", "", "../video"] {
        let page = alice.send(&path, &fields(wrong)).await;
        assert!(page.status == 400 || page.status == 404, "{wrong}: {}", page.status);
    }
    let own = served.server.base.as_str();
    let without_token = Page::of(alice.form(&path, &fields("video")).header("origin", own)).await;
    assert_eq!(without_token.status, 403);
}

async fn a_failed_render_shows_the_message_what_to_do_and_the_refund(served: Served) {
    let model = served.client.upload("chair", None).await.text("modelId");
    let backstage = Backstage::of(&served).await;
    let alice = served.browser(EMAIL).await;
    for (code, advice, refunded) in [
        (FailureCode::RendererError, "Repair the model as the message says", false),
        (FailureCode::DisplayLost, "The fault lies with the service", true),
    ] {
        let id = backstage.order(&model, &json!({"quality": "standard", "length": 2}), None).await;
        let claim = backstage.claim(&id).await;
        backstage.service.fail_render(&claim, code, "no such mesh").await.unwrap().unwrap();
        let page = alice.get(&format!("/renders/{id}")).await;
        let problem = page.between("<div class=\"problem\">", "</div>");
        assert!(problem.contains("No such mesh") && problem.contains(code.as_str()), "{problem}");
        assert!(problem.contains(advice), "{problem}");
        assert_eq!(problem.contains("refunded"), refunded, "{problem}");
    }
}

async fn a_waiting_render_is_cancelled_on_its_page(served: Served) {
    let made = served.client.upload("chair", None).await;
    let (model, free) = (made.text("modelId"), format!("/renders/{}", made.text("renderId")));
    let settings = json!({"quality": "standard", "length": 2});
    let backstage = Backstage::of(&served).await;
    let id = backstage.order(&model, &settings, None).await;
    served.installation.account(BOB);
    let (mut alice, mut bob) = (served.browser(EMAIL).await, served.browser(BOB).await);
    let path = format!("/renders/{id}");
    // The free preview of the upload has no credits to refund.
    for (path, is_refunded) in [(&path, true), (&free, false)] {
        let page = alice.get(path).await;
        assert!(page.shows("Cancel the render"), "{}", page.html);
        assert_eq!(page.shows("credits are refunded"), is_refunded, "{}", page.html);
    }
    assert_eq!(bob.send(&format!("{path}/cancel"), &[]).await.status, 404);
    // The second request of a double click leads to the same page.
    for _click in 0..2 {
        let page = alice.send(&format!("{path}/cancel"), &[]).await;
        assert_eq!((page.status, page.header("location")), (303, path.as_str()), "{}", page.html);
    }
    let page = alice.get(&path).await;
    let problem = page.between("<div class=\"problem\">", "</div>");
    assert!(problem.contains("Cancelled") && problem.contains("refunded"), "{problem}");
    assert!(!page.shows("Cancel the render"), "{}", page.html);
    let begun = backstage.order(&model, &json!({"quality": "standard", "length": 3}), None).await;
    backstage.claim(&begun).await;
    assert!(!alice.get(&format!("/renders/{begun}")).await.shows("Cancel the render"));
    let page = alice.send(&format!("/renders/{begun}/cancel"), &[]).await;
    assert!(page.status == 409 && page.shows("The render has begun"), "{}", page.html);
}

on_both! {
    the_page_sends_only_files_of_the_stream_and_only_to_members
    files_of_the_stream_support_ranges_and_conditions
    links_open_without_a_sign_in_and_are_made_only_by_members
    a_failed_render_shows_the_message_what_to_do_and_the_refund
    a_waiting_render_is_cancelled_on_its_page
}
