//! Tests the web UI end to end in a real browser. The test starts with an empty installation, uploads models, creates a
//! look, orders renders, buys credits, creates a key and invites a colleague to a team. Only the payment provider is a
//! fake. The signatures of its events are valid.

use std::sync::{Arc, OnceLock};

use plinth_testkit::{Client, Reply, Visit, Web, glb_with_triangle};
use serde_json::Value;
use tokio::sync::mpsc;

use super::server::{Installation, Server};
use super::studio_money::{COMPLETED, SECRET, event_of, field, session, signed};
use super::webdriver::Chromium;

const BOB: &str = "bob@example.org";

/// A fake payment provider. It serves the API for payment pages, and the pages.
struct Provider {
    web: Web,
    /// Receives the identifier of each payment page on which somebody pays.
    paid: mpsc::UnboundedReceiver<String>,
}

impl Provider {
    fn start() -> Self {
        let (tell, paid) = mpsc::unbounded_channel();
        let (base, back) = (Arc::new(OnceLock::<String>::new()), OnceLock::<String>::new());
        let known = Arc::clone(&base);
        let web = Web::start(move |Visit { path, body, .. }| match path.as_str() {
            "/v1/checkout/sessions" => {
                back.set(field(body, "success_url")).unwrap();
                let amount = field(body, "line_items[0][price_data][unit_amount]").parse::<u64>().unwrap();
                let currency = field(body, "line_items[0][price_data][currency]");
                let url = format!("{}pay", known.get().unwrap());
                let page =
                    serde_json::json!({"id": "cs_test_1", "url": url, "amount_total": amount, "currency": currency});
                Reply::new("200 OK", "application/json", page.to_string())
            }
            "/pay" => Reply::new("200 OK", "text/html", "<a id=pay href=/done>Pay</a>"),
            "/done" => {
                tell.send("cs_test_1".to_owned()).unwrap();
                Reply::redirect(back.get().unwrap())
            }
            _icon => Reply::new("200 OK", "image/svg+xml", "<svg xmlns='http://www.w3.org/2000/svg'/>"),
        });
        base.set(web.url("/")).unwrap();
        Self { web, paid }
    }
}

/// A browser and the server that it uses.
struct Journey {
    page: Chromium,
    server: Server,
    installation: Installation,
}

impl Journey {
    async fn go(&self, path: &str) {
        self.page.open(&format!("{}{path}", self.server.base)).await;
    }

    async fn text(&self, selector: &str) -> String {
        let text = self.page.run(&format!("return document.querySelector('{selector}').textContent;")).await;
        text.as_str().unwrap().to_owned()
    }

    /// Uploads models in the library, and waits until their tiles are shown.
    async fn upload(&self, names: &[&str]) {
        let folder = self.installation.folder.path();
        let files = names.iter().map(|name| {
            let path = folder.join(format!("{name}.glb"));
            std::fs::write(&path, glb_with_triangle(name)).unwrap();
            path.to_str().unwrap().to_owned()
        });
        self.page.type_into("input[type=file]", &files.collect::<Vec<_>>().join("\n")).await;
        self.page.click(".upload button.main").await;
        self.page.until(&format!("document.querySelectorAll('.tile').length === {}", names.len())).await;
    }

    /// Sets controls of the composer and fires their events, as a user does.
    async fn set(&self, settings: &[(&str, &str)]) {
        for (name, value) in settings {
            let script = format!(
                "const input = document.querySelector('#{name}'); input.value = '{value}'; \
                 for (const kind of ['input', 'change']) input.dispatchEvent(new Event(kind, {{bubbles: true}}));"
            );
            self.page.run(&script).await;
        }
    }

    /// Opens an item of the menu of the account.
    async fn menu(&self, selector: &str) {
        self.page.click(".menu summary").await;
        self.page.click(&format!(".menu-items {selector}")).await;
    }

    async fn no_errors(&self) {
        let messages = self.page.console().await;
        assert!(messages.is_empty(), "{messages:?}");
    }
}

/// Uploads three models, creates a look, and checks the picture of its preview.
async fn make_a_look(journey: &Journey) {
    let page = &journey.page;
    journey.upload(&["chair", "lamp", "vase"]).await;
    page.click(".tile-link").await;
    page.until("document.querySelector('a.button.main')").await;
    page.click("a.button.main").await;
    page.until("document.querySelector('.stage img')?.src.startsWith('blob:')").await;
    let before = page.run("return document.querySelector('.stage img').src;").await;
    journey.set(&[("quality", "share"), ("length", "1"), ("bgColor", "#203040")]).await;
    page.until("document.querySelector('.settings-json').textContent.includes('#203040')").await;
    page.until(&format!(
        "document.querySelector('.stage img').src !== {before} && document.querySelector('.stage img').naturalWidth === 960 \
         && document.querySelector('.preview-state').textContent.startsWith('Drawn in')"
    ))
    .await;
    // The picture has the chosen background in its corner.
    let corner = "const canvas = document.createElement('canvas'); canvas.width = canvas.height = 1; \
                  const context = canvas.getContext('2d'); \
                  context.drawImage(document.querySelector('.stage img'), 0, 0); \
                  return [...context.getImageData(0, 0, 1, 1).data];";
    assert_eq!(page.run(corner).await, serde_json::json!([0x20, 0x30, 0x40, 255]));
    page.run("document.querySelector('#look_name').closest('details').open = true;").await;
    page.type_into("#look_name", "Night").await;
    page.click("button[value=save-look]").await;
    page.until("document.querySelector('.look-state').textContent === 'Saved as “Night”.'").await;
    journey.no_errors().await;
}

/// Checks the progress that a page has received for each render. The values must lie between 0 and 1, never decrease,
/// and end with 1. At least one value must be well between 0 and 1.
fn check_progress(seen: &Value, ids: &[&str]) {
    let mut is_between = false;
    for id in ids {
        let told: Vec<f64> = seen[id].as_array().unwrap().iter().map(|fraction| fraction.as_f64().unwrap()).collect();
        assert!(told.iter().all(|fraction| (0.0..=1.0).contains(fraction)), "{told:?}");
        assert!(told.is_sorted() && told.last() == Some(&1.0), "{told:?}");
        is_between |= told.iter().any(|fraction| (0.01..0.99).contains(fraction));
    }
    assert!(is_between, "{seen}");
}

/// Orders all models with the look, watches the list until they are done, and plays the results.
async fn order_and_play(journey: &Journey) {
    let page = &journey.page;
    journey.go("/").await;
    page.run("for (const box of document.querySelectorAll('.pick input')) box.click();").await;
    page.until("document.querySelector('.count').textContent === '3 models chosen'").await;
    page.click("button[value=render]").await;
    page.until("document.querySelector('form.look-order')").await;
    page.run(
        "[...document.querySelectorAll('.look-choice')].find((look) => look.innerText.includes('Night')).click();",
    )
    .await;
    page.until("document.querySelector('form.look-order').innerText.includes('3 credits')").await;
    page.until("!document.querySelector('button[value=order]').hidden").await;
    page.click("button[value=order]").await;
    page.until("location.pathname === '/renders'").await;
    // The list must change without a reload. A reload would remove `window.isSame`.
    let watch = "window.isSame = true; window.seen = {}; \
                 new EventSource(document.querySelector('[data-events]').dataset.events).addEventListener('message', ({data}) => { \
                 const {id, fraction} = JSON.parse(data); (window.seen[id] ??= []).push(fraction); });";
    page.run(watch).await;
    page.until("document.querySelectorAll('.renders progress').length > 0 || document.querySelector('.status.done')")
        .await;
    let newest = page
        .run("return [...document.querySelectorAll('.renders > li')].slice(0, 3).map((render) => render.id.slice(7));")
        .await;
    let ids: Vec<&str> = newest.as_array().unwrap().iter().map(|id| id.as_str().unwrap()).collect();
    assert_eq!(ids.len(), 3);
    for id in &ids {
        page.until(&format!("window.isSame && document.querySelector('#render-{id} .status.done')")).await;
    }
    // This event stream may receive the end of a render later than the event stream of the page.
    page.until(&format!("{}.every((id) => window.seen[id]?.at(-1) === 1)", serde_json::json!(ids))).await;
    check_progress(&page.run("return window.seen;").await, &ids);
    for id in &ids {
        journey.go(&format!("/renders/{id}")).await;
        page.until("document.querySelector('video')").await;
        page.run("document.querySelector('video').play();").await;
        page.until("document.querySelector('video').currentTime > 0.05").await;
    }
    journey.no_errors().await;
}

/// Buys 500 credits.
async fn buy(journey: &Journey, provider: &mut Provider) {
    let page = &journey.page;
    page.click("header a[href$='/credits']").await;
    page.until("document.querySelector('button[value=small]')").await;
    assert_eq!(journey.text(".credits dd").await, "97");
    page.click("button[value=small]").await;
    page.until("document.querySelector('#pay')").await;
    page.click("#pay").await;
    let id = provider.paid.recv().await.unwrap();
    page.until("document.querySelector('.note')?.innerText.includes('we wait for Stripe')").await;
    let body = event_of(COMPLETED, &session(&id, "paid"));
    let client = Client::new(&journey.server.base, "");
    let event = client.http.post(format!("{}/stripe/events", journey.server.base)).body(body.clone());
    let sent = event.header("stripe-signature", signed(&body, SECRET, 0)).send().await.unwrap();
    assert_eq!(sent.status().as_u16(), 200);
    // The page reloads automatically.
    page.until("document.querySelector('.note')?.innerText.includes('Thank you. 500 credits were added.')").await;
    assert_eq!(journey.text(".credits dd").await, "597");
}

/// Creates a key, and returns a client that uses it.
async fn create_key(journey: &Journey) -> Client {
    journey.menu("a[href$='/keys']").await;
    journey.page.until("document.querySelector('#days')").await;
    journey.page.type_into("#name", "shop import").await;
    journey.page.click("form.fields button.main").await;
    journey.page.until("document.querySelector('.secret')").await;
    Client::new(&journey.server.base, &journey.text(".secret code").await)
}

/// Invites a colleague, who signs up in the same browser and orders from the pool of the team.
async fn colleague(journey: &Journey) {
    let page = &journey.page;
    journey.menu("a[href$='/teams']").await;
    page.until("document.querySelector('h1').textContent === 'Teams'").await;
    page.type_into("#name", "Studio").await;
    page.click("form.fields button.main").await;
    page.until("document.querySelector('h1').textContent === 'Studio'").await;
    page.type_into("#email", BOB).await;
    page.click("form[action$='/invite'] button.main").await;
    page.until("document.querySelector('.secret')").await;
    let link = journey.text(".secret code").await;
    journey.menu("form[action$='/sign-out'] button").await;
    page.until("document.querySelector('#password')").await;
    page.open(&link).await;
    page.until("document.querySelector('#new-password')").await;
    page.type_into("#new-password", "a long password").await;
    page.click("form[action$='/sign-up'] button.main").await;
    page.until("document.querySelector('h1').textContent === 'Models'").await;
    assert_eq!(journey.text(".credits dd").await, "597", "the pool of the team is its owner's");
    journey.upload(&["stool"]).await;
    page.click(".tile-link").await;
    page.until("document.querySelector('a.button.main')").await;
    page.click("a.button.main").await;
    page.until("document.querySelector('.stage img')?.src.startsWith('blob:')").await;
    journey.set(&[("quality", "share"), ("length", "0.2")]).await;
    page.until("document.querySelector('.order').innerText.includes('1 credit')").await;
    page.click("button[value=order]").await;
    page.until("location.pathname.startsWith('/renders/')").await;
    page.until("document.querySelector('.head .status.done') && document.querySelector('video')").await;
    journey.no_errors().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn from_an_empty_installation_to_a_colleague_who_orders() {
    let mut provider = Provider::start();
    let installation = Installation::with_sqlite()
        .set("PLINTH_STRIPE_SECRET_KEY", "sk_test_1")
        .set("PLINTH_STRIPE_WEBHOOK_SECRET", SECRET)
        .set("PLINTH_STRIPE_URL", &provider.web.url("/"));
    let mut server = installation.serve(&["--rate-limit-per-minute", "1000000"]);
    let said = server.read_until("/sign-in/");
    let Some(page) = Chromium::start(true).await else { return };
    let link = said.split_whitespace().find(|word| word.contains("/sign-in/")).unwrap().to_owned();
    let journey = Journey { page, server, installation };
    journey.page.open(&link).await;
    journey.page.click("main button").await;
    journey.page.until("document.querySelector('h1').textContent === 'Models'").await;
    make_a_look(&journey).await;
    order_and_play(&journey).await;
    buy(&journey, &mut provider).await;
    let client = create_key(&journey).await;
    let paid = async || client.get("/account").await.data()["paid"].clone();
    assert_eq!(paid().await, Value::from(597));
    colleague(&journey).await;
    assert_eq!(paid().await, Value::from(596), "the owner pays for what the colleague orders");
}
