//! Tests of several tabs of one session: a form changes only the workspace that its page shows, an older page does not
//! undo newer edits, and pages in the background hold no event streams.

use plinth_testkit::{Form, glb_with_triangle};
use reqwest::Method;
use serde_json::{Value, json};

use super::browser::Page;
use super::on_both;
use super::server::{EMAIL, Served};
use super::studio_browser::{asks_before_leaving, no_errors, sign_in, sign_in_elsewhere};
use super::studio_composer::composer;
use super::webdriver::Chromium;

async fn a_form_changes_only_the_workspace_that_its_page_shows(served: Served) {
    let mut browser = served.browser(EMAIL).await;
    let path = composer(&served.client, "chair").await;
    let team = served.installation.admin(&["workspace", "create", "Team", "--owner", EMAIL])["id"]
        .as_str()
        .unwrap()
        .to_owned();
    let old = browser.get("/").await.form_token();
    assert_eq!(browser.send("/workspace", &[("workspace", &team)]).await.status, 303);
    let page = browser.post(&path, &[("action", "order"), ("form_token", &old)]).await;
    assert_eq!(page.status, 409, "{}", page.html);
    assert!(
        page.shows("another tab has changed to “Team”") && page.shows("Change to “Personal” again"),
        "{}",
        page.html
    );
    // Scripts get the same error as JSON.
    let request = |path: &str| browser.request(Method::POST, path).header("sec-fetch-site", "same-origin");
    let file = || {
        let form = Form::default().text("form_token", &old).file("file", "lamp.glb", &glb_with_triangle("lamp"));
        (Form::content_type(), form.body())
    };
    for path in ["/models", "/images", "/environments"] {
        let (kind, body) = file();
        let request = request(path).header("content-type", kind).header("accept", "application/json").body(body);
        let answer = Page::of(request).await;
        let said: Value = serde_json::from_str(&answer.html).unwrap_or_else(|error| panic!("{error}: {}", answer.html));
        let message = said["error"]["message"].as_str().unwrap();
        assert!(answer.status == 409 && message.contains("change to “Personal” again"), "{path}: {said}");
    }
    for (path, field) in [("/models/bulk", ("action", "archive")), ("/looks/start", ("look", ""))] {
        assert_eq!(browser.post(path, &[field, ("form_token", &old)]).await.status, 409, "{path}");
    }
    let of_team = served.client(&served.installation.key(EMAIL, &["--workspace", &team]));
    assert_eq!(of_team.get("/models").await.data(), &json!([]));
    // The button on the page changes back to the workspace of the form. The form can then be submitted.
    let personal = page.between("name=\"workspace\" value=\"", "\"").to_owned();
    let back = [("workspace", personal.as_str()), ("form_token", &page.form_token())];
    assert_eq!(browser.post("/workspace", &back).await.status, 303);
    assert_eq!(browser.post(&path, &[("action", "order"), ("form_token", &old)]).await.status, 303);
    // A script without a session gets an error instead of a redirect to a page that it cannot read.
    assert_eq!(browser.post("/sign-out", &[("form_token", &old)]).await.status, 303);
    let request = browser.form(&path, &[]).header("sec-fetch-site", "same-origin").header("accept", "application/json");
    let answer = Page::of(request).await;
    assert!(answer.status == 401 && answer.shows("no longer signed in"), "{} {}", answer.status, answer.html);
}

async fn an_older_page_keeps_what_others_have_changed(served: Served) {
    let mut browser = served.browser(EMAIL).await;
    let made = served.client.upload("chair", None).await;
    let (id, path) = (made.text("modelId"), format!("/models/{}", made.text("modelId")));
    served.client.send(Method::PATCH, &path, json!({"tags": ["red, blue"], "sku": "A1"})).await;
    let page = browser.get(&path).await;
    let stored = |name: &str| page.between(&format!("name=\"{name}\" value=\""), "\"").to_owned();
    let [title, sku, tags] = ["stored_title", "stored_sku", "stored_tags"].map(stored);
    let form = |more: &[(&'static str, &str)]| {
        let fields = [("stored_title", &title), ("stored_sku", &sku), ("stored_tags", &tags)];
        let fields = fields.into_iter().map(|(name, value)| (name, value.clone()));
        fields.chain(more.iter().map(|(name, value)| (*name, (*value).to_owned()))).collect::<Vec<_>>()
    };
    let sent = form(&[("title", "Chair"), ("sku", &sku), ("tags", &tags)]);
    let sent: Vec<(&str, &str)> = sent.iter().map(|(name, value)| (*name, value.as_str())).collect();
    served.client.send(Method::PATCH, &path, json!({"sku": "B2"})).await;
    assert_eq!(browser.send(&path, &sent).await.status, 303);
    let now = served.client.get(&path).await;
    assert_eq!(
        (&now.data()["title"], &now.data()["sku"], &now.data()["tags"]),
        (&json!("Chair"), &json!("B2"), &json!(["red, blue"]))
    );
    // After a rejected edit, the form is shown again with the submitted values.
    let many = (0..25).map(|n| format!("t{n}")).collect::<Vec<_>>().join(",");
    let page = browser.send(&path, &[("title", "Mine"), ("sku", ""), ("tags", &many)]).await;
    assert!(page.status == 400 && page.shows("value=\"Mine\"") && page.shows(&many), "{}", page.html);
    // If several requests add tags concurrently, no tag is lost.
    let token = browser.get("/keys").await.form_token();
    let add = |tag: &'static str| {
        let fields = [("model", id.as_str()), ("action", "tag"), ("tag", tag), ("form_token", token.as_str())];
        Page::of(browser.form("/models/bulk", &fields).header("sec-fetch-site", "same-origin"))
    };
    let added = tokio::join!(add("a"), add("b"), add("c"), add("d"), add("e"), add("f"), add("g"), add("h"));
    assert_eq!([added.0.status, added.1.status, added.7.status], [303; 3]);
    assert_eq!(served.client.get(&path).await.data()["tags"].as_array().map(Vec::len), Some(9));
    // A model that is deleted in the meantime does not keep the others from being deleted.
    let other = served.client.upload("lamp", None).await.text("modelId");
    assert_eq!(browser.send(&format!("/models/{other}/delete"), &[]).await.status, 303);
    let page = browser.send("/models/bulk", &[("model", &id), ("model", &other), ("action", "delete")]).await;
    assert!(page.status == 200 && page.shows("Delete 1 model?") && page.shows(&other), "{}", page.html);
    // The page of a render whose model is deleted has no links to the model.
    let render = format!("/renders/{}", made.text("renderId"));
    assert!(browser.get(&render).await.shows("The model</a>"));
    assert_eq!(browser.send(&format!("{path}/delete"), &[]).await.status, 303);
    let page = browser.get(&render).await;
    assert!(page.status == 200 && !page.shows("The model</a>") && !page.shows("Again with changes"), "{}", page.html);
    assert!(!page.shows(&format!("href=\"{path}")), "{}", page.html);
}

on_both! { a_form_changes_only_the_workspace_that_its_page_shows an_older_page_keeps_what_others_have_changed }

/// Script that records the event streams that the page opens from now on, and defines `hide`, which simulates that the
/// page moves to the background or back.
const COUNT: &str = "const Stream = window.EventSource; window.open = new Set(); \
    window.EventSource = class extends Stream { \
      constructor(address) { super(address); window.open.add(this); window.last = this; } \
      close() { window.open.delete(this); super.close(); } }; \
    window.EventSource.CLOSED = Stream.CLOSED; \
    window.hide = (hidden) => { Object.defineProperty(document, 'hidden', {configurable: true, get: () => hidden}); \
      document.dispatchEvent(new Event('visibilitychange')); };";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_list_follows_its_renders_and_leaves_connections_to_others() {
    let served = Served::with_sqlite();
    let Some(page) = Chromium::start(true).await else { return };
    let ids = [served.client.upload("chair", None).await, served.client.upload("lamp", None).await]
        .map(|made| made.text("renderId"));
    sign_in(&served, &page).await;
    page.open(&format!("{}/renders", served.server.base)).await;
    page.until("document.querySelectorAll('.live-render').length === 2").await;
    page.run(COUNT).await;
    // A page in the background has no stream.
    page.run("window.hide(true);").await;
    page.run("window.hide(false);").await;
    page.until("window.open.size === 1").await;
    page.run("window.hide(true);").await;
    page.until("window.open.size === 0").await;
    page.run("window.hide(false);").await;
    page.until("window.open.size === 1").await;
    // A reopened stream reports the ended render again. The page must keep following the other render.
    served.client.post(&format!("/renders/{}/cancel", ids[0]), json!({})).await.data();
    page.until("document.querySelectorAll('.live-render').length === 1").await;
    let times = "[...document.querySelectorAll('.renders time')].every((time) => time.title.includes('UTC'))";
    page.until(times).await;
    for _again in 0..2 {
        page.run(
            "window.hide(true); window.hide(false); \
                  window.last.addEventListener('message', () => { window.isHeard = true; });",
        )
        .await;
        page.until("window.isHeard").await;
        page.run("window.isHeard = false;").await;
    }
    page.until("window.open.size === 1").await;
    // The response to an earlier request must not replace the response to a later one.
    let hold = "window.send = XMLHttpRequest.prototype.send; window.held = []; \
                XMLHttpRequest.prototype.send = function () { window.held.push(this); }; \
                window.release = (request) => { request.addEventListener('loadend', () => { request.isDone = true; }); \
                  window.send.call(request); };";
    page.run(hold).await;
    let (id, live) =
        (json!(format!("render-{}", ids[1])), "document.querySelector('[src*=shell]').src.replace('shell', 'live')");
    page.run(&format!("import({live}).then(({{ refresh }}) => {{ refresh({id}); refresh({id}); }});")).await;
    page.until("window.held.length === 2").await;
    page.run("window.release(window.held[1]);").await;
    page.until("window.held[1].isDone").await;
    page.run(&format!("window.newest = document.getElementById({id}); window.release(window.held[0]);")).await;
    page.until("window.held[0].isDone").await;
    page.until(&format!("window.newest === document.getElementById({id})")).await;
    page.run("XMLHttpRequest.prototype.send = window.send;").await;
    served.client.post(&format!("/renders/{}/cancel", ids[1]), json!({})).await.data();
    page.until("window.open.size === 0").await;
    page.until("document.querySelectorAll('.live-render').length === 0").await;
    no_errors(&page).await;
}

/// After an upload, its result stays visible, models stay selected, and typed text stays in its fields.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn uploads_leave_the_rest_of_the_library_alone() {
    let served = Served::with_sqlite();
    let Some(page) = Chromium::start(true).await else { return };
    served.client.upload("chair", None).await;
    sign_in(&served, &page).await;
    page.click(".pick input").await;
    page.type_into("#tag", "oak").await;
    page.type_into("#search", "cha").await;
    let path = served.installation.folder.path().join("lamp.glb");
    std::fs::write(&path, glb_with_triangle("lamp")).unwrap();
    page.type_into("input[type=file]", path.to_str().unwrap()).await;
    // If chromedriver scrolled to the button by itself, the header of the page would cover it.
    page.run("window.scrollTo(0, 0);").await;
    page.click(".upload button.main").await;
    page.until("document.querySelectorAll('.tile').length === 2").await;
    page.until("document.querySelector('.transfers').innerText.includes('is a model now')").await;
    page.until("document.querySelector('.uploaded').textContent === 'lamp.glb is a model now'").await;
    page.until("document.querySelectorAll('.pick input:checked').length === 1").await;
    page.until("document.querySelector('.count').textContent === '1 model chosen'").await;
    page.until("document.querySelector('#tag').value === 'oak' && document.querySelector('#search').value === 'cha'")
        .await;
    // The Enter key submits the form that adds the typed tag.
    page.type_into("#tag", "\u{E007}").await;
    page.until("document.querySelector('.tags')?.textContent === 'oak'").await;
    no_errors(&page).await;
}

/// A file that is not hashed before its upload is sent with the newest session.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn uploads_use_the_newest_session() {
    let served = Served::with_sqlite();
    let Some(page) = Chromium::start(true).await else { return };
    sign_in(&served, &page).await;
    page.run("Object.defineProperty(crypto, 'subtle', {value: undefined});").await;
    sign_in_elsewhere(&served, &page).await;
    let path = served.installation.folder.path().join("lamp.glb");
    std::fs::write(&path, glb_with_triangle("lamp")).unwrap();
    page.type_into("input[type=file]", path.to_str().unwrap()).await;
    page.click(".upload button.main").await;
    page.until("document.querySelector('.uploaded').textContent === 'lamp.glb is a model now'").await;
    no_errors(&page).await;
}

/// The browser asks before the page is left during an upload, which this would end.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_page_of_a_running_upload_is_not_left_unasked() {
    let served = Served::with_sqlite();
    let Some(page) = Chromium::start(true).await else { return };
    sign_in(&served, &page).await;
    assert!(!asks_before_leaving(&page).await);
    let hold = "Object.defineProperty(crypto, 'subtle', {value: undefined}); const send = XMLHttpRequest.prototype.send; \
                XMLHttpRequest.prototype.send = function (body) { window.release = () => { \
                  XMLHttpRequest.prototype.send = send; send.call(this, body); }; };";
    page.run(hold).await;
    let path = served.installation.folder.path().join("lamp.glb");
    std::fs::write(&path, glb_with_triangle("lamp")).unwrap();
    page.type_into("input[type=file]", path.to_str().unwrap()).await;
    page.click(".upload button.main").await;
    page.until("window.release").await;
    assert!(asks_before_leaving(&page).await);
    page.run("window.release();").await;
    page.until("document.querySelectorAll('.tile').length === 1").await;
    assert!(!asks_before_leaving(&page).await);
    no_errors(&page).await;
}

/// Uploads a model and orders a second render of it. Returns the ID of the model, and the IDs of its renders in the order of creation.
async fn model_with_two_renders(served: &Served) -> (String, [String; 2]) {
    let made = served.client.upload("chair", None).await;
    let settings = json!({"quality": "share", "length": 1});
    let body = json!({"modelId": made.text("modelId"), "renderSettings": settings});
    let ordered = served.client.post("/renders", body).await.text("id");
    (made.text("modelId"), [made.text("renderId"), ordered])
}

/// After the newest render of a model has ended, its tile follows the next one.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_tile_follows_all_renders_of_its_model() {
    let served = Served::with_sqlite();
    let Some(page) = Chromium::start(true).await else { return };
    let (_model, [earlier, newest]) = model_with_two_renders(&served).await;
    sign_in(&served, &page).await;
    for id in [newest, earlier] {
        page.until(&format!("document.querySelector('.tile .live-render')?.dataset.render === '{id}'")).await;
        served.client.post(&format!("/renders/{id}/cancel"), json!({})).await.data();
    }
    page.until("document.querySelector('.tile') && !document.querySelector('.tile .live-render')").await;
    no_errors(&page).await;
}

/// The page of a model shows when its renders end, and keeps what the user types.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_page_of_a_model_follows_its_renders() {
    let served = Served::with_sqlite();
    let Some(page) = Chromium::start(true).await else { return };
    let (model, [earlier, newest]) = model_with_two_renders(&served).await;
    sign_in(&served, &page).await;
    page.open(&format!("{}/models/{}", served.server.base, model)).await;
    page.type_into("#title", "Oak").await;
    for (id, left) in [(newest, 1), (earlier, 0)] {
        page.until(&format!("document.querySelector('.lines [data-render=\"{id}\"]')")).await;
        served.client.post(&format!("/renders/{id}/cancel"), json!({})).await.data();
        page.until(&format!("document.querySelectorAll('.lines .live-render').length === {left}")).await;
    }
    page.until("document.querySelectorAll('.lines .status.failed').length === 2").await;
    page.until("document.querySelector('#title').value === 'Oak'").await;
    no_errors(&page).await;
}

/// A stream that was opened while the page asked for the present states is not opened a second time after the response.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_late_response_opens_no_second_stream() {
    let served = Served::with_sqlite();
    let Some(page) = Chromium::start(true).await else { return };
    served.client.upload("chair", None).await;
    sign_in(&served, &page).await;
    page.open(&format!("{}/renders", served.server.base)).await;
    page.until("document.querySelector('.live-render')").await;
    page.run(COUNT).await;
    // Holds the request for the present states until `window.answer` is called. Shortens the wait before the next stream, which would
    // be opened before `window.isAnswered` is set.
    let hold = "const ask = window.fetch, later = window.setTimeout; \
                window.setTimeout = (call, ms, ...rest) => later(call, ms === 15000 ? 0 : ms, ...rest); \
                window.fetch = (...request) => new Promise((done) => { window.answer = async () => { \
                  const {status, ok, text} = await ask(...request).then(async (response) => \
                    ({status: response.status, ok: response.ok, text: await response.text()})); \
                  done({status, ok, text: async () => { later(() => { window.isAnswered = true; }, 100); return text; }}); }; });";
    page.run(hold).await;
    page.run("window.hide(true); window.hide(false);").await;
    page.until("window.open.size === 1").await;
    page.run(
        "Object.defineProperty(window.last, 'readyState', {value: 2}); window.last.dispatchEvent(new Event('error'));",
    )
    .await;
    page.until("window.answer").await;
    page.run("window.hide(true); window.hide(false); window.answer();").await;
    page.until("window.isAnswered").await;
    assert_eq!(page.run("return window.open.size;").await, 1);
    no_errors(&page).await;
}

/// Changes to a workspace as in another tab.
async fn change_to(page: &Chromium, workspace: &str) {
    let script = format!(
        "const form_token = document.querySelector('[name=form_token]').value; \
         return fetch('/workspace', {{method: 'POST', body: new URLSearchParams({{form_token, workspace: '{workspace}'}})}})\
         .then(({{ok}}) => ok);"
    );
    assert_eq!(page.run(&script).await, true);
}

/// A list that is loaded again after another tab has changed to another workspace is not replaced by the models of that workspace.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_list_shows_only_models_of_its_workspace() {
    let served = Served::with_sqlite();
    let Some(page) = Chromium::start(true).await else { return };
    let made = served.installation.admin(&["workspace", "create", "Team", "--owner", EMAIL]);
    let team = made["id"].as_str().unwrap();
    served.client.upload("chair", None).await;
    served.client(&served.installation.key(EMAIL, &["--workspace", team])).upload("lamp", None).await;
    sign_in(&served, &page).await;
    let load =
        "return import(document.querySelector('script[src*=library]').src).then(({showModels}) => showModels());";
    assert_eq!(page.run(load).await, true);
    change_to(&page, team).await;
    assert_eq!(page.run(load).await, false);
    page.until("document.querySelector('.tile .name').textContent === 'chair.glb'").await;
    no_errors(&page).await;
}

/// Open pages say that their renders are in another workspace now, and that the session has ended. They then make no more requests.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_open_page_says_why_it_is_not_updated_any_more() {
    let served = Served::with_sqlite();
    let Some(page) = Chromium::start(true).await else { return };
    let id = served.client.upload("chair", None).await.text("renderId");
    let team = served.installation.admin(&["workspace", "create", "Team", "--owner", EMAIL]);
    sign_in(&served, &page).await;
    let personal = page.run("return document.querySelector('[name=form_token]').value.split('.')[1];").await;
    for path in ["/renders".to_owned(), "/".to_owned(), format!("/renders/{id}")] {
        page.open(&format!("{}{path}", served.server.base)).await;
        page.until("document.querySelector('.live-render progress')").await;
        page.run(COUNT).await;
        page.run("window.hide(true); window.hide(false);").await;
        page.until("window.open.size === 1").await;
        change_to(&page, team["id"].as_str().unwrap()).await;
        page.until("document.querySelector('.live-render').innerText.includes('another workspace')").await;
        page.until("!document.querySelector('progress') && window.open.size === 0").await;
        change_to(&page, personal.as_str().unwrap()).await;
    }
    no_errors(&page).await;
    page.open(&format!("{}/renders/{id}", served.server.base)).await;
    page.until("document.querySelector('.live-render progress')").await;
    page.run(COUNT).await;
    page.run("window.hide(true); window.hide(false);").await;
    page.until("window.open.size === 1").await;
    served.installation.admin(&["account", "suspend", EMAIL]);
    page.until("document.querySelector('main .problem')?.textContent.includes('no longer signed in')").await;
    page.until("window.open.size === 0").await;
}
