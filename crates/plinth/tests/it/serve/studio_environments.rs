//! Tests of the web UI's page for environments.

use plinth_spec::limits;
use plinth_testkit::Form;
use reqwest::Method;

use super::assets::environment;
use super::browser::{Browser, Page};
use super::on_both;
use super::server::{EMAIL, Served};
use super::studio_browser::{asks_before_leaving, no_errors, sign_in, sign_in_elsewhere};
use super::studio_uploads::LIMIT;
use super::webdriver::Chromium;

const BOB: &str = "bob@example.org";
const HOSTILE: &str = "<script>alert(1)</script>";

/// A Radiance HDR file with texels of one colour. `claimed` is the size in its header.
fn panorama(claimed: (u32, u32), texels: usize) -> Vec<u8> {
    let head = format!("#?RADIANCE\nFORMAT=32-bit_rle_rgbe\n\n-Y {} +X {}\n", claimed.1, claimed.0);
    [head.into_bytes(), [200, 120, 40, 129].repeat(texels)].concat()
}

async fn send(browser: &Browser, form: Form, origin: &str) -> Page {
    let request = browser.request(Method::POST, "/environments").header("origin", origin);
    Page::of(request.header("content-type", Form::content_type()).body(form.body())).await
}

/// Uploads files with the CSRF token of the session.
async fn upload(served: &Served, browser: &Browser, files: impl FnOnce(Form) -> Form) -> Page {
    let token = browser.get("/keys").await.form_token();
    send(browser, files(Form::default().text("form_token", &token)), &served.server.base).await
}

async fn panoramas_and_gain_maps_become_environments(served: Served) {
    let alice = served.browser(EMAIL).await;
    assert!(alice.get("/environments").await.shows("There are none yet"));
    let hdr = panorama((16, 8), 128);
    let page = upload(&served, &alice, |form| form.file("panorama", "garden.hdr", &hdr)).await;
    assert_eq!((page.status, page.header("location")), (303, "/environments"), "{}", page.html);
    let named = upload(&served, &alice, |form| form.text("name", HOSTILE).file("panorama", "a.hdr", &hdr)).await;
    assert_eq!(named.status, 303, "{}", named.html);
    let webp = b"RIFF\0\0\0\0WEBPsome";
    let triple = upload(&served, &alice, |form| {
        let form = form.text("name", "three files").file("sdr", "a.webp", webp).file("gainmap", "b.webp", webp);
        form.file("metadata", "c.json", b"{}").file("thumb", "", b"")
    })
    .await;
    assert_eq!(triple.status, 303, "{}", triple.html);
    let page = alice.get("/environments").await;
    assert!(page.shows("garden") && page.shows("16×8") && page.shows("three files"), "{}", page.html);
    assert!(!page.shows(HOSTILE) && page.shows("&#60;script&#62;alert(1)"), "{}", page.html);
    // The API lists the same environments, and the composer offers them.
    let listed = served.client.get("/assets/envs").await;
    let rows = listed.data().as_array().unwrap();
    assert_eq!(
        (rows.len(), &rows[2]["name"], &rows[2]["width"], &rows[2]["height"]),
        (3, &"garden".into(), &16.into(), &8.into())
    );
    let model = served.client.upload("chair", None).await.text("modelId");
    let composer = alice.get(&format!("/models/{model}/compose")).await;
    assert!(composer.shows("garden") && composer.shows("/environments\""), "{}", composer.html);
    let id = rows[2]["id"].as_str().unwrap();
    let request = alice.request(Method::GET, &format!("/environments/{id}/picture"));
    let picture = request.send().await.unwrap();
    assert_eq!((picture.status().as_u16(), &picture.headers()["content-type"]), (200, &"image/webp".parse().unwrap()));
    let bytes = picture.bytes().await.unwrap();
    assert!(bytes.starts_with(b"RIFF") && bytes[8..12] == *b"WEBP");
    // The picture of an environment without a thumbnail is its SDR image.
    let of_triple = alice.get(&format!("/environments/{}/picture", rows[0]["id"].as_str().unwrap())).await;
    assert!(of_triple.status == 200 && of_triple.html.ends_with("WEBPsome"));
}

async fn unusable_panoramas_are_rejected_with_the_reason(served: Served) {
    let alice = served.browser(EMAIL).await;
    let long_name = "n".repeat(limits::ASSET_NAME_CHARS + 1);
    for (file, reason) in [
        (panorama((16, 8), 100), "panorama cannot be used"),
        (panorama((16, 16), 256), "twice as wide as high"),
        (panorama((1 << 30, 1 << 29), 10), "panorama cannot be used"),
        (panorama((16_384, 8192), 10), "panorama cannot be used"),
        (b"#?RADIANCE\n\n".to_vec(), "panorama cannot be used"),
        (b"\x76\x2f\x31\x01rest".to_vec(), "panorama cannot be used"),
        (HOSTILE.as_bytes().to_vec(), "neither Radiance HDR"),
        (Vec::new(), "Choose a panorama"),
    ] {
        let page = upload(&served, &alice, |form| form.text("name", "kept").file("panorama", "a.hdr", &file)).await;
        assert!(page.status == 400 && page.shows(reason), "{reason}: {} {}", page.status, page.html);
        assert!(page.shows("value=\"kept\"") && page.shows("role=\"alert\""), "{}", page.html);
    }
    let hdr = panorama((16, 8), 128);
    let token = alice.get("/keys").await.form_token();
    let form = || Form::default().text("form_token", &token);
    for form in [
        form().text("name", &long_name).file("panorama", "a.hdr", &hdr),
        form().text("name", "two\u{7}").file("panorama", "a.hdr", &hdr),
        form().text("name", &"n".repeat(5000)).file("panorama", "a.hdr", &hdr),
        form().file("sdr", "a.webp", b"RIFF\0\0\0\0WEBPsome"),
        form().text("name", "nothing"),
    ] {
        let page = send(&alice, form, &served.server.base).await;
        assert_eq!(page.status, 400, "{}", page.html);
    }
    assert!(alice.get("/environments").await.shows("There are none yet"));
    // The temporary files are deleted.
    let mut folders = vec![served.installation.folder.path().to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap().map(Result::unwrap) {
            assert!(!entry.file_name().to_string_lossy().starts_with("plinth-incoming"), "{}", entry.path().display());
            if entry.file_type().unwrap().is_dir() {
                folders.push(entry.path());
            }
        }
    }
}

async fn environments_belong_to_their_workspace_and_forms_to_their_session(served: Served) {
    served.installation.account(BOB);
    let (mut alice, mut bob) = (served.browser(EMAIL).await, served.browser(BOB).await);
    let id = served.client.form("/assets/envs", environment().text("name", HOSTILE)).await.text("id");
    let own = served.server.base.clone();
    for path in ["picture", "delete"] {
        let path = format!("/environments/{id}/{path}");
        assert_eq!((alice.get(&path).await.status, bob.get(&path).await.status), (200, 404), "{path}");
    }
    assert!(!alice.get(&format!("/environments/{id}/delete")).await.shows(HOSTILE));
    for id in ["AAAAAAAAAAAA", "..%2f..", "x"] {
        assert_eq!(alice.get(&format!("/environments/{id}/picture")).await.status, 404, "{id}");
    }
    let path = format!("/environments/{id}/delete");
    assert_eq!(bob.send(&path, &[]).await.status, 404);
    assert_eq!(Page::of(alice.form(&path, &[]).header("origin", &own)).await.status, 403, "without a token");
    // An upload is rejected if its token is missing, belongs to another session or follows the files, or if the form is
    // sent from another site.
    let hdr = panorama((16, 8), 128);
    let token = alice.get("/keys").await.form_token();
    let of_bob = bob.get("/keys").await.form_token();
    for form in [
        Form::default().file("panorama", "a.hdr", &hdr),
        Form::default().text("form_token", &of_bob).file("panorama", "a.hdr", &hdr),
        Form::default().file("panorama", "a.hdr", &hdr).text("form_token", &token),
    ] {
        assert_eq!(send(&alice, form, &own).await.status, 403);
    }
    let form = Form::default().text("form_token", &token).file("panorama", "a.hdr", &hdr);
    assert_eq!(send(&alice, form, "https://evil.example").await.status, 403);
    assert_eq!(alice.send(&path, &[]).await.status, 303);
    assert_eq!(alice.get(&format!("/environments/{id}/picture")).await.status, 404);
    // Viewers of a team see its environments, but cannot add any.
    let team = served.installation.admin(&["workspace", "create", "Team", "--owner", EMAIL])["id"]
        .as_str()
        .unwrap()
        .to_owned();
    served.installation.admin(&["workspace", "add", &team, BOB, "--role", "viewer"]);
    assert_eq!(bob.send("/workspace", &[("workspace", &team)]).await.status, 303);
    let page = bob.get("/environments").await;
    assert!(page.status == 200 && !page.shows("Add the panorama"), "{}", page.html);
    assert_eq!(upload(&served, &bob, |form| form.file("panorama", "a.hdr", &hdr)).await.status, 403);
    // Uploads in the web UI and through the API share one quota.
    for _ in 0..limits::ENVS {
        assert_eq!(served.client.form("/assets/envs", environment()).await.status, 201);
    }
    let page = upload(&served, &alice, |form| form.file("panorama", "a.hdr", &hdr)).await;
    assert!(page.status == 429 && page.shows("at most 20 environments"), "{} {}", page.status, page.html);
}

on_both! {
    panoramas_and_gain_maps_become_environments
    unusable_panoramas_are_rejected_with_the_reason
    environments_belong_to_their_workspace_and_forms_to_their_session
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_panorama_is_added_and_deleted_in_a_browser() {
    let served = Served::with_sqlite();
    let Some(page) = Chromium::start(true).await else { return };
    page.open(&format!("{}{}", served.server.base, served.link(EMAIL, &[]))).await;
    page.click("main button").await;
    page.until("document.querySelector('h1').textContent === 'Models'").await;
    page.open(&format!("{}/environments", served.server.base)).await;
    let file = |name: &str, content: &[u8]| {
        let path = served.installation.folder.path().join(name);
        std::fs::write(&path, content).unwrap();
        path.to_str().unwrap().to_owned()
    };
    // The upload uses the newest session.
    sign_in_elsewhere(&served, &page).await;
    page.type_into("#panorama", &file("garden.hdr", &panorama((16, 8), 128))).await;
    page.click("form button.main").await;
    page.until("document.querySelector('.environment img')?.naturalWidth === 16").await;
    page.until("document.querySelector('.environment .name').textContent === 'garden'").await;
    for width in [360, 1280] {
        page.resize(width, 800).await;
        page.until(&format!("window.innerWidth === {width}")).await;
        assert_eq!(page.run("return document.documentElement.scrollWidth;").await, width);
    }
    let messages = page.console().await;
    assert!(messages.is_empty(), "{messages:?}");
    // The reason of a rejection appears in the form.
    page.type_into("#panorama", &file("notes.hdr", b"no panorama")).await;
    page.click("form button.main").await;
    page.until("document.querySelector('.sending .problem')?.textContent.includes('neither Radiance HDR')").await;
    page.click(".environment .delete").await;
    page.click("button.danger").await;
    page.until("document.querySelector('.empty')").await;
    // Without a session, the form says so, although the server would not read so large a file.
    let sign_out = "const form_token = document.querySelector('[name=form_token]').value; \
                    return fetch('/sign-out', {method: 'POST', body: new URLSearchParams({form_token})}).then(({ok}) => ok);";
    assert_eq!(page.run(sign_out).await, true);
    page.type_into("#panorama", &file("hall.hdr", &vec![0; 8 << 20])).await;
    page.click("form button.main").await;
    page.until("document.querySelector('.sending .problem')?.textContent.includes('no longer signed in')").await;
}

/// The upload that ends first does not load the page again, which would end the upload of the other form.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_upload_does_not_end_that_of_the_other_form() {
    let served = Served::with_sqlite();
    let Some(page) = Chromium::start(true).await else { return };
    sign_in(&served, &page).await;
    page.open(&format!("{}/environments", served.server.base)).await;
    page.run("document.querySelector('details.card').open = true;").await;
    let (hdr, webp) = (panorama((16, 8), 128), b"RIFF\0\0\0\0WEBPsome".as_slice());
    for (input, name, content) in [
        ("#panorama", "garden.hdr", hdr.as_slice()),
        ("#sdr", "a.sdr.webp", webp),
        ("#gainmap", "a.gainmap.webp", webp),
        ("#metadata", "a.json", b"{}".as_slice()),
    ] {
        let path = served.installation.folder.path().join(name);
        std::fs::write(&path, content).unwrap();
        page.type_into(input, path.to_str().unwrap()).await;
    }
    let hold = "window.held = {}; const send = XMLHttpRequest.prototype.send; \
                XMLHttpRequest.prototype.send = function (body) { \
                  window.held[body.has('panorama') ? 'panorama' : 'gainMap'] = () => send.call(this, body); }; \
                for (const form of document.querySelectorAll('form[enctype]')) form.requestSubmit();";
    page.run(hold).await;
    page.until("window.held.panorama && window.held.gainMap").await;
    page.run("window.held.panorama();").await;
    page.until("document.querySelector('.sending').textContent.includes('“garden” is added')").await;
    assert!(asks_before_leaving(&page).await);
    page.run("window.held.gainMap();").await;
    page.until("!window.held && document.querySelectorAll('.tile.environment').length === 2").await;
    assert!(!asks_before_leaving(&page).await);
    no_errors(&page).await;
}

/// An upload for which there were too many requests goes on after the time that the server names. Until then, the browser asks before
/// the page is left.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_environment_waits_if_there_were_too_many_requests() {
    let served = Served::with_sqlite();
    let Some(page) = Chromium::start(true).await else { return };
    sign_in(&served, &page).await;
    page.open(&format!("{}/environments", served.server.base)).await;
    let path = served.installation.folder.path().join("garden.hdr");
    std::fs::write(&path, panorama((16, 8), 128)).unwrap();
    page.run(LIMIT).await;
    page.type_into("#panorama", path.to_str().unwrap()).await;
    page.click("form button.main").await;
    page.until("window.waits.length === 1 && document.querySelector('.sending').textContent.includes('Waiting')").await;
    assert!(asks_before_leaving(&page).await);
    page.run("window.waits[0]();").await;
    page.until("document.querySelector('.environment .name')?.textContent === 'garden'").await;
    no_errors(&page).await;
}
