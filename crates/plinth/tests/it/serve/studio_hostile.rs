//! Tests of attacks on every page and every form of the web UI: scripts in names, forms of other sites, framing, and
//! objects of other workspaces. The routes are read from the router, so that no route can be forgotten.

use std::collections::BTreeMap;

use plinth_spec::limits;
use plinth_testkit::{Form, glb_with_triangle};
use reqwest::Method;
use serde_json::{Value, json};

use super::assets::environment;
use super::browser::{Browser, Page};
use super::on_both;
use super::server::{EMAIL, Served};

/// A text that runs as code on a page that does not escape it.
const HOSTILE: &str = "\"'><script>alert(1)</script><img src=x onerror=alert(2)>&";
const BOB: &str = "bob@example.org";
/// An identifier that no object has.
const UNKNOWN: &str = "k3Jd92LmQx7a";

/// Returns the path of each route with one of its methods, `get` or `post`.
pub(super) fn routes(method: &str) -> Vec<String> {
    let source = include_str!("../../../../plinth-studio/src/router.rs");
    let routes = source.split(".route(").skip(1).filter_map(|rest| {
        let line = rest.split(".route(").next().unwrap();
        let path = line.strip_prefix('"')?.split('"').next().unwrap();
        line.contains(&format!("{method}(")).then(|| path.to_owned())
    });
    routes.filter(|path| !path.starts_with("/assets") && path != "/stripe/events").collect()
}

/// Returns a path with these identifiers instead of its parameters.
pub(super) fn filled(path: &str, ids: &BTreeMap<&str, String>) -> String {
    let part = |part: &str| match part.strip_prefix('{') {
        Some(name) => {
            let collection = path.trim_start_matches('/').split('/').next().unwrap();
            let name = name.trim_end_matches('}');
            let key = if name == "id" { collection } else { name };
            ids.get(key).cloned().unwrap_or_else(|| UNKNOWN.to_owned())
        }
        None => part.to_owned(),
    };
    path.split('/').map(part).collect::<Vec<_>>().join("/")
}

/// Objects of an account, with hostile names wherever a text is accepted. The account is an administrator.
pub(super) async fn hostile_objects(served: &Served) -> (Browser, BTreeMap<&'static str, String>) {
    let client = &served.client;
    served.installation.admin(&["account", "make-admin", EMAIL, "--reason", HOSTILE]);
    let mut browser = served.browser(EMAIL).await;
    let team = browser.send("/teams", &[("name", HOSTILE)]).await.header("location").to_owned();
    let invited = browser.send(&format!("{team}/invite"), &[("email", ""), ("role", "viewer")]).await;
    assert!(!invited.shows("<script>alert"), "{}", invited.html);
    let link = invited.between("/join/", "</code>").to_owned();
    let team_id = team.rsplit('/').next().unwrap().to_owned();
    let bound = served.client(&served.installation.key(EMAIL, &["--workspace", &team_id, "--name", HOSTILE]));
    let name = format!("{}.glb", HOSTILE.replace(['"', '/'], ""));
    let file = Form::default()
        .file("file", &name, &glb_with_triangle(HOSTILE))
        .text("renderSettings", r#"{"quality":"share"}"#);
    let made = bound.form("/models", file).await;
    assert_eq!(made.status, 201, "{made:?}");
    let (model, render) = (made.text("modelId"), made.text("renderId"));
    let edit = json!({"title": HOSTILE, "sku": HOSTILE, "tags": [HOSTILE]});
    assert_eq!(bound.send(Method::PATCH, &format!("/models/{model}"), edit).await.status, 200);
    let settings = json!({"quality": "share", "length": 1, "animation": HOSTILE, "hiddenMeshNames": [HOSTILE],
        "materialEdits": {HOSTILE: {"color": "#ff0000"}}});
    let order = json!({"modelId": model, "renderSettings": settings});
    assert_eq!(bound.post("/renders", order).await.status, 201);
    let environment = bound.form("/assets/envs", environment().text("name", HOSTILE)).await.text("id");
    let image = Form::default().file("file", "a.png", &plinth_testkit::png(7)).text("name", HOSTILE);
    let image = bound.form("/overlays", image.text("layer", "decal")).await.text("id");
    let keys = browser.get("/keys").await;
    let key = keys.between("/keys/", "/revoke\"").to_owned();
    let account = client.get("/account").await.text("id");
    let ids = [
        ("models", model),
        ("renders", render),
        ("environments", environment),
        ("images", image),
        ("keys", key),
        ("teams", team_id),
        ("member", account.clone()),
        ("account", account),
        ("link", link),
    ];
    (browser, ids.into_iter().chain([("asset", "poster".to_owned())]).collect())
}

/// Pages escape the texts of users, and cannot be embedded in frames.
async fn no_page_runs_or_frames_what_users_wrote(served: Served) {
    let (browser, ids) = hostile_objects(&served).await;
    let mut shown = 0;
    for route in routes("get") {
        let path = filled(&route, &ids);
        if route.ends_with("/events") {
            continue;
        }
        let searched = if path == "/" { format!("/?search={}", urlencoded(HOSTILE)) } else { path.clone() };
        for path in [path, searched] {
            let page = browser.get(&path).await;
            assert!(page.status < 500, "{path}: {}", page.html);
            assert_eq!(page.header("x-frame-options"), "DENY", "{path}");
            assert_eq!(page.header("x-content-type-options"), "nosniff", "{path}");
            let policy = page.header("content-security-policy");
            assert!(
                policy.contains("frame-ancestors 'none'") && policy.contains("script-src 'self'"),
                "{path}: {policy}"
            );
            if page.header("content-type").starts_with("text/html") {
                assert!(!page.shows("<script>alert") && !page.shows("<img src=x"), "{path}: {}", page.html);
                shown += page.html.matches("&#60;script&#62;alert(1)").count();
            }
        }
    }
    assert!(shown >= 12, "the hostile texts are on the pages: {shown}");
}

fn urlencoded(text: &str) -> String {
    url::form_urlencoded::byte_serialize(text.as_bytes()).collect()
}

/// Every form needs the origin of this site, and every form of a signed-in user needs the token of the session.
async fn no_form_is_accepted_from_another_site(served: Served) {
    let (browser, ids) = hostile_objects(&served).await;
    let before = state(&served, &ids).await;
    let stolen = served.browser(EMAIL).await.get("/keys").await.form_token();
    let routes = routes("post");
    assert!(routes.len() > 25, "{routes:?}");
    for route in routes {
        let path = filled(&route, &ids);
        let fields =
            [("name", "x"), ("role", "viewer"), ("email", ""), ("pack", "small"), ("sure", "yes"), ("reason", "x")];
        for (name, value) in [("origin", "https://evil.example"), ("sec-fetch-site", "cross-site"), ("x-none", "x")] {
            let page = Page::of(browser.form(&path, &fields).header(name, value)).await;
            assert!(page.status == 403 && page.shows("another site"), "{path} {name}: {}", page.status);
        }
        // These forms need no token, because they are for users who are not signed in.
        let is_open = ["/sign-in", "/sign-in/{link}", "/password/forgot", "/password/new/{link}"]
            .contains(&route.as_str())
            || route.starts_with("/join/{link}/");
        for token in [None, Some("x"), Some(stolen.as_str())].into_iter().filter(|_token| !is_open) {
            let fields: Vec<_> = fields.iter().copied().chain(token.map(|token| ("form_token", token))).collect();
            let request = browser.form(&path, &fields).header("origin", &served.server.base);
            let page = Page::of(request).await;
            assert!([400, 403].contains(&page.status), "{path} {token:?}: {} {}", page.status, page.html);
        }
    }
    assert_eq!(state(&served, &ids).await, before);
}

/// For other accounts, every page and every form responds as if the objects of a workspace did not exist.
async fn objects_of_another_workspace_do_not_exist(served: Served) {
    let (_ada, ids) = hostile_objects(&served).await;
    let before = state(&served, &ids).await;
    served.installation.account(BOB);
    let mut bob = served.browser(BOB).await;
    let own = ids.iter().filter(|(name, _)| !["link", "asset"].contains(name));
    let own: BTreeMap<&str, String> =
        own.map(|(name, id)| (*name, id.clone())).chain([("asset", "poster".to_owned())]).collect();
    let nothing: BTreeMap<&str, String> = BTreeMap::from([("asset", "poster".to_owned())]);
    let names_object = |route: &&String| {
        ["/models/{", "/renders/{", "/keys/{", "/teams/{", "/environments/{", "/images/", "/admin"]
            .iter()
            .any(|p| route.starts_with(p))
    };
    for route in routes("get").iter().filter(names_object) {
        let (foreign, unknown) = (bob.get(&filled(route, &own)).await, bob.get(&filled(route, &nothing)).await);
        assert_eq!((foreign.status, unknown.status), (404, 404), "{route}: {}", foreign.html);
        assert_eq!(foreign.html, unknown.html, "{route}");
    }
    for route in routes("post").iter().filter(names_object) {
        let fields = [
            ("name", "x"),
            ("role", "viewer"),
            ("email", ""),
            ("title", "x"),
            ("sku", ""),
            ("tags", ""),
            ("action", "price"),
            ("asset", "video"),
            ("expires", "3600"),
        ];
        let mut fields = fields.to_vec();
        let member = ids["member"].clone();
        fields.push(("member", &member));
        let page = bob.send(&filled(route, &own), &fields).await;
        assert_eq!(page.status, 404, "{route}: {}", page.html);
    }
    for (path, fields) in [
        ("/models/bulk", [("model", ids["models"].as_str()), ("action", "archive")]),
        ("/renders/delete", [("render", ids["renders"].as_str()), ("x", "")]),
        ("/workspace", [("workspace", ids["teams"].as_str()), ("x", "")]),
    ] {
        let page = bob.send(path, &fields).await;
        assert!([404, 409].contains(&page.status), "{path}: {}", page.status);
    }
    assert_eq!(state(&served, &ids).await, before);
}

/// As many decals as the limit allows are accepted. Decals beyond the limits of number and size are rejected before anything
/// is charged.
async fn oversized_decals_are_rejected(served: Served) {
    let (mut browser, ids) = hostile_objects(&served).await;
    browser.send("/workspace", &[("workspace", &ids["teams"])]).await;
    let path = format!("/models/{}/compose", ids["models"]);
    let decal = |image: &str, size: f64| json!({"id": "a", "imageAssetId": image, "position": [0, 0, 1], "normal": [0, 0, 1], "euler": [0, 0, 0], "size": size});
    let image = ids["images"].as_str();
    let most = Value::Array(vec![decal(image, 1.0); limits::DECALS]).to_string();
    let priced = browser.send(&path, &[("action", "price"), ("decals", &most)]).await;
    assert!(priced.status == 200 && priced.shows("credit"), "{}: {}", priced.status, priced.html);
    let many = Value::Array(vec![decal(image, 1.0); limits::DECALS + 1]).to_string();
    let large = Value::Array(vec![decal(image, 101.0)]).to_string();
    let huge = Value::Array(vec![decal(&"x".repeat(limits::PAGE_FORM_BYTES), 1.0)]).to_string();
    let before = served.client.get("/account").await.data()["paid"].clone();
    for (decals, status, reason) in [
        (&many, 400, "Decals must have 0 to 64 entries, not 65"),
        (&large, 400, "size must be"),
        (&huge, 400, "length limit exceeded"),
    ] {
        let page = browser.send(&path, &[("action", "order"), ("decals", decals)]).await;
        assert!(page.status == status && page.shows(reason), "{reason}: {}: {}", page.status, page.html);
    }
    let large = vec![0_u8; (25 << 20) + 1];
    let form = Form::default().file("file", "a.png", &large).text("layer", "texture");
    assert_eq!(served.client.form("/overlays", form).await.rejection(), (400, "file_too_large"));
    assert_eq!(served.client.get("/account").await.data()["paid"], before);
    let accepted = [("action", "order"), ("quality", "share"), ("length", "1"), ("decals", &most)];
    let sent = browser.send(&path, &accepted).await;
    assert_eq!(sent.status, 303, "{}", sent.html);
}

/// Returns the objects that the forms of another account could have changed.
async fn state(served: &Served, ids: &BTreeMap<&'static str, String>) -> Vec<Value> {
    let bound = served.client(&served.installation.key(EMAIL, &["--workspace", &ids["teams"]]));
    let mut rows = Vec::new();
    for path in [format!("/models/{}", ids["models"]), format!("/renders/{}", ids["renders"]), "/renders".to_owned()] {
        rows.push(bound.get(&path).await.data().clone());
    }
    rows.push(bound.get("/account").await.data()["workspace"].clone());
    rows
}

on_both! {
    no_page_runs_or_frames_what_users_wrote no_form_is_accepted_from_another_site
    objects_of_another_workspace_do_not_exist oversized_decals_are_rejected
}
