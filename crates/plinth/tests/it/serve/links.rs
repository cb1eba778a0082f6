//! Tests of signed links: their lifetime, and that each gives access to one file only.

use std::fs::File;
use std::io::Write as _;
use std::net::TcpStream;
use std::time::Duration;

use plinth_spec::limits;
use plinth_testkit::{Answer, Client, header};
use reqwest::{Method, Url};
use serde_json::json;

use super::backstage::{Backstage, content};
use super::on_both;
use super::server::Served;

/// Returns the value of a query parameter of a URL.
fn parameter(url: &str, name: &str) -> String {
    let url = Url::parse(url).unwrap();
    url.query_pairs().find(|(known, _)| known == name).map(|(_, value)| value.into_owned()).unwrap_or_default()
}

async fn links_are_valid_for_their_lifetime(served: Served) {
    let client = &served.client;
    let id = served.finished().await;
    let model = client.get(&format!("/renders/{id}")).await.text("modelId");
    // The lifetime of a link is at least a minute and at most a week.
    let lifetimes = [
        ("", 3600),
        ("60", 60),
        ("59", 60),
        ("-5", 60),
        ("0", 60),
        ("604800", 604_800),
        ("604801", 604_800),
        ("9223372036854775807", 604_800),
        ("-9223372036854775808", 60),
        ("99999999999999999999", 604_800),
        ("-99999999999999999999", 60),
    ];
    for (wanted, lifetime) in lifetimes {
        for link in [
            client.get(&format!("/models/{model}/file-url?expires={wanted}")).await,
            client.get(&format!("/renders/{id}/download-url?expires={wanted}")).await,
            client.post(&format!("/models/create-upload-url?expires={wanted}"), json!({})).await,
        ] {
            assert_eq!(link.data()["expiresIn"], lifetime, "{wanted}");
            let url = link.text("url");
            if served.is_alone() {
                let left = parameter(&url, "exp").parse::<i64>().unwrap() - now_secs();
                assert!((lifetime - 60..=lifetime).contains(&left), "{wanted}: {left}");
            } else {
                assert_eq!(parameter(&url, "X-Amz-Expires"), lifetime.to_string(), "{wanted}");
            }
        }
    }
    lifetimes_in_bodies_are_clamped_like_those_in_queries(client).await;
    for bad in ["abc", "1.5", "-", "1e9"] {
        for answer in [
            client.get(&format!("/models/{model}/file-url?expires={bad}")).await,
            client.get(&format!("/renders/{id}/download-url?expires={bad}")).await,
            client.post(&format!("/models/create-upload-url?expires={bad}"), json!({})).await,
        ] {
            assert_eq!(answer.rejection(), (400, "bad_request"), "{bad}");
        }
    }
}

async fn lifetimes_in_bodies_are_clamped_like_those_in_queries(client: &Client) {
    let lifetimes = [
        (json!(60), 60),
        (json!(59), 60),
        (json!(-5), 60),
        (json!(3600.0), 3600),
        (json!(604_801), 604_800),
        (json!(i64::MAX), 604_800),
        (json!(1e20), 604_800),
        (json!(-1e20), 60),
    ];
    for (wanted, lifetime) in lifetimes {
        let link = client.post("/models/create-upload-url", json!({"expires": wanted})).await;
        assert_eq!((link.status, &link.data()["expiresIn"]), (201, &json!(lifetime)), "{wanted}");
    }
    for bad in [json!(1.5), json!("60"), json!(true)] {
        let answer = client.post("/models/create-upload-url", json!({"expires": bad})).await;
        assert_eq!(answer.rejection(), (400, "bad_request"), "{bad}");
    }
}

fn now_secs() -> i64 {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap();
    now.as_secs().cast_signed()
}

async fn a_link_only_reads_its_file(served: Served) {
    let client = &served.client;
    let id = served.finished().await;
    for (asset, kind, name) in [
        ("video", "video/mp4", "video.mp4"),
        ("web", "video/mp4", "web.mp4"),
        ("poster", "image/png", "poster.small.png"),
        ("full_poster", "image/png", "poster.png"),
        ("thumb", "video/mp4", "thumb.mp4"),
    ] {
        let link = client.get(&format!("/renders/{id}/download-url?asset={asset}")).await;
        let url = link.text("url");
        assert_eq!(link.data(), &json!({"url": url, "asset": asset, "expiresIn": 3600}));
        let whole = content(name);
        // The request has no key, because the link itself grants access.
        let file = client.http.get(&url).header("range", "bytes=1-2").send().await.unwrap();
        let headers = file.headers().clone();
        assert_eq!((file.status().as_u16(), header(&headers, "content-type")), (206, kind), "{asset}");
        let disposition = header(&headers, "content-disposition");
        assert_eq!(disposition, format!("attachment; filename=\"{id}-{name}\""), "{asset}");
        assert_eq!(header(&headers, "content-range"), format!("bytes 1-2/{}", whole.len()), "{asset}");
        assert_eq!(file.text().await.unwrap(), whole[1..3], "{asset}");
        assert_eq!(client.http.get(&url).send().await.unwrap().text().await.unwrap(), whole, "{asset}");
    }
    let link = client.get(&format!("/renders/{id}/download-url")).await;
    let url = link.text("url");
    assert_eq!(link.data()["asset"], "video", "the default asset");
    for method in [Method::PUT, Method::POST, Method::DELETE, Method::PATCH] {
        let answer = client.http.request(method.clone(), &url).body("x").send().await.unwrap();
        assert!(answer.status().is_client_error() || answer.status() == 501, "{method}: {}", answer.status());
    }
    assert_eq!(
        client.http.get(&url).send().await.unwrap().text().await.unwrap(),
        content("video.mp4"),
        "the rejected upload did not change the file"
    );
    // Deleting a render invalidates its links.
    assert_eq!(client.send(Method::DELETE, &format!("/renders/{id}"), json!({})).await.data()["deleted"], true);
    assert_eq!(client.http.get(&url).send().await.unwrap().status(), 404);
    let folder = served.installation.objects().join("renders").join(&id).join("1");
    assert!(
        !folder.join("video.mp4").exists() && !folder.join("hls/1/master.m3u8").exists(),
        "the files of the render are deleted"
    );
}

async fn a_modified_link_is_rejected(served: Served) {
    let client = &served.client;
    let made = client.upload("chair", None).await;
    let link = client.get(&format!("/models/{}/file-url", made.text("modelId"))).await.text("url");
    assert_eq!(client.http.get(&link).send().await.unwrap().status(), 200);
    let begin = link.find("://").unwrap() + 3;
    let begin = begin + link[begin..].find('/').unwrap() + 1;
    for at in begin..link.len() {
        // Replaces a character by a letter or digit, so that the result is still a valid URL.
        let other = if &link[at..=at] == "1" { "2" } else { "1" };
        let changed = format!("{}{other}{}", &link[..at], &link[at + 1..]);
        let status = client.http.get(&changed).send().await.unwrap().status();
        // Plinth responds with a client error. S3 may reject the request with any error.
        let is_rejected = if served.is_alone() { status.is_client_error() } else { !status.is_success() };
        assert!(is_rejected, "{status} for {changed}");
    }
    for (what, changed) in [
        ("no query", link.split('?').next().unwrap().to_owned()),
        (
            "an added parameter",
            link.replace("exp=", "exp=9&exp=").replace("X-Amz-Expires=", "X-Amz-Expires=9&X-Amz-Expires="),
        ),
    ] {
        let status = client.http.get(&changed).send().await.unwrap().status();
        assert!(status.is_client_error(), "{what}: {status}");
    }
}

/// Tests links to local files only, because S3 itself enforces the lifetime of its links.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_link_expires() {
    let served = Served::with_sqlite();
    let client = &served.client;
    let model = client.upload("chair", None).await.text("modelId");
    for (seconds_ago, is_good) in [(20, true), (61, false), (604_800, false)] {
        let then = Backstage::ago(&served, Duration::from_secs(seconds_ago)).await;
        let link = then.service.model_file_url(&then.caller, &model, Some(60)).await.unwrap();
        let got = client.http.get(&link.url).send().await.unwrap();
        assert_eq!(got.status(), if is_good { 200 } else { 403 }, "{seconds_ago} s ago");
        let staged = then.service.create_upload_url(&then.caller, Some(60)).await.unwrap();
        let put = Answer::to(client.http.put(&staged.url).body("x")).await;
        let finalized = client.post("/models/finalize", json!({"ticket": staged.ticket, "filename": "a.glb"})).await;
        if is_good {
            assert_eq!((put.status, finalized.rejection()), (200, (422, "upload_failed")));
        } else {
            assert_eq!((put.rejection(), finalized.rejection()), ((403, "forbidden"), (404, "not_found")));
        }
    }
}

/// A rotation takes effect in a running server. Links that were signed with an older secret stay valid until they
/// expire or are revoked.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn links_of_earlier_secrets_work_until_they_are_revoked() {
    let served = Served::with_sqlite();
    let client = &served.client;
    let model = client.upload("chair", None).await.text("modelId");
    let link = async || client.get(&format!("/models/{model}/file-url")).await.text("url");
    let status = async |url: &str| client.http.get(url).send().await.unwrap().status().as_u16();
    let first = link().await;
    let made = served.installation.admin(&["links", "rotate"]);
    let second = link().await;
    assert_eq!(parameter(&second, "kid"), made["id"].as_str().unwrap());
    assert_ne!(parameter(&first, "kid"), parameter(&second, "kid"));
    assert_eq!((status(&first).await, status(&second).await), (200, 200));
    let swapped = first.replace(&parameter(&first, "kid"), &parameter(&second, "kid"));
    assert_eq!(status(&swapped).await, 403, "a signature is valid only together with the identifier of its secret");
    let listed = served.installation.admin(&["links", "list"]);
    let ends: Vec<bool> = listed["secrets"].as_array().unwrap().iter().map(|one| one["endsAt"].is_string()).collect();
    assert_eq!(ends, [false, true]);
    served.installation.admin(&["links", "rotate", "--revoke"]);
    assert_eq!((status(&first).await, status(&second).await, status(&link().await).await), (403, 403, 200));
    assert_eq!(served.installation.admin(&["links", "list"])["secrets"].as_array().unwrap().len(), 1);
}

/// The clients read nothing, and the file is larger than the buffers of a connection. Therefore, the downloads stay
/// open.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_open_downloads_of_a_file_are_limited() {
    const BYTES: u64 = 1 << 30;
    let served = Served::with_sqlite();
    let client = &served.client;
    let upload = async |name: &str| client.upload(name, None).await.text("modelId");
    let (model, other) = (upload("chair").await, upload("stool").await);
    let link = async |model: &str| client.get(&format!("/models/{model}/file-url")).await.text("url");
    let (url, other_url) = (link(&model).await, link(&other).await);
    let file = File::options().write(true).open(served.installation.objects().join(format!("models/{model}.glb")));
    file.unwrap().set_len(BYTES).unwrap();
    let address = served.server.base.strip_prefix("http://").unwrap();
    let path = url.strip_prefix(&served.server.base).unwrap();
    let begin = || {
        let mut stream = TcpStream::connect(address).unwrap();
        write!(stream, "GET {path} HTTP/1.1\r\nHost: {address}\r\n\r\n").unwrap();
        stream
    };
    let mut open: Vec<TcpStream> = (0..limits::DOWNLOADS_PER_FILE).map(|_download| begin()).collect();
    let get = async |url: &str| Answer::to(client.http.get(url).header("range", "bytes=0-0")).await;
    let mut answers = Vec::new();
    while answers.len() < 50 && answers.last().is_none_or(|last: &Answer| last.status != 429) {
        if !answers.is_empty() {
            tokio::time::sleep(Duration::from_millis(200)).await;
            // The previous request may have taken the place of one of these downloads, so another download is started.
            open.push(begin());
        }
        answers.push(get(&url).await);
    }
    let rejected = answers.pop().unwrap();
    assert_eq!((rejected.rejection(), rejected.header("retry-after")), ((429, "rate_limited"), "1"));
    assert_eq!(get(&other_url).await.status, 206, "another file of the same account");
    open.clear();
    for _try in 0..50 {
        if get(&url).await.status == 206 {
            return;
        }
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
    panic!("ended downloads still count: {}", served.installation.log());
}

on_both! { links_are_valid_for_their_lifetime a_link_only_reads_its_file a_modified_link_is_rejected }
