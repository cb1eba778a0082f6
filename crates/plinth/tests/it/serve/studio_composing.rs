//! Tests of the composer in a real browser: an order has exactly the settings that the form shows, and updates of the
//! page keep the focus. No worker renders previews in these tests.

use plinth_testkit::Form;
use serde_json::json;

use super::server::{EMAIL, Served};
use super::studio_browser::sign_in;
use super::studio_composer::composer;
use super::webdriver::Chromium;

/// Keyboard keys in the encoding of WebDriver.
const TAB: &str = "\u{E004}";
const ENTER: &str = "\u{E007}";
const DOWN: &str = "\u{E015}";
const CONTROL: &str = "\u{E009}";

/// Sets the value of a field, and dispatches events of these kinds, as typing into the field or leaving it does.
async fn set(page: &Chromium, field: &str, value: &str, kinds: &str) {
    let script = format!(
        "const field = document.querySelector({}); field.value = {}; \
         for (const kind of {kinds}) field.dispatchEvent(new Event(kind, {{bubbles: true}}));",
        json!(field),
        json!(value)
    );
    page.run(&script).await;
}

const LEFT: &str = "['input', 'change']";
const TYPED: &str = "['input']";

/// JavaScript that defines a function that imports a script of the web UI.
pub(super) const IMPORT: &str =
    "const load = (name) => import(document.querySelector('[src*=shell]').src.replace('shell', name));";

/// JavaScript that is true as soon as the composer's script has completed the controls.
pub(super) const IS_READY: &str = "document.querySelector('[data-key=length] .reset')";

async fn until_price(page: &Chromium, price: &str) {
    page.until(&format!("document.querySelector('.price').textContent.startsWith({})", json!(price))).await;
}

pub(super) async fn until_settings(page: &Chromium, expression: &str) {
    page.until(&format!("(({expression}))(JSON.parse(document.querySelector('.settings-json').textContent))")).await;
}

/// Asserts that going back to the page and reloading it keep the settings even if the browser does not restore the fields, and that
/// a reset ends this.
async fn keeps_the_settings(page: &Chromium, url: &str, base: &str) {
    let leave = format!("location.assign('{base}/keys');");
    let return_to_it = async || {
        page.until("location.pathname.endsWith('/keys')").await;
        page.run("history.back();").await;
        page.until(&format!("location.pathname.endsWith('/compose') && {IS_READY}")).await;
    };
    let is_restored =
        "(settings) => settings.hiddenMeshNames?.[0] === 'Leg' && settings.materialEdits?.Oak.roughness === 0.5";
    page.open(url).await;
    page.until(IS_READY).await;
    let look = "const tile = document.querySelector('.look-grid a'); \
                tile.dataset.settings = JSON.stringify({length: 8, hiddenMeshNames: ['Leg'], materialEdits: {Oak: {roughness: 0.5}}}); \
                tile.click();";
    page.run(look).await;
    until_price(page, "32 credits").await;
    // Chromium does not restore the fields of such a form.
    page.run("document.querySelector('form.composer').autocomplete = 'off';").await;
    page.run(&leave).await;
    return_to_it().await;
    until_price(page, "32 credits").await;
    until_settings(page, is_restored).await;
    page.until("document.querySelector('[data-key=materialEdits] fieldset legend')?.textContent === 'Oak'").await;
    page.run("window.isEarlier = true; location.reload();").await;
    page.until(&format!("!window.isEarlier && {IS_READY}")).await;
    until_settings(page, is_restored).await;
    // The page is left before the script has requested the price.
    page.run("document.querySelector('form.composer').autocomplete = 'off';").await;
    set(page, "#length", "9", LEFT).await;
    page.run(&leave).await;
    return_to_it().await;
    until_price(page, "36 credits").await;
    page.click("[data-do=reset]").await;
    until_price(page, "24 credits").await;
    page.run("window.isEarlier = true; location.reload();").await;
    page.until(&format!("!window.isEarlier && {IS_READY}")).await;
    until_price(page, "24 credits").await;
    page.open(&format!("{base}/keys")).await;
}

/// Asserts that the price matches the fields that the browser restores when it goes back to the page.
async fn goes_back(page: &Chromium, url: &str, base: &str) {
    page.open(url).await;
    until_price(page, "24 credits").await;
    set(page, "#length", "8", LEFT).await;
    until_price(page, "32 credits").await;
    page.open(&format!("{base}/keys")).await;
    page.run("history.back();").await;
    page.until("location.pathname.endsWith('/compose') && document.querySelector('#length')?.value === '8'").await;
    until_price(page, "32 credits").await;
    until_settings(page, "(settings) => settings.length === 8").await;
    page.until("document.querySelector('[data-key=length]').classList.contains('changed')").await;
    // No price is shown until the server has computed the new one.
    set(page, "#length", "9", TYPED).await;
    assert_eq!(page.run("return document.querySelector('.price').textContent;").await, "");
    until_price(page, "36 credits").await;
}

/// Asserts that an order keeps its idempotency key if its response is lost and the user goes back to the page, and that the form has
/// another key as soon as a value has changed.
async fn keeps_the_key_of_a_sent_order(page: &Chromium, url: &str, base: &str) {
    let key = "document.querySelector('form.composer [name=key]').value";
    page.open(url).await;
    page.until(IS_READY).await;
    set(page, "#length", "7", LEFT).await;
    until_price(page, "28 credits").await;
    let sent = page.run(&format!("return {key};")).await;
    // Instead of the response, the browser shows another page.
    let lose = "document.querySelector('form.composer').requestSubmit = () => location.assign";
    page.run(&format!("{lose}('{base}/keys');")).await;
    page.click("button[value=order]").await;
    page.until("location.pathname.endsWith('/keys')").await;
    page.run("history.back();").await;
    page.until(&format!("location.pathname.endsWith('/compose') && {IS_READY}")).await;
    until_price(page, "28 credits").await;
    page.until(&format!("{key} === {sent}")).await;
    set(page, "#length", "8", LEFT).await;
    until_price(page, "32 credits").await;
    page.until(&format!("{key} !== {sent} && {key}.length > 20")).await;
    page.until("history.state.values.length === '8' && !history.state.isSent").await;
    set(page, "#length", "7", LEFT).await;
    page.until(&format!("{key} === {sent} && history.state.isSent")).await;
    page.click("[data-do=reset]").await;
    until_price(page, "24 credits").await;
    page.open(&format!("{base}/keys")).await;
}

/// Asserts that a decal that is dragged after the model was stretched is placed at the current scale.
async fn moves_a_decal_at_the_current_scale(page: &Chromium) {
    let script = format!(
        "{IMPORT} const {{ decalDrag }} = await load('decal_drag'); \
         const decal = {{id: 'a', position: [0, 0, 0], normal: [0, 0, 1], euler: [0, 0, 1], placementScale: [1, 1, 1]}}; \
         const below = {{position: [1, 2, 3], normal: [0, 0, 1], euler: [0, 0, 2]}}; \
         const settings = {{decals: [decal], scaleX: '2', scaleZ: '1.5'}}; \
         const values = {{get: (key) => settings[key], set: (key, value) => {{ settings[key] = value; }}}}; \
         const preview = {{surfacesBelowDecals: async () => ({{surfaces: [below]}}), changed() {{}}}}; \
         const menu = {{pressed: {{decal: 'a', decalAt: null}}, inPicture: (x, y) => [x, y]}}; \
         const drag = () => new Promise((done) => {{ \
           values.commit = done; \
           const held = decalDrag(preview, values, menu)(); \
           held.move(0.5, 0.5); held.drop(); }}); \
         const seen = []; \
         for (const angle of [2, 3]) {{ \
           below.euler = [0, 0, angle]; \
           await drag(); \
           seen.push([settings.decals[0].position, settings.decals[0].placementScale, settings.decals[0].euler]); }} \
         return JSON.stringify(seen);"
    );
    let moved = page.run(&format!("return (async () => {{ {script} }})();")).await;
    // The second drag changes neither the scale nor the normal, so the rotation stays.
    assert_eq!(moved, "[[[1,2,3],[2,1,1.5],[0,0,2]],[[1,2,3],[2,1,1.5],[0,0,2]]]");
}

/// Asserts that undo reverts a value that is still being typed, and that redo restores it.
async fn takes_back_what_is_typed(page: &Chromium) {
    for (value, kinds) in [("8", LEFT), ("9", LEFT), ("3", TYPED)] {
        set(page, "#length", value, kinds).await;
    }
    page.run("document.querySelector('#length').focus();").await;
    page.hold(CONTROL, "z").await;
    page.until("document.querySelector('#length').value === '9'").await;
    page.click("[data-do=redo]").await;
    page.until("document.querySelector('#length').value === '3'").await;
    until_settings(page, "(settings) => settings.length === 3").await;
}

/// Asserts that the copy button copies the settings of the form, also right after a change, and that it
/// shows its label again afterwards.
async fn copies_the_present_settings(page: &Chromium) {
    page.run("navigator.clipboard.writeText = async (text) => { window.copied = text; };").await;
    set(page, "#length", "5", LEFT).await;
    page.run("const copy = document.querySelector('[data-copy=json]'); copy.click(); copy.click();").await;
    page.until("window.copied && JSON.parse(window.copied).length === 5").await;
    page.until("document.querySelector('[data-copy=json]').textContent === 'Copied'").await;
    page.click("[data-copy=json]").await;
    page.until("document.querySelector('[data-copy=json]').textContent === 'JSON'").await;
}

/// Asserts that the page never shows a price for other values than those of the form, not even if the price arrives after a
/// change.
async fn shows_no_price_of_earlier_values(page: &Chromium) {
    let hold = "const order = document.querySelector('.order'), problem = order.querySelector('.problem[role=alert]'); \
                window.seen = []; \
                new MutationObserver(() => window.seen.push(order.querySelector('.price').textContent, problem.textContent))\
                .observe(order, {childList: true, subtree: true}); \
                const send = window.fetch; \
                window.fetch = async (...sent) => { \
                  const answer = await send(...sent); \
                  if (!window.release && sent[0].endsWith('/compose')) await new Promise((done) => { window.release = done; }); \
                  return answer; \
                };";
    page.run(hold).await;
    set(page, "#length", "10", LEFT).await;
    page.until("window.release").await;
    page.run(
        "const length = document.querySelector('#length'); length.value = '12'; \
              length.dispatchEvent(new Event('input', {bubbles: true})); window.release();",
    )
    .await;
    until_price(page, "48 credits").await;
    let wrong = "return window.seen.filter((text) => text !== '' && !/^(20|48) credits/.test(text));";
    assert_eq!(page.run(wrong).await, json!([]));
}

/// Asserts that a camera straight above the model moves sideways.
async fn moves_the_camera(page: &Chromium) {
    let script = format!(
        "{IMPORT} const {{ FreeView }} = await load('free_view'); \
         const made = (name) => document.createElement(name); \
         const view = new FreeView({{stage: made('div'), changed() {{}}}}, made('button'), made('p')); \
         view.lookFrom({{position: [1, 5, 2], lookAt: [1, 0, 2], fov: 60}}); \
         view.pan(0.1, 0.2); \
         return JSON.stringify(view.pose.lookAt);"
    );
    let moved = page.run(&format!("return (async () => {{ {script} }})();")).await;
    // At this distance and field of view, the picture is 10.264 units wide.
    assert_eq!(moved, "[-0.0264,0,4.0528]");
}

/// Asserts that the player of a render plays the file if the library for streams cannot be loaded, and that its button for the
/// full screen works in a browser that shows only videos in full screen.
async fn plays_without_the_library(page: &Chromium) {
    let script = format!(
        "{IMPORT} const player = document.createElement('div'), video = document.createElement('video'); \
         player.className = 'player'; player.append(video); document.body.append(player); \
         Object.assign(player.dataset, {{stream: '/no-stream', hls: '/no-library.js'}}); \
         player.requestFullscreen = undefined; \
         video.webkitEnterFullscreen = () => {{ window.isFull = true; }}; \
         video.play = async () => {{ window.isPlayed = true; }}; \
         await load('player'); \
         for (const button of player.querySelectorAll('.controls button')) button.click();"
    );
    page.run(&format!("(async () => {{ {script} }})();")).await;
    page.until("window.isPlayed && window.isFull").await;
    page.run("document.querySelector('.player').remove();").await;
}

/// Asserts that an editor keeps its inputs while its values change, so that a click or the Tab key that ends an edit
/// reaches its target.
async fn edits_structures_in_place(page: &Chromium) {
    page.run("for (const group of document.querySelectorAll('.group')) group.open = true;").await;
    let label = |name: &str| format!("[aria-label=\"{name}\"]");
    let add = label("Add to decals");
    page.click(&add).await;
    page.click(&add).await;
    let ids = "return JSON.parse(document.querySelector('#decals').value).map(({id}) => id);";
    assert_eq!(page.run(ids).await, json!(["decal-1", "decal-2"]));
    let (x, y) = (label("decals 1 position x"), label("decals 1 position y"));
    page.run(&format!("document.querySelector('{x}').select();")).await;
    page.type_into(&x, "7").await;
    page.press(&[TAB]).await;
    page.until(&format!("document.activeElement === document.querySelector('{y}')")).await;
    page.type_into(&y, "3").await;
    // This click ends the edit. The edit must not replace the button before the click reaches it.
    page.click(&label("Remove decals 2")).await;
    page.until("JSON.parse(document.querySelector('#decals').value).length === 1").await;
    page.until("document.activeElement.closest('[data-key=decals]')").await;
    let position = page.run("return JSON.parse(document.querySelector('#decals').value)[0].position;").await;
    assert_ne!((&position[0], &position[1]), (&json!(0), &json!(0)), "{position}");
    // Selecting a member with the keyboard does not set it yet.
    let more = label("More of decals 1");
    let before = page.run("return document.querySelector('#decals').value;").await;
    page.run(&format!("document.querySelector('{more}').focus();")).await;
    page.press(&[DOWN]).await;
    assert_eq!(page.run("return document.querySelector('#decals').value;").await, before);
    page.until(&format!("document.activeElement === document.querySelector('{more}')")).await;
    page.click(&label("Set: More of decals 1")).await;
    page.until(&format!("document.querySelector('#decals').value !== {before}")).await;
    // A reset with the keyboard keeps the focus in the control.
    page.run("document.querySelector('[data-key=decals] .reset').focus();").await;
    page.press(&[ENTER]).await;
    page.until("document.querySelector('#decals').value === ''").await;
    page.until("document.activeElement.closest('[data-key=decals]')").await;
}

/// A look that names a mesh of another model keeps the name.
async fn keeps_unknown_names(page: &Chromium) {
    let look = "const tile = document.querySelector('.look-grid a'); window.was = tile.dataset.settings; \
                tile.dataset.settings = JSON.stringify({hiddenMeshNames: ['Leg']}); tile.click(); \
                tile.dataset.settings = window.was;";
    page.run(look).await;
    until_settings(page, "(settings) => settings.hiddenMeshNames?.[0] === 'Leg'").await;
    page.click("[data-do=reset]").await;
    until_settings(page, "(settings) => Object.keys(settings).length === 0").await;
    // Sliders can reach round values, even if the minimum of the setting is not a multiple of their step.
    set(page, "[data-key=envExposure] input[type=range]", "1", TYPED).await;
    page.until("document.querySelector('#envExposure').value === '1'").await;
    set(page, "#zoom", "", LEFT).await;
    page.until("document.querySelector('[data-key=zoom] input[type=range]').value === '1'").await;
    page.click("[data-do=reset]").await;
}

/// Asserts that a field is shown if the browser rejects its value, even if its group was closed.
async fn reveals_what_is_rejected(page: &Chromium) {
    set(page, "#zoom", "9", LEFT).await;
    page.until("!document.querySelector('.problem[role=alert]').hidden").await;
    page.run("document.querySelector('#zoom').closest('details').open = false;").await;
    page.click("button[value=order]").await;
    page.until("document.querySelector('#zoom').checkVisibility()").await;
    page.until("document.activeElement === document.querySelector('#zoom')").await;
    set(page, "#zoom", "1", LEFT).await;
}

/// Asserts that the page tells a user whose session has ended and keeps the settings, and that the user can order after
/// signing in again without reloading the page.
async fn keeps_the_settings_without_a_session(served: &Served, page: &Chromium) {
    set(page, "#length", "11", LEFT).await;
    until_price(page, "44 credits").await;
    let sign_out = "const form_token = document.querySelector('[name=form_token]').value; window.isOut = false; \
                    fetch('/sign-out', {method: 'POST', body: new URLSearchParams({form_token})})\
                    .then(() => { window.isOut = true; });";
    page.run(sign_out).await;
    page.until("window.isOut").await;
    let is_told = "document.querySelector('.problem[role=alert]').textContent.includes('no longer signed in')";
    page.click("button[value=order]").await;
    page.until(is_told).await;
    page.until(
        "document.querySelector('#length').value === '11' && document.querySelector('.price').textContent === ''",
    )
    .await;
    page.run(
        "document.querySelector('#look_name').value = 'mine'; document.querySelector('[value=save-look]').click();",
    )
    .await;
    page.until("document.querySelector('.look-state').textContent.includes('no longer signed in')").await;
    let sign_in = format!(
        "window.isIn = false; fetch({}, {{method: 'POST'}}).then(() => {{ window.isIn = true; }});",
        json!(served.link(EMAIL, &[]))
    );
    page.run(&sign_in).await;
    page.until("window.isIn").await;
    page.click("button[value=order]").await;
    page.until("location.pathname.startsWith('/renders/')").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_the_composer_shows_is_what_it_orders() {
    let served = Served::with_sqlite();
    let Some(page) = Chromium::start(true).await else { return };
    let form = Form::default().file("file", "logo.png", &plinth_testkit::png(90)).text("layer", "decal");
    served.client.form("/overlays", form).await.text("id");
    let path = composer(&served.client, "chair").await;
    sign_in(&served, &page).await;
    page.resize(1280, 800).await;
    let base = &served.server.base;
    keeps_the_settings(&page, &format!("{base}{path}"), base).await;
    keeps_the_key_of_a_sent_order(&page, &format!("{base}{path}"), base).await;
    goes_back(&page, &format!("{base}{path}"), base).await;
    takes_back_what_is_typed(&page).await;
    copies_the_present_settings(&page).await;
    shows_no_price_of_earlier_values(&page).await;
    moves_the_camera(&page).await;
    moves_a_decal_at_the_current_scale(&page).await;
    plays_without_the_library(&page).await;
    edits_structures_in_place(&page).await;
    keeps_unknown_names(&page).await;
    reveals_what_is_rejected(&page).await;
    keeps_the_settings_without_a_session(&served, &page).await;
    let renders = served.client.get("/renders").await;
    assert_eq!(renders.data().as_array().map(Vec::len), Some(2), "the free preview and one order");
    assert_eq!(renders.data()[0]["renderSettings"]["length"], 11);
}

/// The only mesh of this model is named like the value of a switch that is on.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_only_mesh_may_be_named_on() {
    let served = Served::with_sqlite();
    let Some(page) = Chromium::start(true).await else { return };
    let path = composer(&served.client, "on").await;
    sign_in(&served, &page).await;
    page.open(&format!("{}{path}", served.server.base)).await;
    page.until("document.querySelector('[data-key=hiddenMeshNames] .reset')").await;
    page.run("document.querySelector('[data-key=hiddenMeshNames] input').click();").await;
    until_settings(&page, "(settings) => settings.hiddenMeshNames?.[0] === 'on'").await;
    page.until("document.querySelector('.hidden-meshes .chip')?.textContent === 'on'").await;
    page.run("document.querySelector('.hidden-meshes .chip').click();").await;
    until_settings(&page, "(settings) => Object.keys(settings).length === 0").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn administrators_order_videos_of_any_length() {
    let served = Served::with_sqlite();
    let path = composer(&served.client, "chair").await;
    let browser = served.browser(EMAIL).await;
    assert!(browser.get(&path).await.between("id=\"length\"", ">").contains("max=\"120\""));
    served.installation.admin(&["account", "make-admin", EMAIL]);
    assert!(!browser.get(&path).await.between("id=\"length\"", ">").contains("max="));
}
