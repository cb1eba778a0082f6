//! Tests of the interactive preview in the composer: selecting meshes, decals, keyframes, and cameras of a dataset.

use std::time::Duration;

use plinth_testkit::Form;
use reqwest::Method;
use serde_json::{Value, json};
use tokio::time::{sleep, timeout};

use super::browser::Browser;
use super::on_both;
use super::server::{EMAIL, Served};
use super::studio_browser::{drawing, no_errors, sign_in};
use super::studio_composer::composer;
use super::studio_pages::fits;
use super::webdriver::Chromium;

/// Codes of keys in WebDriver.
const ENTER: &str = "\u{E007}";
const ESCAPE: &str = "\u{E00C}";
const LEFT: &str = "\u{E012}";
const DOWN: &str = "\u{E015}";
/// A point of the first picture that shows the model of `glb_with_triangle`.
const ON_MODEL: (f64, f64) = (0.4, 0.6);

/// Waits until the worker draws previews. Before that, the worker probes the machine.
async fn until_previews(browser: &Browser, path: &str) {
    let ready = async {
        while !browser.get(path).await.shows("data-preview") {
            sleep(Duration::from_millis(50)).await;
        }
    };
    timeout(Duration::from_mins(1), ready).await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_server_says_what_a_preview_shows() {
    let served = drawing();
    let browser = served.browser(EMAIL).await;
    let path = composer(&served.client, "chair").await;
    until_previews(&browser, &path).await;
    let (surfaces, cameras) =
        (path.replace("/compose", "/preview/surfaces"), path.replace("/compose", "/preview/cameras"));
    let at = |x: &'static str, y: &'static str| [("x", x), ("y", y), ("quality", "share"), ("length", "1")];
    let (status, said) = browser.ask(&surfaces, &at("0.4", "0.6")).await;
    assert_eq!((status, &said["answer"]), (200, &json!("surfaces")), "{said}");
    let found = said["surfaces"].as_array().unwrap();
    assert_eq!((found.len(), &found[0]["mesh"], &found[0]["isBack"]), (1, &json!("chair"), &json!(false)), "{said}");
    assert!(
        found[0]["normal"][2].as_f64().unwrap() > 0.999 && found[0]["outline"].as_array().unwrap().len() == 3,
        "{said}"
    );
    let look_at = said["camera"]["lookAt"].as_array().unwrap();
    assert!(look_at.iter().all(|c| c.as_f64().unwrap().abs() < 1e-6), "{look_at:?}");
    // The background, the back of the triangle after half a turn, and a hidden mesh have no surfaces.
    for more in [("x", "0.02"), ("position", "0.5"), ("hiddenMeshNames", "chair")] {
        let fields: Vec<_> = at("0.4", "0.6").into_iter().filter(|(key, _)| *key != more.0).chain([more]).collect();
        let (status, said) = browser.ask(&surfaces, &fields).await;
        assert_eq!((status, &said["surfaces"]), (200, &json!([])), "{more:?}");
    }
    for (x, y) in [("1.5", "0.5"), ("", "0.5"), ("NaN", "0.5"), ("0.5", "-1")] {
        let (status, said) = browser.ask(&surfaces, &at(x, y)).await;
        let message = said["error"]["message"].as_str().unwrap();
        assert!(status == 400 && message.contains("X and y must be numbers from 0 to 1"), "{x} {y}: {said}");
    }
    let (status, said) = browser.ask(&surfaces, &[("zoom", "9"), ("x", "0.5"), ("y", "0.5")]).await;
    assert_eq!((status, &said["error"]["setting"]), (400, &json!("zoom")));
    let (status, said) = browser.ask(&cameras, &[("output", "dataset")]).await;
    assert_eq!((status, said["positions"].as_array().map(Vec::len)), (200, Some(100)), "{said}");
    let (status, said) = browser.ask(&cameras, &[]).await;
    assert!(status == 400 && said["error"]["message"].as_str().unwrap().contains("must be dataset"), "{said}");
}

/// Uploads an image as the dialog of decals does, and returns the status and the JSON.
async fn upload(browser: &Browser, base: &str, token: Option<&str>, file: Option<(&str, &[u8])>) -> (u16, Value) {
    let form = token.map_or_else(Form::default, |token| Form::default().text("form_token", token));
    let form = file.map_or(form.clone(), |(name, bytes)| form.file("file", name, bytes));
    let request = browser.request(Method::POST, "/images").header("origin", base).header("accept", "application/json");
    let request = request.header("content-type", Form::content_type()).body(form.body());
    let answer = request.send().await.unwrap();
    let (status, text) = (answer.status().as_u16(), answer.text().await.unwrap());
    (status, serde_json::from_str(&text).unwrap_or(Value::Null))
}

async fn images_for_decals_are_uploaded(served: Served) {
    let browser = served.browser(EMAIL).await;
    let path = composer(&served.client, "chair").await;
    let base = &served.server.base;
    let token = browser.get("/keys").await.form_token();
    let picture = plinth_testkit::png(200);
    let hostile = "a><img src=x>.png";
    let (status, said) = upload(&browser, base, Some(&token), Some((hostile, &picture))).await;
    assert_eq!((status, &said["name"]), (200, &json!(hostile)), "{said}");
    let listed = served.client.get("/overlays?layer=decal").await;
    assert_eq!(listed.data()[0]["id"], said["id"]);
    // Uploads without a valid token of the session are rejected, and so are files that are not images.
    let other = served.browser(EMAIL).await.get("/keys").await.form_token();
    for wrong in [None, Some(other.as_str())] {
        assert_eq!(upload(&browser, base, wrong, Some(("a.png", &picture))).await.0, 403);
        assert_eq!(upload(&browser, base, wrong, None).await.0, 403);
    }
    for (file, says) in [
        (None, "Choose an image"),
        (Some(("a.png", b"no image".as_slice())), "image"),
        (Some(("a.png", vec![0; (25 << 20) + 1].as_slice())), "larger than"),
    ] {
        let (status, said) = upload(&browser, base, Some(&token), file).await;
        let message = said["error"]["message"].as_str().unwrap_or_default();
        assert!((400..500).contains(&status) && message.contains(says), "{says}: {status} {said}");
    }
    assert_eq!(served.client.get("/overlays").await.data().as_array().unwrap().len(), 1);
    let page = browser.get(&path).await;
    assert!(!page.shows("<img src=x>"), "{}", page.html);
}

on_both! { images_for_decals_are_uploaded }

/// Opens the composer of a new model, and waits for its full picture.
async fn open(served: &Served, page: &Chromium) -> String {
    let path = composer(&served.client, "chair").await;
    until_previews(&served.browser(EMAIL).await, &path).await;
    page.resize(1280, 800).await;
    page.open(&format!("{}{path}", served.server.base)).await;
    page.until("document.querySelector('.stage > img')?.naturalWidth === 1280").await;
    path
}

/// Waits until the settings of the composer contain a text, or no longer contain it if `are` is false.
async fn until_settings(page: &Chromium, text: &str, are: bool) {
    let negation = if are { "" } else { "!" };
    page.until(&format!("{negation}document.querySelector('.settings-json').textContent.includes({})", json!(text)))
        .await;
}

async fn until_menu(page: &Chromium, name: &str) {
    page.until(&format!("document.querySelector('.surface-menu:popover-open')?.innerText.includes({})", json!(name)))
        .await;
}

async fn choose(page: &Chromium, label: &str) {
    let find = "[...document.querySelectorAll('.surface-menu button')].find((one) => one.textContent";
    page.run(&format!("{find} === {}).click();", json!(label))).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_mesh_that_is_clicked_can_be_hidden_shown_and_ordered_without() {
    let served = drawing();
    let Some(page) = Chromium::start(true).await else { return };
    sign_in(&served, &page).await;
    open(&served, &page).await;
    page.click_at(".stage > img", ON_MODEL).await;
    until_menu(&page, "chair").await;
    page.until("document.querySelector('.outline polygon')").await;
    page.press(&[ESCAPE]).await;
    page.until("!document.querySelector('.surface-menu:popover-open')").await;
    // Selects the mesh by keys, which move a crosshair that starts in the center.
    page.run("document.querySelector('.stage').focus();").await;
    page.press(&[[ENTER].as_slice(), &[LEFT; 5], &[DOWN; 5], &[ENTER]].concat()).await;
    until_menu(&page, "chair").await;
    choose(&page, "Hide this mesh").await;
    until_settings(&page, "\"chair\"", true).await;
    page.until("document.querySelector('.hidden-meshes button')?.textContent === 'chair'").await;
    page.click("[data-do=undo]").await;
    until_settings(&page, "hiddenMeshNames", false).await;
    page.click("[data-do=redo]").await;
    until_settings(&page, "hiddenMeshNames", true).await;
    page.click(".hidden-meshes button").await;
    until_settings(&page, "hiddenMeshNames", false).await;
    // The clicked button disappears, so the focus must move to the preview.
    page.until("document.activeElement === document.querySelector('.stage')").await;
    page.until("document.querySelector('.preview-state').textContent.startsWith('Drawn')").await;
    page.click_at(".stage > img", ON_MODEL).await;
    until_menu(&page, "chair").await;
    choose(&page, "Hide this mesh").await;
    until_settings(&page, "hiddenMeshNames", true).await;
    page.run("document.querySelector('#quality').value = 'share'; document.querySelector('#length').value = '0.2';")
        .await;
    page.click("button[value=order]").await;
    page.until("location.pathname.startsWith('/renders/')").await;
    let render = page.run("return location.pathname;").await;
    let ordered = served.client.get(render.as_str().unwrap()).await;
    assert_eq!(ordered.data()["renderSettings"]["hiddenMeshNames"], json!(["chair"]));
    no_errors(&page).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn decals_keyframes_and_cameras_are_set_by_looking() {
    let served = drawing();
    let form = Form::default().file("file", "logo.png", &plinth_testkit::png(90)).text("layer", "decal");
    let image = served.client.form("/overlays", form).await.text("id");
    let Some(page) = Chromium::start(true).await else { return };
    sign_in(&served, &page).await;
    open(&served, &page).await;
    page.click_at(".stage > img", ON_MODEL).await;
    until_menu(&page, "chair").await;
    choose(&page, "Place a decal here").await;
    page.until("document.querySelector('.decal-dialog[open]')").await;
    page.click(".decal-dialog button.main").await;
    until_settings(&page, &image, true).await;
    page.until("document.querySelector('.preview-state').textContent.startsWith('Drawn')").await;
    // A drag that begins on the decal moves the decal, not the camera.
    let position = "JSON.parse(document.querySelector('.settings-json').textContent).decals[0].position";
    let before = page.run(&format!("return {position};")).await;
    page.hover_at(".stage > img", ON_MODEL).await;
    page.until("document.querySelector('.below-mouse').checkVisibility()").await;
    page.drag_to(".stage > img", (ON_MODEL.0 + 0.02, ON_MODEL.1)).await;
    page.until(&format!("{position}[0] > {}", before[0].as_f64().unwrap() + 0.01)).await;
    until_settings(&page, "rotateY", false).await;
    page.until("document.querySelector('.preview-state').textContent.startsWith('Drawn')").await;
    page.click_at(".stage > img", ON_MODEL).await;
    until_menu(&page, "a decal").await;
    choose(&page, "Remove this decal").await;
    until_settings(&page, "decals", false).await;
    // Moving the camera of the free view does not change the settings. Adding a keyframe does.
    page.until("document.querySelector('.preview-state').textContent.startsWith('Drawn')").await;
    page.click("[data-view=free]").await;
    page.until("document.querySelector('[data-view=free]').getAttribute('aria-pressed') === 'true'").await;
    page.run("document.querySelector('.stage').focus();").await;
    page.press(&[LEFT]).await;
    until_settings(&page, "keyframes", false).await;
    page.click(".keyframes button").await;
    until_settings(&page, "\"lookAt\"", true).await;
    until_settings(&page, "\"effect\": \"keyframes\"", true).await;
    page.until("document.querySelectorAll('.keyframes .chip').length === 1").await;
    page.click("[data-do=undo]").await;
    until_settings(&page, "keyframes", false).await;
    page.until("document.querySelectorAll('.keyframes .chip').length === 0").await;
    page.click("[data-view=free]").await;
    // The compare view shows the picture from before the last change.
    page.until("document.querySelector('.preview-state').textContent.startsWith('Drawn')").await;
    let color = "const color = document.querySelector('#bgColor'); color.value = '#204060'; \
                 for (const kind of ['input', 'change']) color.dispatchEvent(new Event(kind, {bubbles: true}));";
    page.run(color).await;
    until_settings(&page, "#204060", true).await;
    page.until("document.querySelector('.preview-state').textContent.startsWith('Drawn')").await;
    page.click("[data-view=compare]").await;
    page.until("document.querySelector('.stage > .before')?.naturalWidth === 1280").await;
    page.click("[data-view=compare]").await;
    page.until("!document.querySelector('.stage > .before')").await;
    // For a dataset, the composer shows the cameras around the model, and each view can be selected.
    let dataset = "const output = document.querySelector('#output'); output.value = 'dataset'; \
                   for (const kind of ['input', 'change']) output.dispatchEvent(new Event(kind, {bubbles: true}));";
    page.run(dataset).await;
    page.until("document.querySelectorAll('.dataset-cameras circle').length === 100").await;
    let view = "const range = document.querySelector('#dataset-view'); range.value = 40; \
                range.dispatchEvent(new Event('input', {bubbles: true}));";
    page.run(view).await;
    page.until("document.querySelector('.dataset-cameras label').textContent === 'View 40 of 100'").await;
    page.until("document.querySelector('[data-view=free]').getAttribute('aria-pressed') === 'true'").await;
    fits(&page).await;
    no_errors(&page).await;
}
