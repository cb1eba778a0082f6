//! Tests of the web UI: keys, renders, and requests from other sites.

use std::time::Duration;

use plinth_testkit::Client;
use reqwest::Method;
use serde_json::json;
use tokio::time::{sleep, timeout};

use super::browser::{Browser, Page};
use super::on_both;
use super::server::{EMAIL, Served};

const BOB: &str = "bob@example.org";

/// Returns the fields of a form that creates a key in the first workspace that the page offers.
async fn key_fields(browser: &Browser, name: &str, may: &str, days: &str) -> Vec<(String, String)> {
    let page = browser.get("/keys").await;
    let workspace = page.between("<option value=\"", "\"");
    let fields = [("name", name), ("may", may), ("workspace", workspace), ("days", days)];
    fields.map(|(key, value)| (key.to_owned(), value.to_owned())).to_vec()
}

async fn make_key(browser: &mut Browser, name: &str, may: &str, days: &str) -> Page {
    let fields = key_fields(browser, name, may, days).await;
    let fields: Vec<_> = fields.iter().map(|(key, value)| (key.as_str(), value.as_str())).collect();
    browser.send("/keys", &fields).await
}

async fn forms_from_other_sites_are_rejected(served: Served) {
    let mut browser = served.browser(EMAIL).await;
    let token = browser.get("/keys").await.form_token();
    let mut fields = key_fields(&browser, "evil", "render", "").await;
    fields.push(("form_token".to_owned(), token.clone()));
    let fields: Vec<_> = fields.iter().map(|(key, value)| (key.as_str(), value.as_str())).collect();
    let own = served.server.base.as_str();
    for (name, value) in [
        ("origin", "https://evil.example"),
        ("origin", "null"),
        ("x-nothing", "neither header"),
        ("sec-fetch-site", "cross-site"),
        ("sec-fetch-site", "same-site"),
    ] {
        let page = Page::of(browser.form("/keys", &fields).header(name, value)).await;
        assert!(page.status == 403 && page.shows("another site"), "{name}: {value}: {}", page.status);
    }
    let stolen = served.browser(EMAIL).await.get("/keys").await.form_token();
    for wrong in [None, Some(""), Some("0"), Some(stolen.as_str())] {
        let others = fields.iter().copied().filter(|(key, _)| *key != "form_token");
        let fields: Vec<_> = others.chain(wrong.map(|token| ("form_token", token))).collect();
        let page = Page::of(browser.form("/keys", &fields).header("origin", own)).await;
        assert!(page.status == 403 && page.shows("earlier session"), "{wrong:?}: {}", page.status);
    }
    let link = served.link(EMAIL, &[]);
    let page = Page::of(Browser::new(own).form(&link, &[]).header("origin", "https://evil.example")).await;
    assert_eq!(page.status, 403, "another site cannot sign anybody in");
    assert_eq!(browser.post(&link, &[]).await.status, 303, "the rejected form has not used up the link");
    assert!(!browser.get("/keys").await.shows("evil"), "no key was created");
    assert_eq!(
        Page::of(browser.form("/keys", &fields).header("origin", own)).await.status,
        403,
        "a form of an earlier session"
    );
}

async fn a_key_is_shown_once_and_revoked_at_once(served: Served) {
    let mut browser = served.browser(EMAIL).await;
    let page = make_key(&mut browser, "<b>shop & co</b>", "render", "").await;
    assert_eq!((page.status, page.header("cache-control")), (200, "no-store"));
    assert!(page.shows("&#60;b&#62;shop &#38; co&#60;/b&#62;") && !page.shows("<b>shop"), "{}", page.html);
    let token =
        page.between("<pre class=\"secret\" tabindex=\"0\" aria-label=\"The key\"><code>", "</code>").to_owned();
    let line = format!("curl -H 'Authorization: Bearer {token}' {}/v1/account", served.server.base);
    assert!(page.shows(&line), "{}", page.html);
    let client = served.client(&token);
    assert_eq!(client.get("/account").await.text("email"), EMAIL);
    let list = browser.get("/keys").await;
    assert!(!list.shows(&token) && list.shows(&format!("plinth_sk_…{}", &token[token.len() - 4..])), "{}", list.html);
    assert!(list.shows("read, render") && list.shows("Personal"));
    // The newest key is first in the list.
    let revoke = format!("/keys/{}/revoke", list.between("/keys/", "/revoke\""));
    assert!(browser.get(&revoke).await.shows("shop &#38; co"));
    assert_eq!(client.get("/account").await.status, 200, "the confirmation page does not revoke");
    // A key of another account is treated like a key that does not exist.
    served.installation.admin(&["account", "create", BOB]);
    let mut bob = served.browser(BOB).await;
    let unknown = bob.get("/keys/k3Jd92LmQx7a/revoke").await;
    let foreign = bob.get(&revoke).await;
    assert_eq!((unknown.status, foreign.status, unknown.html), (404, 404, foreign.html));
    assert_eq!(bob.send(&revoke, &[]).await.status, 404);
    assert!(!bob.get("/keys").await.shows("shop &#38; co"));
    assert_eq!(client.get("/account").await.status, 200);
    let page = browser.send(&revoke, &[]).await;
    assert_eq!((page.status, page.header("location")), (303, "/keys"));
    assert_eq!(client.get("/account").await.rejection(), (401, "unauthorized"));
    assert_eq!(browser.send(&revoke, &[]).await.status, 404, "once");
    // A key has the scopes and the lifetime that the user chose. Other values are rejected.
    let page = make_key(&mut browser, "reader", "read", "30").await;
    let token = page.between("aria-label=\"The key\"><code>", "</code>");
    assert_eq!(served.client(token).post("/renders", json!({})).await.rejection(), (403, "insufficient_scope"));
    for (name, may, days) in [("", "read", ""), ("x", "everything", ""), ("x", "read", "99999999"), ("x", "read", "-1")]
    {
        assert_eq!(make_key(&mut browser, name, may, days).await.status, 400, "{name} {may} {days}");
    }
    assert_eq!(make_key(&mut browser, &"x".repeat(101), "read", "").await.status, 400);
    let bobs = bob.get("/keys").await.between("<option value=\"", "\"").to_owned();
    let fields = [("name", "x"), ("may", "read"), ("workspace", bobs.as_str()), ("days", "")];
    assert_eq!(
        browser.send("/keys", &fields).await.status,
        404,
        "no key can be created for another account's workspace"
    );
}

async fn revoked_keys_are_listed_below_the_valid_ones_and_folded(served: Served) {
    let mut browser = served.browser(EMAIL).await;
    let folded = "<details class=\"above\"><summary>Revoked and expired keys <span class=\"quiet\">1</span></summary>";
    make_key(&mut browser, "older", "read", "").await;
    make_key(&mut browser, "newer", "read", "").await;
    let list = browser.get("/keys").await;
    assert!(list.shows(">newer</th>") && !list.shows("Revoked and expired keys"), "{}", list.html);
    // The newest key is first in the list.
    let revoke = format!("/keys/{}/revoke", list.between("/keys/", "/revoke\""));
    assert_eq!(browser.send(&revoke, &[]).await.status, 303);
    let list = browser.get("/keys").await;
    let (valid, rest) = list.html.split_once(folded).unwrap();
    let ended = rest.split_once("</details>").unwrap().0;
    assert!(valid.contains(">older</th>") && !valid.contains(">newer</th>"), "{valid}");
    assert!(ended.contains(">newer</th>") && ended.contains("revoked <time"), "{ended}");
}

async fn cookies_are_valid_for_pages_only_and_keys_for_the_api_only(served: Served) {
    let browser = served.browser(EMAIL).await;
    for base in ["/v1", "/api/v1"] {
        let answer = browser.get(&format!("{base}/account")).await;
        assert!(answer.status == 401 && answer.shows("\"unauthorized\""), "{}", answer.html);
        assert!(!answer.headers.keys().any(|name| name.as_str().starts_with("access-control")));
    }
    let request = browser.request(Method::GET, "/keys").header("origin", "https://evil.example");
    let page = Page::of(request).await;
    assert!(!page.headers.keys().any(|name| name.as_str().starts_with("access-control")));
    let stranger = Browser::new(&served.server.base);
    let with_key = stranger.request(Method::GET, "/keys").bearer_auth(&served.client.token);
    assert_eq!(Page::of(with_key).await.header("location"), "/sign-in?to=%2Fkeys");
    for path in ["/keys", "/renders/k3Jd92LmQx7a", "/keys/k3Jd92LmQx7a/revoke"] {
        let sign_in = format!("/sign-in?to={}", path.replace('/', "%2F"));
        assert_eq!(stranger.get(path).await.header("location"), sign_in, "{path}");
    }
}

async fn pages_have_a_strict_security_policy(served: Served) {
    let browser = served.browser(EMAIL).await;
    for path in ["/", "/keys", "/renders", "/nowhere", "/sign-in/x", "/renders/k3Jd92LmQx7a", "/models/k3Jd92LmQx7a"] {
        let page = browser.get(path).await;
        let policy = page.header("content-security-policy");
        assert!(policy.starts_with("default-src 'none'; style-src 'self'; img-src 'self'"), "{path}: {policy}");
        assert!(policy.contains("frame-ancestors 'none'") && policy.contains("base-uri 'none'"), "{path}: {policy}");
        assert!(policy.contains("; script-src 'self'; ") && !policy.contains("unsafe"), "{path}: {policy}");
        assert!(policy.contains("require-trusted-types-for 'script'; trusted-types 'none'"), "{path}: {policy}");
        let scripts = page.html.matches("<script").count();
        assert_eq!(
            page.html.matches("<script type=\"module\" src=\"/assets/").count(),
            scripts,
            "{path}: no inline code"
        );
        assert_eq!(page.header("x-content-type-options"), "nosniff", "{path}");
        assert_eq!(page.header("referrer-policy"), "same-origin", "{path}");
        assert_eq!(page.header("cache-control"), "no-store", "{path}");
        assert!(!page.header("x-request-id").is_empty(), "{path}");
        assert!(!page.shows(" style=\"") && !page.shows("onclick"), "{path}");
    }
    let missing = browser.get("/nowhere").await;
    assert!(missing.status == 404 && missing.shows("Not found") && missing.header("content-type").contains("html"));
    for path in ["/v1/nowhere", "/v1", "/v1/", "/api/v1/nowhere"] {
        let missing = browser.get(path).await;
        assert!(missing.status == 404 && missing.shows("\"not_found\""), "{path}: {} {}", missing.status, missing.html);
    }
    assert_eq!(
        Page::of(browser.request(Method::PUT, "/keys")).await.status,
        403,
        "the request has no header that says its origin"
    );
    let put = browser.request(Method::PUT, "/keys").header("origin", &served.server.base);
    assert_eq!(Page::of(put).await.status, 405);
    let page = browser.get("/").await;
    for (before, kind) in [("rel=\"stylesheet\" href=\"", "text/css"), ("type=\"module\" src=\"", "text/javascript")] {
        let path = page.between(before, "\"").to_owned();
        let asset = browser.get(&path).await;
        assert!(asset.header("content-type").starts_with(kind), "{path}");
        assert!(asset.header("cache-control").contains("immutable") && asset.header("vary") == "accept-encoding");
        let zipped = browser.request(Method::GET, &path).header("accept-encoding", "br, gzip").send().await.unwrap();
        assert_eq!(zipped.headers()["content-encoding"], "gzip");
        assert!(zipped.bytes().await.unwrap().len() < asset.html.len());
        let (folder, _name) = path.rsplit_once('/').unwrap();
        assert_eq!(browser.get(&format!("{folder}/nothing.js")).await.status, 404);
        let older = path.replace(folder, "/assets/0000000000000000");
        assert_eq!(browser.get(&older).await.status, 404, "another version's");
    }
    let large = "x".repeat(32 << 10);
    let form = browser.form("/sign-in", &[("email", large.as_str())]).header("origin", &served.server.base);
    assert_eq!(Page::of(form).await.status, 400, "the size of a form is limited");
}

async fn renders_are_visible_only_in_their_workspace(served: Served) {
    let installation = &served.installation;
    let browser = served.browser(EMAIL).await;
    let path = served.page_of_render(&served.client, "oak chair").await;
    let list = browser.get("/renders").await;
    assert!(list.shows("oak chair.glb") && list.shows(&path) && list.shows("Waiting") && list.shows("free preview"));
    assert!(list.shows("http-equiv=\"refresh\""), "{}", list.html);
    let page = browser.get(&path).await;
    assert!(
        page.shows("oak chair.glb") && page.shows("http-equiv=\"refresh\"") && !page.shows("<video"),
        "{}",
        page.html
    );
    assert_eq!(browser.get(&format!("{path}/files/video")).await.status, 404, "not yet");
    assert_eq!(browser.get(&format!("{path}/files/nonsense")).await.status, 400);
    installation.admin(&["account", "create", BOB]);
    let mut bob = served.browser(BOB).await;
    for path in [path.clone(), format!("{path}/files/poster")] {
        let (foreign, unknown) = (bob.get(&path).await, bob.get("/renders/k3Jd92LmQx7a").await);
        assert_eq!((foreign.status, &foreign.html), (404, &unknown.html));
    }
    assert!(!bob.get("/renders").await.shows("oak chair") && !bob.get("/").await.shows("oak chair"));
    // Members of a team see its renders as long as they are members.
    let team =
        installation.admin(&["workspace", "create", "Team", "--owner", EMAIL])["id"].as_str().unwrap().to_owned();
    let of_team = served.client(&installation.key(EMAIL, &["--workspace", &team]));
    let path = served.page_of_render(&of_team, "team chair").await;
    let choose = [("workspace", team.as_str())];
    assert_eq!(bob.send("/workspace", &choose).await.status, 404);
    installation.admin(&["workspace", "add", &team, BOB, "--role", "viewer"]);
    assert_eq!(bob.get(&path).await.status, 404, "Bob is in another workspace");
    assert_eq!(bob.send("/workspace", &choose).await.status, 303);
    assert!(bob.get("/renders").await.shows("team chair.glb") && bob.get(&path).await.status == 200);
    assert!(!bob.get("/keys").await.shows(&format!("<option value=\"{team}\"")), "a viewer cannot create keys there");
    let fields = [("name", "x"), ("may", "read"), ("workspace", team.as_str()), ("days", "")];
    assert_eq!(bob.send("/keys", &fields).await.status, 403);
    installation.admin(&["workspace", "remove", &team, BOB]);
    assert_eq!(bob.get(&path).await.status, 404);
    assert!(bob.get("/").await.shows("Nothing here yet"), "without the team, Bob sees his own workspace");
}

/// The page of an error has the user's menu and leads back to the form. If the session has ended, so does the sign-in.
async fn a_rejected_form_leads_back_to_its_page(served: Served) {
    let base = served.server.base.as_str();
    let browser = served.browser(EMAIL).await;
    let token = browser.get("/teams").await.form_token();
    let send = async |browser: &Browser, path: &str, from: &str| {
        let fields = [("form_token", token.as_str()), ("name", ""), ("action", "archive")];
        Page::of(browser.form(path, &fields).header("origin", base).header("referer", from)).await
    };
    for (path, from, back) in [
        ("/teams", "/teams?a=1", "<a href=\"/teams?a=1\">Back to the form</a>"),
        ("/models/bulk", "/?search=oak", "<a href=\"/?search=oak\">Back to the form</a>"),
    ] {
        let page = send(&browser, path, &format!("{base}{from}")).await;
        assert!(page.status == 400 && page.shows(back) && page.shows("Sign out"), "{path}: {}", page.html);
    }
    for elsewhere in ["https://evil.example/teams", "javascript:alert(1)", base] {
        let page = send(&browser, "/teams", elsewhere).await;
        assert!(page.status == 400 && !page.shows("Back to the form"), "{elsewhere}: {}", page.html);
    }
    let missing = browser.get("/nowhere").await;
    assert!(missing.shows("Sign out") && !missing.shows("Back to the form"), "{}", missing.html);
    let stranger = Browser::new(base);
    let missing = stranger.get("/nowhere").await;
    assert!(missing.status == 404 && !missing.shows("Sign out"), "{}", missing.html);
    let page = send(&stranger, "/teams", &format!("{base}/teams")).await;
    assert_eq!(page.header("location"), "/sign-in?to=%2Fteams");
    assert_eq!(send(&stranger, "/teams", "https://evil.example/teams").await.header("location"), "/");
}

async fn the_page_of_a_finished_render_links_its_files(served: Served) {
    let Served { client, server, installation } = served;
    let token = client.token.clone();
    server.end();
    let server = installation.serve(&["--rate-limit-per-minute", "1000000"]);
    let served = Served { client: Client::new(&server.base, &token), server, installation };
    let made = served.client.upload("helmet", Some(json!({"quality": "share", "length": 0.1}))).await;
    let id = made.text("renderId");
    let ended = async {
        loop {
            let render = served.client.get(&format!("/renders/{id}")).await;
            if ["done", "error"].contains(&render.text("status").as_str()) {
                break render;
            }
            sleep(Duration::from_millis(100)).await;
        }
    };
    let render = timeout(Duration::from_mins(5), ended).await.unwrap();
    assert_eq!(render.text("status"), "done", "{render:?}");
    let browser = served.browser(EMAIL).await;
    let page = browser.get(&format!("/renders/{id}")).await;
    assert!(page.shows("<video") && page.shows(&format!("src=\"/renders/{id}/files/web\"")), "{}", page.html);
    assert!(!page.shows("http-equiv=\"refresh\"") && page.shows("<dt title=\"quality\">"), "{}", page.html);
    assert!(browser.get("/renders").await.shows(&format!("src=\"/renders/{id}/files/poster\"")));
    for (asset, kind) in
        [("video", "video/mp4"), ("web", "video/mp4"), ("poster", "image/png"), ("full_poster", "image/png")]
    {
        let led = browser.get(&format!("/renders/{id}/files/{asset}")).await;
        assert_eq!((led.status, led.header("cache-control")), (307, "no-store"));
        let link = led.header("location").to_owned();
        let origin: String = url::Url::parse(&link).unwrap().origin().ascii_serialization();
        let policy = page.header("content-security-policy");
        assert!(policy.contains(&format!("img-src 'self' {origin}; media-src 'self' blob: {origin};")), "{policy}");
        // The request has no cookie, because the link itself grants access. Browsers must not render the file as a page
        // of this origin.
        let file = served.client.http.get(&link).send().await.unwrap();
        assert_eq!((file.status().as_u16(), file.headers()["content-type"].to_str().unwrap()), (200, kind));
        assert!(file.headers()["content-disposition"].to_str().unwrap().starts_with("attachment"));
        if origin == served.server.base {
            assert_eq!(file.headers()["content-security-policy"], "default-src 'none'; sandbox");
            assert_eq!(file.headers()["x-content-type-options"], "nosniff");
        }
    }
}

on_both! {
    forms_from_other_sites_are_rejected a_key_is_shown_once_and_revoked_at_once
    revoked_keys_are_listed_below_the_valid_ones_and_folded
    cookies_are_valid_for_pages_only_and_keys_for_the_api_only pages_have_a_strict_security_policy renders_are_visible_only_in_their_workspace
    the_page_of_a_finished_render_links_its_files a_rejected_form_leads_back_to_its_page
}
