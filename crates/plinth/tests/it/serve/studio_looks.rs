//! Tests of looks: saving them in the composer, renaming and deleting them, choosing the look with which the composer
//! starts, and ordering renders of several models with one look.

use plinth_spec::limits;
use plinth_testkit::Client;
use serde_json::json;

use super::browser::{Browser, Page};
use super::on_both;
use super::server::{EMAIL, Served};
use super::studio_browser::{no_errors, sign_in, sign_in_elsewhere};
use super::studio_uploads::LIMIT;
use super::webdriver::Chromium;

const BOB: &str = "bob@example.org";
/// A text that runs as code on a page that does not escape it.
const HOSTILE: &str = "\"><script>alert(1)</script>";

async fn model(client: &Client, name: &str) -> String {
    client.upload(name, None).await.text("modelId")
}

impl Browser {
    /// Saves a look from the composer of a model.
    async fn save_look(&mut self, model: &str, name: &str, more: &[(&str, &str)]) -> Page {
        let fields =
            [&[("action", "save-look"), ("look_name", name), ("easing", "on"), ("shadows", "on")], more].concat();
        self.send(&format!("/models/{model}/compose"), &fields).await
    }
}

/// Returns the ID of a saved look, which is at the end of the URL of the redirect.
fn id_of(saved: &Page) -> String {
    assert_eq!(saved.status, 303, "{}", saved.html);
    saved.header("location").rsplit('=').next().unwrap().to_owned()
}

async fn a_look_is_saved_renamed_replaced_and_deleted(served: Served) {
    let mut browser = served.browser(EMAIL).await;
    let chair = model(&served.client, "chair").await;
    let look = id_of(&browser.save_look(&chair, HOSTILE, &[("bgColor", "#102030"), ("length", "9")]).await);
    let page = browser.get("/looks").await;
    assert!(page.shows("&#34;&#62;&#60;script&#62;") && !page.shows("<script>alert"), "{}", page.html);
    assert!(page.shows("Polished floor") && page.shows("#102030"));
    let composer = browser.get(&format!("/models/{chair}/compose?look={look}")).await;
    assert!(composer.between("class=\"settings-json\">", "</code>").contains("#102030"), "{}", composer.html);
    // A name that is taken is rejected, and stays in the form; the settings are not changed.
    let taken = browser.save_look(&chair, HOSTILE, &[("bgColor", "#405060")]).await;
    assert!(taken.status == 400 && taken.shows("choose another name"), "{}", taken.html);
    assert!(taken.shows("value=\"&#34;&#62;&#60;script"));
    let replaced = browser.save_look(&chair, HOSTILE, &[("bgColor", "#405060"), ("look_replace", "on")]).await;
    assert_eq!(id_of(&replaced), look);
    assert!(browser.get("/looks").await.shows("#405060"));
    for (name, said) in [("  ", "a name"), ("a\tb", "control characters"), (&*"x".repeat(101), "at most 100")] {
        let page = browser.save_look(&chair, name, &[]).await;
        assert!(page.status == 400 && page.shows(said), "{name}: {}", page.html);
    }
    let other = id_of(&browser.save_look(&chair, "Other", &[]).await);
    let page = browser.send(&format!("/looks/{other}/rename"), &[("name", HOSTILE)]).await;
    assert!(page.status == 400 && page.shows("choose another name"), "{}", page.html);
    assert_eq!(browser.send(&format!("/looks/{look}/rename"), &[("name", "Spring sale")]).await.status, 303);
    assert!(browser.get(&format!("/looks/{look}/delete")).await.shows("Spring sale"));
    assert_eq!(browser.send(&format!("/looks/{look}/delete"), &[]).await.status, 303);
    assert!(!browser.get("/looks").await.shows("Spring sale"));
    assert_eq!(browser.send(&format!("/looks/{look}/delete"), &[]).await.status, 404);
    assert_eq!(browser.get("/looks/pure-white/delete").await.status, 400, "a look of the program");
}

async fn the_composer_starts_with_the_chosen_look(served: Served) {
    let mut browser = served.browser(EMAIL).await;
    let chair = model(&served.client, "chair").await;
    let composer = format!("/models/{chair}/compose");
    let look = id_of(&browser.save_look(&chair, "Ours", &[("bgColor", "#102030")]).await);
    assert!(!browser.get(&composer).await.shows("&#34;bgColor&#34;: &#34;#102030&#34;"));
    assert_eq!(browser.send("/looks/start", &[("look", &look)]).await.status, 303);
    assert!(browser.get("/looks").await.shows("The composer starts with it"));
    let json = async |browser: &Browser, path: &str| {
        browser.get(path).await.between("class=\"settings-json\">", "</code>").to_owned()
    };
    assert!(json(&browser, &composer).await.contains("#102030"));
    assert_eq!(json(&browser, &format!("{composer}?look=")).await, "{}", "the defaults");
    assert_eq!(browser.send("/looks/start", &[("look", "neon")]).await.status, 303);
    assert!(json(&browser, &composer).await.contains("bloomStrength"));
    // If the look with which the composer starts is deleted, the composer starts with the defaults.
    assert_eq!(browser.send("/looks/start", &[("look", &look)]).await.status, 303);
    assert_eq!(browser.send(&format!("/looks/{look}/delete"), &[]).await.status, 303);
    assert_eq!(json(&browser, &composer).await, "{}");
    assert_eq!(browser.send("/looks/start", &[("look", &look)]).await.status, 404);
}

async fn one_order_applies_a_look_to_several_models(served: Served) {
    let mut browser = served.browser(EMAIL).await;
    let (chair, lamp, vase) = (
        model(&served.client, "chair").await,
        model(&served.client, "lamp").await,
        model(&served.client, "vase").await,
    );
    assert_eq!(browser.send(&format!("/models/{vase}/archive"), &[]).await.status, 303);
    let chosen = [("model", chair.as_str()), ("model", &lamp), ("model", &vase), ("model", "k3Jd92LmQx7a")];
    let page = browser.send("/models/bulk", &[&chosen[..], &[("action", "render")]].concat()).await;
    assert!(
        page.shows("vase.glb</strong>: It is archived") && page.shows("k3Jd92LmQx7a</strong>: There is no such model")
    );
    // The page itself cannot be loaded again, so its scripts get a new form token from another page.
    assert_eq!(browser.get("/models/bulk").await.status, 405);
    let renewing = browser.get(page.between("data-token-page=\"", "\"")).await;
    assert_eq!((renewing.status, renewing.form_token()), (200, page.form_token()));
    let key = page.between("name=\"key\" value=\"", "\"").to_owned();
    // As the page says, the models that cannot be rendered are not part of its form.
    let listed = &chosen[..2];
    assert_eq!(page.html.matches("name=\"model\"").count(), listed.len());
    let white = shown_look(&page, "pure-white");
    let order = [listed, &[("look", white.as_str()), ("quality", "share"), ("key", key.as_str())]].concat();
    let priced = browser.send("/looks/order", &[&order[..], &[("action", "price")]].concat()).await;
    assert!(priced.shows("<strong>12 credits</strong>") && priced.shows("of 100"), "{}", priced.html);
    let before = served.client.get("/account").await.body["data"]["total"].clone();
    assert_eq!(before, 100, "a price costs nothing");
    for _twice in 0..2 {
        let ordered = browser.send("/looks/order", &[&order[..], &[("action", "order")]].concat()).await;
        assert_eq!((ordered.status, ordered.header("location")), (303, "/renders"), "{}", ordered.html);
    }
    assert_eq!(served.client.get("/account").await.body["data"]["total"], 88, "the form orders once");
    let renders = served.client.get("/renders").await;
    let with_look: Vec<_> =
        renders.body["data"].as_array().unwrap().iter().filter(|one| one["isSystemPreview"] == false).collect();
    assert_eq!(with_look.len(), 2);
    assert!(with_look.iter().all(|one| one["renderSettings"]["shadowMode"] == "accumulated"), "{with_look:?}");
    // If the price exceeds the credits, nothing is ordered and the page says why.
    let dear = [listed, &[("look", white.as_str()), ("quality", "pro"), ("action", "order")]].concat();
    let page = browser.send("/looks/order", &dear).await;
    assert!(page.status == 402 && page.shows("does not cover"), "{}", page.html);
    assert_eq!(browser.send("/looks/order", &[&chosen[..], &[("look", "no-such")]].concat()).await.status, 404);
    assert_eq!(browser.send("/looks/order", &[("look", "neon")]).await.status, 400, "no models");
}

/// Returns the value of a look's field on the page of an order: its identifier, and the SHA-256 of its settings.
fn shown_look(page: &Page, id: &str) -> String {
    format!("{id}.{}", page.between(&format!("name=\"look\" value=\"{id}."), "\""))
}

/// If the look or the models have changed since the page was opened, nothing is ordered, and the page is shown again with the new
/// price.
async fn an_order_has_the_look_and_the_models_of_its_page(served: Served) {
    let mut browser = served.browser(EMAIL).await;
    let (chair, lamp) = (model(&served.client, "chair").await, model(&served.client, "lamp").await);
    let settings = [("quality", "share"), ("length", "2")];
    let look = id_of(&browser.save_look(&chair, "Ours", &settings).await);
    let chosen = [("model", chair.as_str()), ("model", &lamp)];
    let page = browser.send("/models/bulk", &[&chosen[..], &[("action", "render")]].concat()).await;
    let total = async || served.client.get("/account").await.body["data"]["total"].clone();
    let earlier = shown_look(&page, &look);
    let replaced = [("quality", "share"), ("length", "5"), ("look_replace", "on")];
    id_of(&browser.save_look(&chair, "Ours", &replaced).await);
    let order = |look| {
        let fields: [(&str, &str); 2] = [("look", look), ("action", "order")];
        [&chosen[..], &fields].concat()
    };
    let page = browser.send("/looks/order", &order(earlier.as_str())).await;
    assert!(page.status == 409 && page.shows("This look was changed"), "{}", page.html);
    assert!(page.shows("<strong>10 credits</strong>"), "{}", page.html);
    let (status, said) = browser.ask("/looks/order", &[&chosen[..], &[("look", earlier.as_str())]].concat()).await;
    let message = said["error"]["message"].as_str().unwrap_or_default();
    assert!(status == 409 && message.contains("show the price again"), "{said}");
    assert_eq!(said["error"]["setting"], "look", "the script sends the form to get the present look");
    assert_eq!(total().await, 100, "nothing was ordered");
    // A replacement by the same settings changes nothing.
    id_of(&browser.save_look(&chair, "Ours", &replaced).await);
    let present = shown_look(&page, &look);
    let (status, said) = browser.ask("/looks/order", &[&chosen[..], &[("look", present.as_str())]].concat()).await;
    assert_eq!((status, &said["quote"]["creditsRequired"]), (200, &json!(10)));
    assert_eq!(browser.send("/looks/order", &order(present.as_str())).await.status, 303);
    assert_eq!(total().await, 90);
    assert_eq!(browser.send(&format!("/models/{lamp}/archive"), &[]).await.status, 303);
    let page = browser.send("/looks/order", &order(shown_look(&page, "pure-white").as_str())).await;
    assert!(page.status == 409 && page.shows("lamp.glb</strong>: It is archived"), "{}", page.html);
    assert!(page.shows("cannot be rendered any more") && page.shows("Order 1 render</button>"), "{}", page.html);
    let (status, said) = browser.ask("/looks/order", &[("model", lamp.as_str()), ("look", present.as_str())]).await;
    assert_eq!((status, &said["error"]["setting"]), (409, &json!("model")), "{said}");
    assert_eq!(total().await, 90, "nothing was ordered");
}

async fn strangers_and_viewers_change_no_looks(served: Served) {
    let mut ada = served.browser(EMAIL).await;
    let chair = model(&served.client, "chair").await;
    let look = id_of(&ada.save_look(&chair, "Ours", &[]).await);
    served.installation.admin(&["account", "create", BOB]);
    let mut bob = served.browser(BOB).await;
    let lamp = model(&served.client(&served.installation.key(BOB, &[])), "lamp").await;
    assert!(!bob.get("/looks").await.shows("Ours"));
    assert_eq!(bob.get(&format!("/models/{lamp}/compose?look={look}")).await.status, 404);
    assert_eq!(bob.get(&format!("/looks/{look}/delete")).await.status, 404);
    for (path, fields) in [
        (format!("/looks/{look}/rename"), vec![("name", "Mine")]),
        (format!("/looks/{look}/delete"), vec![]),
        ("/looks/start".to_owned(), vec![("look", look.as_str())]),
        ("/looks/order".to_owned(), vec![("model", lamp.as_str()), ("look", look.as_str())]),
    ] {
        assert_eq!(bob.send(&path, &fields).await.status, 404, "{path}");
        let forged = Page::of(ada.form(&path, &fields).header("origin", "https://evil.example")).await;
        assert!(forged.status == 403 && forged.shows("another site"), "{path}");
        let forged = Page::of(ada.form(&path, &fields).header("sec-fetch-site", "same-origin")).await;
        assert!(forged.status == 403 && forged.shows("earlier session"), "{path}");
    }
    assert_eq!(Browser::new(&served.server.base).get("/looks").await.header("location"), "/sign-in?to=%2Flooks");
    let team = served.installation.admin(&["workspace", "create", "Team", "--owner", EMAIL]);
    let team = team["id"].as_str().unwrap().to_owned();
    served.installation.admin(&["workspace", "add", &team, BOB, "--role", "viewer"]);
    assert_eq!(bob.send("/workspace", &[("workspace", &team)]).await.status, 303);
    assert!(bob.get("/looks").await.shows("Midnight"), "a viewer sees looks");
    assert_eq!(bob.send("/looks/start", &[("look", "neon")]).await.status, 403);
}

/// As in the API, a look may name materials and meshes that the model does not have.
async fn a_look_of_another_model_is_ordered_too(served: Served) {
    let mut browser = served.browser(EMAIL).await;
    let chair = model(&served.client, "chair").await;
    let edits = json!({"Oak": {"roughness": 0.2}}).to_string();
    let look = id_of(&browser.save_look(&chair, "Oak", &[("materialEdits", &edits), ("quality", "share")]).await);
    let lamp = model(&served.client, "lamp").await;
    let page = browser.send("/models/bulk", &[("model", lamp.as_str()), ("action", "render")]).await;
    let shown = shown_look(&page, &look);
    let fields = [("model", lamp.as_str()), ("look", shown.as_str()), ("action", "order")];
    assert_eq!(browser.send("/looks/order", &fields).await.status, 303);
}

/// A large form reserves memory, and so does the page that answers it, because it contains all looks. Forms of an account that held
/// theirs while they wait for that of the page would wait for each other.
async fn large_forms_that_are_sent_together_do_not_block_each_other(served: Served) {
    let browser = served.browser(EMAIL).await;
    let chair = model(&served.client, "chair").await;
    let settings = json!({"hiddenMeshNames": vec!["x".repeat(256); 512]});
    let looks = usize::try_from(limits::LOOKS_CHARACTERS).unwrap() / (settings.to_string().len() + 100);
    for name in 0..looks {
        let saved = served.client.post("/looks", json!({"name": name.to_string(), "renderSettings": settings})).await;
        assert_eq!(saved.status, 201, "{saved:?}");
    }
    let token = browser.get("/keys").await.form_token();
    // Without the action `save-look`, the name is not read.
    let name = "x".repeat(limits::PAGE_FORM_BYTES - 1000);
    let fields = [("action", "price"), ("look_name", name.as_str()), ("form_token", token.as_str())];
    let path = format!("/models/{chair}/compose");
    let sent = (0..10).map(|_| Page::of(browser.form(&path, &fields).header("origin", &served.server.base)));
    for page in futures_util::future::join_all(sent).await {
        assert!(page.status == 200 && page.shows("credit"), "{}: {:.300}", page.status, page.html);
    }
}

on_both! {
    a_look_is_saved_renamed_replaced_and_deleted the_composer_starts_with_the_chosen_look
    one_order_applies_a_look_to_several_models an_order_has_the_look_and_the_models_of_its_page
    strangers_and_viewers_change_no_looks a_look_of_another_model_is_ordered_too large_forms_that_are_sent_together_do_not_block_each_other
}

/// JavaScript that is true if the page of an order shows the price.
const IS_PRICED: &str = "document.querySelector('form.look-order .price')?.textContent.includes('credit') && \
                         !document.querySelector('button[value=order]').hidden";

/// Opens the page that orders renders of the only model of the library.
async fn open_order(page: &Chromium) {
    page.until("document.querySelector('.pick input')").await;
    page.run("document.querySelector('.pick input').click();").await;
    page.until("document.querySelector('.count').textContent === '1 model chosen'").await;
    page.click("button[value=render]").await;
    page.until(IS_PRICED).await;
}

/// If the response to an order is lost and the user goes back to its page, the browser gets the page with a new idempotency key. The
/// page then has the key of the order and its choices, so that nothing is ordered twice.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_page_of_an_order_keeps_its_key_and_choices() {
    let served = Served::with_sqlite();
    let Some(page) = Chromium::start(true).await else { return };
    model(&served.client, "chair").await;
    sign_in(&served, &page).await;
    open_order(&page).await;
    let shown = "['key', 'quality'].map((name) => document.querySelector(`form.look-order [name=${name}]`).value)\
                 .concat(document.querySelector('[name=look]:checked').value).join()";
    let other = "document.querySelector('[name=quality]').value = 'share'; \
                 document.querySelector('[name=look]:not(:checked)').click();";
    page.run(other).await;
    page.until(IS_PRICED).await;
    let sent = page.run(&format!("return {shown};")).await;
    page.run("document.querySelector('form.look-order').requestSubmit = () => { window.isSent = true; };").await;
    page.click("button[value=order]").await;
    page.until("window.isSent").await;
    // The fields as in a new response of the server. Then the script starts as in a page that was loaded again.
    let again = "document.querySelector('form.look-order').reset(); \
                 document.querySelector('form.look-order [name=key]').value = 'new'; \
                 return import(`${document.querySelector('[src*=order]').src}?again`).then(() => true);";
    assert_eq!(page.run(again).await, true);
    assert_eq!(page.run(&format!("return {shown};")).await, sent);
    page.until(IS_PRICED).await;
    no_errors(&page).await;
}

/// If there were too many requests, the page of an order requests the price again after the time that the server names. An order is not
/// sent later than the user expects.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn prices_wait_and_orders_do_not() {
    let served = Served::with_sqlite();
    let Some(page) = Chromium::start(true).await else { return };
    model(&served.client, "chair").await;
    sign_in(&served, &page).await;
    open_order(&page).await;
    page.run(LIMIT).await;
    page.run("document.querySelector('[name=look]:not(:checked)').click();").await;
    let problem = "document.querySelector('.problem[role=alert]').textContent";
    page.until(&format!("window.waits.length === 1 && {problem}.startsWith('Waiting for the price')")).await;
    page.run("window.waits[0]();").await;
    page.until(IS_PRICED).await;
    page.run(LIMIT).await;
    page.click("button[value=order]").await;
    page.until("document.querySelector('button[value=price]').checkVisibility()").await;
    page.until(&format!("window.waits.length === 0 && {problem}.includes('429')")).await;
    let renders = served.client.get("/renders").await;
    let is_order = |one: &serde_json::Value| one["isSystemPreview"] == false;
    assert!(!renders.data().as_array().unwrap().iter().any(is_order));
    no_errors(&page).await;
}

/// The page of an order says that the session has ended, and keeps its selection, so that the user can order from it after signing in
/// again in another tab.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_page_of_an_order_keeps_its_selection_without_a_session() {
    let served = Served::with_sqlite();
    let Some(page) = Chromium::start(true).await else { return };
    model(&served.client, "chair").await;
    sign_in(&served, &page).await;
    open_order(&page).await;
    let sign_out = "window.isSame = true; \
                    const form_token = document.querySelector('[name=form_token]').value; \
                    return fetch('/sign-out', {method: 'POST', body: new URLSearchParams({form_token})}).then(({ok}) => ok);";
    assert_eq!(page.run(sign_out).await, true);
    page.click("button[value=order]").await;
    page.until("document.querySelector('.problem[role=alert]')?.textContent.includes('no longer signed in')").await;
    page.until("window.isSame && document.querySelector('button[value=price]').checkVisibility()").await;
    assert_eq!(page.run("return document.querySelector('button[value=order]').hidden;").await, true);
    sign_in_elsewhere(&served, &page).await;
    page.click("button[value=price]").await;
    page.until(&format!("window.isSame && {IS_PRICED}")).await;
    // The order has the token of the present session, too.
    sign_in_elsewhere(&served, &page).await;
    page.click("button[value=order]").await;
    page.until("location.pathname === '/renders'").await;
    let renders = served.client.get("/renders").await;
    let ordered = renders.data().as_array().unwrap().iter().filter(|one| one["isSystemPreview"] == false).count();
    assert_eq!(ordered, 1);
}
