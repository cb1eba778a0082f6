//! Tests of the sale of credits, with a fake of Stripe's API and with validly signed events.

use std::sync::{Arc, Mutex};
use std::time::{SystemTime, UNIX_EPOCH};

use hmac::{Hmac, KeyInit as _, Mac as _};
use plinth_testkit::{Reply, Web};
use reqwest::Method;
use serde_json::{Value, json};
use sha2::Sha256;
use url::form_urlencoded;

use super::browser::{Browser, Page};
use super::on_both;
use super::server::{EMAIL, Served};

pub(super) const SECRET: &str = "whsec_test";

/// A server that sells credits, and the fake of Stripe.
struct Shop {
    served: Served,
    browser: Browser,
    /// Bodies of the requests for payment pages.
    requests: Arc<Mutex<Vec<String>>>,
}

/// Returns the fields of a form.
fn fields(body: &str) -> Vec<(String, String)> {
    form_urlencoded::parse(body.as_bytes()).into_owned().collect()
}

pub(super) fn field(body: &str, name: &str) -> String {
    fields(body).into_iter().find(|(key, _)| key == name).map(|(_, value)| value).unwrap_or_default()
}

impl Shop {
    async fn open(served: Served) -> Self {
        let requests = Arc::new(Mutex::new(Vec::new()));
        let seen = Arc::clone(&requests);
        let stripe = Web::start(move |visit| {
            assert_eq!((visit.method.as_str(), visit.path.as_str()), ("POST", "/v1/checkout/sessions"));
            let mut seen = seen.lock().unwrap();
            seen.push(visit.body.clone());
            let amount = field(&visit.body, "line_items[0][price_data][unit_amount]").parse::<u64>().unwrap();
            let page = json!({
                "id": format!("cs_test_{}", seen.len()),
                "url": "https://checkout.stripe.com/c/pay/cs_test?a=1&b=2",
                "amount_total": amount,
                "currency": field(&visit.body, "line_items[0][price_data][currency]"),
            });
            Reply::new("200 OK", "application/json", page.to_string())
        });
        let url = stripe.url("/");
        let served = served.again(|installation| {
            installation
                .set("PLINTH_STRIPE_SECRET_KEY", "sk_test_1")
                .set("PLINTH_STRIPE_WEBHOOK_SECRET", &format!("whsec_older, {SECRET}"))
                .set("PLINTH_STRIPE_URL", &url)
        });
        let browser = served.browser(EMAIL).await;
        Self { served, browser, requests }
    }

    /// Buys the smallest pack: 500 credits for 9 dollars. Returns the id of its payment page.
    async fn buy(&mut self) -> String {
        let page = self.browser.send("/credits", &[("pack", "small")]).await;
        assert_eq!(page.status, 200, "{}", page.html);
        let url = "https://checkout.stripe.com/c/pay/cs_test?a=1&#38;b=2";
        assert!(
            page.shows(&format!("content=\"0; url={url}\"")) && page.shows(&format!("href=\"{url}\"")),
            "{}",
            page.html
        );
        format!("cs_test_{}", self.requests.lock().unwrap().len())
    }

    /// Sends an event with this signature.
    async fn send(&self, body: &str, signature: Option<&str>) -> u16 {
        let request = self.served.client.http.post(format!("{}/stripe/events", self.served.server.base));
        let request = signature.into_iter().fold(request, |request, value| request.header("stripe-signature", value));
        request.body(body.to_owned()).send().await.unwrap().status().as_u16()
    }

    /// Sends an event as Stripe does.
    async fn event(&self, kind: &str, object: Value) -> u16 {
        let body = event_of(kind, &object);
        self.send(&body, Some(&signed(&body, SECRET, 0))).await
    }

    async fn paid(&self) -> u64 {
        self.served.client.get("/account").await.data()["paid"].as_u64().unwrap()
    }
}

pub(super) fn event_of(kind: &str, object: &Value) -> String {
    json!({"id": "evt_1", "type": kind, "data": {"object": object}}).to_string()
}

/// Signs an event with a timestamp in the past.
pub(super) fn signed(body: &str, secret: &str, ago_secs: u64) -> String {
    let time = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs() - ago_secs;
    let mut hmac = Hmac::<Sha256>::new_from_slice(secret.as_bytes()).unwrap();
    hmac.update(format!("{time}.{body}").as_bytes());
    format!("t={time},v1={}", hex::encode(hmac.finalize().into_bytes()))
}

pub(super) fn session(id: &str, payment_status: &str) -> Value {
    json!({"id": id, "payment_status": payment_status, "amount_total": 900, "currency": "usd", "payment_intent": format!("pi_{id}")})
}

fn charge(session: &str, refunded: u64) -> Value {
    json!({"amount": 900, "amount_refunded": refunded, "currency": "usd", "payment_intent": format!("pi_{session}"), "metadata": {}})
}

pub(super) const COMPLETED: &str = "checkout.session.completed";

async fn a_purchase_is_booked_once_by_the_signed_event(served: Served) {
    let mut shop = Shop::open(served).await;
    let page = shop.browser.get("/credits").await;
    assert!(page.shows("Test mode") && page.shows("9.00 USD") && page.shows("10000 credits"), "{}", page.html);
    let id = shop.buy().await;
    let request = shop.requests.lock().unwrap()[0].clone();
    for (name, value) in [
        ("mode", "payment"),
        ("customer_email", EMAIL),
        ("adaptive_pricing[enabled]", "false"),
        ("line_items[0][price_data][unit_amount]", "900"),
        ("line_items[0][price_data][currency]", "usd"),
        ("line_items[0][price_data][product_data][name]", "500 credits"),
    ] {
        assert_eq!(field(&request, name), value, "{request}");
    }
    let back = field(&request, "success_url");
    let back = back.strip_prefix(&shop.served.server.base).unwrap();
    let page = shop.browser.get(back).await;
    assert!(page.shows("we wait for Stripe") && page.shows("http-equiv=\"refresh\"") && page.shows("Not paid yet"));
    assert_eq!(shop.paid().await, 100, "coming back from the payment page books nothing");
    // The same event arrives several times at once, and again later.
    let body = json!({"type": COMPLETED, "data": {"object": session(&id, "paid")}}).to_string();
    let signature = signed(&body, SECRET, 0);
    let shop_of_all = Arc::new(shop);
    let sending = (0..8).map(|_| {
        let (shop, body, signature) = (Arc::clone(&shop_of_all), body.clone(), signature.clone());
        tokio::spawn(async move { shop.send(&body, Some(&signature)).await })
    });
    for sent in sending.collect::<Vec<_>>() {
        assert_eq!(sent.await.unwrap(), 200);
    }
    let shop = shop_of_all;
    assert_eq!(shop.send(&body, Some(&signature)).await, 200);
    assert_eq!(shop.event("checkout.session.async_payment_succeeded", session(&id, "paid")).await, 200);
    assert_eq!(shop.paid().await, 600);
    let page = shop.browser.get(back).await;
    assert!(page.shows("Thank you") && !page.shows("http-equiv") && page.shows(">Paid<"), "{}", page.html);
    let rows = shop.served.client.get("/purchases").await.data().clone();
    assert_eq!(rows.as_array().unwrap().len(), 2);
    let row = &rows[0];
    assert_eq!((&row["type"], &row["credits"], &row["priceCents"]), (&json!("purchase"), &json!(500), &json!(900)));
    assert_eq!((&row["source"], &row["description"]), (&json!("stripe"), &json!("500 credits")));
    let page = shop.browser.get("/credits/statement.csv").await;
    assert!(
        page.header("content-type").starts_with("text/csv")
            && page.header("content-disposition").contains("attachment")
    );
    let lines: Vec<&str> = page.html.split("\r\n").collect();
    assert_eq!(lines[0], "time,type,credits,price,source,description,render,entry");
    assert!(lines.len() == 4 && lines[1].contains(",purchase,500,900,stripe,500 credits,,"), "{lines:?}");
}

async fn forged_events_book_nothing(served: Served) {
    let mut shop = Shop::open(served).await;
    let id = shop.buy().await;
    let event = |object: Value| json!({"type": COMPLETED, "data": {"object": object}}).to_string();
    let good = event(session(&id, "paid"));
    let other = event(session("cs_test_9", "paid"));
    let signature = signed(&good, SECRET, 0);
    for (why, body, header) in [
        ("no signature", &good, None),
        ("an empty signature", &good, Some(String::new())),
        ("another secret", &good, Some(signed(&good, "whsec_evil", 0))),
        ("an empty secret", &good, Some(signed(&good, "", 0))),
        ("an old signature", &good, Some(signed(&good, SECRET, 400))),
        ("another body", &good, Some(signed(&other, SECRET, 0))),
        ("another time", &good, Some(signature.replace("t=1", "t=2"))),
        ("another scheme", &good, Some(signature.replace("v1=", "v0="))),
    ] {
        assert_eq!(shop.send(body, header.as_deref()).await, 400, "{why}");
    }
    let with = |name: &str, value: Value| {
        let mut object = session(&id, "paid");
        object[name] = value;
        object
    };
    for wrong in [
        with("amount_total", json!(1)),
        with("amount_total", json!(90_000)),
        with("amount_total", Value::Null),
        with("amount_total", json!(-900)),
        with("currency", json!("jpy")),
        with("currency", Value::Null),
        json!({"payment_status": "paid"}),
        json!("nonsense"),
    ] {
        assert_eq!(shop.event(COMPLETED, wrong.clone()).await, 400, "{wrong}");
    }
    // Credits in the metadata are not booked, and events of other programs are ignored.
    let boast = with("metadata", json!({"credits": 1_000_000, "plinth_purchase": "x"}));
    assert_eq!(
        shop.event(COMPLETED, json!({"id": "cs_test_9", "payment_status": "paid", "metadata": boast})).await,
        200
    );
    assert_eq!(shop.event("invoice.paid", json!({})).await, 200);
    assert_eq!(shop.event("charge.refunded", charge("cs_other", 900)).await, 200);
    for payment_status in ["unpaid", "no_payment_required", ""] {
        assert_eq!(shop.event(COMPLETED, session(&id, payment_status)).await, 200);
    }
    let large = format!("{{\"type\": \"{}\"}}", "x".repeat(300 << 10));
    assert_eq!(shop.send(&large, Some(&signed(&large, SECRET, 0))).await, 413);
    assert_eq!(shop.paid().await, 100);
    assert_eq!(shop.send(&good, Some(&format!("{signature},v1=00"))).await, 200, "the purchase can still be paid");
    assert_eq!(shop.paid().await, 600);
}

async fn refunds_remove_credits_once(served: Served) {
    let mut shop = Shop::open(served).await;
    let id = shop.buy().await;
    let purchase = field(&shop.requests.lock().unwrap()[0], "client_reference_id");
    // A refund that arrives before its payment is rejected with 409, so that Stripe sends it again.
    let mut early = charge(&id, 300);
    early["metadata"] = json!({"plinth_purchase": purchase});
    assert_eq!(shop.event("charge.refunded", early.clone()).await, 409);
    assert_eq!(shop.event(COMPLETED, session(&id, "paid")).await, 200);
    assert_eq!(shop.event("charge.refunded", early).await, 200);
    assert_eq!(shop.paid().await, 434, "a third of the price");
    for refunded in [300, 300, 100] {
        assert_eq!(shop.event("charge.refunded", charge(&id, refunded)).await, 200);
    }
    assert_eq!(shop.paid().await, 434, "repeated and late events change nothing");
    assert!(shop.browser.get("/credits").await.shows("Refunded in part"));
    let mut wrong = charge(&id, 900);
    wrong["amount"] = json!(90_000);
    assert_eq!(shop.event("charge.refunded", wrong).await, 400);
    // A refund does not remove credits that have been spent.
    shop.served.installation.admin(&["credits", "grant", EMAIL, "-400"]);
    let refunds = (0..4).map(|_| shop.event("charge.refunded", charge(&id, 900)));
    for status in futures_util::future::join_all(refunds).await {
        assert_eq!(status, 200);
    }
    assert_eq!(shop.paid().await, 0);
    let rows = shop.served.client.get("/purchases").await.data().clone();
    assert_eq!((&rows[0]["credits"], &rows[0]["priceCents"]), (&json!(-34), &json!(-600)));
    assert_eq!(rows[0]["description"], "Refund of 500 credits; 300 credits had been spent");
    assert!(shop.browser.get("/credits").await.shows(">Refunded<"));
    let page = shop.browser.get("/credits").await;
    assert!(page.shows("The balance is low: 0 credits are left"), "{}", page.html);
}

async fn a_payment_page_with_another_price_is_not_opened(served: Served) {
    let good =
        json!({"id": "cs_1", "url": "https://checkout.stripe.com/c/pay", "amount_total": 900, "currency": "usd"});
    let with = |name: &str, value: Value| {
        let mut page = good.clone();
        page[name] = value;
        page
    };
    let bad = [
        with("amount_total", json!(90)),
        with("currency", json!("jpy")),
        with("url", Value::Null),
        with("url", json!("javascript:alert(1)")),
    ];
    let pages = Arc::new(Mutex::new(bad.iter().cloned().chain([good.clone()]).collect::<Vec<_>>().into_iter()));
    let stripe = Web::start(move |_visit| {
        Reply::new("200 OK", "application/json", pages.lock().unwrap().next().unwrap().to_string())
    });
    let url = stripe.url("/");
    let served = served.again(|installation| {
        installation
            .set("PLINTH_STRIPE_SECRET_KEY", "sk_test_1")
            .set("PLINTH_STRIPE_WEBHOOK_SECRET", SECRET)
            .set("PLINTH_STRIPE_URL", &url)
    });
    let mut browser = served.browser(EMAIL).await;
    for page in &bad {
        let shown = browser.send("/credits", &[("pack", "small")]).await;
        assert_eq!(shown.status, 502, "{page}: {}", shown.html);
        assert!(shown.shows("nothing was charged"), "{page}: {}", shown.html);
    }
    assert_eq!(browser.send("/credits", &[("pack", "small")]).await.status, 200);
}

async fn payments_that_take_days_are_booked_when_they_succeed(served: Served) {
    let mut shop = Shop::open(served).await;
    let [slow, failed, left] = [shop.buy().await, shop.buy().await, shop.buy().await];
    for id in [&slow, &failed] {
        assert_eq!(shop.event(COMPLETED, session(id, "unpaid")).await, 200);
    }
    assert!(shop.browser.get("/credits").await.shows("The bank confirms the payment"));
    // The page does not reload itself for days.
    let back = field(&shop.requests.lock().unwrap()[0], "success_url");
    let page = shop.browser.get(back.strip_prefix(&shop.served.server.base).unwrap()).await;
    assert!(page.shows("This can take days") && !page.shows("http-equiv"), "{}", page.html);
    assert_eq!(shop.event("checkout.session.async_payment_failed", session(&failed, "unpaid")).await, 200);
    assert_eq!(shop.event("checkout.session.expired", session(&left, "unpaid")).await, 200);
    assert_eq!(shop.paid().await, 100);
    assert_eq!(shop.event("checkout.session.async_payment_succeeded", session(&slow, "paid")).await, 200);
    assert_eq!(shop.paid().await, 600);
    // A late or repeated event does not undo a payment or a failure.
    assert_eq!(shop.event("checkout.session.expired", session(&slow, "unpaid")).await, 200);
    for id in [&slow, &failed] {
        assert_eq!(shop.event(COMPLETED, session(id, "unpaid")).await, 200);
    }
    let page = shop.browser.get("/credits").await;
    assert!(page.shows(">Failed<") && page.shows(">Expired<") && page.shows(">Paid<"), "{}", page.html);
    assert!(!page.shows("The bank confirms the payment"), "{}", page.html);
}

async fn without_a_key_no_credits_are_sold(served: Served) {
    let mut browser = served.browser(EMAIL).await;
    let page = browser.get("/credits").await;
    assert!(page.shows("This server sells no credits") && page.shows("Signup bonus") && !page.shows("name=\"pack\""));
    assert_eq!(browser.send("/credits", &[("pack", "small")]).await.status, 404);
    let event = served.client.http.post(format!("{}/stripe/events", served.server.base)).body("{}");
    assert_eq!(event.send().await.unwrap().status(), 404);
    // With a Stripe key but no webhook secret, the server does not start, because it could not book payments.
    let mut program = served.installation.program();
    let done = program.env("PLINTH_STRIPE_SECRET_KEY", "sk_test_1").args(["serve", "--listen", "127.0.0.1:0"]).output();
    let done = done.unwrap();
    assert_eq!(done.status.code(), Some(1));
    assert!(crate::text(&done.stderr).contains("stripe_webhook_secret is needed"), "{}", crate::text(&done.stderr));
}

async fn purchases_belong_to_who_pays(served: Served) {
    let mut shop = Shop::open(served).await;
    assert_eq!(shop.browser.send("/credits", &[("pack", "huge")]).await.status, 404);
    let id = shop.buy().await;
    assert_eq!(shop.event(COMPLETED, session(&id, "paid")).await, 200);
    let bob = "bob@example.org";
    shop.served.installation.account(bob);
    let mut browser = shop.served.browser(bob).await;
    assert!(!browser.get("/credits").await.shows(">Paid<"), "another account's");
    // Administrators of a team can buy credits for its owner. Editors cannot.
    let team = shop.served.installation.admin(&["workspace", "create", "Team", "--owner", EMAIL])["id"].clone();
    let team = team.as_str().unwrap();
    for (role, status) in [("editor", 403), ("admin", 200)] {
        shop.served.installation.admin(&["workspace", "add", team, bob, "--role", role]);
        browser.send("/workspace", &[("workspace", team)]).await;
        assert_eq!(browser.send("/credits", &[("pack", "small")]).await.status, status, "{role}");
    }
    let page = browser.get("/credits").await;
    assert!(page.shows("Not paid yet") && !page.shows(">Paid<") && !page.shows("Signup bonus"), "{}", page.html);
    assert_eq!(shop.event(COMPLETED, session("cs_test_2", "paid")).await, 200);
    assert_eq!(shop.paid().await, 1100);
    // A purchase cannot be started from another site, or without the token of the form.
    let stolen =
        Page::of(browser.form("/credits", &[("pack", "small")]).header("origin", "https://evil.example")).await;
    let bare = browser.form("/credits", &[("pack", "small")]).header("origin", &shop.served.server.base);
    assert_eq!((stolen.status, Page::of(bare).await.status), (403, 403));
    assert_eq!(browser.request(Method::GET, "/stripe/events").send().await.unwrap().status(), 405);
}

on_both! {
    a_purchase_is_booked_once_by_the_signed_event forged_events_book_nothing refunds_remove_credits_once
    a_payment_page_with_another_price_is_not_opened payments_that_take_days_are_booked_when_they_succeed
    without_a_key_no_credits_are_sold purchases_belong_to_who_pays
}
