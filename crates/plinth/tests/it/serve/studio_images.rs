//! Tests of the web UI's page for images, and of uploads in the composer.

use plinth_spec::limits;
use plinth_testkit::{Client, Form, glb_with_names, png};
use reqwest::Method;
use serde_json::json;

use super::browser::{Browser, Page};
use super::on_both;
use super::server::{EMAIL, Served};
use super::studio_browser::{asks_before_leaving, drawing, no_errors, sign_in};
use super::studio_pages::fits;
use super::webdriver::Chromium;

const BOB: &str = "bob@example.org";

/// Uploads an image with the form of the page.
async fn upload(served: &Served, browser: &Browser, kind: &str, name: &str, bytes: &[u8]) -> Page {
    let token = browser.get("/keys").await.form_token();
    let form = Form::default().text("form_token", &token).text("kind", kind).file("file", name, bytes);
    let request = browser.request(Method::POST, "/images").header("origin", &served.server.base);
    Page::of(request.header("content-type", Form::content_type()).body(form.body())).await
}

/// Returns the identifiers of the images in a list of the API.
async fn ids(client: &Client, list: &str) -> Vec<String> {
    let answer = client.get(list).await;
    let rows = answer.data().as_array().unwrap();
    rows.iter().map(|row| row["id"].as_str().unwrap().to_owned()).collect()
}

async fn images_are_stored_by_kind_listed_and_deleted(served: Served) {
    let mut browser = served.browser(EMAIL).await;
    for (shade, kind) in (1..).zip(["decal", "background", "texture"]) {
        let page = upload(&served, &browser, kind, &format!("{kind}.png"), &png(shade)).await;
        assert_eq!((page.status, page.header("location")), (303, "/images"), "{}", page.html);
    }
    let client = &served.client;
    let (decal, background) =
        (ids(client, "/overlays?layer=decal").await, ids(client, "/overlays?layer=background").await);
    let texture = ids(client, "/assets/textures").await;
    assert_eq!((decal.len(), background.len(), texture.len()), (1, 1, 1));
    assert!(ids(client, "/overlays?layer=texture").await.is_empty());
    // A texture that is uploaded again keeps the name of its first upload.
    assert_eq!(upload(&served, &browser, "texture", "again.png", &png(3)).await.status, 303);
    // For each setting, the composer offers only the images that the setting can use.
    let model = client.upload("chair", None).await.text("modelId");
    let composer = browser.get(&format!("/models/{model}/compose")).await;
    let list = |name: &str| composer.between(&format!("<datalist id=\"{name}\">"), "</datalist>").to_owned();
    assert!(list("decal-images").contains(&decal[0]) && !list("decal-images").contains(&texture[0]));
    assert!(list("texture-images").contains(&texture[0]) && !list("texture-images").contains(&decal[0]));
    let backgrounds = composer.between("<select id=\"bgImageId\"", "</select>");
    assert!(backgrounds.contains(&background[0]) && !backgrounds.contains(&decal[0]), "{backgrounds}");
    let page = browser.get("/images").await;
    for shown in ["decal.png", "background.png", "texture.png", "2×2", "of which\n  2 are used", "of which 1 with"] {
        assert!(page.shows(shown), "{shown}: {}", page.html);
    }
    for (table, id) in [("overlays", &decal[0]), ("overlays", &background[0]), ("textures", &texture[0])] {
        let path = format!("/images/{table}/{id}");
        let picture = browser.get(&format!("{path}/picture")).await;
        assert_eq!((picture.status, picture.header("content-type")), (200, "image/png"), "{path}");
        assert!(browser.get(&format!("{path}/delete")).await.shows("Delete the image"));
        assert_eq!(browser.send(&format!("{path}/delete"), &[]).await.status, 303);
        for gone in ["picture", "delete"] {
            assert_eq!(browser.get(&format!("{path}/{gone}")).await.status, 404, "{path}");
        }
    }
    assert_eq!(browser.get("/images").await.html.matches("There are none yet").count(), 3);
}

async fn images_that_cannot_be_stored_are_rejected_with_the_reason(served: Served) {
    let browser = served.browser(EMAIL).await;
    for kind in ["decal", "background", "texture"] {
        let page = upload(&served, &browser, kind, "a.png", b"no image").await;
        assert!(page.status == 400 && page.shows("role=\"alert\""), "{} {}", page.status, page.html);
        // The form keeps the kind that was sent.
        assert!(page.shows(&format!("<option value=\"{kind}\" selected>")), "{}", page.html);
        assert_eq!(page.html.matches(" selected>").count(), 1, "{}", page.html);
    }
    for kind in ["foreground", "sky", ""] {
        let page = upload(&served, &browser, kind, "a.png", &png(1)).await;
        assert!(page.status == 400 && page.shows("unknown kind"), "{} {}", page.status, page.html);
    }
    // A published image is visible in all workspaces, and nobody can delete it on this page.
    let system = served.client.form("/overlays", Form::default().file("file", "s.png", &png(9))).await.text("id");
    served.installation.admin(&["account", "make-admin", EMAIL]);
    let mut admin = served.browser(EMAIL).await;
    let published =
        admin.send("/admin/assets/publish", &[("kind", "overlay"), ("id", &system), ("reason", "a test")]).await;
    assert_eq!(published.status, 303, "{}", published.html);
    served.installation.account(BOB);
    let mut bob = served.browser(BOB).await;
    let page = bob.get("/images").await;
    assert!(page.shows("Of all workspaces") && !page.shows("Delete…"), "{}", page.html);
    assert_eq!(bob.get(&format!("/images/overlays/{system}/picture")).await.status, 200);
    assert_eq!(bob.send(&format!("/images/overlays/{system}/delete"), &[]).await.status, 404);
    // The quota is shown, and the page offers to delete images when it is reached.
    for n in 0..limits::OVERLAYS {
        let form = Form::default().file("file", "a.png", &png(u8::try_from(n).unwrap())).text("layer", "decal");
        assert_eq!(served.client.form("/overlays", form).await.status, 200);
    }
    let page = upload(&served, &browser, "decal", "a.png", &png(1)).await;
    assert!(page.status == 429 && page.shows("at most 100 overlays; delete some first"), "{}", page.html);
    assert!(page.shows("/delete\"") && page.shows("100 are used"), "{}", page.html);
}

on_both! {
    images_are_stored_by_kind_listed_and_deleted images_that_cannot_be_stored_are_rejected_with_the_reason
}

/// A Radiance HDR panorama of 16×8 texels.
fn panorama() -> Vec<u8> {
    [b"#?RADIANCE\nFORMAT=32-bit_rle_rgbe\n\n-Y 8 +X 16\n".to_vec(), [200, 120, 40, 129].repeat(128)].concat()
}

/// Writes a file for an upload, and returns its path.
fn file(served: &Served, name: &str, content: &[u8]) -> String {
    let path = served.installation.folder.path().join(name);
    std::fs::write(&path, content).unwrap();
    path.to_str().unwrap().to_owned()
}

async fn until_settings(page: &Chromium, text: &str) {
    page.until(&format!("document.querySelector('.settings-json').textContent.includes({})", json!(text))).await;
}

/// Uploads a texture for the material of the model, and switches its map off and on. Returns the identifier of the texture.
async fn edit_material(served: &Served, page: &Chromium) -> String {
    page.click("[data-key=materialEdits] .chooser button").await;
    page.run(
        "const choose = document.querySelector('[data-key=materialEdits] .chooser select'); choose.value = 'oak 3';",
    )
    .await;
    page.click("[data-key=materialEdits] .chooser button").await;
    page.until("document.querySelector('[data-key=materialEdits] fieldset .chooser')").await;
    page.run(
        "const more = document.querySelector('[data-key=materialEdits] fieldset .chooser'); \
         more.querySelector('select').value = 'mapAssetId'; more.querySelector('button').click();",
    )
    .await;
    page.until("document.querySelector('[data-key=materialEdits] input[type=file]')").await;
    page.type_into("[data-key=materialEdits] input[type=file]", &file(served, "veneer.png", &png(200))).await;
    page.until(
        "document.querySelector('[data-key=materialEdits] [role=status]')?.textContent === 'veneer.png is uploaded.'",
    )
    .await;
    let texture = ids(&served.client, "/assets/textures").await.remove(0);
    until_settings(page, &texture).await;
    // Each texture map of the material has a checkbox.
    page.run(
        "const more = document.querySelector('[data-key=materialEdits] fieldset > .structure > .chooser'); \
         more.querySelector('select').value = 'textureMaps'; more.querySelector('button').click();",
    )
    .await;
    let maps =
        "[...document.querySelectorAll('[data-key=materialEdits] .names-list label')].map((one) => one.textContent)";
    page.until(&format!("{maps}.join() === ' map'")).await;
    page.click("[data-key=materialEdits] .names-list input").await;
    until_settings(page, "\"map\": false").await;
    page.click("[data-key=materialEdits] .names-list input").await;
    page.until("!document.querySelector('.settings-json').textContent.includes('false')").await;
    texture
}

/// Uploads a panorama and a prepared environment, and a file that is rejected.
async fn add_environments(served: &Served, page: &Chromium) {
    page.type_into("[data-key=envId] input[type=file]", &file(served, "garden.hdr", &panorama())).await;
    page.until("document.querySelector('#envId').selectedOptions[0].textContent === 'garden'").await;
    until_settings(page, &ids(&served.client, "/assets/envs").await.remove(0)).await;
    // The files of a prepared environment are recognised by their names.
    let webp = b"RIFF\0\0\0\0WEBPsome".as_slice();
    let prepared = [("hall.gainmap.webp", webp), ("hall.json", b"{}".as_slice()), ("hall.sdr.webp", webp)];
    page.type_into(
        "[data-key=envId] input[type=file]",
        &prepared.map(|(name, bytes)| file(served, name, bytes)).join("\n"),
    )
    .await;
    page.until("document.querySelector('#envId').selectedOptions[0].textContent === 'hall'").await;
    page.click("[data-do=undo]").await;
    page.until("document.querySelector('#envId').selectedOptions[0].textContent === 'garden'").await;
    // The reason why a file is rejected is shown next to the file input.
    page.type_into("[data-key=envId] input[type=file]", &file(served, "notes.hdr", b"no panorama")).await;
    page.until("document.querySelector('[data-key=envId] .problem')?.textContent.includes('neither Radiance HDR')")
        .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_uploaded_in_the_composer_is_chosen_and_rendered() {
    let served = drawing();
    let Some(page) = Chromium::start(true).await else { return };
    let client = &served.client;
    let form = Form::default().file("file", "chair.glb", &glb_with_names("oak"));
    let model = client.form("/models", form).await.text("modelId");
    sign_in(&served, &page).await;
    page.resize(1280, 800).await;
    page.open(&format!("{}/models/{model}/compose", served.server.base)).await;
    page.until("document.querySelector('[data-key=bgImageId] .upload-beside')").await;
    // Uploads must not discard the unsaved settings.
    page.run("document.querySelector('#quality').value = 'share'; document.querySelector('#length').value = '0.2';")
        .await;
    page.run("for (const group of document.querySelectorAll('.group')) group.open = true;").await;
    let texture = edit_material(&served, &page).await;
    page.type_into("[data-key=bgImageId] input[type=file]", &file(&served, "sky.png", &png(90))).await;
    let background = async {
        page.until("document.querySelector('#bgImageId').selectedOptions[0].textContent === 'sky.png'").await;
        ids(client, "/overlays?layer=background").await.remove(0)
    };
    until_settings(&page, &background.await).await;
    add_environments(&served, &page).await;
    // The console may contain only the errors of the rejected file, and of the preview with the prepared environment,
    // whose files are not valid images.
    let expected = |line: &String| line.contains("400 (Bad Request)") || line.contains("422 (Unprocessable Entity)");
    let messages = page.console().await;
    assert!(messages.iter().all(expected), "{messages:?}");
    fits(&page).await;
    page.click("button[value=order]").await;
    page.until("location.pathname.startsWith('/renders/')").await;
    page.until("document.querySelector('.head .status.done')").await;
    let path = page.run("return location.pathname;").await;
    let render = client.get(path.as_str().unwrap()).await;
    assert_eq!(render.data()["renderSettings"]["materialEdits"]["oak 3"]["mapAssetId"], json!(texture));
    // The only warning is that the small background is stretched.
    let warnings = render.data()["warnings"].as_array().cloned().unwrap_or_default();
    assert!(warnings.len() == 1 && warnings[0].as_str().unwrap().starts_with("bgImageId: "), "{warnings:?}");
    page.open(&format!("{}/images", served.server.base)).await;
    page.until("[...document.querySelectorAll('.image img')].filter((one) => one.naturalWidth === 2).length === 2")
        .await;
    fits(&page).await;
    no_errors(&page).await;
}

/// Script that holds each upload until `window.release` is called.
const HOLD_UPLOADS: &str = "const send = window.fetch; \
    window.fetch = (address, options) => !(options?.body instanceof FormData) ? send(address, options) : \
      new Promise((done) => { window.release = () => done(send(address, options)); });";

/// An image for a decal goes to this decal, even if the decal has another place in the list when the image arrives. If the decal was
/// removed, the image is only added to the list of images.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_uploaded_image_goes_to_its_decal() {
    let served = Served::with_sqlite();
    let Some(page) = Chromium::start(true).await else { return };
    let model = served.client.upload("chair", None).await.text("modelId");
    sign_in(&served, &page).await;
    page.open(&format!("{}/models/{model}/compose", served.server.base)).await;
    page.until("document.querySelector('[data-key=decals] .reset')").await;
    page.run("for (const group of document.querySelectorAll('.group')) group.open = true;").await;
    let press = |label: &str| format!("document.querySelector('[aria-label=\"{label}\"]').click();");
    page.run(&press("Add to decals").repeat(2)).await;
    page.until("document.querySelectorAll('[data-key=decals] input[type=file]').length === 2").await;
    page.run(HOLD_UPLOADS).await;
    let second = "[data-key=decals] fieldset:nth-of-type(2) input[type=file]";
    page.type_into(second, &file(&served, "logo.png", &png(90))).await;
    page.until("window.release").await;
    page.run(&press("Remove decals 1")).await;
    page.run("window.release();").await;
    let state = "document.querySelector('[data-key=decals] [role=status]').textContent";
    page.until(&format!("{state} === 'logo.png is uploaded.'")).await;
    let logo = ids(&served.client, "/overlays?layer=decal").await.remove(0);
    let decals = "return JSON.parse(document.querySelector('#decals').value).map((one) => [one.id, one.imageAssetId]);";
    assert_eq!(page.run(decals).await, json!([["decal-2", logo]]));
    page.until(&format!("document.querySelector('[aria-label=\"decals 1 imageAssetId\"]').value === '{logo}'")).await;
    page.run("window.release = null;").await;
    page.type_into("[data-key=decals] input[type=file]", &file(&served, "star.png", &png(200))).await;
    page.until("window.release").await;
    page.run(&press("Remove decals 1")).await;
    page.run("window.release();").await;
    page.until(&format!("{state}.startsWith('star.png is uploaded. It is not chosen')")).await;
    assert_eq!(page.run("return document.querySelector('#decals').value;").await, "");
    let names = "[...document.querySelectorAll('#decal-images option')].map((one) => one.label)";
    page.until(&format!("{names}.join() === 'star.png,logo.png'")).await;
}

/// The browser asks before the composer is left during an upload, which this would end.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_composer_is_not_left_unasked_during_an_upload() {
    let served = Served::with_sqlite();
    let Some(page) = Chromium::start(true).await else { return };
    let model = served.client.upload("chair", None).await.text("modelId");
    sign_in(&served, &page).await;
    page.open(&format!("{}/models/{model}/compose", served.server.base)).await;
    page.until("document.querySelector('[data-key=bgImageId] .upload-beside')").await;
    assert!(!asks_before_leaving(&page).await);
    page.run(HOLD_UPLOADS).await;
    page.run("for (const group of document.querySelectorAll('.group')) group.open = true;").await;
    page.type_into("[data-key=bgImageId] input[type=file]", &file(&served, "sky.png", &png(90))).await;
    page.until("window.release").await;
    assert!(asks_before_leaving(&page).await);
    page.run("window.release();").await;
    page.until("document.querySelector('#bgImageId').selectedOptions[0].textContent === 'sky.png'").await;
    assert!(!asks_before_leaving(&page).await);
}
