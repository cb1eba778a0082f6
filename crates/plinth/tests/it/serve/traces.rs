//! Tests of OpenTelemetry traces, with a collector in the test process.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use axum::Router;
use axum::body::Bytes;
use axum::extract::State;
use axum::routing::post;
use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use opentelemetry_proto::tonic::common::v1::any_value::Value as AnyValue;
use opentelemetry_proto::tonic::trace::v1::Span;
use opentelemetry_proto::tonic::trace::v1::span::SpanKind;
use plinth_testkit::{Answer, Client};
use prost::Message as _;
use reqwest::Method;
use serde_json::{Value, json};

use super::on_both;
use super::server::{Installation, Served};

const TIMEOUT: Duration = Duration::from_mins(2);
/// Trace ID and span ID that the client sends with its order.
const TRACE: &str = "4bf92f3577b34da6a3ce929d0e0e4736";
const CLIENT: &str = "00f067aa0ba902b7";

/// A collector that keeps all spans in memory.
#[derive(Clone, Default)]
struct Collector(Arc<Mutex<Vec<Span>>>);

impl Collector {
    async fn start() -> (Self, String) {
        let collector = Self::default();
        let router = Router::new().route("/v1/traces", post(Self::receive)).with_state(collector.clone());
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let base = format!("http://{}", listener.local_addr().unwrap());
        tokio::spawn(axum::serve(listener, router).into_future());
        (collector, base)
    }

    #[expect(clippy::unused_async, reason = "handlers are async functions")]
    async fn receive(State(Self(spans)): State<Self>, body: Bytes) {
        let request = ExportTraceServiceRequest::decode(body).unwrap();
        let mut spans = spans.lock().unwrap_or_else(PoisonError::into_inner);
        for of_resource in request.resource_spans {
            let resource = of_resource.resource.unwrap_or_default();
            assert!(resource.attributes.iter().any(|one| one.key == "service.name"), "{resource:?}");
            spans.extend(of_resource.scope_spans.into_iter().flat_map(|of_scope| of_scope.spans));
        }
    }

    fn trace(&self, id: &[u8]) -> Vec<Span> {
        let spans = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        spans.iter().filter(|span| span.trace_id == id).cloned().collect()
    }
}

fn one<'a>(spans: &'a [Span], name: &str) -> &'a Span {
    let found: Vec<&Span> = spans.iter().filter(|span| span.name == name).collect();
    let [span] = found.as_slice() else { panic!("{name} in {:?}", names(spans)) };
    span
}

fn names(spans: &[Span]) -> BTreeSet<&str> {
    spans.iter().map(|span| span.name.as_str()).collect()
}

fn attribute(span: &Span, key: &str) -> String {
    let found = span.attributes.iter().find(|one| one.key == key);
    match found.and_then(|one| one.value.as_ref()?.value.as_ref()) {
        Some(AnyValue::StringValue(text)) => text.clone(),
        Some(AnyValue::IntValue(number)) => number.to_string(),
        other => panic!("{key} of {}: {other:?}", span.name),
    }
}

async fn order(client: &Client, model: &str, settings: Value, trace_parent: &str) -> Answer {
    let body = json!({"modelId": model, "renderSettings": settings}).to_string();
    let request = client.request(Method::POST, "/renders").header("content-type", "application/json");
    Answer::to(request.header("traceparent", trace_parent).body(body)).await
}

/// Renders and packages all queued orders in another process than the one that accepted them.
async fn work_until_packaged(installation: &Installation, is_alone: bool, client: &Client, orders: &[String]) {
    if !is_alone {
        let mut worker = installation.program();
        worker.args(["worker", "--exit-when-idle"]);
        let done = tokio::task::spawn_blocking(move || worker.output().unwrap()).await.unwrap();
        assert!(done.status.success(), "{}", crate::text(&done.stderr));
        return;
    }
    let server = installation.serve(&[]);
    let client = Client::new(&server.base, &client.token);
    let begin = Instant::now();
    for id in orders {
        while client.get(&format!("/renders/{id}")).await.text("hlsStatus") != "ready" {
            assert!(begin.elapsed() < TIMEOUT, "{}", installation.log());
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    }
    assert_eq!(server.end().1, Some(0));
}

async fn one_trace_follows_an_order_from_its_request_to_its_files(served: Served) {
    let (collector, base) = Collector::start().await;
    let is_alone = served.is_alone();
    let served = served
        .again(|installation| installation.set("OTEL_EXPORTER_OTLP_ENDPOINT", &base).set("PLINTH_ADAPTER", "cpu"));
    let settings = json!({"quality": "share", "length": 0.1});
    let uploaded = served.client.upload("chair", Some(settings)).await;
    let model = uploaded.text("modelId");
    // The next two orders have the same frames, so one job renders both.
    let wanted = json!({"quality": "share", "length": 0.2});
    let ordered = order(&served.client, &model, wanted, &format!("00-{TRACE}-{CLIENT}-01")).await;
    let wanted = json!({"quality": "share", "length": 0.2, "strictCredits": true});
    let other_trace = TRACE.replace('4', "5");
    let other = order(&served.client, &model, wanted, &format!("00-{other_trace}-{CLIENT}-01")).await;
    let Served { client, server, installation } = served;
    assert_eq!(server.end().1, Some(0));
    let orders = [uploaded.text("renderId"), ordered.text("id"), other.text("id")];
    work_until_packaged(&installation, is_alone, &client, &orders).await;

    let spans = collector.trace(&hex::decode(TRACE).unwrap());
    let request = one(&spans, "POST /v1/renders");
    assert_eq!((hex::encode(&request.parent_span_id).as_str(), request.kind()), (CLIENT, SpanKind::Server));
    assert_eq!(attribute(request, "request.id"), ordered.headers["x-request-id"].to_str().unwrap());
    assert_eq!(attribute(request, "http.response.status_code"), "201");
    let render = one(&spans, "render");
    assert_eq!((&render.parent_span_id, render.kind()), (&request.span_id, SpanKind::Consumer));
    assert_eq!(attribute(render, "render.id"), orders[1]);
    let wait = one(&spans, "wait");
    assert_eq!(wait.parent_span_id, request.span_id);
    assert!(wait.start_time_unix_nano < wait.end_time_unix_nano);
    let package = one(&spans, "package");
    assert_eq!(package.parent_span_id, request.span_id);
    for (name, of) in [("upload posters", "draw"), ("loading", "draw"), ("preparing", "draw"), ("rendering", "draw")] {
        assert_eq!(one(&spans, name).parent_span_id, one(&spans, of).span_id, "{name}");
    }
    let parts = |parent: &Span| -> BTreeSet<String> {
        let inside = spans.iter().filter(|span| span.parent_span_id == parent.span_id);
        inside.map(|span| span.name.clone()).collect()
    };
    assert_eq!(parts(render), ["draw", "fetch", "upload"].map(str::to_owned).into());
    assert_eq!(parts(package), ["encode", "fetch", "upload"].map(str::to_owned).into());

    let other_spans = collector.trace(&hex::decode(&other_trace).unwrap());
    let shared = one(&other_spans, "render");
    assert_eq!(attribute(shared, "render.id"), orders[2]);
    let [link] = shared.links.as_slice() else { panic!("{:?}", shared.links) };
    assert_eq!((&link.trace_id, &link.span_id), (&render.trace_id, &render.span_id));

    let all = collector.0.lock().unwrap().clone();
    let upload = one(&all, "POST /v1/models");
    let of_upload = collector.trace(&upload.trace_id);
    for name in ["check model", "store file", "wait", "render", "package"] {
        one(&of_upload, name);
    }
}

async fn without_a_collector_nothing_is_recorded(served: Served) {
    let uploaded = served.client.upload("chair", None).await;
    let model = uploaded.text("modelId");
    let ordered = order(&served.client, &model, json!({"quality": "share"}), &format!("00-{TRACE}-{CLIENT}-01")).await;
    let id = plinth_spec::id::RenderId::parse(&ordered.text("id")).unwrap();
    let options = plinth_db::DbOptions { may_change: false, ..plinth_db::DbOptions::default() };
    let db = plinth_db::Db::open(&served.installation.database(), options).await.unwrap();
    let render = plinth_db::renders::find_anywhere(&mut db.read().await.unwrap(), &id).await.unwrap().unwrap();
    assert_eq!(render.trace_parent, None);
    db.close().await;
}

on_both! { one_trace_follows_an_order_from_its_request_to_its_files without_a_collector_nothing_is_recorded }

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_collector_that_does_not_respond_is_logged_once_and_changes_nothing_else() {
    let closed = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let served = Served::with_sqlite().again(|installation| {
        installation.set("PLINTH_OTLP_ENDPOINT", &format!("http://{closed}")).set("OTEL_BSP_SCHEDULE_DELAY", "50")
    });
    let begin = Instant::now();
    while served.installation.log().matches("traces cannot be sent").count() == 0 {
        assert_eq!(served.client.get("/account").await.status, 200);
        assert!(begin.elapsed() < TIMEOUT, "{}", served.installation.log());
    }
    for _again in 0..5 {
        assert_eq!(served.client.get("/account").await.status, 200);
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    let Served { server, installation, .. } = served;
    assert_eq!(server.end().1, Some(0));
    assert_eq!(installation.log().matches("traces cannot be sent").count(), 1, "{}", installation.log());
}

#[test]
fn the_endpoint_of_traces_must_be_a_web_address() {
    let done =
        Installation::with_sqlite().program().args(["serve", "--otlp-endpoint", "ftp://collector"]).output().unwrap();
    assert!(!done.status.success());
    let stderr = crate::text(&done.stderr);
    assert!(stderr.contains("--otlp-endpoint") && stderr.contains("http://localhost:4318"), "{stderr}");
}
