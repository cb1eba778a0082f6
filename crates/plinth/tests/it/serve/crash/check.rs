//! Checks the invariants of the service at the end of a round of the crash tests.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::path::{Path, PathBuf};

use plinth_db::{Conn, Db, DbOptions, ledger, models, render_counts, renders, unreferenced_objects, workspaces};
use plinth_spec::id::{ModelId, RenderId};
use plinth_spec::limits;
use plinth_spec::state::HlsStatus;
use serde_json::Value;

use super::clients::Clients;
use super::requests::{BROKEN, NO_OVERLAY, Responses, picture};

/// Numbers of renders by their result, and the credits that were charged and refunded in a round.
#[derive(Debug, Default)]
pub(in crate::serve) struct Sums {
    done: usize,
    cancelled: usize,
    failed: usize,
    charged: i64,
    refunded: i64,
}

impl fmt::Display for Sums {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { done, cancelled, failed, charged, refunded } = self;
        write!(f, "{done} done, {cancelled} cancelled, {failed} failed; {charged} credits charged, {refunded} refunded")
    }
}

/// Database, objects and log that remain at the end of a round.
pub(in crate::serve) struct Remains {
    /// URL of the database.
    pub(in crate::serve) database: String,
    /// Folder that contains the objects of the store.
    pub(in crate::serve) objects: PathBuf,
    /// Log of all processes.
    pub(in crate::serve) log: String,
    /// Credits that were granted to the account.
    pub(in crate::serve) granted: i64,
}

/// Checks all invariants. All renders in `renders` must have ended.
pub(in crate::serve) async fn all(
    clients: &impl Clients,
    remains: &Remains,
    responses: &Responses,
    renders: &[Value],
) -> Sums {
    let by_id: BTreeMap<&str, &Value> = renders.iter().map(|render| (text(render, "id"), render)).collect();
    assert_eq!(by_id.len(), renders.len(), "a list contains a render twice");
    for id in &responses.renders {
        assert!(by_id.contains_key(id.as_str()), "{id} is lost");
    }
    for id in &responses.cancelled {
        assert_eq!(by_id[id.as_str()]["errorMessage"], "Cancelled", "{id}");
    }
    doubled(responses, renders);
    let sums = money(clients, remains.granted, &by_id).await;
    for render in renders {
        files(clients, render).await;
    }
    rows(remains, &by_id).await;
    log(&remains.log);
    sums
}

/// Asserts that the log contains no panics. Also asserts that no worker has reported on a job whose lease it had lost, which
/// the server would have logged.
fn log(log: &str) {
    for message in ["in the state '", "in the packaging state '", "panicked"] {
        assert_eq!(log.lines().find(|line| line.contains(message)), None, "in the log");
    }
}

/// Asserts that a client has received the identifier of every render. Renders of repeated uploads are an exception, because
/// their responses may be lost.
fn doubled(responses: &Responses, renders: &[Value]) {
    let mut of_uploads: BTreeMap<(String, String), usize> = BTreeMap::new();
    for render in renders.iter().filter(|render| text(render, "status") == "done") {
        let picture = picture(text(render, "modelId"), &render["renderSettings"]);
        if responses.sent.contains_key(&picture) && render["isSystemPreview"] != true {
            *of_uploads.entry(picture).or_default() += 1;
        } else {
            assert!(responses.renders.contains(text(render, "id")), "no response named {render}");
        }
    }
    for (picture, renders) in of_uploads {
        assert!(renders <= responses.sent[&picture], "{picture:?} has {renders} renders");
    }
}

fn text<'a>(render: &'a Value, name: &str) -> &'a str {
    render[name].as_str().unwrap_or_else(|| panic!("no {name} in {render}"))
}

/// Asserts that every charge belongs to a render, that every render has a charge, and that each render which must be
/// refunded is refunded once.
async fn money(clients: &impl Clients, grants: i64, renders: &BTreeMap<&str, &Value>) -> Sums {
    let (mut total, mut granted, mut offset) = (0, 0, 0);
    let mut entries: BTreeMap<String, BTreeMap<String, Vec<i64>>> = BTreeMap::new();
    loop {
        let page = clients.get(&format!("/purchases?limit=100&offset={offset}")).await;
        let rows = page.data().as_array().unwrap();
        for row in rows {
            let credits = row["credits"].as_i64().unwrap();
            total += credits;
            let Some(render) = row["renderId"].as_str() else {
                assert!(["signup_bonus", "admin_grant"].contains(&text(row, "type")), "{row}");
                granted += credits;
                continue;
            };
            let kinds = entries.entry(render.to_owned()).or_default();
            kinds.entry(text(row, "type").to_owned()).or_default().push(credits);
        }
        offset += rows.len();
        if offset as u64 >= page.body["meta"]["total"].as_u64().unwrap() {
            break;
        }
    }
    assert_eq!(clients.get("/account").await.data()["total"], total, "the balance is the sum of all entries");
    assert_eq!(granted, grants + limits::SIGNUP_BONUS.cast_signed(), "wrong amount of granted credits");
    for id in entries.keys() {
        assert!(renders.contains_key(id.as_str()), "credits moved for the unknown render {id}");
    }
    let mut sums = Sums::default();
    for (id, render) in renders {
        let kinds = entries.remove(*id).unwrap_or_default();
        let of_kind = |kind: &str| kinds.get(kind).map_or(&[][..], Vec::as_slice);
        if render["isSystemPreview"] == true {
            assert!(kinds.is_empty(), "a preview costs nothing: {render}, {kinds:?}");
        } else {
            assert_eq!(of_kind("render"), [-1], "{render}");
            let refunds: &[i64] = if must_refund(render) { &[1] } else { &[] };
            assert_eq!(of_kind("refund"), refunds, "{render}");
        }
        sums.charged -= of_kind("render").iter().sum::<i64>();
        sums.refunded += of_kind("refund").iter().sum::<i64>();
        match text(render, "status") {
            "done" => sums.done += 1,
            "failed" => sums.cancelled += 1,
            _ => sums.failed += 1,
        }
    }
    sums
}

/// Returns whether the price of a render must be refunded.
fn must_refund(render: &Value) -> bool {
    let settings = &render["renderSettings"];
    match (text(render, "status"), render["failureCode"].as_str()) {
        ("done", code) => {
            assert!(settings["bgImageId"].is_null() && settings["animation"].is_null(), "{render}");
            assert_eq!(code, None);
            false
        }
        ("failed", _cancelled) => true,
        (_, Some("renderer_error")) => {
            assert_eq!(settings["animation"], BROKEN, "{render}");
            false
        }
        (_, Some("overlay_missing")) => {
            assert_eq!(settings["bgImageId"], NO_OVERLAY, "{render}");
            true
        }
        // If the worker was killed, or its disk was full, the render fails with the code `reaped` and is refunded.
        (_, code) => {
            assert_eq!(code, Some("reaped"), "{render}");
            true
        }
    }
}

/// Asserts that a finished render has all its files, and that other renders have none.
async fn files(clients: &impl Clients, render: &Value) {
    let id = text(render, "id");
    let is_done = text(render, "status") == "done";
    for file in ["video", "video?quality=web", "thumb", "poster", "poster?quality=full"] {
        let (status, bytes) = download(clients, &format!("/renders/{id}/{file}")).await;
        // A poster may be available before the video of its render.
        if is_done || !file.starts_with("poster") {
            assert_eq!(status == 200, is_done, "{file} of {render}");
        }
        if file == "video" && is_done {
            assert_eq!(render["fileSize"], bytes.len(), "{id}");
        }
    }
    let is_ready = text(render, "hlsStatus") == "ready";
    let (status, master) = download(clients, &format!("/renders/{id}/hls/master.m3u8")).await;
    assert_eq!(status == 200, is_ready, "{render}");
    let lines = |text: Vec<u8>| -> Vec<String> {
        let text = String::from_utf8(text).unwrap();
        text.lines().filter(|line| !line.is_empty() && !line.starts_with('#')).map(str::to_owned).collect()
    };
    for variant in lines(master).iter().filter(|_| is_ready) {
        let (status, playlist) = download(clients, &format!("/renders/{id}/hls/{variant}")).await;
        assert_eq!(status, 200, "{variant} of {id}");
        let folder = variant.split_once('/').unwrap().0;
        for segment in lines(playlist) {
            let (status, _) = download(clients, &format!("/renders/{id}/hls/{folder}/{segment}")).await;
            assert_eq!(status, 200, "{folder}/{segment} of {id}");
        }
    }
}

async fn download(clients: &impl Clients, path: &str) -> (u16, Vec<u8>) {
    let response = clients.client().request(reqwest::Method::GET, path).send().await.unwrap();
    (response.status().as_u16(), response.bytes().await.unwrap().to_vec())
}

/// Checks the database and the store directly. Asserts that all balances are right, and that each unreferenced object
/// is scheduled for deletion.
async fn rows(remains: &Remains, known: &BTreeMap<&str, &Value>) {
    let db = Db::open(&remains.database, DbOptions::default()).await.unwrap();
    let mut conn = db.read().await.unwrap();
    assert_eq!(ledger::find_unbalanced(&mut conn).await.unwrap(), []);
    assert_eq!(workspaces::find_miscounted(&mut conn).await.unwrap(), []);
    for workspace in render_counts::list_workspaces(&mut conn, None, 1000).await.unwrap() {
        assert!(!render_counts::is_miscounted(&mut conn, &workspace).await.unwrap(), "{workspace}");
    }
    let doomed: BTreeSet<String> = unreferenced_objects::list(&mut conn).await.unwrap().into_iter().collect();
    let mut objects = Vec::new();
    walk(&remains.objects, "", &mut objects);
    for object in objects {
        if !doomed.iter().any(|prefix| object.starts_with(prefix.as_str())) {
            assert!(
                is_named(&mut conn, &object, known).await,
                "no row references {object}, and it is not scheduled for deletion"
            );
        }
    }
    drop(conn);
    db.close().await;
}

/// Returns whether a row references an object, either as the file of a model or as a file of a render's current
/// attempt. Also returns true for the identity of the store.
async fn is_named(conn: &mut Conn, object: &str, known: &BTreeMap<&str, &Value>) -> bool {
    let parts: Vec<&str> = object.split('/').collect();
    match parts[..] {
        ["plinth-store-id"] => true,
        ["models", file] => {
            let id = file.strip_suffix(".glb").and_then(ModelId::parse);
            let Some(id) = id else { return false };
            models::file_sha256(conn, &id).await.unwrap().is_some()
        }
        ["renders", id, attempt, ..] if known.contains_key(id) => {
            let render = renders::find_anywhere(conn, &RenderId::parse(id).unwrap()).await.unwrap().unwrap();
            let attempt: i64 = attempt.parse().unwrap();
            let packaging: Option<i64> = (parts[3] == "hls").then(|| parts[4].parse().unwrap());
            match packaging {
                Some(packaging) => render.hls_status == HlsStatus::Ready && packaging == render.hls_attempt,
                None => [render.files_attempt, render.poster_attempt].contains(&Some(attempt)),
            }
        }
        _ => false,
    }
}

/// Collects the paths of all files in a folder, with `/` as the separator.
fn walk(folder: &Path, path: &str, found: &mut Vec<String>) {
    for entry in std::fs::read_dir(folder).unwrap().flatten() {
        let name = format!("{path}{}", entry.file_name().to_string_lossy());
        if entry.path().is_dir() { walk(&entry.path(), &format!("{name}/"), found) } else { found.push(name) }
    }
}
