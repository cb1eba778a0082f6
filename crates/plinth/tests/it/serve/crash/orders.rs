//! What clients do meanwhile. Each repeats its request until it is answered, as clients do.

use std::collections::{BTreeMap, BTreeSet};

use futures_util::StreamExt as _;
use plinth_testkit::{Answer, Client, Form, glb_too_large_to_draw, glb_with_triangle};
use reqwest::Method;
use serde_json::{Value, json};

use super::house::House;
use super::strikes::Pace;

/// Items of a batch.
const BATCH: usize = 3;
/// Models that clients upload, again and again.
const MODELS: usize = 8;
/// Orders in a row that want the same picture: what waits is drawn once for all of them.
const LIKE: usize = 4;
/// How orders of a model that cannot be drawn are known: it is their `animation`.
pub(super) const BROKEN: &str = "broken";
/// An overlay that is not there.
pub(super) const NO_OVERLAY: &str = "nooverlay001";

/// One thing that a client wants.
#[derive(Clone, Copy, Debug)]
pub(super) struct Order {
    number: usize,
    kind: Kind,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// A model, with a render that is paid for.
    Upload,
    /// A model with its free preview.
    Preview,
    Create,
    Batch,
    /// A render that is cancelled at once.
    Cancel,
    /// A render that fails and is refunded.
    Missing,
    /// A render that fails by its model's fault and is not refunded.
    Broken,
}

/// What clients were told.
#[derive(Debug, Default)]
pub(super) struct Told {
    /// Every render that a client got to know.
    pub(super) renders: BTreeSet<String>,
    /// Renders whose cancelling was confirmed.
    pub(super) cancelled: Vec<String>,
    /// How often uploads that are paid for were sent, by model and angle. Nothing says that an upload is the same as one
    /// before, so each may have its render.
    pub(super) sent: BTreeMap<(String, String), usize>,
}

impl Order {
    pub(super) fn any(number: usize, random: &mut fastrand::Rng) -> Self {
        let kind = match random.u8(..12) {
            0 => Kind::Upload,
            1 => Kind::Preview,
            2..5 => Kind::Create,
            5 => Kind::Batch,
            6..9 => Kind::Cancel,
            9..11 => Kind::Missing,
            _ => Kind::Broken,
        };
        Self { number, kind }
    }

    /// A render that nothing disturbs.
    pub(super) const fn last(number: usize) -> Self {
        Self { number, kind: Kind::Create }
    }

    /// One frame, turned a little. Neighbours differ in what makes no other picture: equal ones would be one render.
    fn settings(self) -> Value {
        let strict = self.number % 2 == 1;
        let turn = self.number / LIKE % 180;
        let mut settings = json!({"quality": "share", "length": 0.04, "rotateY": turn, "strictCredits": strict});
        match self.kind {
            Kind::Missing => settings["bgImageId"] = NO_OVERLAY.into(),
            Kind::Broken => settings["animation"] = BROKEN.into(),
            _ => {}
        }
        settings
    }

    fn key(self) -> String {
        format!("order-{}", self.number)
    }
}

/// What renders of uploads are counted by.
pub(super) fn picture(model: &str, settings: &Value) -> (String, String) {
    (model.to_owned(), settings["rotateY"].to_string())
}

/// Places all orders at a pace, some at a time.
pub(super) async fn place(house: &House, model: &str, orders: Vec<Order>, pace: &Pace) -> Told {
    let placed = futures_util::stream::iter(orders).map(async |order| {
        pace.until(order.number).await;
        one(house, model, order).await
    });
    let placed: Vec<Told> = placed.buffer_unordered(super::AT_ONCE).collect().await;
    placed.into_iter().fold(Told::default(), |mut all, told| {
        all.renders.extend(told.renders);
        all.cancelled.extend(told.cancelled);
        for (picture, sent) in told.sent {
            *all.sent.entry(picture).or_default() += sent;
        }
        all
    })
}

async fn one(house: &House, model: &str, order: Order) -> Told {
    let mut told = Told::default();
    match order.kind {
        Kind::Upload | Kind::Broken => {
            let settings = order.settings();
            let (answer, sent) = upload(house, order, Some(&settings)).await;
            told.renders.insert(answer.text("renderId"));
            told.sent.insert(picture(&answer.text("modelId"), &settings), sent);
        }
        Kind::Preview => drop(told.renders.insert(upload(house, order, None).await.0.text("renderId"))),
        Kind::Create | Kind::Missing => drop(told.renders.insert(create(house, model, order).await)),
        Kind::Batch => {
            let item = json!({"modelId": model, "renderSettings": order.settings()});
            let body = json!({"renders": vec![item; BATCH]});
            let (answer, _) = house.answer(|client| post(client, "/renders/batch", Some(order), &body)).await;
            let ids = answer.data().as_array().unwrap().iter().map(|item| item["id"].as_str().unwrap().to_owned());
            told.renders.extend(ids);
            assert_eq!(told.renders.len(), BATCH);
        }
        Kind::Cancel => {
            let render = create(house, model, order).await;
            let path = format!("/renders/{render}/cancel");
            let (answer, sent) = house.answer(|client| post(client, &path, None, &json!({}))).await;
            match answer.status {
                200 => told.cancelled.push(render.clone()),
                // Somebody has begun it, or this client's own first request has reached it.
                409 => assert_eq!(answer.refusal().1, "render_started", "after {sent}"),
                _ => panic!("{answer:?}"),
            }
            told.renders.insert(render);
        }
    }
    told
}

fn post(client: &Client, path: &str, under: Option<Order>, body: &Value) -> reqwest::RequestBuilder {
    let request = client.request(Method::POST, path).header("content-type", "application/json").body(body.to_string());
    match under {
        Some(order) => request.header("idempotency-key", order.key()),
        None => request,
    }
}

async fn create(house: &House, model: &str, order: Order) -> String {
    let body = json!({"modelId": model, "renderSettings": order.settings()});
    house.answer(|client| post(client, "/renders", Some(order), &body)).await.0.text("id")
}

/// The answer to an upload, and how often it was sent.
async fn upload(house: &House, order: Order, settings: Option<&Value>) -> (Answer, usize) {
    let name = format!("model-{}", order.number % MODELS);
    let glb = if order.kind == Kind::Broken { glb_too_large_to_draw() } else { glb_with_triangle(&name) };
    let form = Form::default().file("file", &format!("{name}.glb"), &glb);
    let form = match settings {
        Some(settings) => form.text("renderSettings", &settings.to_string()),
        None => form,
    };
    let body = form.body();
    let request = |client: &Client| {
        client.request(Method::POST, "/models").header("content-type", Form::content_type()).body(body.clone())
    };
    house.answer(request).await
}
