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

async fn an_ended_render_is_deleted_after_a_confirmation(served: Served) {
    let id = served.finished().await;
    let waiting = served.page_of_render(&served.client, "chair").await;
    served.installation.account(BOB);
    let (mut alice, mut bob) = (served.browser(EMAIL).await, served.browser(BOB).await);
    let path = format!("/renders/{id}");
    for (page, is_offered) in [(&path, true), (&waiting, false)] {
        assert_eq!(alice.get(page).await.shows(&format!("href=\"{page}/delete\"")), is_offered, "{page}");
    }
    let asked = alice.get(&format!("{path}/delete")).await;
    assert!(asked.shows("Delete this render?") && asked.shows("finished.glb"), "{}", asked.html);
    let sure = [("render", id.as_str()), ("list", "/renders"), ("sure", "yes")];
    bob.send("/renders/delete", &sure).await;
    assert!(alice.send("/renders/delete", &sure[..2]).await.shows("Delete this render?"));
    assert_eq!(alice.get(&path).await.status, 200, "neither Bob nor the page that asks has deleted it");
    // The second request of a double click leads to the same page.
    for _click in 0..2 {
        let page = alice.send("/renders/delete", &sure).await;
        assert_eq!((page.status, page.header("location")), (303, "/renders"), "{}", page.html);
    }
    assert_eq!(alice.get(&path).await.status, 404);
    assert!(!served.installation.objects().join("renders").join(&id).join("1/video.mp4").exists());
    let asked = alice.send("/renders/delete", &sure[..2]).await;
    assert!(asked.status == 404 && asked.shows("None of the chosen renders is left"), "{}", asked.html);
    let in_flight = [("render", waiting.trim_start_matches("/renders/")), ("sure", "yes")];
    let page = alice.send("/renders/delete", &in_flight).await;
    assert!(page.status == 409 && page.shows("The render is queued or in progress"), "{}", page.html);
    assert_eq!(alice.send("/renders/delete", &sure[1..]).await.status, 400, "no render was chosen");
}

async fn several_ended_renders_are_deleted_in_the_list(served: Served) {
    let model = served.client.upload("chair", None).await.text("modelId");
    let backstage = Backstage::of(&served).await;
    let mut alice = served.browser(EMAIL).await;
    let mut ids = Vec::new();
    for length in 1..=3 {
        ids.push(backstage.order(&model, &json!({"quality": "share", "length": length}), None).await);
    }
    for id in &ids[..2] {
        assert_eq!(alice.send(&format!("/renders/{id}/cancel"), &[]).await.status, 303);
    }
    let list = alice.get("/renders").await;
    // Only ended renders can be chosen.
    let can_be_chosen = |id: &String| list.shows(&format!("name=\"render\" value=\"{id}\""));
    assert_eq!(ids.iter().map(can_be_chosen).collect::<Vec<_>>(), [true, true, false]);
    assert!(!list.shows("http-equiv=\"refresh\""), "a reload would clear the checkboxes");
    assert!(list.shows("name=\"list\" value=\"/renders\""), "{}", list.html);
    let chosen = [("render", ids[0].as_str()), ("render", &ids[1]), ("render", UNKNOWN), ("list", "/renders")];
    let asked = alice.send("/renders/delete", &chosen).await;
    assert!(asked.shows("Delete 2 renders?") && asked.shows(&format!("<code>{UNKNOWN}</code>")), "{}", asked.html);
    assert!(asked.shows("href=\"/renders\">Keep them"), "{}", asked.html);
    let deleted = alice.send("/renders/delete", &[&chosen[..], &[("sure", "yes")]].concat()).await;
    assert_eq!((deleted.status, deleted.header("location")), (303, "/renders"));
    let list = alice.get("/renders").await;
    let is_listed = |id: &String| list.shows(&format!("href=\"/renders/{id}\""));
    assert_eq!(ids.iter().map(is_listed).collect::<Vec<_>>(), [false, false, true]);
}

on_both! {
    the_page_sends_only_files_of_the_stream_and_only_to_members
    files_of_the_stream_support_ranges_and_conditions
    links_open_without_a_sign_in_and_are_made_only_by_members
    a_failed_render_shows_the_message_what_to_do_and_the_refund
    a_waiting_render_is_cancelled_on_its_page
    an_ended_render_is_deleted_after_a_confirmation
    several_ended_renders_are_deleted_in_the_list
}
