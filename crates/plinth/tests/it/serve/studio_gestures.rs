//! Tests of the gestures that move cameras, in a real browser: fingers, wheels, trackpads and keys. The gestures are events that the
//! test creates.

use serde_json::Value;

use super::server::Served;
use super::studio_browser::sign_in;
use super::studio_composer::composer;
use super::studio_composing::{IMPORT, IS_READY, until_settings};
use super::webdriver::Chromium;

const CONTROL: &str = "\u{E009}";
const LEFT: &str = "\u{E012}";

/// JavaScript that steers a camera that records its calls in `seen`, by events on an element that is 100 pixels wide.
const STEER: &str = "const { steer } = await load('steer'), stage = document.createElement('div'), seen = []; \
    Object.defineProperty(stage, 'clientWidth', {value: 100}); \
    stage.setPointerCapture = () => {}; \
    const isAtRest = new Promise((done) => { window.atRest = done; }); \
    const camera = {canPan: true, zoom: (steps) => seen.push(['zoom', steps]), pan: (...by) => seen.push(['pan', ...by]), \
      turn: (right, up) => seen.push(['turn', right, up]), rest: () => { seen.push(['rest']); window.atRest(); }}; \
    steer(stage, camera, () => seen.push(['click']), () => null); \
    const send = (kind, pointerId, clientX, clientY = 0) => \
      stage.dispatchEvent(new PointerEvent(`pointer${kind}`, {pointerId, clientX, clientY})); \
    const turn = (wheel) => stage.dispatchEvent(new WheelEvent('wheel', wheel));";

/// Runs the body of an asynchronous function, and returns its result as JSON text.
async fn run(page: &Chromium, body: &str) -> Value {
    page.run(&format!("return (async () => {{ {IMPORT} {body} }})().then(JSON.stringify);")).await
}

/// Asserts that one finger turns the camera, that two fingers zoom and move it, and that it stays where it is when a finger is added
/// or lifted.
async fn follows_fingers(page: &Chromium) {
    let fingers = "send('down', 1, 0); send('move', 1, 10); \
                   send('down', 2, 110); send('move', 2, 210); send('down', 3, 50); send('move', 3, 90); \
                   send('up', 1, 10); send('move', 2, 220); send('up', 2, 220); \
                   send('down', 4, 50); send('up', 4, 50); \
                   return seen.map((call) => call[0] === 'zoom' ? ['zoom', call[1] > 5] : call);";
    let seen = run(page, &format!("{STEER} {fingers}")).await;
    let expected = r#"[["turn",-36,0],["zoom",true],["pan",0.5,0],["turn",-36,0],["rest"],["click"]]"#;
    assert_eq!(seen, expected);
}

/// Asserts that a notch of a wheel is one step, that the small movements of a trackpad add up, that a wheel that moves only sideways
/// does nothing, and that all of them are one movement.
async fn follows_wheels(page: &Chromium) {
    let wheels = "for (const deltaY of [-100, 0, 100]) turn({deltaX: 5, deltaY}); \
                  for (let i = 0; i < 8; i += 1) turn({deltaY: -10}); \
                  turn({deltaY: 3, deltaMode: WheelEvent.DOM_DELTA_LINE}); \
                  await isAtRest; \
                  return seen;";
    let seen = run(page, &format!("{STEER} {wheels}")).await;
    let part = r#"["zoom",0.2]"#;
    assert_eq!(seen, format!(r#"[["zoom",1],["zoom",-1],{part},{part},{part},{part},["zoom",-1],["rest"]]"#));
}

/// Asserts that two fingers on the point cloud of a dataset change the distance of its camera by the ratio of their distances, and
/// that one finger turns it.
async fn follows_fingers_on_a_cloud(page: &Chromium) {
    let fingers = "const { Cloud } = await load('cloud'); \
         const pose = [[1, 0, 0, 4], [0, 1, 0, 0], [0, 0, 1, 0]]; \
         const cloud = new Cloud({poses: [pose], width: 64, height: 64, focal: 60}, () => {}); \
         const { canvas } = cloud; \
         Object.defineProperty(canvas, 'clientWidth', {value: 100}); \
         canvas.setPointerCapture = () => {}; \
         const send = (kind, pointerId, clientX) => canvas.dispatchEvent(new PointerEvent(`pointer${kind}`, {pointerId, clientX})); \
         const { azimuth, distance } = cloud, turned = () => Math.round(100 * (azimuth - cloud.azimuth) / Math.PI); \
         send('down', 1, 0); send('down', 2, 100); \
         const before = turned(); \
         send('move', 2, 200); \
         const closer = distance / cloud.distance, between = turned(); \
         send('up', 2, 200); send('move', 1, 10); send('up', 1, 10); \
         return [closer, before, between, turned()];";
    assert_eq!(run(page, fingers).await, "[2,0,0,10]");
}

/// Asserts that undo reverts a whole turn of the wheel or a series of key presses, and that Ctrl+Y restores it.
async fn undoes_whole_movements(page: &Chromium) {
    page.run("document.querySelector('.stage').focus();").await;
    let turn = "for (let i = 0; i < 8; i += 1) \
                document.querySelector('.stage').dispatchEvent(new WheelEvent('wheel', {deltaY: -50, cancelable: true}));";
    page.run(turn).await;
    until_settings(page, "(settings) => settings.zoom === 1.2").await;
    page.hold(CONTROL, "z").await;
    until_settings(page, "(settings) => settings.zoom === undefined").await;
    page.hold(CONTROL, "y").await;
    until_settings(page, "(settings) => settings.zoom === 1.2").await;
    page.hold(CONTROL, "z").await;
    until_settings(page, "(settings) => settings.zoom === undefined").await;
    // The browser repeats a key that stays pressed.
    let press = "for (let i = 0; i < 4; i += 1) \
                 document.querySelector('.stage').dispatchEvent(new KeyboardEvent('keydown', {key: 'ArrowLeft', repeat: i > 0}));";
    page.run(press).await;
    page.press(&[LEFT]).await;
    until_settings(page, "(settings) => settings.rotateY === 25").await;
    page.hold(CONTROL, "z").await;
    until_settings(page, "(settings) => settings.rotateY === undefined").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn cameras_follow_fingers_wheels_and_keys() {
    let served = Served::with_sqlite();
    let Some(page) = Chromium::start(true).await else { return };
    let path = composer(&served.client, "chair").await;
    sign_in(&served, &page).await;
    page.open(&format!("{}{path}", served.server.base)).await;
    page.until(&format!("{IS_READY} && document.querySelector('.stage.live')")).await;
    follows_fingers(&page).await;
    follows_wheels(&page).await;
    follows_fingers_on_a_cloud(&page).await;
    undoes_whole_movements(&page).await;
}
