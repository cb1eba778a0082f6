//! Each limit at its last good value and one beyond.

use plinth_testkit::{Answer, Client, Form, glb_with_triangle};
use reqwest::Method;
use serde_json::{Value, json};

use super::on_both;
use super::server::Served;

async fn the_limits_of_requests(served: Served) {
    let client = &served.client;
    served.place.admin(&["credits", "grant", super::server::EMAIL, "100000"]);
    let model = client.upload("chair", None).await.text("modelId");
    let patch = async |body: Value| client.send(Method::PATCH, &format!("/models/{model}"), body).await;
    let tags = |count: usize| json!({"tags": (0..count).map(|n| n.to_string()).collect::<Vec<_>>()});
    assert_eq!((patch(tags(20)).await.status, patch(tags(21)).await.refusal()), (200, (400, "bad_request")));

    let quote = async |count: usize| client.post("/quote", json!({"renders": vec![json!({}); count]})).await;
    assert_eq!((quote(100).await.status, quote(101).await.refusal()), (200, (400, "too_many")));
    let item = json!({"modelId": model, "renderSettings": {"quality": "share", "length": 1}});
    let batch = async |count: usize| client.post("/renders/batch", json!({"renders": vec![item.clone(); count]})).await;
    assert_eq!(batch(101).await.refusal(), (400, "too_many"));
    let made = batch(100).await;
    assert_eq!((made.status, made.data().as_array().unwrap().len()), (201, 100));
}

async fn the_limits_of_settings(served: Served) {
    let client = &served.client;
    served.place.admin(&["credits", "grant", super::server::EMAIL, "1000000"]);
    let model = client.upload("chair", None).await.text("modelId");
    let ask =
        async |settings: Value| client.post("/renders", json!({"modelId": model, "renderSettings": settings})).await;
    let pose = json!({"pose": {"position": [0, 0, 4], "lookAt": [0, 0, 0], "fov": 35}});
    let frames = |count: usize| json!({"effect": "keyframes", "keyframes": vec![pose.clone(); count]});
    let decal = json!({"id": "d", "imageAssetId": "k3Jd92LmQx7a", "position": [0, 0, 1], "normal": [0, 0, 1],
                       "euler": [0, 0, 0], "size": 1});
    let decals = |count: usize| json!({"decals": vec![decal.clone(); count]});
    let names = |count: usize, chars: usize| json!({"hiddenMeshNames": vec!["x".repeat(chars); count]});
    let edits = |count: usize| {
        let members =
            (0..count).map(|n| (format!("m{n}"), json!({"roughness": 0.5}))).collect::<serde_json::Map<_, _>>();
        json!({"materialEdits": members})
    };
    let stops = |count: usize| json!({"bgGradient": {"stops": vec![json!({"color": "#ffffff"}); count], "angle": 0}});
    for (good, bad) in [
        (frames(64), frames(65)),
        (frames(1), frames(0)),
        (decals(64), decals(65)),
        (names(512, 256), names(513, 1)),
        (names(1, 256), names(1, 257)),
        (edits(256), edits(257)),
        (stops(8), stops(9)),
        (stops(2), stops(1)),
        (json!({"zoom": 0.5}), json!({"zoom": 0.49})),
        (json!({"animationSpeed": -10}), json!({"animationSpeed": 0})),
        (json!({"scaleX": -0.01}), json!({"scaleX": 0})),
        (json!({"bgAlign": "bottom-right"}), json!({"bgAlign": "down"})),
        (json!({}), json!({"preview": true})),
        (json!({"bgColor": "#00ff7F"}), json!({"bgColor": "00ff7f"})),
    ] {
        let (good, bad) = (ask(good.clone()).await, ask(bad.clone()).await);
        assert!(good.status == 201 || good.status == 200, "{good:?}");
        assert_eq!(bad.refusal(), (400, "invalid_settings"), "{bad:?}");
    }
    for (quality, last, beyond) in [("share", 120.0, 120.01), ("pro", 60.0, 60.01)] {
        assert_eq!(ask(json!({"quality": quality, "length": last})).await.status, 201);
        assert_eq!(ask(json!({"quality": quality, "length": beyond})).await.refusal(), (422, "invalid_length"));
        assert_eq!(ask(json!({"quality": quality, "length": 0})).await.refusal(), (422, "invalid_length"));
    }
    let unknown = ask(json!({"bgColour": "#ffffff"})).await;
    assert_eq!(unknown.refusal(), (400, "invalid_settings"));
    let words = unknown.body["error"]["message"].as_str().unwrap();
    assert!(words.contains("bgColour") && words.contains("bgColor"), "{words}");
}

async fn the_rate_limit_is_exact(served: Served) {
    let Served { server, place, client } = served;
    server.end();
    let server = place.serve(&["--no-worker", "--rate-limit-per-minute", "40"]);
    let client = Client::new(&server.base, &client.token);
    let asked = (0..100).map(|_| {
        let client = client.clone();
        tokio::spawn(async move { client.get("/account").await })
    });
    let mut passed = 0;
    for answer in asked.collect::<Vec<_>>() {
        let answer = answer.await.unwrap();
        if answer.status == 200 {
            passed += 1;
        } else {
            assert_eq!(answer.refusal(), (429, "rate_limited"));
            let wait: u64 = answer.headers["retry-after"].to_str().unwrap().parse().unwrap();
            assert!((1..=60).contains(&wait) && answer.headers["ratelimit-remaining"] == "0", "{answer:?}");
        }
        assert_eq!(answer.headers["ratelimit-limit"], "40");
    }
    assert_eq!(passed, 40);
}

async fn a_model_that_takes_too_much_memory_is_refused(served: Served) {
    let Served { server, place, client } = served;
    server.end();
    let server = place.serve(&["--no-worker", "--model-check-memory-mb", "1"]);
    let client = Client::new(&server.base, &client.token);
    // A long name makes a large file.
    let glb = glb_with_triangle(&"x".repeat(4 << 20));
    let refused = client.form("/models", Form::default().file("file", "large.glb", &glb)).await;
    assert_eq!(refused.refusal(), (422, "upload_failed"));
    let words = refused.body["error"]["message"].as_str().unwrap();
    assert!(words.contains("more than 1 MB of memory"), "{words}");
}

async fn keys_of_requests_are_cut_and_not_refused(served: Served) {
    let client = &served.client;
    let model = client.form("/models", Form::default().file("file", "a.glb", &glb_with_triangle("a"))).await;
    let model = model.text("modelId");
    let post = async |key: String| {
        let body = json!({"modelId": model, "renderSettings": {"quality": "share", "length": 1}});
        let request = client.request(Method::POST, "/renders").header("content-type", "application/json");
        let sent = request.header("idempotency-key", key).body(body.to_string()).send().await.unwrap();
        Answer::of(sent).await
    };
    let first = post("k".repeat(80)).await;
    assert_eq!((first.status, &first.data()["deduped"]), (201, &json!(null)));
    let again = post("k".repeat(81)).await;
    assert_eq!((again.status, &again.data()["deduped"]), (200, &json!(true)));
    assert_eq!(again.data()["id"], first.data()["id"]);
    assert_eq!(post("k".repeat(79)).await.status, 201);
}

on_both! {
    the_limits_of_requests the_limits_of_settings the_rate_limit_is_exact
    a_model_that_takes_too_much_memory_is_refused keys_of_requests_are_cut_and_not_refused
}
