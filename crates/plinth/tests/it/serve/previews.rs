//! Tests of previews over HTTP.

use std::time::{Duration, Instant};

use image::RgbaImage;
use plinth_testkit::{Answer, Client};
use reqwest::Method;
use serde_json::{Value, json};
use tokio::time::sleep;

use super::on_both;
use super::server::{EMAIL, Served};
use super::studio_previews::{Composer, Worker};

/// Maximum time to wait for a worker, even on a busy machine.
const TIMEOUT: Duration = Duration::from_mins(2);

/// Repeats the request for a preview until a worker draws it, because the worker may still be starting.
async fn draw(client: &Client, model: &str, body: &Value) -> RgbaImage {
    let begin = Instant::now();
    loop {
        let request = client
            .request(Method::POST, &format!("/models/{model}/preview"))
            .header("content-type", "application/json")
            .body(body.to_string());
        let response = request.send().await.unwrap();
        if response.status() == 200 {
            assert_eq!(response.headers()["content-type"], "image/png");
            return image::load_from_memory(&response.bytes().await.unwrap()).unwrap().to_rgba8();
        }
        let answer = Answer::of(response).await;
        assert_eq!(answer.rejection(), (404, "not_found"), "{answer:?}");
        assert!(begin.elapsed() < TIMEOUT, "{answer:?}");
        sleep(Duration::from_millis(100)).await;
    }
}

async fn a_program_gets_a_frame_with_watermark(served: Served) {
    let client = &served.client;
    let model = client.upload("chair", None).await.text("modelId");
    let _worker = Worker::start(&served, &["--takes", "preview"]);
    let settings = json!({"bgColor": "#204060", "rotateY": 30});
    let marked = draw(client, &model, &json!({"renderSettings": settings, "longest": 320})).await;
    assert_eq!(marked.dimensions(), (320, 180));
    let composer = Composer::open(&served, EMAIL, &model).await;
    let plain = composer.draw(&[("longest", "320"), ("bgColor", "#204060"), ("rotateY", "30")]).await;
    assert_ne!(marked, plain, "the picture of the program has a watermark");
    let near = |picture: &RgbaImage| {
        let sum: u64 = picture.pixels().zip(plain.pixels()).map(|(a, b)| u64::from(a[0].abs_diff(b[0]))).sum();
        sum as f64 / f64::from(picture.width() * picture.height())
    };
    assert!(near(&marked) < 20.0, "apart from the watermark it is the same picture: {}", near(&marked));
    let later = draw(client, &model, &json!({"renderSettings": settings, "longest": 320, "position": 0.5})).await;
    assert_ne!(later, marked);
    assert_eq!(draw(client, &model, &json!({"draft": true})).await.dimensions(), (640, 360));
    assert_eq!(draw(client, &model, &json!({"longest": 111})).await.dimensions(), (111, 62), "sides can be odd");

    let found = json!({"renderSettings": settings, "x": 0.5, "y": 0.5});
    let found = client.post(&format!("/models/{model}/preview/surfaces"), found).await;
    assert_eq!(
        found.data()["surfaces"][0]["mesh"],
        client.get(&format!("/models/{model}")).await.data()["meshNames"][0]
    );
    let dataset = json!({"renderSettings": {"output": "dataset", "datasetQuality": "100x800"}});
    let cameras = client.post(&format!("/models/{model}/preview/cameras"), dataset).await;
    assert_eq!(cameras.data()["positions"].as_array().unwrap().len(), 100);
    assert_eq!(client.get("/account").await.data()["credits"], 100, "previews are free");
}

/// The server rejects invalid previews even if no worker runs.
async fn invalid_previews_are_rejected(served: Served) {
    let client = &served.client;
    let model = client.upload("chair", None).await.text("modelId");
    for (path, body, expected) in [
        ("", json!({"longest": 63}), (400, "bad_request")),
        ("", json!({"longest": 1281}), (400, "bad_request")),
        ("", json!({"longest": "large"}), (400, "bad_request")),
        ("", json!({"position": 1.01}), (400, "bad_request")),
        ("", json!({"renderSettings": {"bgcolor": "#ffffff"}}), (400, "invalid_settings")),
        ("", json!({"renderSettings": "red"}), (400, "invalid_settings")),
        ("", json!({"renderSettings": {"preview": true}}), (400, "invalid_settings")),
        ("", json!({"renderSettings": {"envId": "k3Jd92LmQx7a"}}), (400, "invalid_settings")),
        ("/surfaces", json!({}), (400, "bad_request")),
        ("/surfaces", json!({"x": 0.5}), (400, "bad_request")),
        ("/surfaces", json!({"x": 0.5, "y": -0.1}), (400, "bad_request")),
        ("/surfaces", json!({"x": 0.5, "y": 0.5, "position": -1}), (400, "bad_request")),
        ("/cameras", json!({}), (400, "invalid_settings")),
    ] {
        let answer = client.post(&format!("/models/{model}/preview{path}"), body.clone()).await;
        assert_eq!(answer.rejection(), expected, "{path} {body}");
    }
    let nobody = client.post(&format!("/models/{model}/preview"), json!({})).await;
    assert_eq!(nobody.rejection(), (404, "not_found"), "no worker draws previews");
}

on_both! { a_program_gets_a_frame_with_watermark invalid_previews_are_rejected }
