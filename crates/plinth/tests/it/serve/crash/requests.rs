//! The requests of clients during a round. Each request is repeated until the server responds.

use std::collections::{BTreeMap, BTreeSet};

use futures_util::StreamExt as _;
use plinth_testkit::{Answer, Client, Form, glb_too_large_to_draw, glb_with_triangle};
use reqwest::Method;
use serde_json::{Value, json};

use super::clients::Clients;
use super::pace::Pace;

/// Maximum number of orders in progress at the same time.
const AT_ONCE: usize = 6;
/// Renders per batch.
const BATCH: usize = 3;
/// Number of models that clients upload repeatedly.
const MODELS: usize = 8;
/// Number of consecutive orders with the same picture. One job renders those that are in the queue at the same time.
const LIKE: usize = 4;
/// Value of `animation` that marks renders of a model that cannot be drawn.
pub(in crate::serve) const BROKEN: &str = "broken";
/// ID of an overlay that does not exist.
pub(in crate::serve) const NO_OVERLAY: &str = "nooverlay001";

/// One request of a client.
#[derive(Clone, Copy, Debug)]
pub(in crate::serve) struct Order {
    number: usize,
    kind: Kind,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// Uploads a model with a billed render.
    Upload,
    /// Uploads a model with a free preview.
    Preview,
    Create,
    Batch,
    /// Creates a render and cancels it at once.
    Cancel,
    /// Creates a render that fails and is refunded.
    Missing,
    /// Creates a render that fails because of its model and is not refunded.
    Broken,
}

/// The responses that clients received.
#[derive(Debug, Default)]
pub(in crate::serve) struct Responses {
    /// IDs of all renders in responses.
    pub(in crate::serve) renders: BTreeSet<String>,
    /// IDs of the renders whose cancellation was confirmed.
    pub(in crate::serve) cancelled: Vec<String>,
    /// Number of times that each billed upload was sent, by model and angle. The service does not recognise a repeated
    /// upload, so each of them may have created a render.
    pub(in crate::serve) sent: BTreeMap<(String, String), usize>,
}

impl Order {
    pub(in crate::serve) fn any(number: usize, random: &mut fastrand::Rng) -> Self {
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

    /// Returns the order that is created after all others.
    pub(in crate::serve) const fn last(number: usize) -> Self {
        Self { number, kind: Kind::Create }
    }

    /// Returns the settings of a render with one frame. Orders with the same picture differ in settings that do not
    /// affect the picture, because equal requests would be replayed.
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

/// Returns the key by which renders of uploads are counted.
pub(in crate::serve) fn picture(model: &str, settings: &Value) -> (String, String) {
    (model.to_owned(), settings["rotateY"].to_string())
}

/// Executes all orders, several at the same time, at the given pace.
pub(in crate::serve) async fn send_all(
    clients: &impl Clients,
    model: &str,
    orders: Vec<Order>,
    pace: &Pace,
) -> Responses {
    let sent = futures_util::stream::iter(orders).map(async |order| {
        pace.until(order.number).await;
        send(clients, model, order).await
    });
    let sent: Vec<Responses> = sent.buffer_unordered(AT_ONCE).collect().await;
    sent.into_iter().fold(Responses::default(), |mut all, responses| {
        all.renders.extend(responses.renders);
        all.cancelled.extend(responses.cancelled);
        for (picture, sent) in responses.sent {
            *all.sent.entry(picture).or_default() += sent;
        }
        all
    })
}

async fn send(clients: &impl Clients, model: &str, order: Order) -> Responses {
    let mut responses = Responses::default();
    match order.kind {
        Kind::Upload | Kind::Broken => {
            let settings = order.settings();
            let (answer, sent) = upload(clients, order, Some(&settings)).await;
            responses.renders.insert(answer.text("renderId"));
            responses.sent.insert(picture(&answer.text("modelId"), &settings), sent);
        }
        Kind::Preview => drop(responses.renders.insert(upload(clients, order, None).await.0.text("renderId"))),
        Kind::Create | Kind::Missing => drop(responses.renders.insert(create(clients, model, order).await)),
        Kind::Batch => {
            let item = json!({"modelId": model, "renderSettings": order.settings()});
            let body = json!({"renders": vec![item; BATCH]});
            let (answer, _) = clients.answer(|client| post(client, "/renders/batch", Some(order), &body)).await;
            let ids = answer.data().as_array().unwrap().iter().map(|item| item["id"].as_str().unwrap().to_owned());
            responses.renders.extend(ids);
            assert_eq!(responses.renders.len(), BATCH);
        }
        Kind::Cancel => {
            let render = create(clients, model, order).await;
            let path = format!("/renders/{render}/cancel");
            let (answer, sent) = clients.answer(|client| post(client, &path, None, &json!({}))).await;
            match answer.status {
                200 => responses.cancelled.push(render.clone()),
                // A worker has claimed the render, or an earlier attempt of this request has cancelled the render.
                409 => assert_eq!(answer.rejection().1, "render_started", "after {sent}"),
                _ => panic!("{answer:?}"),
            }
            responses.renders.insert(render);
        }
    }
    responses
}

fn post(client: &Client, path: &str, under: Option<Order>, body: &Value) -> reqwest::RequestBuilder {
    let request = client.request(Method::POST, path).header("content-type", "application/json").body(body.to_string());
    match under {
        Some(order) => request.header("idempotency-key", order.key()),
        None => request,
    }
}

async fn create(clients: &impl Clients, model: &str, order: Order) -> String {
    let body = json!({"modelId": model, "renderSettings": order.settings()});
    clients.answer(|client| post(client, "/renders", Some(order), &body)).await.0.text("id")
}

/// Builds the upload of a model with a free preview.
pub(in crate::serve) fn upload_request(client: &Client, name: &str) -> reqwest::RequestBuilder {
    let form = Form::default().file("file", &format!("{name}.glb"), &glb_with_triangle(name));
    client.request(Method::POST, "/models").header("content-type", Form::content_type()).body(form.body())
}

/// Uploads a model. Returns the response and the number of attempts.
async fn upload(clients: &impl Clients, order: Order, settings: Option<&Value>) -> (Answer, usize) {
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
    clients.answer(request).await
}
