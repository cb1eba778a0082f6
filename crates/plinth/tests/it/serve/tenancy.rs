//! Tests of every endpoint with objects of other workspaces, and with callers who lack a permission.

use plinth_testkit::{Answer, Client, Form, glb_with_triangle, png};
use reqwest::Method;
use serde_json::{Value, json};

use super::assets::environment;
use super::endpoints::{Endpoint, UNKNOWN, endpoints};
use super::on_both;
use super::server::{EMAIL, LIFETIME, Served};

async fn ask(client: &Client, method: &Method, path: &str) -> Answer {
    client.send(method.clone(), path, json!({"title": "x", "name": "x"})).await
}

/// Malformed and unknown keys are rejected, however they are sent.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn invalid_keys_are_rejected_everywhere() {
    let served = Served::with_sqlite();
    let token = &served.client.token;
    let flipped = format!("{}{}", &token[..token.len() - 1], if token.ends_with('0') { '1' } else { '0' });
    let headers = [
        String::new(),
        "Bearer".to_owned(),
        "Bearer ".to_owned(),
        "Bearer nonsense".to_owned(),
        "Bearer plinth_sk_0000000000000000000000000000000000000".to_owned(),
        format!("Bearer {flipped}"),
        format!("Bearer {}", token.to_uppercase()),
        format!("Bearer {token}{token}"),
        format!("Bearer {}", token.replace("plinth", "turntable")),
        format!("Basic {token}"),
        token.clone(),
    ];
    for Endpoint { method, path, id } in endpoints(&served.client).await {
        for header in &headers {
            let request = served.client.http.request(method.clone(), format!("{}/v1{path}", served.client.base));
            let request = if header.is_empty() { request } else { request.header("authorization", header) };
            let answer = Answer::to(request).await;
            assert_eq!(answer.rejection(), (401, "unauthorized"), "{id}: {header}");
            assert_eq!(answer.header("www-authenticate"), "Bearer");
        }
    }
    for scheme in ["bearer", "BEARER"] {
        let request = served.client.http.get(format!("{}/v1/account", served.client.base));
        assert_eq!(Answer::to(request.header("authorization", format!("{scheme} {token}"))).await.status, 200);
    }
}

/// Reading needs the scope `read`. Every change needs the scope `render`.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn each_endpoint_needs_its_scope() {
    let served = Served::with_sqlite();
    let key = |scopes: &str| served.client(&served.installation.key(EMAIL, &["--scopes", scopes]));
    let (reader, renderer) = (key("read"), key("render"));
    let reading = ["quote", "check_hash", "resolve_overlay"];
    for Endpoint { method, path, id } in endpoints(&served.client).await {
        let is_reading = method == Method::GET || reading.contains(&id.as_str());
        for (client, is_let_in) in [(&reader, is_reading), (&renderer, !is_reading)] {
            let answer = ask(client, &method, &path).await;
            assert_eq!(answer.status != 403, is_let_in, "{id}: {answer:?}");
            if !is_let_in {
                assert_eq!(answer.rejection(), (403, "insufficient_scope"), "{id}");
            }
        }
    }
}

async fn callers_without_access_are_rejected_everywhere(served: Served) {
    let installation = &served.installation;
    let team =
        installation.admin(&["workspace", "create", "Team", "--owner", EMAIL])["id"].as_str().unwrap().to_owned();
    let closed =
        installation.admin(&["workspace", "create", "Closed", "--owner", EMAIL])["id"].as_str().unwrap().to_owned();
    for email in ["member@example.org", "suspended@example.org"] {
        installation.admin(&["account", "create", email]);
    }
    for id in [&team, &closed] {
        installation.admin(&["workspace", "add", id, "member@example.org", "--role", "editor"]);
    }
    let removed = installation.key("member@example.org", &["--workspace", &team]);
    let viewer = installation.key("member@example.org", &["--workspace", &closed]);
    let of_closed = installation.key(EMAIL, &["--workspace", &closed]);
    let suspended = installation.key("suspended@example.org", &[]);
    let revoked = installation.admin(&["key", "create", "--account", EMAIL]);
    for token in [&removed, &viewer, &of_closed, &suspended] {
        assert_eq!(served.client(token).get("/account").await.status, 200);
    }
    installation.admin(&["workspace", "remove", &team, "member@example.org"]);
    installation.admin(&["account", "suspend", "suspended@example.org"]);
    installation.admin(&["key", "revoke", revoked["id"].as_str().unwrap()]);
    installation.admin(&["workspace", "delete", &closed]);
    let expired = installation.key(EMAIL, &["--expires-in", "1"]);
    tokio::time::sleep(LIFETIME).await;
    let callers = [
        (removed, (403, "forbidden")),
        (of_closed, (403, "forbidden")),
        (suspended, (403, "forbidden")),
        (expired, (401, "token_expired")),
        (revoked["token"].as_str().unwrap().to_owned(), (401, "unauthorized")),
        ("plinth_sk_nonsense".to_owned(), (401, "unauthorized")),
    ];
    for Endpoint { method, path, id } in endpoints(&served.client).await {
        for (token, rejection) in &callers {
            let answer = ask(&served.client(token), &method, &path).await;
            assert_eq!(answer.rejection(), *rejection, "{id}");
        }
    }
}

async fn other_accounts_see_nothing(served: Served) {
    let ada = &served.client;
    let png = png(1);
    let made = ada.upload("chair", Some(json!({"quality": "share", "length": 1}))).await;
    let overlay = ada.form("/overlays", Form::default().file("file", "a.png", &png).text("layer", "background")).await;
    let texture = ada.form("/assets/textures", Form::default().file("file", "a.png", &png)).await;
    let (model, render) = (made.text("modelId"), made.text("renderId"));
    let env = ada.form("/assets/envs", environment()).await.text("id");
    let (overlay, texture) = (overlay.text("id"), texture.text("id"));
    let look = ada.post("/looks", json!({"name": "Night"})).await.text("id");
    let kept = async || {
        let mut rows = Vec::new();
        for path in ["/overlays", "/assets/textures", "/assets/envs", &format!("/looks/{look}")] {
            rows.push(ada.get(path).await.data().clone());
        }
        rows
    };
    let before = kept().await;
    assert!(before[..3].iter().all(|rows| rows.as_array().unwrap().len() == 1), "{before:?}");
    let eve = served.client(&served.installation.account("eve@example.org"));
    for Endpoint { method, path, id } in endpoints(ada).await.into_iter().filter(|it| it.path.contains(UNKNOWN)) {
        let of_ada = match path.split('/').nth(1).unwrap() {
            "models" => &model,
            "renders" => &render,
            "overlays" => &overlay,
            "looks" => &look,
            "assets" if path.starts_with("/assets/envs/") => &env,
            _ => &texture,
        };
        let (unknown, foreign) =
            (ask(&eve, &method, &path).await, ask(&eve, &method, &path.replace(UNKNOWN, of_ada)).await);
        assert_eq!(unknown.status, 404, "{id}");
        if id == "delete_overlay" {
            // Spec, Overlays: the only operation that does not hide foreign objects.
            assert_eq!(foreign.rejection(), (403, "forbidden"));
        } else {
            assert_eq!((foreign.status, foreign.body), (unknown.status, unknown.body), "{id}");
        }
    }
    // Reads Ada's own objects before the requests of the other account.
    let detail = ada.get(&format!("/models/{model}")).await;
    for path in ["/models?status=any", "/renders", "/assets/textures", "/assets/envs", "/overlays"] {
        assert_eq!(eve.get(path).await.data(), &json!([]), "{path}");
    }
    assert_eq!(eve.get(&format!("/renders?model={model}")).await.data(), &json!([]));
    let hash = json!({"sha256": detail.data()["sha256"]});
    assert_eq!(ada.post("/models/check-hash", hash.clone()).await.data()["exists"], true);
    assert_eq!(eve.post("/models/check-hash", hash).await.data(), &json!({"exists": false, "modelId": null}));
    let order = json!({"modelId": model});
    assert_eq!(eve.post("/renders", order).await.rejection(), (404, "model_not_found"));
    // Ada's objects are unchanged.
    assert_eq!(ada.get(&format!("/models/{model}")).await.data(), detail.data());
    assert_eq!(kept().await, before);
    // Every account can use a published overlay, but no account can delete it.
    served.installation.admin(&["overlay", "publish", &overlay]);
    assert_eq!(eve.get("/overlays").await.data()[0]["isSystem"], true);
    for client in [ada, &eve] {
        assert_eq!(ask(client, &Method::DELETE, &format!("/overlays/{overlay}")).await.rejection(), (403, "forbidden"));
    }
}

/// Returns the IDs in a list.
async fn ids(client: &Client, path: &str) -> Vec<String> {
    let rows = client.get(path).await;
    rows.data().as_array().unwrap().iter().map(|row| row["id"].as_str().unwrap().to_owned()).collect()
}

/// Creates a workspace with two members. Returns, for each member, a client whose key is bound to the workspace, and a
/// client with a personal key.
async fn two_members(served: &Served) -> ([Client; 2], [Client; 2]) {
    let bob = "bob@example.org";
    let team = served.installation.admin(&["workspace", "create", "Team", "--owner", EMAIL])["id"]
        .as_str()
        .unwrap()
        .to_owned();
    let personal = [served.client.clone(), served.client(&served.installation.account(bob))];
    served.installation.admin(&["workspace", "add", &team, bob, "--role", "editor"]);
    let bound = [EMAIL, bob].map(|email| served.client(&served.installation.key(email, &["--workspace", &team])));
    let workspace = bound[1].get("/account").await.data()["workspace"].clone();
    assert_eq!(workspace, json!({"id": team, "name": "Team"}));
    (bound, personal)
}

async fn members_share_their_workspace(served: Served) {
    let ([ada, bob], personal) = two_members(&served).await;
    let made = ada.upload("chair", Some(json!({"quality": "share", "length": 1}))).await;
    let (model, render) = (made.text("modelId"), made.text("renderId"));
    let overlay = ada.form("/overlays", Form::default().file("file", "a.png", &png(1))).await.text("id");
    let texture = ada.form("/assets/textures", Form::default().file("file", "a.png", &png(1))).await.text("id");
    let env = ada.form("/assets/envs", environment()).await.text("id");
    let lists = [("/models", &model), ("/renders", &render), ("/overlays", &overlay), ("/assets/textures", &texture)];
    let lists = [&lists[..], &[("/assets/envs", &env)]].concat();
    for (path, id) in &lists {
        assert_eq!(ids(&bob, path).await, [id.as_str()], "{path}");
        assert_eq!(bob.get(path).await.data(), ada.get(path).await.data(), "{path}");
    }
    for path in [format!("/models/{model}"), format!("/renders/{render}")] {
        assert_eq!(bob.get(&path).await.data(), ada.get(&path).await.data(), "{path}");
    }
    // The keys of the members' personal workspaces do not see these objects.
    for client in &personal {
        for (path, id) in &lists {
            assert_eq!(ids(client, path).await, Vec::<String>::new(), "{path}");
            let rejected = ask(client, &Method::DELETE, &format!("{path}/{id}")).await;
            let rejection = match *path {
                "/models" => (404, "model_not_found"),
                "/renders" => (404, "render_not_found"),
                "/overlays" => (403, "forbidden"),
                _ => (404, "not_found"),
            };
            assert_eq!(rejected.rejection(), rejection, "{path}");
        }
        assert_eq!(client.get(&format!("/models/{model}")).await.rejection(), (404, "model_not_found"));
        assert_eq!(client.get(&format!("/renders/{render}")).await.rejection(), (404, "render_not_found"));
        assert_eq!(client.post("/renders", json!({"modelId": model})).await.rejection(), (404, "model_not_found"));
    }
    // A member can use, change and delete objects that the other member created. The owner of the workspace pays.
    let again = bob.upload("chair", Some(json!({"quality": "share", "length": 2}))).await;
    assert_eq!((again.status, &again.data()["modelId"]), (200, &json!(model)));
    let order = json!({"modelId": model, "renderSettings": {"quality": "share", "length": 3, "bgImageId": overlay}});
    assert_eq!(bob.post("/renders", order).await.status, 201);
    assert_eq!(ask(&bob, &Method::PATCH, &format!("/models/{model}")).await.data()["title"], "x");
    assert_eq!(ask(&bob, &Method::POST, &format!("/renders/{render}/cancel")).await.data()["refundedCredits"], 1);
    for (path, id) in lists.iter().filter(|(path, _)| *path != "/renders") {
        let deleted = ask(&bob, &Method::DELETE, &format!("{path}/{id}")).await;
        assert_eq!((deleted.status, deleted.data()), (200, &json!({"id": id, "deleted": true})), "{path}");
        assert_eq!(ids(&ada, path).await, Vec::<String>::new(), "{path}");
    }
    for (client, paid) in [(&ada, 95), (&bob, 95), (&personal[0], 95), (&personal[1], 100)] {
        assert_eq!(client.get("/account").await.data()["paid"], paid);
    }
}

async fn a_member_who_became_a_viewer_only_reads(served: Served) {
    let installation = &served.installation;
    let team =
        installation.admin(&["workspace", "create", "Team", "--owner", EMAIL])["id"].as_str().unwrap().to_owned();
    installation.admin(&["account", "create", "bob@example.org"]);
    let role = |role: &str| installation.admin(&["workspace", "add", &team, "bob@example.org", "--role", role]);
    role("editor");
    let bob = served.client(&installation.key("bob@example.org", &["--workspace", &team]));
    let made = bob.upload("chair", None).await;
    let (model, render) = (made.text("modelId"), made.text("renderId"));
    role("viewer");
    let reading = ["quote", "check_hash", "resolve_overlay"];
    for Endpoint { method, path, id } in endpoints(&bob).await {
        let of_team = if path.starts_with("/models") { &model } else { &render };
        let answer = ask(&bob, &method, &path.replace(UNKNOWN, of_team)).await;
        if method == Method::GET || reading.contains(&id.as_str()) {
            assert_ne!(answer.status, 403, "{id}: {answer:?}");
        } else {
            assert_eq!(answer.rejection(), (403, "forbidden"), "{id}");
        }
    }
    let form = Form::default().file("file", "a.glb", &glb_with_triangle("table"));
    assert_eq!(bob.form("/models", form).await.rejection(), (403, "forbidden"));
    let detail = bob.get(&format!("/models/{model}")).await;
    assert_eq!((detail.status, &detail.data()["title"]), (200, &Value::Null));
    role("editor");
    assert_eq!(ask(&bob, &Method::PATCH, &format!("/models/{model}")).await.data()["title"], "x");
}

on_both! {
    callers_without_access_are_rejected_everywhere other_accounts_see_nothing members_share_their_workspace
    a_member_who_became_a_viewer_only_reads
}
