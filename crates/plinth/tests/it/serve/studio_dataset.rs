//! Tests of the page of a dataset, and of the route that sends single files of its archive.

use std::io::{Cursor, Write as _};

use serde_json::{Value, json};
use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, ZipWriter};

use super::backstage::Backstage;
use super::on_both;
use super::server::{EMAIL, Served};
use super::webdriver::Chromium;
use crate::Place;

const BOB: &str = "bob@example.org";
const UNKNOWN: &str = "AAAAAAAAAAAA";
const HOSTILE: &str = "<script>alert(1)</script>";

fn zip(files: &[(&str, &[u8], CompressionMethod)]) -> Vec<u8> {
    let mut zip = ZipWriter::new(Cursor::new(Vec::new()));
    for (name, content, method) in files {
        zip.start_file(*name, SimpleFileOptions::default().compression_method(*method)).unwrap();
        zip.write_all(content).unwrap();
    }
    zip.finish().unwrap().into_inner()
}

fn manifest() -> Value {
    json!({
        "version": "1.2.3", "adapter": format!("{HOSTILE} adapter"), "coverage": "hemisphere",
        "warnings": [format!("{HOSTILE} warning")], "views": 2, "width": 8, "height": 8,
        "files": [
            {"path": "README.txt", "bytes": 5, "sha256": ""}, {"path": "images/0000.png", "bytes": 1000, "sha256": ""},
            {"path": "images/0001.png", "bytes": 1000, "sha256": ""}, {"path": format!("{HOSTILE}/x.png"), "bytes": 1, "sha256": ""},
        ],
    })
}

fn transforms() -> Value {
    json!({
        "camera_angle_x": 0.691, "fl_x": 11.1, "fl_y": 11.1, "depth_near": 2.125, "depth_far": 4.5,
        "model_from_scene": [[0.5, 0, 0, 0], [0, 0.5, 0, 0], [0, 0, 0.5, 0], [0, 0, 0, 1]], "frames": [],
    })
}

/// An archive with a description that contains markup, and with files of several types.
fn archive() -> Vec<u8> {
    let (stored, deflated) = (CompressionMethod::Stored, CompressionMethod::Deflated);
    let (manifest, transforms, points) = (manifest().to_string(), transforms().to_string(), vec![7; 200_000]);
    zip(&[
        ("README.txt", b"hello", deflated),
        ("manifest.json", manifest.as_bytes(), deflated),
        ("transforms.json", transforms.as_bytes(), deflated),
        ("points3d.ply", &points, deflated),
        ("images/0000.png", b"not really a picture", stored),
        ("overview.webp", b"nor this", stored),
        ("page.html", HOSTILE.as_bytes(), stored),
        ("picture.svg", HOSTILE.as_bytes(), stored),
    ])
}

async fn files_of_a_dataset_are_sent_one_at_a_time_and_only_to_members(served: Served) {
    let id = served.finished_dataset(archive()).await;
    served.installation.account(BOB);
    let (mut alice, bob) = (served.browser(EMAIL).await, served.browser(BOB).await);
    let (manifest, points) = (manifest().to_string(), String::from_utf8(vec![7; 200_000]).unwrap());
    for (name, content, content_type) in [
        ("README.txt", "hello", "text/plain; charset=utf-8"),
        ("manifest.json", manifest.as_str(), "application/json"),
        ("points3d.ply", points.as_str(), "application/octet-stream"),
        ("images/0000.png", "not really a picture", "image/png"),
        ("overview.webp", "nor this", "image/webp"),
    ] {
        let path = format!("/renders/{id}/dataset/{name}");
        let file = alice.get(&path).await;
        assert_eq!((file.status, file.header("content-type")), (200, content_type), "{name}");
        assert!(file.html == content && file.header("content-length") == content.len().to_string(), "{name}");
        assert_eq!(file.header("x-content-type-options"), "nosniff");
        assert!(file.header("cache-control").starts_with("private"), "{name}");
        assert_eq!(bob.get(&path).await.status, 404, "{name}");
    }
    // The archive does not contain these names, or a browser would run these types as a page of this site.
    for name in [
        "nothing.png",
        "images",
        "images/",
        "IMAGES/0000.png",
        "..%2fmanifest.json",
        "%2e%2e%2f%2e%2e%2fplinth.db",
        "images%2f..%2fmanifest.json",
        "%2fetc%2fpasswd.txt",
        "..%5cmanifest.json",
        "manifest.json%00.png",
        "page.html",
        "picture.svg",
    ] {
        assert_eq!(alice.get(&format!("/renders/{id}/dataset/{name}")).await.status, 404, "{name}");
    }
    assert_eq!(alice.get(&format!("/renders/{UNKNOWN}/dataset/manifest.json")).await.status, 404);
    let video = served.finished().await;
    assert_eq!(alice.get(&format!("/renders/{video}/dataset/manifest.json")).await.status, 404);
    alice.send("/sign-out", &[]).await;
    assert_ne!(alice.get(&format!("/renders/{id}/dataset/README.txt")).await.status, 200);
}

async fn the_page_of_a_dataset_shows_its_facts_as_text(served: Served) {
    let id = served.finished_dataset(archive()).await;
    let alice = served.browser(EMAIL).await;
    let page = alice.get(&format!("/renders/{id}")).await;
    let facts = [
        "2.125 to 4.500 units",
        "0.5000 units of the model",
        "on a hemisphere",
        "8×8 pixels",
        "Plinth 1.2.3",
        "2.0 kB",
        "/files/dataset",
        "data-folder",
        "<noscript>",
    ];
    for fact in facts {
        assert!(page.shows(fact), "{fact}: {}", page.html);
    }
    assert!(!page.shows(HOSTILE) && page.shows("&#60;script&#62;alert(1)&#60;/script&#62; adapter"), "{}", page.html);
    assert!(page.shows("dataset.js") && !page.shows("player.js"));
}

async fn the_page_of_a_running_dataset_shows_its_progress(served: Served) {
    served.installation.admin(&["credits", "grant", EMAIL, "100"]);
    let settings = json!({"output": "dataset", "datasetQuality": "100x800"});
    let id = served.client.upload("set", Some(settings)).await.text("renderId");
    let alice = served.browser(EMAIL).await;
    let backstage = Backstage::of(&served).await;
    let claim = backstage.claim(&id).await;
    backstage.service.report_progress(&[claim], 0.5, None).await.unwrap();
    let page = alice.get(&format!("/renders/{id}")).await;
    assert!(page.shows("<progress max=\"1\" value=\"0.5\"") && page.shows("50 %"), "{}", page.html);
    assert!(page.shows(&format!("data-events=\"/renders/{id}/events\"")) && page.shows("render.js"), "{}", page.html);
}

async fn a_damaged_archive_leaves_the_download(served: Served) {
    let good = archive();
    // The ZIP file claims that its central directory has more than 4 GB.
    let mut long = good.clone();
    let at = good.len() - 10;
    long[at..at + 4].copy_from_slice(&[0xfe, 0xff, 0xff, 0xff]);
    let no_manifest = zip(&[("images/0000.png", b"x", CompressionMethod::Stored)]);
    let wrong = zip(&[
        ("manifest.json", b"[]", CompressionMethod::Stored),
        ("transforms.json", b"{", CompressionMethod::Stored),
    ]);
    let alice = served.browser(EMAIL).await;
    for (archive, status) in [
        (b"no archive at all".to_vec(), 500),
        (good[..good.len() - 5].to_vec(), 500),
        (long, 500),
        (no_manifest, 404),
        (wrong, 200),
    ] {
        let id = served.finished_dataset(archive).await;
        let page = alice.get(&format!("/renders/{id}")).await;
        assert!(page.status == 200 && page.shows("cannot be read") && page.shows("/files/dataset"), "{}", page.html);
        assert_eq!(alice.get(&format!("/renders/{id}/dataset/manifest.json")).await.status, status);
    }
}

on_both! {
    files_of_a_dataset_are_sent_one_at_a_time_and_only_to_members
    the_page_of_a_dataset_shows_its_facts_as_text
    the_page_of_a_running_dataset_shows_its_progress
    a_damaged_archive_leaves_the_download
}

/// Renders a dataset with three small views.
fn rendered() -> Vec<u8> {
    let place = Place::new();
    let pose = |angle: f64| {
        let (s, c) = angle.sin_cos();
        json!({"transform_matrix": [[-s, 0, c, 4.0 * c], [c, 0, s, 4.0 * s], [0, 1, 0, 0], [0, 0, 0, 1]]})
    };
    let frames = [0.0, 2.0, 4.0].map(pose);
    let cameras = json!({"camera_angle_x": 0.8, "w": 64, "h": 64, "frames": frames});
    std::fs::write(place.file("cameras.json"), cameras.to_string()).unwrap();
    let (model, set, cameras) = (place.file("cube.glb"), place.file("set.zip"), place.file("cameras.json"));
    let done = crate::plinth(&["render", &model, "-o", &set, "--output", "dataset", "--cameras", &cameras]);
    assert!(done.status.success(), "{}", crate::text(&done.stderr));
    std::fs::read(set).unwrap()
}

/// Returns a JavaScript expression that counts the pixels of a canvas that are not transparent.
fn drawn(canvas: &str) -> String {
    format!(
        "(() => {{ const canvas = document.querySelector('{canvas}'); const {{ data }} = canvas.getContext('2d')\
         .getImageData(0, 0, canvas.width, canvas.height); return data.filter((value, i) => i % 4 === 3 && value > 0).length; }})()"
    )
}

/// Returns a script that sets the value of a field and fires its `change` event.
fn choose(field: &str, value: &str) -> String {
    format!(
        "const field = document.querySelector('{field}'); field.value = '{value}'; field.dispatchEvent(new Event('change'));"
    )
}

/// Tests the legend of the depth layer, the depth at the pointer, and the comparison of two layers. The cube is two
/// units wide, and the cameras are four units from its center.
async fn look_at_layers(page: &Chromium) {
    page.run(&choose("#view-number", "0")).await;
    page.run(&choose("#view-layer", "depth_16bit")).await;
    page.until(&format!("document.querySelector('.view-layer canvas') && {} > 500", drawn(".view-layer canvas"))).await;
    page.until("!document.querySelector('.depth-legend').hidden").await;
    page.until(
        "/Near: \\d\\.\\d{3} units.*Far: \\d\\.\\d{3} units/.test(document.querySelector('.depth-legend').textContent)",
    )
    .await;
    page.run(
        "const frame = document.querySelector('.view-frame'), box = frame.getBoundingClientRect(); frame.dispatchEvent(\
         new PointerEvent('pointermove', {clientX: box.left + box.width / 2, clientY: box.top + box.height / 2}));",
    )
    .await;
    page.until("document.querySelector('.measured').textContent === 'Pixel 32, 32: 3.000 units'").await;
    // A slider moves the boundary between the two compared layers.
    page.run(&choose("#view-second", "normals")).await;
    page.until("document.querySelector('.view-layer.over img')?.src.endsWith('/normals/0000.png')").await;
    page.run("const range = document.querySelector('.view-frame + input'); range.value = 30; range.dispatchEvent(new Event('input'));").await;
    page.until("document.querySelector('.over').style.clipPath.includes('30%')").await;
}

/// Tests that keys rotate the point cloud, and that a click on a camera opens its view.
async fn look_at_cameras(page: &Chromium) {
    page.until(&format!("document.querySelector('.cloud') && {} > 100", drawn(".cloud"))).await;
    page.until("document.querySelector('main').textContent.includes('3 cameras')").await;
    page.run(
        "const cloud = document.querySelector('.cloud'); window.before = cloud.toDataURL(); \
         cloud.dispatchEvent(new KeyboardEvent('keydown', {key: 'ArrowLeft'}));",
    )
    .await;
    page.until("document.querySelector('.cloud').toDataURL() !== window.before").await;
    // When the point cloud is shown from the camera of view 2, this camera is in the center of the canvas.
    page.run(&choose("#view-number", "2")).await;
    page.click(".cloud-bar button").await;
    page.run("document.querySelector('.cloud').dispatchEvent(new KeyboardEvent('keydown', {key: '-'}));").await;
    page.run(&choose("#view-number", "0")).await;
    page.until("location.hash === '#view-0'").await;
    page.resize(1280, 1000).await;
    page.run("document.querySelector('.cloud').scrollIntoView({block: 'center'});").await;
    page.click(".cloud").await;
    page.until(
        "location.hash === '#view-2' && document.querySelector('.view-grid [aria-current]').textContent === 'View 2'",
    )
    .await;
    page.run("document.querySelector('.view-grid [aria-current]').dispatchEvent(new KeyboardEvent('keydown', {key: 'Home', bubbles: true}));").await;
    page.until("location.hash === '#view-0'").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn views_layers_and_cameras_of_a_dataset_are_looked_at() {
    let served = Served::with_sqlite();
    let Some(page) = Chromium::start(true).await else { return };
    let id = served.finished_dataset(rendered()).await;
    page.open(&format!("{}{}", served.server.base, served.link(EMAIL, &[]))).await;
    page.click("main button").await;
    page.until("document.querySelector('h1').textContent === 'Models'").await;
    page.open(&format!("{}/renders/{id}#view-1", served.server.base)).await;
    page.until("document.querySelector('.view-layer img')?.src.endsWith('/dataset/images/0001.png')").await;
    // All thumbnails are parts of one image file.
    page.until("document.querySelectorAll('.view-grid button').length === 3").await;
    page.until(
        "[...document.querySelectorAll('.view-picture')].every((one) => one.style.backgroundImage.includes('overview.webp'))",
    )
    .await;
    look_at_layers(&page).await;
    look_at_cameras(&page).await;
    for width in [360, 1280] {
        page.resize(width, 800).await;
        page.until(&format!("window.innerWidth === {width}")).await;
        assert_eq!(page.run("return document.documentElement.scrollWidth;").await, width);
    }
    let messages = page.console().await;
    assert!(messages.is_empty(), "{messages:?}");
}
