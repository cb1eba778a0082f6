//! Tests of the web UI in a real browser: with and without scripts, in a narrow and a wide window. The console of the
//! browser must stay empty.

use std::path::Path;

use plinth_spec::limits;
use plinth_testkit::{Client, glb_with_triangle};
use reqwest::Method;
use serde_json::json;

use super::server::{EMAIL, Served};
use super::studio_pages::fits;
use super::webdriver::Chromium;

/// Keyboard keys in the encoding of WebDriver.
const ENTER: &str = "\u{E007}";
const ESCAPE: &str = "\u{E00C}";

/// Starts a server with a worker, and with a rate limit that no test reaches.
pub(super) fn drawing() -> Served {
    let Served { client, server, installation } = Served::with_sqlite();
    server.end();
    let server = installation.serve(&["--rate-limit-per-minute", "1000000"]);
    Served { client: Client::new(&server.base, &client.token), server, installation }
}

pub(super) async fn sign_in(served: &Served, page: &Chromium) {
    page.open(&format!("{}{}", served.server.base, served.link(EMAIL, &[]))).await;
    page.click("main button").await;
    page.until("document.querySelector('h1').textContent === 'Models'").await;
}

/// Signs in as in another tab of the browser, which ends the session of the open page.
pub(super) async fn sign_in_elsewhere(served: &Served, page: &Chromium) {
    let link = served.link(EMAIL, &[]);
    let script = format!("return fetch('{link}', {{method: 'POST'}}).then(({{ok}}) => ok);");
    assert_eq!(page.run(&script).await, true);
}

/// Returns whether the page asks the user before it is left.
pub(super) async fn asks_before_leaving(page: &Chromium) -> bool {
    let asks = "const leave = new Event('beforeunload', {cancelable: true}); window.dispatchEvent(leave); \
                return leave.defaultPrevented;";
    page.run(asks).await == true
}

/// Writes the file of a model, and returns its path.
pub(super) fn model(folder: &Path, name: &str) -> String {
    let path = folder.join(format!("{name}.glb"));
    std::fs::write(&path, glb_with_triangle(name)).unwrap();
    path.to_str().unwrap().to_owned()
}

/// Asserts that the console of the page has no messages.
pub(super) async fn no_errors(page: &Chromium) {
    let messages = page.console().await;
    assert!(messages.is_empty(), "{messages:?}");
}

/// Turns the camera with an arrow key, searches for a setting, and presses the Enter key in a field, which must not
/// submit an order.
async fn use_keyboard(page: &Chromium) {
    page.run("document.querySelector('.stage').dispatchEvent(new KeyboardEvent('keydown', {key: 'ArrowLeft'}));").await;
    page.until("document.querySelector('.settings-json').textContent.includes('\"rotateY\": 5')").await;
    page.type_into("#find-setting", "bloom").await;
    page.until("document.querySelector('[data-key=bloomStrength]').checkVisibility()").await;
    page.until("!document.querySelector('[data-key=zoom]').checkVisibility()").await;
    page.type_into("#find-setting", ESCAPE).await;
    page.until("document.querySelector('[data-key=zoom]').checkVisibility()").await;
    page.type_into("#zoom", ENTER).await;
}

/// The page of a finished render plays its stream, shows thumbnails, and creates links.
async fn play(page: &Chromium) {
    // The open page offers the stream as soon as the worker has packaged the video.
    page.run("window.isSame = true;").await;
    page.until("window.isSame && document.querySelector('[data-stream] .thumbnail')").await;
    page.until("document.querySelector('.stream-state').textContent === 'ready'").await;
    page.click(".controls button").await;
    // A `blob:` URL shows that the stream is playing. The video file has an ordinary URL.
    page.until("document.querySelector('video').currentSrc.startsWith('blob:')").await;
    page.until("document.querySelector('video').currentTime > 0.05").await;
    page.run(
        "const seek = document.querySelector('.seek'), box = seek.getBoundingClientRect(); seek.dispatchEvent(\
         new PointerEvent('pointermove', {clientX: box.left + box.width / 2, clientY: box.top}));",
    )
    .await;
    page.until(
        "!document.querySelector('.thumbnail').hidden && document.querySelector('.thumbnail').style.backgroundImage",
    )
    .await;
    page.run("document.querySelector('.seek').dispatchEvent(new PointerEvent('pointerleave'));").await;
    page.until("document.querySelector('.thumbnail').hidden").await;
    page.run("document.querySelector('.share button').click();").await;
    page.until("document.querySelector('.shared textarea')?.value.startsWith('http')").await;
    fits(page).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn models_are_uploaded_looked_at_and_ordered() {
    let served = drawing();
    let Some(page) = Chromium::start(true).await else { return };
    sign_in(&served, &page).await;
    fits(&page).await;
    let files = [model(served.installation.folder.path(), "chair"), model(served.installation.folder.path(), "lamp")];
    page.type_into("input[type=file]", &files.join("\n")).await;
    page.click(".upload button.main").await;
    page.until("document.querySelectorAll('.tile').length === 2").await;
    // A known file is not sent again. A rejected file shows the reason.
    let text = served.installation.folder.path().join("notes.txt");
    std::fs::write(&text, "no model").unwrap();
    page.type_into("input[type=file]", &format!("{}\n{}", files[0], text.display())).await;
    page.click(".upload button.main").await;
    page.until("document.querySelector('.transfers').innerText.includes('name must end in')").await;
    page.until("document.querySelector('.transfers').innerText.includes('was there already')").await;
    // The response to the rejected upload has status 400, which browsers write to the console by themselves.
    let messages = page.console().await;
    assert!(messages.iter().all(|line| line.contains("400 (Bad Request)")), "{messages:?}");
    fits(&page).await;
    page.click(".pick input").await;
    page.until("document.querySelector('.count').textContent === '1 model chosen'").await;

    page.click(".tile-link").await;
    page.until("document.querySelector('a.button.main')").await;
    fits(&page).await;
    page.click("a.button.main").await;
    page.until("document.querySelector('.stage img')?.src.startsWith('blob:')").await;
    page.until("document.querySelector('.stage img').naturalWidth === 1280").await;
    fits(&page).await;
    // A slider changes the settings and the picture. Undo restores both.
    let set = "const range = document.querySelector('[data-key=zoom] input[type=range]'); range.value = 1.5; \
               for (const kind of ['input', 'change']) range.dispatchEvent(new Event(kind, {bubbles: true}));";
    let before = page.run("return document.querySelector('.stage img').src;").await;
    page.run(set).await;
    page.until("document.querySelector('.settings-json').textContent.includes('\"zoom\": 1.5')").await;
    page.until(&format!("document.querySelector('.stage img').src !== {before}")).await;
    page.until("document.querySelector('[data-key=zoom]').classList.contains('changed')").await;
    page.click("[data-do=undo]").await;
    page.until("!document.querySelector('.settings-json').textContent.includes('zoom')").await;
    page.click("[data-do=redo]").await;
    page.until("document.querySelector('.settings-json').textContent.includes('zoom')").await;
    use_keyboard(&page).await;
    // A setting with an object is edited with the controls that the script creates from its schema.
    page.run("document.querySelector('[data-group=path]').open = true;").await;
    page.click("[data-key=camera] .structure button").await;
    page.until("document.querySelector('.settings-json').textContent.includes('\"radius\"')").await;
    page.click("[data-key=camera] .reset").await;
    page.until("!document.querySelector('.settings-json').textContent.includes('radius')").await;
    page.run("document.querySelector('#quality').value = 'share'; document.querySelector('#length').value = '0.2';")
        .await;
    page.click("button[value=order]").await;
    page.until("location.pathname.startsWith('/renders/')").await;
    // The page updates itself until the render is done.
    page.until("document.querySelector('.head .status.done') && document.querySelector('video')").await;
    fits(&page).await;
    play(&page).await;
    no_errors(&page).await;
    for path in ["/", "/renders", "/keys", "/credits", "/account", "/teams"] {
        page.open(&format!("{}{path}", served.server.base)).await;
        fits(&page).await;
    }
    no_errors(&page).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn everything_but_previews_works_without_scripts() {
    let served = Served::with_sqlite();
    let Some(page) = Chromium::start(false).await else { return };
    sign_in(&served, &page).await;
    page.type_into("input[type=file]", &model(served.installation.folder.path(), "chair")).await;
    page.click(".upload button.main").await;
    page.until("document.querySelector('h1').textContent === 'chair.glb'").await;
    page.type_into("#title", "Oak chair").await;
    page.click("form.fields button.main").await;
    page.until("document.querySelector('h1').textContent === 'Oak chair'").await;
    page.click("a.button.main").await;
    page.until("document.querySelector('#length')").await;
    page.click("[data-group=model] > summary").await;
    page.type_into("#panX", "5").await;
    // If chromedriver scrolled to the button by itself, the header of the page would cover it.
    page.run("window.scrollTo(0, 0);").await;
    page.click("button[value=price]").await;
    page.until("document.querySelector('.settings-json').textContent.includes('\"panX\"')").await;
    page.click("button[value=order]").await;
    page.until("location.pathname.startsWith('/renders/')").await;
    page.until("document.querySelector('.running .status')?.textContent === 'Waiting'").await;
    // A checkbox that needs scripts is hidden, and the buttons for chosen models are shown.
    page.open(&format!("{}/", served.server.base)).await;
    page.until("document.querySelector('.choose-all')?.checkVisibility() === false").await;
    page.until("document.querySelector('.bulk-bar button').checkVisibility()").await;
}

/// A checkbox chooses all models of the page, and shows whether none, some or all of them are chosen.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn all_models_of_a_page_are_chosen_together() {
    let served = Served::with_sqlite();
    let Some(page) = Chromium::start(true).await else { return };
    for name in ["chair", "lamp"] {
        served.client.upload(name, None).await;
    }
    sign_in(&served, &page).await;
    let click = async |selector: &str| {
        page.run(&format!("document.querySelector('{selector}').click();")).await;
    };
    let until_chosen = async |text: &str, state: &str| {
        page.until(&format!("document.querySelector('.count').textContent === '{text}'")).await;
        page.until(&format!("document.querySelector('.choose-all input').matches('{state}')")).await;
    };
    until_chosen("With the chosen models", ":not(:checked)").await;
    click(".choose-all input").await;
    until_chosen("2 models chosen", ":checked").await;
    click(".pick input").await;
    until_chosen("1 model chosen", ":indeterminate").await;
    click(".choose-all input").await;
    until_chosen("2 models chosen", ":checked:not(:indeterminate)").await;
    click(".choose-all input").await;
    until_chosen("With the chosen models", ":not(:checked, :indeterminate)").await;
    page.until("document.querySelectorAll('.pick input:checked').length === 0").await;
    page.until("document.querySelector('.choose-all').checkVisibility()").await;
    page.until("!document.querySelector('.bulk-bar button').checkVisibility()").await;
    fits(&page).await;
    no_errors(&page).await;
}

/// The name of a model that is written from right to left begins at the right, also if it ends with Latin letters.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn names_are_written_in_the_direction_of_their_first_letter() {
    let served = Served::with_sqlite();
    let Some(page) = Chromium::start(true).await else { return };
    served.client.upload("כסא", None).await;
    sign_in(&served, &page).await;
    let is_from_right = "const text = document.querySelector('.tile .name').firstChild, range = document.createRange(); \
         const left = (i) => { range.setStart(text, i); range.setEnd(text, i + 1); return range.getBoundingClientRect().left; }; \
         return left(0) > left(text.length - 1);";
    assert_eq!(page.run(is_from_right).await, true);
    let plain = "return ['h1', '.who', '#search', '#tag', 'option'].filter((one) => \
                 getComputedStyle(document.querySelector(one)).unicodeBidi !== 'plaintext');";
    assert_eq!(page.run(plain).await, json!([]));
}

/// A model that is selected while its tile is being replaced stays selected, and its checkbox keeps the focus.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_model_stays_chosen_while_its_tile_is_replaced() {
    let served = Served::with_sqlite();
    let Some(page) = Chromium::start(true).await else { return };
    let made = served.client.upload("chair", None).await;
    sign_in(&served, &page).await;
    page.until("document.querySelector('.tile .live-render')").await;
    let hold = "const send = XMLHttpRequest.prototype.send; window.tile = document.querySelector('.tile'); \
                XMLHttpRequest.prototype.send = function () { window.release = () => send.call(this); };";
    page.run(hold).await;
    served.client.post(&format!("/renders/{}/cancel", made.text("renderId")), json!({})).await.data();
    page.until("window.release").await;
    page.click(".pick input").await;
    page.run("document.querySelector('.pick input').focus(); window.release();").await;
    page.until("document.querySelector('.tile') !== window.tile").await;
    page.until("document.querySelector('.pick input').checked").await;
    page.until("document.activeElement === document.querySelector('.pick input')").await;
    no_errors(&page).await;
}

/// The overview for administrators updates itself until updates are switched off. The administration pages fit narrow
/// windows.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_overview_for_administrators_updates_itself() {
    let served = Served::with_sqlite();
    served.installation.admin(&["account", "make-admin", EMAIL]);
    let Some(page) = Chromium::start(true).await else { return };
    sign_in(&served, &page).await;
    page.open(&format!("{}/admin", served.server.base)).await;
    let waiting = |n: u32| format!("document.querySelector('.tiles dd').textContent === '{n}'");
    page.until(&waiting(0)).await;
    page.run("window.isOld = true;").await;
    served.client.upload("chair", None).await;
    page.until(&format!("window.isOld && {}", waiting(1))).await;
    page.click("#update").await;
    // A request that was in progress when updates were switched off may still replace the state.
    page.run(
        "setTimeout(() => { document.querySelector('.tiles dd').textContent = 'kept'; window.isKept = true; }, 1000);",
    )
    .await;
    page.until("window.isKept").await;
    served.client.upload("stool", None).await;
    page.run("window.isLater = false; setTimeout(() => { window.isLater = true; }, 7000);").await;
    page.until("window.isLater").await;
    page.until("document.querySelector('.tiles dd').textContent === 'kept'").await;
    for path in ["/admin", "/admin/accounts", "/admin/assets", "/admin/log"] {
        page.open(&format!("{}{path}", served.server.base)).await;
        fits(&page).await;
    }
    page.open(&format!("{}/admin/accounts", served.server.base)).await;
    page.click("tbody a").await;
    page.until("document.querySelector('#credits')").await;
    fits(&page).await;
    page.type_into("#credits", "5").await;
    page.type_into("#grant-reason", "a test").await;
    page.click("form[action$='/grant'] button").await;
    page.until("document.querySelector('.note')?.textContent === 'The credits were booked.'").await;
    no_errors(&page).await;
}

/// A page polls the state of its render if the account already has the maximum number of event streams.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_page_without_a_stream_of_events_is_updated_later() {
    let served = Served::with_sqlite();
    let Some(page) = Chromium::start(true).await else { return };
    let id = served.client.upload("chair", Some(json!({}))).await.text("renderId");
    let followed = served.client.upload("stool", Some(json!({}))).await.text("renderId");
    let (other, mut streams) = (served.browser(EMAIL).await, Vec::new());
    for _stream in 0..limits::EVENT_STREAMS_AT_ONCE {
        streams.push(other.request(Method::GET, &format!("/renders/{followed}/events")).send().await.unwrap());
    }
    sign_in(&served, &page).await;
    page.open(&format!("{}/renders/{id}", served.server.base)).await;
    page.until("document.querySelector('.running .status').textContent === 'Waiting'").await;
    assert_eq!(served.client.post(&format!("/renders/{id}/cancel"), json!({})).await.status, 200);
    page.until("!document.querySelector('.running') && document.body.textContent.includes('Cancelled')").await;
    drop(streams);
}
