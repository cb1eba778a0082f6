//! Tests of the composer page: a control for every setting, the price before the order, previews, and access control.

use std::time::Duration;

use plinth_spec::limits;
use plinth_spec::settings::fields;
use plinth_testkit::Client;
use reqwest::Method;
use serde_json::{Value, json};
use tokio::time::{sleep, timeout};

use super::backstage::Backstage;
use super::browser::{Browser, Page};
use super::on_both;
use super::server::{EMAIL, Served};

const BOB: &str = "bob@example.org";
/// Switches that are on by default; a form that does not send them turns them off.
const ON: [(&str, &str); 2] = [("shadows", "on"), ("easing", "on")];

impl Browser {
    /// Sends a form as the composer's script does, and returns the status and the JSON.
    pub(super) async fn ask(&self, path: &str, fields: &[(&str, &str)]) -> (u16, Value) {
        let token = self.get("/keys").await.form_token();
        let fields = [fields, &[("form_token", token.as_str())]].concat();
        let page = Page::of(
            self.form(path, &fields).header("sec-fetch-site", "same-origin").header("accept", "application/json"),
        );
        let page = page.await;
        (page.status, serde_json::from_str(&page.html).unwrap_or_else(|error| panic!("{error}: {}", page.html)))
    }
}

/// Uploads a model and returns the path of its composer page.
pub(super) async fn composer(client: &Client, name: &str) -> String {
    format!("/models/{}/compose", client.upload(name, None).await.text("modelId"))
}

async fn every_setting_has_a_control(served: Served) {
    let browser = served.browser(EMAIL).await;
    let path = composer(&served.client, "chair").await;
    let page = browser.get(&path).await;
    assert_eq!(page.status, 200, "{}", page.html);
    for field in fields() {
        assert!(page.shows(&format!("data-key=\"{}\"", field.key)), "no control for {}", field.key);
        let help = field.description.replace('`', "").replace('\'', "&#39;");
        assert!(page.shows(&format!("id=\"{}-help\"", field.key)) && page.shows(&help), "{}: {help}", field.key);
    }
    assert!(page.shows("6 credits") || page.shows("<strong>"), "the price of the defaults: {}", page.html);
    assert!(!page.shows("class=\"control changed\""), "nothing differs from its default yet");
    assert!(browser.get(path.trim_end_matches("/compose")).await.shows(&format!("href=\"{path}\"")));
    let schema = browser.get(page.between("data-schema=\"", "\"")).await;
    assert!(schema.header("content-type") == "application/json" && schema.shows("\"materialEdits\""));
}

async fn the_price_comes_before_the_order(served: Served) {
    let mut browser = served.browser(EMAIL).await;
    let path = composer(&served.client, "chair").await;
    let short = [("quality", "share"), ("length", "2"), ("zoom", "1.5"), ("bgColor", "#102030")];
    let form = |more: &[(&'static str, &'static str)]| [&ON[..], &short, more].concat();
    // For the script of the page, the server returns the settings of the form and their price as JSON.
    let (status, said) = browser.ask(&path, &form(&[("action", "price")])).await;
    let settings = json!({"quality": "share", "length": 2, "zoom": 1.5, "bgColor": "#102030"});
    assert_eq!((status, &said["settings"]), (200, &settings));
    let quote = served.client.post("/quote", json!({"renders": [settings]})).await;
    assert_eq!(&said["quote"], quote.data());
    let (_, said) = browser.ask(&path, &[("length", "6"), ("quality", "standard")]).await;
    assert_eq!(said["settings"], json!({"shadows": false, "easing": false}), "switches that are off");
    // Without JavaScript, the response is the page with the price and the submitted values.
    let page = browser.send(&path, &form(&[("action", "price")])).await;
    assert!(page.status == 200 && page.shows("value=\"#102030\"") && page.shows("value=\"1.5\""), "{}", page.html);
    assert!(page.shows(&format!("<strong>{} credit", quote.data()["creditsRequired"])), "{}", page.html);
    let ordered = browser.send(&path, &form(&[("action", "order")])).await;
    assert_eq!(ordered.status, 303, "{}", ordered.html);
    let render = ordered.header("location").to_owned();
    let made = served.client.get(&render).await;
    assert_eq!(made.data()["renderSettings"], settings);
    assert_eq!(browser.send(&path, &form(&[("action", "order")])).await.header("location"), render, "a double click");
    // The page of a render links to the composer, which then has the settings of this render.
    let id = render.trim_start_matches("/renders/");
    let page = browser.get(&render).await;
    assert!(page.shows(&format!("href=\"{path}?from={id}\"")), "{}", page.html);
    let again = browser.get(&format!("{path}?from={id}")).await;
    assert!(again.shows("value=\"#102030\"") && again.shows("<option value=\"share\" selected>"), "{}", again.html);
    // The balance does not cover this render.
    let (_, said) = browser.ask(&path, &[("quality", "4k"), ("length", "120")]).await;
    assert_eq!(said["quote"]["sufficient"], false);
    let page = browser.send(&path, &[("quality", "4k"), ("length", "120"), ("action", "order")]).await;
    assert!(page.status == 402 && page.shows("The balance does not cover"), "{}: {}", page.status, page.html);
    // These values are either out of range or cannot be parsed.
    for (field, value, says) in [
        ("zoom", "9", "Zoom must be a number from 0.5 to 2"),
        ("length", "500", "Length must be above 0 and at most 120"),
        ("zoom", "abc", "Zoom must be a number: abc"),
        ("decals", "[", "Decals must be JSON"),
        ("decals", "[{}]", "Decals[0] needs"),
        ("quality", "best", "Quality must be one of"),
    ] {
        let (status, said) = browser.ask(&path, &[(field, value)]).await;
        assert!(status >= 400 && said["error"]["message"].as_str().unwrap().contains(says), "{field}={value}: {said}");
        assert_eq!(said["error"]["setting"], field, "{said}");
        let page = browser.send(&path, &[(field, value), ("action", "order")]).await;
        assert!((400..500).contains(&page.status), "{field}={value}: {}", page.status);
    }
}

async fn a_form_that_is_sent_again_later_orders_nothing_more(served: Served) {
    let mut browser = served.browser(EMAIL).await;
    let path = composer(&served.client, "chair").await;
    let key = browser.get(&path).await.between("name=\"key\" value=\"", "\"").to_owned();
    let send = async |browser: &mut Browser, key: &str, length: &str, action: &str| {
        let own = [("quality", "share"), ("length", length), ("key", key), ("action", action)];
        browser.send(&path, &[&ON[..], &own].concat()).await
    };
    // A minute ago, the form was sent for the first time.
    let model = path.trim_start_matches("/models/").trim_end_matches("/compose");
    let before = Backstage::ago(&served, Duration::from_mins(1)).await;
    let id = before.order(model, &json!({"quality": "share", "length": 2}), Some(&key)).await;
    let credits = async || served.client.get("/account").await.data()["paid"].clone();
    let left = credits().await;
    let again = send(&mut browser, &key, "2", "order").await;
    assert_eq!((again.status, again.header("location")), (303, &*format!("/renders/{id}")), "{}", again.html);
    assert_eq!(credits().await, left, "one charge");
    // The page that shows the form again keeps the key, so that it still is the same order.
    let priced = send(&mut browser, &key, "2", "price").await;
    assert_eq!(priced.between("name=\"key\" value=\"", "\""), key);
    // Other settings are another order, and so is the form of a page that was opened later.
    let other = send(&mut browser, &key, "3", "order").await;
    assert!(other.status == 303 && other.header("location") != again.header("location"), "{}", other.html);
    let opened = browser.get(&path).await.between("name=\"key\" value=\"", "\"").to_owned();
    assert_ne!(opened, key);
    let later = send(&mut browser, &opened, "2", "order").await;
    assert!(later.status == 303 && later.header("location") != again.header("location"), "{}", later.html);
}

async fn the_price_says_that_free_credits_leave_a_watermark(served: Served) {
    let mut browser = served.browser(EMAIL).await;
    let path = composer(&served.client, "chair").await;
    served.installation.admin(&["credits", "grant", EMAIL, "1000", "--pool", "free"]);
    let note = "Free credits pay for this, so the video has a watermark.";
    let form = |quality, length| [("quality", quality), ("length", length), ("action", "price")];
    // The paid balance of 100 credits covers the first order, but not the second.
    for (length, expected) in [("6", json!(null)), ("7", json!(note))] {
        let (_, said) = browser.ask(&path, &form("4k", length)).await;
        assert_eq!((&said["quote"]["sufficient"], &said["note"]), (&json!(true), &expected), "{length}");
        let page = browser.send(&path, &form("4k", length)).await;
        assert_eq!(page.shows(note), !expected.is_null(), "{length}: {}", page.html);
    }
    let strict = [&form("4k", "7")[..], &[("strictCredits", "on")]].concat();
    let (_, said) = browser.ask(&path, &strict).await;
    assert_eq!((&said["quote"]["sufficient"], &said["note"]), (&json!(false), &json!(null)));
    let ordered = browser.send(&path, &[("quality", "4k"), ("length", "7"), ("action", "order")]).await;
    let render = served.client.get(ordered.header("location")).await;
    assert_eq!(render.data()["isPreview"], true, "{render:?}");
}

async fn hostile_names_and_values_are_shown_as_text(served: Served) {
    let browser = served.browser(EMAIL).await;
    let hostile = "</script><img src=x onerror=alert(1)>'";
    let made = served.client.upload(hostile, None).await;
    let path = format!("/models/{}/compose", made.text("modelId"));
    let settings = json!({
        "hiddenMeshNames": [hostile], "animation": hostile, "envId": hostile, "bgImageId": hostile,
        "materialEdits": {hostile: {"roughness": 1}},
    });
    let render =
        served.client.post("/renders", json!({"modelId": made.text("modelId"), "renderSettings": settings})).await;
    let page = browser.get(&format!("{path}?from={}", render.text("id"))).await;
    assert_eq!(page.status, 200);
    assert!(page.html.matches("&#60;img src=x").count() >= 5, "{}", page.html);
    assert!(!page.shows("<img src=x") && !page.shows("</script><"), "{}", page.html);
    let render_page = browser.get(&format!("/renders/{}", render.text("id"))).await;
    assert!(!render_page.shows("<img src=x"), "{}", render_page.html);
}

async fn strangers_order_and_see_nothing(served: Served) {
    let ada = served.browser(EMAIL).await;
    let path = composer(&served.client, "chair").await;
    let preview = path.replace("/compose", "/preview");
    let render = served.page_of_render(&served.client, "chair").await;
    served.installation.admin(&["account", "create", BOB]);
    let mut bob = served.browser(BOB).await;
    let own = composer(&served.client(&served.installation.key(BOB, &[])), "lamp").await;
    assert_eq!(bob.get(&path).await.status, 404);
    assert_eq!(bob.send(&path, &[("action", "order")]).await.status, 404);
    assert_eq!(bob.send(&preview, &[]).await.status, 404);
    assert_eq!(bob.get(&format!("{render}/events")).await.status, 404);
    let from = format!("{own}?from={}", render.trim_start_matches("/renders/"));
    assert_eq!(bob.get(&from).await.status, 404, "another workspace's settings");
    for request in [&path, &preview] {
        let forged = Page::of(ada.form(request, &[("action", "order")]).header("origin", "https://evil.example")).await;
        assert!(forged.status == 403 && forged.shows("another site"), "{request}");
        let forged = Page::of(ada.form(request, &[("action", "order")]).header("sec-fetch-site", "same-origin")).await;
        assert!(forged.status == 403 && forged.shows("earlier session"), "{request}");
    }
    let stranger = Browser::new(&served.server.base);
    let sign_in = format!("/sign-in?to={}", path.replace('/', "%2F"));
    assert_eq!(stranger.get(&path).await.header("location"), sign_in);
    assert_eq!(served.client.get("/renders").await.body["meta"]["total"], 1, "only the free preview");
    // A viewer of a workspace cannot order renders.
    let team = served.installation.admin(&["workspace", "create", "Team", "--owner", EMAIL])["id"]
        .as_str()
        .unwrap()
        .to_owned();
    let path = composer(&served.client(&served.installation.key(EMAIL, &["--workspace", &team])), "team").await;
    served.installation.admin(&["workspace", "add", &team, BOB, "--role", "viewer"]);
    assert_eq!(bob.send("/workspace", &[("workspace", &team)]).await.status, 303);
    assert_eq!((bob.get(&path).await.status, bob.send(&path, &[("action", "order")]).await.status), (403, 403));
    assert_eq!(bob.send(&path.replace("/compose", "/preview"), &[]).await.status, 403);
}

async fn changes_of_a_render_are_pushed(served: Served) {
    let browser = served.browser(EMAIL).await;
    let model = served.client.upload("chair", None).await.text("modelId");
    let made = served.client.post("/renders", json!({"modelId": model})).await;
    let events = browser.request(Method::GET, &format!("/renders/{}/events", made.text("id"))).send().await.unwrap();
    assert_eq!(events.headers()["content-type"], "text/event-stream");
    // nginx passes on each event at once.
    assert_eq!(events.headers()["x-accel-buffering"], "no");
    let id = made.text("id");
    assert_eq!(served.client.post(&format!("/renders/{id}/cancel"), json!({})).await.status, 200);
    // The event stream ends when the render ends.
    let text = timeout(Duration::from_secs(20), events.text()).await.unwrap().unwrap();
    assert!(text.contains("\"isFinal\":true") && text.contains("\"status\":\"failed\""), "{text}");
}

/// Open pages are told that a render is not in the workspace of the session, whether it exists or not.
async fn renders_of_another_workspace_are_reported_as_gone(served: Served) {
    let mut browser = served.browser(EMAIL).await;
    let id = served.client.upload("chair", None).await.text("renderId");
    let followed = format!("/renders/events?ids={id},k3Jd92LmQx7a");
    let gone = |text: &str, id: &str| {
        let events = text.lines().filter_map(|line| serde_json::from_str::<Value>(line.strip_prefix("data:")?).ok());
        events.filter(|event| event["id"] == id && event["gone"] == true).count()
    };
    let once = browser.get(&format!("{followed}&once=1")).await;
    assert_eq!((gone(&once.html, &id), gone(&once.html, "k3Jd92LmQx7a")), (0, 1), "{}", once.html);
    // Another tab changes to another workspace while the streams are open. The streams then end.
    let mut streams = Vec::new();
    for path in [followed, format!("/renders/{id}/events")] {
        streams.push(browser.request(Method::GET, &path).send().await.unwrap());
    }
    let team = served.installation.admin(&["workspace", "create", "Team", "--owner", EMAIL]);
    assert_eq!(browser.send("/workspace", &[("workspace", team["id"].as_str().unwrap())]).await.status, 303);
    for stream in streams {
        let text = timeout(Duration::from_secs(20), stream.text()).await.unwrap().unwrap();
        assert_eq!(gone(&text, &id), 1, "{text}");
    }
}

async fn an_account_with_too_many_streams_gets_states_from_time_to_time(served: Served) {
    let browser = served.browser(EMAIL).await;
    let model = served.client.upload("chair", None).await.text("modelId");
    let id = served.client.post("/renders", json!({"modelId": model})).await.text("id");
    let path = format!("/renders/{id}/events");
    let mut open = Vec::new();
    for _stream in 0..limits::EVENT_STREAMS_AT_ONCE {
        open.push(browser.request(Method::GET, &path).send().await.unwrap());
    }
    for path in [path.clone(), format!("/renders/events?ids={id}")] {
        let rejected = browser.request(Method::GET, &path).send().await.unwrap();
        assert_eq!((rejected.status().as_u16(), &rejected.headers()["retry-after"]), (429, &"15".parse().unwrap()));
        assert!(rejected.text().await.unwrap().contains("close other pages"));
        // With `once=1`, the server sends the current state and ends the response.
        let separator = if path.contains('?') { '&' } else { '?' };
        let once = browser.request(Method::GET, &format!("{path}{separator}once=1")).send().await.unwrap();
        let text = timeout(Duration::from_secs(10), once.text()).await.unwrap().unwrap();
        assert!(text.starts_with("data:") && text.contains("\"status\":\"pending\""), "{text}");
    }
    // After the streams are closed, a new one can be opened.
    drop(open);
    timeout(Duration::from_secs(30), async {
        while browser.request(Method::GET, &path).send().await.unwrap().status() != 200 {}
    })
    .await
    .unwrap();
}

async fn without_a_worker_a_preview_fails_after_a_few_seconds(served: Served) {
    let browser = served.browser(EMAIL).await;
    let path = composer(&served.client, "chair").await;
    for asked in ["/preview", "/preview/surfaces", "/preview/cameras"] {
        let fields =
            [("x", "0.5"), ("y", "0.5"), ("output", if asked.ends_with("cameras") { "dataset" } else { "video" })];
        let (status, said) = browser.ask(&path.replace("/compose", asked), &fields).await;
        assert_eq!((status, &said["error"]["message"]), (404, &json!("No worker draws previews at the moment.")));
    }
}

on_both! {
    every_setting_has_a_control the_price_comes_before_the_order a_form_that_is_sent_again_later_orders_nothing_more
    the_price_says_that_free_credits_leave_a_watermark hostile_names_and_values_are_shown_as_text
    strangers_order_and_see_nothing changes_of_a_render_are_pushed
    renders_of_another_workspace_are_reported_as_gone
    an_account_with_too_many_streams_gets_states_from_time_to_time without_a_worker_a_preview_fails_after_a_few_seconds
}

/// Draws a preview and returns its pixels.
async fn preview(browser: &Browser, path: &str, fields: &[(&str, &str)]) -> image::RgbaImage {
    let token = browser.get("/keys").await.form_token();
    let fields = [fields, &[("form_token", token.as_str())]].concat();
    let answer = browser.form(path, &fields).header("sec-fetch-site", "same-origin").send().await.unwrap();
    let (status, kind) = (answer.status().as_u16(), answer.headers()["content-type"].clone());
    let bytes = answer.bytes().await.unwrap();
    assert_eq!((status, kind.to_str().unwrap()), (200, "image/png"), "{}", String::from_utf8_lossy(&bytes));
    image::load_from_memory(&bytes).unwrap().to_rgba8()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_preview_is_the_render() {
    let Served { client, server, installation } = Served::with_sqlite();
    server.end();
    let server = installation.serve(&["--rate-limit-per-minute", "1000000"]);
    let client = Client::new(&server.base, &client.token);
    let served = Served { client, server, installation };
    let mut browser = served.browser(EMAIL).await;
    let path = composer(&served.client, "chair").await;
    let looks: [&[(&str, &str)]; 3] = [
        &[("shadows", "on")],
        &[("bgColor", "#203040"), ("zoom", "1.4"), ("rotateY", "40"), ("filter", "sepia"), ("bloomEnabled", "on")],
        &[("shadows", "on"), ("effect", "reveal"), ("aspect", "1:1"), ("reflector", "on"), ("envRotation", "90")],
    ];
    for look in looks {
        let form = [look, &[("easing", "on"), ("quality", "share"), ("length", "0.2")]].concat();
        let seen =
            preview(&browser, &path.replace("/compose", "/preview"), &[&form[..], &[("longest", "960")]].concat())
                .await;
        let ordered = browser.send(&path, &[&form[..], &[("action", "order")]].concat()).await;
        let render = ordered.header("location").to_owned();
        let done = async {
            while served.client.get(&render).await.text("status") != "done" {
                sleep(Duration::from_millis(200)).await;
            }
        };
        timeout(Duration::from_mins(3), done).await.unwrap();
        let link = browser.get(&format!("{render}/files/full_poster")).await.header("location").to_owned();
        let poster = served.client.http.get(link).send().await.unwrap().bytes().await.unwrap();
        let poster = image::load_from_memory(&poster).unwrap().to_rgba8();
        assert_eq!(seen.dimensions(), poster.dimensions(), "{look:?}");
        let differing = seen.pixels().zip(poster.pixels()).filter(|(a, b)| a != b).count();
        assert_eq!(differing, 0, "{look:?}: of {} pixels", seen.pixels().len());
    }
    // A preview can be smaller and show another position in the video. An unknown environment is rejected.
    let small =
        preview(&browser, &path.replace("/compose", "/preview"), &[("longest", "320"), ("position", "0.5")]).await;
    assert_eq!(small.dimensions(), (320, 180));
    let (status, said) = browser.ask(&path.replace("/compose", "/preview"), &[("envId", "k3Jd92LmQx7a")]).await;
    assert!(status == 400 && said["error"]["message"].as_str().unwrap().contains("deleted or belongs"), "{said}");
}
