//! Tests of lists: paging, also while rows are added and removed, and the fields of the rows.

use std::collections::BTreeSet;

use plinth_testkit::{Client, Form, png, sha256_hex};
use reqwest::Method;
use serde_json::{Value, json};

use super::on_both;
use super::server::Served;

fn ids(rows: &Value) -> Vec<String> {
    rows.as_array().unwrap().iter().map(|row| row["id"].as_str().unwrap().to_owned()).collect()
}

/// Reads all pages of a list by cursor. Calls `between` after each page.
async fn walk(client: &Client, path: &str, mut between: impl AsyncFnMut(&[String])) -> Vec<String> {
    let (mut seen, mut cursor) = (Vec::new(), String::new());
    loop {
        let page = client.get(&format!("{path}cursor={cursor}")).await;
        let rows = ids(page.data());
        seen.extend(rows.clone());
        let meta = page.body["meta"].as_object().unwrap();
        assert_eq!(meta.keys().collect::<Vec<_>>(), ["limit", "nextCursor"], "a page by cursor has no total");
        let Some(next) = meta["nextCursor"].as_str() else { return seen };
        next.clone_into(&mut cursor);
        between(&rows).await;
    }
}

/// Rows are added and removed between the pages. Every row that exists all the time is returned exactly once.
async fn a_cursor_neither_repeats_nor_skips(served: Served) {
    let client = &served.client;
    let mut models = Vec::new();
    for number in 0..13 {
        models.push(client.upload(&format!("model {number}"), None).await.text("modelId"));
    }
    models.reverse();
    let (mut fresh, mut removed) = (0, BTreeSet::new());
    let seen = walk(client, "/models?limit=3&", async |page: &[String]| {
        // Adds one row. Removes the last row of this page and the first row of the next page.
        fresh += 1;
        client.upload(&format!("fresh {fresh}"), None).await.data();
        let last = models.iter().position(|id| *id == page[2]).unwrap();
        for id in models[last..].iter().take(2) {
            let path = format!("/models/{id}");
            let gone = if fresh % 2 == 0 {
                client.send(Method::DELETE, &path, json!({})).await
            } else {
                client.send(Method::PATCH, &format!("{path}/archive"), json!({})).await
            };
            gone.data();
            removed.insert(id.clone());
        }
    })
    .await;
    let kept: Vec<&String> = models.iter().filter(|id| !removed.contains(*id)).collect();
    assert!(kept.len() > 4 && removed.len() > 4, "{kept:?}");
    assert_eq!(seen.iter().filter(|id| !removed.contains(*id)).collect::<Vec<_>>(), kept);
    assert_eq!(seen.len(), seen.iter().collect::<BTreeSet<_>>().len(), "none twice");

    let model = kept[0].as_str();
    let mut renders = Vec::new();
    for length in 1..=9 {
        let body = json!({"modelId": model, "renderSettings": {"quality": "share", "length": length}});
        renders.push(client.post("/renders", body).await.text("id"));
    }
    renders.reverse();
    let mut fresh = 10;
    let seen = walk(client, &format!("/renders?model={model}&limit=2&status=pending&"), async |page: &[String]| {
        let body = json!({"modelId": model, "renderSettings": {"quality": "share", "length": fresh}});
        fresh += 1;
        client.post("/renders", body).await.data();
        let last = renders.iter().position(|id| *id == page[1]);
        for id in last.into_iter().flat_map(|at| &renders[at..=at]) {
            client.post(&format!("/renders/{id}/cancel"), json!({})).await.data();
            client.send(Method::DELETE, &format!("/renders/{id}"), json!({})).await.data();
        }
    })
    .await;
    // The oldest render is the free preview of the model.
    assert_eq!(seen[..9], renders);
    assert_eq!(seen.len(), 10);
}

async fn pages_have_the_requested_limit_and_offset(served: Served) {
    let client = &served.client;
    let model = client.upload("chair", None).await.text("modelId");
    let item = |length: f64| json!({"modelId": model, "renderSettings": {"quality": "share", "length": length}});
    served.installation.admin(&["credits", "grant", super::server::EMAIL, "100"]);
    for (count, length) in [(100, 0.5), (7, 0.4)] {
        client.post("/renders/batch", json!({"renders": vec![item(length); count]})).await.data();
    }
    // Render number 108 is the free preview of the model.
    let all = ids(client.get("/renders?limit=100").await.data());
    for (query, rows, meta) in [
        ("", 50, json!({"total": 108, "offset": 0, "limit": 50})),
        ("limit=1", 1, json!({"total": 108, "offset": 0, "limit": 1})),
        ("limit=100", 100, json!({"total": 108, "offset": 0, "limit": 100})),
        ("offset=100", 8, json!({"total": 108, "offset": 100, "limit": 50})),
        ("limit=3&offset=4", 3, json!({"total": 108, "offset": 4, "limit": 3})),
        ("offset=108", 0, json!({"total": 108, "offset": 108, "limit": 50})),
        ("offset=9223372036854775807", 0, json!({"total": 108, "offset": 9_223_372_036_854_775_807_u64, "limit": 50})),
    ] {
        let page = client.get(&format!("/renders?{query}")).await;
        assert_eq!((ids(page.data()).len(), &page.body["meta"]), (rows, &meta), "{query}");
    }
    assert_eq!(ids(client.get("/renders?limit=3&offset=4").await.data()), all[4..7]);
    let first = client.get("/renders?limit=100&cursor=&offset=7").await;
    assert_eq!(ids(first.data()), all, "the offset is ignored in cursor mode");
    let cursor = first.body["meta"]["nextCursor"].as_str().unwrap().to_owned();
    let last = client.get(&format!("/renders?limit=100&cursor={cursor}")).await;
    assert_eq!((ids(last.data()).len(), &last.body["meta"]), (8, &json!({"limit": 100, "nextCursor": null})));
    let whole = walk(client, "/renders?limit=54&", async |_page: &[String]| {}).await;
    assert_eq!((whole.len(), &whole[..100]), (108, &all[..]), "no empty page follows a last page that is full");
    for list in ["models", "renders", "purchases"] {
        for query in [
            "limit=0",
            "limit=101",
            "limit=-1",
            "limit=1.5",
            "limit=x",
            "limit=",
            "offset=-1",
            "offset=x",
            "offset=9223372036854775808",
        ] {
            let answer = client.get(&format!("/{list}?{query}")).await;
            assert_eq!(answer.rejection(), (400, "bad_request"), "{list} {query}");
        }
    }
    for list in ["models", "renders"] {
        let other = if list == "models" { cursor.clone() } else { format!("{cursor}A") };
        for query in ["cursor=x", &format!("cursor={other}"), "updatedSince=x", "updatedSince=2026-13-01", "status=x"] {
            let answer = client.get(&format!("/{list}?{query}")).await;
            assert_eq!(answer.rejection(), (400, "bad_request"), "{list} {query}");
        }
    }
    // A cursor is valid only for the filters for which it was created.
    let filtered = client.get(&format!("/renders?status=pending&cursor={cursor}")).await;
    assert_eq!(filtered.rejection(), (400, "bad_request"));
}

/// Returns the time of the last change of a row as a query parameter.
fn changed(row: &Value) -> String {
    row["updatedAt"].as_str().unwrap().replace(':', "%3A")
}

async fn models_are_filtered(served: Served) {
    let client = &served.client;
    let mut models = Vec::new();
    for (name, tags) in [("a", vec!["red", "big"]), ("b", vec!["blue"]), ("c", vec![]), ("d", vec!["red"])] {
        let id = client.upload(name, None).await.text("modelId");
        client.send(Method::PATCH, &format!("/models/{id}"), json!({"tags": tags})).await.data();
        models.push(id);
    }
    let [a, b, c, d] = models.try_into().unwrap();
    client.send(Method::PATCH, &format!("/models/{c}/archive"), json!({})).await.data();
    client.send(Method::DELETE, &format!("/models/{d}"), json!({})).await.data();
    let rows = client.get("/models?status=any").await;
    let last = rows.data().as_array().unwrap().iter().map(changed).max().unwrap();
    for (query, expected) in [
        ("", vec![&b, &a]),
        ("status=active", vec![&b, &a]),
        ("status=archived", vec![&c]),
        ("status=any", vec![&c, &b, &a]),
        ("tags=red", vec![&a]),
        ("tags=RED,%20blue", vec![&b, &a]),
        ("tags=re", vec![]),
        ("tags=green", vec![]),
        ("tags=,", vec![&b, &a]),
        ("tags=red&status=archived", vec![]),
        ("status=any&updatedSince=2000-01-01T00:00:00Z", vec![&c, &b, &a]),
        (&format!("status=any&updatedSince={last}"), vec![&c]),
        ("status=any&updatedSince=2999-01-01T00:00:00%2B02:00", vec![]),
        ("status=any&updatedSince=2000-01-01T00:00:00+02:00", vec![&c, &b, &a]),
    ] {
        for mode in ["", "&cursor=", "&cursor=&offset=1"] {
            let page = client.get(&format!("/models?{query}{mode}")).await;
            assert_eq!(ids(page.data()).iter().collect::<Vec<_>>(), expected, "{query}{mode}");
        }
        let page = client.get(&format!("/models?{query}")).await;
        assert_eq!(page.body["meta"]["total"], expected.len(), "{query}");
    }
    let any = client.get("/models?status=any").await;
    let states: Vec<&str> = any.data().as_array().unwrap().iter().map(|row| row["status"].as_str().unwrap()).collect();
    assert_eq!(states, ["archived", "active", "active"]);
}

async fn renders_are_filtered(served: Served) {
    let client = &served.client;
    let (first, other) = (client.upload("a", None).await, client.upload("b", None).await);
    let (a, b, preview) = (first.text("modelId"), other.text("modelId"), other.text("renderId"));
    let order = json!({"modelId": a, "renderSettings": {"quality": "share", "length": 1}});
    let wanted = client.post("/renders", order).await.text("id");
    client.post(&format!("/renders/{wanted}/cancel"), json!({})).await.data();
    let last = changed(client.get(&format!("/renders/{wanted}")).await.data());
    for (query, expected) in [
        (format!("model={b}"), vec![&preview]),
        (format!("model={a}&status=failed"), vec![&wanted]),
        ("status=failed".to_owned(), vec![&wanted]),
        ("status=done".to_owned(), vec![]),
        (format!("updatedSince={last}"), vec![&wanted]),
        ("model=nonsense".to_owned(), vec![]),
        (format!("model={a}&status=failed&updatedSince=2999-01-01T00:00:00Z"), vec![]),
    ] {
        for mode in ["", "&cursor="] {
            let page = client.get(&format!("/renders?{query}{mode}")).await;
            assert_eq!(ids(page.data()).iter().collect::<Vec<_>>(), expected, "{query}{mode}");
        }
    }
}

async fn the_ledger_is_newest_first_and_limited_to_the_workspace(served: Served) {
    let client = &served.client;
    let wanted = client.upload("a", Some(json!({"quality": "share", "length": 1}))).await.text("renderId");
    client.post(&format!("/renders/{wanted}/cancel"), json!({})).await.data();
    // A key that is bound to a workspace sees only the entries of this workspace.
    let team = served.installation.admin(&["workspace", "create", "Team", "--owner", super::server::EMAIL]);
    let bound =
        served.client(&served.installation.key(super::server::EMAIL, &["--workspace", team["id"].as_str().unwrap()]));
    let cancelled = bound.upload("e", Some(json!({"quality": "share", "length": 2}))).await.text("renderId");
    bound.post(&format!("/renders/{cancelled}/cancel"), json!({})).await.data();
    bound.upload("f", Some(json!({"quality": "share", "length": 3}))).await.data();
    let (all, theirs) = (client.get("/purchases").await, bound.get("/purchases").await);
    let kinds = |rows: &Value| -> Vec<(String, i64)> {
        let entry = |row: &Value| (row["type"].as_str().unwrap().to_owned(), row["credits"].as_i64().unwrap());
        rows.as_array().unwrap().iter().map(entry).collect()
    };
    let of = |entries: &[(&str, i64)]| entries.iter().map(|(kind, n)| ((*kind).to_owned(), *n)).collect::<Vec<_>>();
    let of_team = [("render", -3), ("refund", 2), ("render", -2)];
    assert_eq!(kinds(theirs.data()), of(&of_team));
    assert_eq!(theirs.data()[1]["renderId"], cancelled.as_str());
    assert_eq!(theirs.body["meta"], json!({"total": 3, "offset": 0, "limit": 50}));
    let personal = [("refund", 1), ("render", -1), ("signup_bonus", 100)];
    assert_eq!(kinds(all.data()), of(&[&of_team[..], &personal[..]].concat()), "newest first");
    assert_eq!(all.body["meta"], json!({"total": 6, "offset": 0, "limit": 50}));
    assert_eq!(kinds(client.get("/purchases?limit=1&offset=5").await.data()), of(&[("signup_bonus", 100)]));
    assert_eq!(all.data()[3]["renderId"], wanted.as_str());
    assert_eq!(all.data()[5]["renderId"], Value::Null);
}

/// Checks the ID and the time of a ledger entry, and returns the entry without them.
fn told(entry: &Value) -> Value {
    let mut rest = entry.clone();
    let members = rest.as_object_mut().unwrap();
    let (id, at) = (members.remove("id").unwrap(), members.remove("createdAt").unwrap());
    let (id, at) = (id.as_str().unwrap(), at.as_str().unwrap());
    assert!(id.len() == 12 && id.bytes().all(|b| b.is_ascii_alphanumeric()), "{id}");
    let form: String = at.chars().map(|c| if c.is_ascii_digit() { '0' } else { c }).collect();
    assert!(form == "0000-00-00T00:00:00.000Z" && at.starts_with("20"), "{at}");
    rest
}

async fn ledger_entries_have_amount_and_reason(served: Served) {
    let client = &served.client;
    served.installation.admin(&["credits", "grant", super::server::EMAIL, "7", "--pool", "free"]);
    let id = client.upload("a", Some(json!({"quality": "share", "length": 2}))).await.text("renderId");
    client.post(&format!("/renders/{id}/cancel"), json!({})).await.data();
    let entry = |kind: &str, credits: i64, source: &str, description: &str, render: Value| {
        json!({"type": kind, "credits": credits, "priceCents": 0, "source": source, "description": description,
               "renderId": render})
    };
    let entries = client.get("/purchases").await;
    let rows = entries.data().as_array().unwrap();
    assert_eq!(
        rows.iter().map(told).collect::<Vec<_>>(),
        [
            entry("refund", 2, "paid", &format!("Refund of render {id}"), json!(id)),
            entry("render", -2, "paid", &format!("Render {id}"), json!(id)),
            entry("admin_grant", 7, "admin_grant", "Granted by an administrator", Value::Null),
            entry("signup_bonus", 100, "signup_bonus", "Signup bonus", Value::Null),
        ]
    );
    let all: BTreeSet<&str> = rows.iter().map(|row| row["id"].as_str().unwrap()).collect();
    assert_eq!(all.len(), 4, "ids are unique");
}

/// The response has the account, the scopes of the key, and the balance that the key spends.
async fn the_account_has_all_fields(served: Served) {
    let installation = &served.installation;
    let bob = installation.admin(&["account", "create", "bob@example.org"])["id"].as_str().unwrap().to_owned();
    let personal = served.client(&installation.key("bob@example.org", &[]));
    installation.admin(&["credits", "grant", "bob@example.org", "5", "--pool", "free"]);
    personal.upload("a", Some(json!({"quality": "share", "length": 3}))).await.data();
    let expected = json!({"id": bob, "email": "bob@example.org", "credits": 97, "paid": 97, "free": 5, "total": 102,
        "scopes": ["read", "render"], "workspace": null});
    let shown = personal.get("/account").await;
    assert_eq!((shown.status, &shown.body), (200, &json!({"data": expected})));
    // In a workspace that another account owns, the balance is that of the owner.
    let team = installation.admin(&["workspace", "create", "Team", "--owner", super::server::EMAIL]);
    let team = team["id"].as_str().unwrap();
    installation.admin(&["workspace", "add", team, "bob@example.org", "--role", "editor"]);
    installation.admin(&["credits", "grant", super::server::EMAIL, "11", "--pool", "free"]);
    served.client.upload("b", Some(json!({"quality": "share", "length": 1}))).await.data();
    let bound = served.client(&installation.key("bob@example.org", &["--workspace", team, "--scopes", "read"]));
    let expected = json!({"id": bob, "email": "bob@example.org", "credits": 99, "paid": 99, "free": 11, "total": 110,
        "scopes": ["read"], "workspace": {"id": team, "name": "Team"}});
    let shown = bound.get("/account").await;
    assert_eq!((shown.status, &shown.body), (200, &json!({"data": expected})));
}

async fn every_list_has_meta(served: Served) {
    let client = &served.client;
    let image = |shade: u8| Form::default().file("file", "a.png", &png(shade));
    client.upload("a", None).await.data();
    client.form("/overlays", image(1)).await.data();
    client.form("/overlays", image(2).text("layer", "decal")).await.data();
    client.form("/assets/textures", image(3)).await.data();
    for (path, rows, meta) in [
        ("/models", 1, json!({"total": 1, "offset": 0, "limit": 50})),
        ("/models?cursor=", 1, json!({"limit": 50, "nextCursor": null})),
        ("/renders", 1, json!({"total": 1, "offset": 0, "limit": 50})),
        ("/renders?cursor=", 1, json!({"limit": 50, "nextCursor": null})),
        ("/purchases", 1, json!({"total": 1, "offset": 0, "limit": 50})),
        // These lists are not paged.
        ("/overlays", 2, json!({"total": 2, "offset": 0, "limit": 2})),
        ("/overlays?layer=decal", 1, json!({"total": 1, "offset": 0, "limit": 1})),
        ("/assets/textures", 1, json!({"total": 1, "offset": 0, "limit": 1})),
        ("/assets/envs", 0, json!({"total": 0, "offset": 0, "limit": 0})),
    ] {
        let list = client.get(path).await;
        let keys: Vec<&str> = list.body.as_object().unwrap().keys().map(String::as_str).collect();
        assert_eq!((list.status, keys), (200, vec!["data", "meta"]), "{path}");
        assert_eq!((ids(list.data()).len(), &list.body["meta"]), (rows, &meta), "{path}");
    }
}

/// A missing layer means the default layer. An empty string is an invalid layer.
async fn an_empty_layer_is_invalid(served: Served) {
    let client = &served.client;
    let image = |shade: u8| Form::default().file("file", "a.png", &png(shade));
    let rejected = client.form("/overlays", image(1).text("layer", "")).await;
    assert_eq!(rejected.rejection(), (400, "bad_request"));
    assert_eq!(client.get("/overlays").await.data(), &json!([]), "no overlay was stored");
    assert_eq!(client.get("/overlays?layer=").await.rejection(), (400, "bad_request"));
    let made = client.form("/overlays", image(1)).await.text("id");
    let hash = sha256_hex(&png(1));
    let found = client.post("/overlays/resolve", json!({"sha256": hash})).await;
    assert_eq!(found.data(), &json!({"id": made, "exists": true}));
    let rejected = client.post("/overlays/resolve", json!({"sha256": hash, "layer": ""})).await;
    assert_eq!(rejected.rejection(), (400, "bad_request"));
}

async fn an_overlay_may_be_invisible_or_opaque(served: Served) {
    let client = &served.client;
    for (shade, sent, kept) in [(1, "0", 0.0), (2, "1", 1.0), (3, "0.0", 0.0), (4, "1.0", 1.0)] {
        let form = Form::default().file("file", "a.png", &png(shade)).text("opacity", sent);
        let made = client.form("/overlays", form).await;
        let expected = json!({"id": made.text("id"), "layer": "background", "alignment": "left", "name": "a.png"});
        assert_eq!((made.status, made.data()), (200, &expected), "{sent}");
        let row = client.get("/overlays").await.data()[0].clone();
        assert_eq!((&row["id"], row["opacity"].as_f64()), (&expected["id"], Some(kept)), "{sent}");
    }
}

on_both! { a_cursor_neither_repeats_nor_skips pages_have_the_requested_limit_and_offset models_are_filtered
renders_are_filtered the_ledger_is_newest_first_and_limited_to_the_workspace
ledger_entries_have_amount_and_reason the_account_has_all_fields every_list_has_meta
an_empty_layer_is_invalid an_overlay_may_be_invisible_or_opaque }
