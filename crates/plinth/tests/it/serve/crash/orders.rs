//! What clients do meanwhile. Each repeats its request until it is answered, as clients do.

use std::collections::BTreeMap;

use futures_util::StreamExt as _;
use plinth_testkit::{Client, Form, glb_with_triangle};
use reqwest::Method;
use serde_json::{Value, json};

use super::house::House;

/// Items of a batch.
const BATCH: usize = 3;

/// One thing that a client wants.
#[derive(Clone, Copy, Debug)]
pub(super) struct Order {
    /// Stands in the settings of its renders.
    number: usize,
    kind: Kind,
}

#[derive(Clone, Copy, Debug)]
enum Kind {
    /// A model, with a render that is paid for.
    Upload,
    /// A model with its free preview.
    Preview,
    Create,
    Batch,
    /// A render that is cancelled at once.
    Cancel,
}

/// What clients were told.
#[derive(Debug, Default)]
pub(super) struct Told {
    /// Every render that a client got to know.
    pub(super) renders: Vec<String>,
    /// Renders whose cancelling was confirmed.
    pub(super) cancelled: Vec<String>,
    /// How many renders each order may have, those apart that failed.
    pub(super) allowed: BTreeMap<usize, usize>,
}

impl Order {
    pub(super) fn any(number: usize, random: &mut fastrand::Rng) -> Self {
        // Most are cancelled, so that a round does not draw for long.
        let kind = match random.u8(..10) {
            0 => Kind::Upload,
            1 => Kind::Preview,
            2..4 => Kind::Create,
            4 => Kind::Batch,
            _ => Kind::Cancel,
        };
        Self { number, kind }
    }

    /// One frame, turned a little: no two orders have the same picture.
    fn settings(self) -> Value {
        json!({"quality": "share", "length": 0.04, "rotateY": rotation(self.number)})
    }

    fn key(self) -> String {
        format!("order-{}", self.number)
    }
}

/// The angle that stands for an order.
pub(super) fn rotation(number: usize) -> f64 {
    number as f64 / 100.0
}

/// Places all orders, some at a time.
pub(super) async fn place(house: &House, model: &str, orders: Vec<Order>, at_once: usize) -> Told {
    let placed = futures_util::stream::iter(orders).map(|order| one(house, model, order));
    let placed: Vec<Told> = placed.buffer_unordered(at_once).collect().await;
    placed.into_iter().fold(Told::default(), |mut all, told| {
        all.renders.extend(told.renders);
        all.cancelled.extend(told.cancelled);
        all.allowed.extend(told.allowed);
        all
    })
}

async fn one(house: &House, model: &str, order: Order) -> Told {
    let mut told = Told::default();
    match order.kind {
        Kind::Upload => {
            let (render, sent) = upload(house, order, Some(order.settings())).await;
            told.renders.push(render);
            // Nothing says that an upload is the same as one before: each may have its render.
            told.allowed.insert(order.number, sent);
        }
        Kind::Preview => told.renders.push(upload(house, order, None).await.0),
        Kind::Create => {
            told.renders.push(create(house, model, order).await);
            told.allowed.insert(order.number, 1);
        }
        Kind::Batch => {
            let item = json!({"modelId": model, "renderSettings": order.settings()});
            let body = json!({"renders": vec![item; BATCH]});
            let (answer, _) = house.answer(|client| post(client, "/renders/batch", Some(order), &body)).await;
            let ids = answer.data().as_array().unwrap().iter().map(|item| item["id"].as_str().unwrap().to_owned());
            told.renders.extend(ids);
            assert_eq!(told.renders.len(), BATCH);
            told.allowed.insert(order.number, BATCH);
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
            told.renders.push(render);
            told.allowed.insert(order.number, 1);
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

/// The render of an upload, and how often it was sent.
async fn upload(house: &House, order: Order, settings: Option<Value>) -> (String, usize) {
    let name = format!("model-{}", order.number);
    let form = Form::default().file("file", &format!("{name}.glb"), &glb_with_triangle(&name));
    let form = match settings {
        Some(settings) => form.text("renderSettings", &settings.to_string()),
        None => form,
    };
    let body = form.body();
    let request = |client: &Client| {
        client.request(Method::POST, "/models").header("content-type", Form::content_type()).body(body.clone())
    };
    let (answer, sent) = house.answer(request).await;
    (answer.text("renderId"), sent)
}
