//! Tests of the list of uploads in a real browser: uploads that are cancelled, that wait because of too many requests, and whose files
//! cannot be read.

use serde_json::json;

use super::server::Served;
use super::studio_browser::{model, no_errors, sign_in};
use super::webdriver::Chromium;

/// JavaScript that never sends the first upload of the page.
const HOLD_FIRST: &str = "const send = XMLHttpRequest.prototype.send; \
    XMLHttpRequest.prototype.send = function () { XMLHttpRequest.prototype.send = send; window.isHeld = true; };";

/// JavaScript that answers the first request to each address with status 429, and ends the waits for these responses only when
/// `window.waits` is called.
pub(super) const LIMIT: &str = "const ask = window.fetch, later = window.setTimeout, asked = new Set(); window.waits = []; \
    window.setTimeout = (call, ms, ...rest) => ms === 7000 ? window.waits.push(call) : later(call, ms, ...rest); \
    window.fetch = (address, ...rest) => { \
      if (asked.has(address)) return ask(address, ...rest); \
      asked.add(address); \
      return Promise.resolve(new Response('{}', {status: 429, headers: {'Retry-After': '7'}})); };";

/// Chooses files in the form of the library, and sends the form.
async fn send(page: &Chromium, files: &[String]) {
    page.type_into("input[type=file]", &files.join("\n")).await;
    page.run("document.querySelector('.upload button.main').click();").await;
}

async fn cancel(page: &Chromium, name: &str) {
    let button = format!("[aria-label=\"Cancel the upload of {name}\"]");
    page.run(&format!("document.querySelector({}).click();", json!(button))).await;
}

/// Waits until the page tells this result of an upload to screen readers.
async fn until_told(page: &Chromium, text: &str) {
    page.until(&format!("document.querySelector('.uploaded').textContent === {}", json!(text))).await;
}

/// Uploads that wait or run are cancelled one by one, and the others go on.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn uploads_are_cancelled_one_by_one() {
    let served = Served::with_sqlite();
    let Some(page) = Chromium::start(true).await else { return };
    sign_in(&served, &page).await;
    page.run(HOLD_FIRST).await;
    let files = ["chair", "stool", "lamp"].map(|name| model(served.installation.folder.path(), name));
    send(&page, &files).await;
    page.until("window.isHeld").await;
    cancel(&page, "stool.glb").await;
    until_told(&page, "stool.glb cancelled").await;
    cancel(&page, "chair.glb").await;
    until_told(&page, "lamp.glb is a model now").await;
    page.until("document.querySelectorAll('.tile').length === 1").await;
    let rows = "return [...document.querySelectorAll('.transfers li')].map((row) => [...row.children].map((part) => part.textContent));";
    let expected = json!([["chair.glb", "cancelled"], ["stool.glb", "cancelled"], ["lamp.glb", "is a model now"]]);
    assert_eq!(page.run(rows).await, expected);
    no_errors(&page).await;
}

/// An upload for which there were too many requests goes on after the time that the server names, whether the comparison with the
/// models or the request for the token was rejected.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_upload_waits_if_there_were_too_many_requests() {
    let served = Served::with_sqlite();
    let Some(page) = Chromium::start(true).await else { return };
    sign_in(&served, &page).await;
    page.run(LIMIT).await;
    send(&page, &[model(served.installation.folder.path(), "lamp")]).await;
    for waits in 1..=2 {
        let is_waiting = "document.querySelector('.transfers').textContent.includes('waiting')";
        page.until(&format!("window.waits.length === {waits} && {is_waiting}")).await;
        page.run("window.waits.at(-1)();").await;
    }
    until_told(&page, "lamp.glb is a model now").await;
    no_errors(&page).await;
}

/// A full storage has the status 429 without a time, too. The upload fails at once, because waiting would not help.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_upload_does_not_wait_if_the_storage_is_full() {
    let served = Served::with_sqlite();
    let Some(page) = Chromium::start(true).await else { return };
    sign_in(&served, &page).await;
    let full = "const body = JSON.stringify({error: {message: 'The storage is full.'}}); \
                window.fetch = async () => new Response(body, {status: 429});";
    page.run(full).await;
    send(&page, &[model(served.installation.folder.path(), "lamp")]).await;
    until_told(&page, "lamp.glb: The storage is full.").await;
    no_errors(&page).await;
}

/// Uploads that failed because the session has ended are sent again with one click after a new sign-in. A rejected file is not offered
/// again, because it would be rejected again.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn failed_uploads_are_sent_again() {
    let served = Served::with_sqlite();
    let Some(page) = Chromium::start(true).await else { return };
    sign_in(&served, &page).await;
    let files = ["chair", "lamp"].map(|name| model(served.installation.folder.path(), name));
    for (status, is_offered) in [(400, false), (401, true)] {
        let answer = format!("window.fetch = async () => new Response('{{}}', {{status: {status}}});");
        page.run(&format!("window.ask ??= window.fetch; {answer}")).await;
        send(&page, &files).await;
        page.until("document.querySelectorAll('.transfers .bad').length === 2").await;
        assert_eq!(page.run("return !document.querySelector('.again').hidden;").await, is_offered, "{status}");
    }
    page.run("window.fetch = window.ask; document.querySelector('.again').click();").await;
    page.until("document.querySelectorAll('.transfers .good').length === 2").await;
    page.until("document.querySelectorAll('.tile').length === 2").await;
    assert_eq!(page.run("return document.querySelector('.again').hidden;").await, true);
    no_errors(&page).await;
}

/// The message for a file that is deleted while its upload waits names the file as the cause, whether the file is compared with
/// the models or not.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_file_that_cannot_be_read_is_not_blamed_on_the_server() {
    let served = Served::with_sqlite();
    let Some(page) = Chromium::start(true).await else { return };
    sign_in(&served, &page).await;
    page.run(HOLD_FIRST).await;
    let folder = served.installation.folder.path();
    let archive = folder.join("set.zip");
    std::fs::write(&archive, "an archive").unwrap();
    let files = [model(folder, "chair"), model(folder, "lamp"), archive.to_str().unwrap().to_owned()];
    send(&page, &files).await;
    page.until("window.isHeld").await;
    for file in &files[1..] {
        std::fs::remove_file(file).unwrap();
    }
    cancel(&page, "chair.glb").await;
    page.until("document.querySelectorAll('.transfers .bad').length === 2").await;
    let messages = "return [...document.querySelectorAll('.transfers .bad')].map((one) => one.textContent);";
    let message = "The file was changed or cannot be read; choose it again.";
    assert_eq!(page.run(messages).await, json!([message, message]));
}
