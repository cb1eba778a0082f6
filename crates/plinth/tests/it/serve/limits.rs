//! Tests of each limit, with the last valid value and with the first invalid value.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::time::Duration;

use plinth_db::models::{self, Model};
use plinth_spec::id::ModelId;
use plinth_spec::limits;
use plinth_testkit::{Answer, Client, Form, glb_with_triangle};
use reqwest::Method;
use serde_json::{Value, json};

use super::backstage::Backstage;
use super::browser::Page;
use super::on_both;
use super::server::{EMAIL, Served};

/// An identifier that no object has.
const UNKNOWN: &str = "k3Jd92LmQx7a";

async fn the_limits_of_requests(served: Served) {
    let client = &served.client;
    served.installation.admin(&["credits", "grant", EMAIL, "100000"]);
    let model = client.upload("chair", None).await.text("modelId");
    let patch = async |body: Value| client.send(Method::PATCH, &format!("/models/{model}"), body).await;
    let tags = |count: usize| json!({"tags": (0..count).map(|n| n.to_string()).collect::<Vec<_>>()});
    assert_eq!((patch(tags(20)).await.status, patch(tags(21)).await.rejection()), (200, (400, "bad_request")));

    let quote = async |count: usize| client.post("/quote", json!({"renders": vec![json!({}); count]})).await;
    assert_eq!((quote(100).await.status, quote(101).await.rejection()), (200, (400, "too_many")));
    let item = json!({"modelId": model, "renderSettings": {"quality": "share", "length": 1}});
    let batch = async |count: usize| client.post("/renders/batch", json!({"renders": vec![item.clone(); count]})).await;
    assert_eq!(batch(101).await.rejection(), (400, "too_many"));
    let made = batch(100).await;
    assert_eq!((made.status, made.data().as_array().unwrap().len()), (201, 100));
}

async fn the_limits_of_settings(served: Served) {
    let client = &served.client;
    served.installation.admin(&["credits", "grant", EMAIL, "1000000"]);
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
        assert_eq!(bad.rejection(), (400, "invalid_settings"), "{bad:?}");
    }
    for (quality, last, beyond) in [("share", 120.0, 120.01), ("pro", 60.0, 60.01)] {
        assert_eq!(ask(json!({"quality": quality, "length": last})).await.status, 201);
        assert_eq!(ask(json!({"quality": quality, "length": beyond})).await.rejection(), (422, "invalid_length"));
        assert_eq!(ask(json!({"quality": quality, "length": 0})).await.rejection(), (422, "invalid_length"));
    }
    let unknown = ask(json!({"bgColour": "#ffffff"})).await;
    assert_eq!(unknown.rejection(), (400, "invalid_settings"));
    let message = unknown.body["error"]["message"].as_str().unwrap();
    assert!(message.contains("bgColour") && message.contains("bgColor"), "{message}");
}

async fn the_rate_limit_is_exact(served: Served) {
    let Served { server, installation, client } = served;
    server.end();
    let server = installation.serve(&["--no-worker", "--rate-limit-per-minute", "40"]);
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
            assert_eq!(answer.rejection(), (429, "rate_limited"));
            let wait: u64 = answer.headers["retry-after"].to_str().unwrap().parse().unwrap();
            assert!((1..=60).contains(&wait) && answer.headers["ratelimit-remaining"] == "0", "{answer:?}");
        }
        assert_eq!(answer.headers["ratelimit-limit"], "40");
    }
    assert_eq!(passed, 40);
}

/// Previews, and the parts of a stream or a dataset, do not count toward the rate limit of an account's sessions; pages do.
async fn pages_count_toward_the_rate_limit_but_previews_and_media_do_not(served: Served) {
    let Served { server, installation, client } = served;
    server.end();
    let server = installation.serve(&["--no-worker", "--rate-limit-per-minute", "40"]);
    let served = Served { client, server, installation };
    let browser = served.browser(EMAIL).await;
    // Neither the model nor the render exists, but the requests are those of the user.
    let preview = format!("/models/{UNKNOWN}/preview");
    let paths = [format!("/renders/{UNKNOWN}/hls/main.m3u8"), format!("/renders/{UNKNOWN}/dataset/images/0001.png")];
    for _ in 0..50 {
        for path in &paths {
            assert_eq!(browser.get(path).await.status, 404, "{path}");
        }
        let drawn = Page::of(browser.form(&preview, &[]).header("origin", &served.server.base)).await;
        assert_eq!(drawn.status, 403, "without the token of a form: {}", drawn.html);
    }
    let mut shown = 0;
    while browser.get("/looks").await.status == 200 {
        shown += 1;
        assert!(shown <= 40, "pages do not count");
    }
    assert!(shown >= 30, "{shown}");
}

async fn a_model_that_takes_too_much_memory_is_rejected(served: Served) {
    let Served { server, installation, client } = served;
    server.end();
    let server = installation.serve(&["--no-worker", "--model-check-memory-mb", "1"]);
    let client = Client::new(&server.base, &client.token);
    // A long name makes the file large.
    let glb = glb_with_triangle(&"x".repeat(4 << 20));
    let rejected = client.form("/models", Form::default().file("file", "large.glb", &glb)).await;
    assert_eq!(rejected.rejection(), (422, "upload_failed"));
    let message = rejected.body["error"]["message"].as_str().unwrap();
    assert!(message.contains("more than 1 MB of memory"), "{message}");
}

async fn long_idempotency_keys_are_truncated(served: Served) {
    let client = &served.client;
    let model = client.form("/models", Form::default().file("file", "a.glb", &glb_with_triangle("a"))).await;
    let model = model.text("modelId");
    let settings = json!({"quality": "share", "length": 1});
    // The first request is a minute old. Within seconds, an identical request would be a replay, whatever its key.
    let then = Backstage::ago(&served, Duration::from_mins(1)).await;
    let first = then.order(&model, &settings, Some(&"k".repeat(80))).await;
    let post = async |key: String| {
        let body = json!({"modelId": model, "renderSettings": settings});
        let request = client.request(Method::POST, "/renders").header("content-type", "application/json");
        let sent = request.header("idempotency-key", key).body(body.to_string()).send().await.unwrap();
        Answer::of(sent).await
    };
    assert_eq!(post("k".repeat(79)).await.status, 201);
    let again = post("k".repeat(81)).await;
    assert_eq!((again.status, &again.data()["deduped"]), (200, &json!(true)));
    assert_eq!(again.text("id"), first, "the request returns the render with the same key, not the newest render");
}

on_both! {
    the_limits_of_requests the_limits_of_settings the_rate_limit_is_exact pages_count_toward_the_rate_limit_but_previews_and_media_do_not
    a_model_that_takes_too_much_memory_is_rejected long_idempotency_keys_are_truncated
}

/// The open requests wait for their bodies, which the test never sends.
async fn the_open_requests_of_an_account_are_limited(served: Served) {
    let client = &served.client;
    let head = format!(
        "POST /v1/quote HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer {}\r\nContent-Type: application/json\r\n\
         Content-Length: 10\r\n\r\n",
        client.token
    );
    let address = served.server.base.strip_prefix("http://").unwrap();
    let begin = || {
        let mut stream = TcpStream::connect(address).unwrap();
        stream.write_all(head.as_bytes()).unwrap();
        stream
    };
    let mut open: Vec<TcpStream> = (0..limits::REQUESTS_AT_ONCE).map(|_request| begin()).collect();
    let account = async |open: &mut Vec<TcpStream>, wanted: u16| {
        for _try in 0..50 {
            let answer = client.get("/account").await;
            if answer.status == wanted {
                return answer;
            }
            if wanted == 429 {
                // This request took the place of one of the open requests, so another one is opened.
                open.push(begin());
            }
            tokio::time::sleep(Duration::from_millis(200)).await;
        }
        panic!("no answer with the status {wanted}: {}", served.installation.log());
    };
    let rejected = account(&mut open, 429).await;
    assert_eq!((rejected.rejection(), rejected.header("retry-after")), ((429, "rate_limited"), "1"));
    let allowance = ["ratelimit-limit", "ratelimit-remaining", "ratelimit-reset"].map(|name| rejected.header(name));
    assert_eq!(allowance, ["1000000", "0", "1"]);
    served.installation.account("guest@example.org");
    let guest = served.client(&served.installation.key("guest@example.org", &[]));
    assert_eq!(guest.get("/account").await.status, 200);
    open.clear();
    account(&mut open, 200).await;
}

on_both! { the_open_requests_of_an_account_are_limited }

/// A row of a model without a file uses up the storage of the account.
async fn the_models_of_an_account_are_limited(served: Served) {
    let served = served.again(|installation| installation.set("PLINTH_ACCOUNT_STORAGE_GB", "1"));
    let client = &served.client;
    let known = client.upload("known", None).await;
    assert_eq!(known.status, 201);
    let backstage = Backstage::of(&served).await;
    let caller = backstage.caller.clone();
    let filling = backstage.service.db().write(move |tx| {
        Box::pin(async move {
            let known = ModelId::parse(&known.text("modelId")).unwrap();
            let known = models::find(tx, &caller.workspace_id, &known).await?.unwrap();
            let full = Model {
                id: ModelId::parse("k3Jd92LmQx7a").unwrap(),
                file_size: (1 << 30) - known.file_size,
                sha256: "0".repeat(64),
                ..known.clone()
            };
            let contents = models::contents(tx, &known.id).await?.unwrap();
            models::insert(tx, &full, &contents).await
        })
    });
    filling.await.unwrap();
    assert_eq!(client.upload("new", None).await.rejection(), (429, "limit_reached"));
    assert_eq!(client.post("/models/create-upload-url", json!({})).await.rejection(), (429, "limit_reached"));
    let again = client.upload("known", Some(json!({"quality": "share", "length": 1}))).await;
    assert_eq!((again.status, &again.data()["duplicate"]), (200, &json!(true)));
    // The `Content-Length` exceeds the free storage, so the server responds before it has received the body.
    let boundary = "b";
    let mut stream = TcpStream::connect(served.server.base.strip_prefix("http://").unwrap()).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    let head = format!(
        "POST /v1/models HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer {}\r\nContent-Length: {}\r\n\
         Content-Type: multipart/form-data; boundary={boundary}\r\n\r\n--{boundary}\r\n\
         Content-Disposition: form-data; name=\"file\"; filename=\"a.glb\"\r\n\r\nglTF",
        client.token,
        100 << 20
    );
    stream.write_all(head.as_bytes()).unwrap();
    let mut start = [0; 12];
    stream.read_exact(&mut start).unwrap();
    assert_eq!(&start, b"HTTP/1.1 429");
    // Deleting a model frees storage.
    assert_eq!(client.send(Method::DELETE, "/models/k3Jd92LmQx7a", Value::Null).await.status, 200);
    assert_eq!(client.upload("new", None).await.status, 201);
}

on_both! { the_models_of_an_account_are_limited }

/// Numeric settings with their minimum and maximum.
#[rustfmt::skip]
const RANGES: [(&str, f64, f64); 38] = [
    ("sweepAngle", 10.0, 1080.0), ("easeOutRatio", 0.0, 1.0), ("amplitude", 5.0, 180.0),
    ("zoomStart", 0.1, 3.0), ("zoomEnd", 0.1, 3.0), ("scaleFrom", 0.0, 1.0), ("vignette", 0.0, 1.0),
    ("animationSpeed", -10.0, 10.0), ("rotateY", -180.0, 180.0),
    ("panX", -180.0, 180.0), ("tiltX", -180.0, 180.0), ("rollZ", -180.0, 180.0),
    ("translateX", -20.0, 20.0), ("translateY", -20.0, 20.0), ("translateZ", -20.0, 20.0), ("zoom", 0.5, 2.0),
    ("bloomStrength", 0.0, 2.0), ("dofStrength", 0.0, 1.0), ("n8aoIntensity", 0.5, 32.0), ("swayIntensity", 0.0, 2.0),
    ("shadowDarkness", 0.0, 5.0), ("shadowSoftness", 0.0, 1.0),
    ("reflectorMix", 0.0, 1.0), ("reflectorFade", 0.05, 5.0), ("reflectorDepthBlur", 0.0, 10.0),
    ("envRotation", -180.0, 180.0), ("envExposure", 0.0156, 4.0), ("envOpacity", 0.0, 1.0), ("envBlur", 0.0, 1.0),
    ("envScale", 0.25, 4.0), ("envTintStrength", 0.0, 1.0),
    ("spotlightIntensity", 0.0, 32.0), ("lightsIntensity", 0.0, 32.0),
    ("ambientIntensity", 0.0, 16.0), ("glossIntensity", 0.0, 16.0),
    // For scales, this is the range of the magnitude, because a negative scale mirrors.
    ("scaleX", 0.01, 20.0), ("scaleY", 0.01, 20.0), ("scaleZ", 0.01, 20.0),
];
/// Settings with a fixed set of values.
const CHOICES: [(&str, &[&str]); 9] = [
    ("quality", &["share", "standard", "4k", "pro"]),
    ("effect", &["turntable", "hero-spin", "showcase", "zoom-orbit", "reveal", "keyframes", "dataset"]),
    ("aspect", &["16:9", "1:1", "9:16"]),
    ("output", &["video", "dataset"]),
    ("datasetQuality", &["100x800", "196x1024", "400x2048"]),
    ("coverage", &["hemisphere", "sphere"]),
    ("filter", &["none", "sepia", "bw", "vivid", "warm", "cool", "faded", "noir", "grain", "toon"]),
    ("shadowMode", &["shader", "flat", "accumulated"]),
    ("envMode", &["grounded", "lighting", "floating"]),
];
const FLAGS: [&str; 8] =
    ["shadows", "reflector", "easing", "strictCredits", "bloomEnabled", "dofEnabled", "n8aoEnabled", "swayEnabled"];
const COLORS: [&str; 4] = ["bgColor", "envTint", "keyLightColor", "fillLightColor"];

/// Returns valid and invalid values of each setting.
fn valid_and_invalid() -> Vec<(&'static str, Vec<Value>, Vec<Value>)> {
    const STEP: f64 = 1e-6;
    let mut out = Vec::new();
    for (key, min, max) in RANGES {
        let (mut good, mut bad) = (vec![min, max], vec![min - STEP, max + STEP]);
        if key.starts_with("scale") && key != "scaleFrom" {
            good.extend([-min, -max]);
            bad.extend([STEP - min, -STEP - max, 0.0]);
        } else if key == "animationSpeed" {
            bad.push(0.0);
        }
        let bad = bad.into_iter().map(Value::from).chain([json!(min.to_string())]);
        out.push((key, good.into_iter().map(Value::from).collect(), bad.collect()));
    }
    for (key, names) in CHOICES {
        let good = names.iter().map(|word| json!(word)).collect();
        out.push((key, good, vec![json!(names[0].to_uppercase() + "x"), json!(1), json!([names[0]])]));
    }
    for key in FLAGS {
        out.push((key, vec![json!(true), json!(false)], vec![json!("true"), json!(1)]));
    }
    for key in COLORS {
        let bad = ["#fff", "1a2b3c", "#1a2b3g", "#1a2b3c4d", "red", ""].map(Value::from);
        out.push((key, vec![json!("#1a2b3c"), json!("#FFFFFF")], [&bad[..], &[json!(0x001a_2b3c)]].concat()));
    }
    let points = ["left", "center", "right", "top-left", "top-right", "bottom-left", "bottom-right"];
    out.push(("bgAlign", points.map(Value::from).to_vec(), vec![json!("middle"), json!(1)]));
    for key in ["bgImageId", "animation", "envId"] {
        out.push((key, vec![json!("k3Jd92LmQx7a")], vec![json!(1), json!(["k3Jd92LmQx7a"])]));
    }
    out
}

/// The expected numbers and names are written out here, and not taken from the code that is tested.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_setting_has_the_range_of_the_specification() {
    let served = Served::with_sqlite();
    let quote = async |key: &str, value: &Value| served.client.post("/quote", json!({"renders": [{key: value}]})).await;
    for (key, good, bad) in valid_and_invalid() {
        for value in good {
            let answer = quote(key, &value).await;
            assert_eq!(answer.status, 200, "{key} {value}: {answer:?}");
        }
        for value in bad.into_iter().chain([Value::Null]) {
            let answer = quote(key, &value).await;
            assert_eq!(answer.rejection(), (400, "invalid_settings"), "{key} {value}");
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nested_settings_have_the_ranges_of_the_specification() {
    let served = Served::with_sqlite();
    let decal = |more: Value| {
        let mut decal = json!({"id": "d", "imageAssetId": "k3Jd92LmQx7a", "position": [0, 0, 1], "normal": [0, 0, 1],
                               "euler": [0, 0, 0], "size": 1});
        decal.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        json!({"decals": [decal]})
    };
    let gradient = |angle: f64| json!({"bgGradient": {"stops": vec![json!({"color": "#ffffff"}); 2], "angle": angle}});
    let placed = |x: f64| decal(json!({"placementScale": [x, 1, 1]}));
    let pose = json!({"position": [0, 0, 4], "lookAt": [0, 0, 0], "fov": 35});
    let camera = json!({"target": [0, 0, 0], "radius": 4, "theta": 0, "phi": 75, "fov": 35});
    let without = |whole: &Value, key: &str| {
        let mut rest = whole.clone();
        rest.as_object_mut().unwrap().remove(key);
        rest
    };
    let frames = |pose: &Value| json!({"effect": "keyframes", "keyframes": [{"pose": pose}]});
    let base = |camera: &Value| json!({"effect": "keyframes", "camera": camera});
    let mut good = vec![gradient(0.0), gradient(359.0), decal(json!({"imageAspect": 100}))];
    good.extend([0.01, -0.01, 20.0, -20.0].map(placed));
    good.extend([
        frames(&pose),
        base(&camera),
        json!({"effect": "keyframes", "loop": true, "keyframes":
        [{"pose": pose, "dwell": 1, "easing": "linear"}], "startAngle": 0, "endAngle": 90, "startTilt": 0,
        "endTilt": 10, "startZoom": 1, "endZoom": 1, "startFov": 35, "endFov": 40, "easeInSeconds": 1,
        "easeOutSeconds": 1, "kfSegmentDuration": 1}),
    ]);
    let edit = json!({"color": "#1a2b3c", "roughness": 0.5, "metalness": 0.5, "opacity": 0.5, "alphaMode": "BLEND",
        "emissive": "#1a2b3c", "emissiveIntensity": 1, "aoMapIntensity": 1, "envMapIntensity": 1, "side": "double",
        "flatShading": true, "wireframe": true, "normalScale": 1, "bumpScale": 1, "displacementScale": 1,
        "transmission": 0.5, "clearcoat": 0.5, "clearcoatRoughness": 0.5, "sheen": 0.5, "sheenRoughness": 0.5,
        "sheenColor": "#1a2b3c", "iridescence": 0.5, "iridescenceIOR": 1.3, "specularIntensity": 0.5,
        "specularColor": "#1a2b3c", "thickness": 1, "ior": 1.5, "attenuationColor": "#1a2b3c",
        "textureMaps": {"map": false}, "mapAssetId": "k3Jd92LmQx7a"});
    good.push(json!({"materialEdits": {"Wood": edit}}));
    let mut bad = vec![gradient(-1e-6), gradient(359.0 + 1e-6), json!({"materialEdits": {"Wood": {"shine": 1}}})];
    bad.extend(["stops", "angle"].map(|key| json!({"bgGradient": without(&gradient(0.0)["bgGradient"], key)})));
    bad.extend([0.0, -1.0, 100.0 + 1e-6].map(|aspect| decal(json!({"imageAspect": aspect}))));
    bad.extend([0.01 - 1e-6, 1e-6 - 0.01, 20.0 + 1e-6, 0.0].map(placed));
    bad.extend(["position", "lookAt", "fov"].map(|key| frames(&without(&pose, key))));
    bad.extend(["target", "radius", "theta", "phi", "fov"].map(|key| base(&without(&camera, key))));
    let long = |bytes: usize| json!({"materialEdits": {"x".repeat(bytes - "{\"\":{}}".len()): {}}});
    good.push(long(32 << 10));
    bad.push(long((32 << 10) + 1));
    let quote = async |settings: &Value| served.client.post("/quote", json!({"renders": [settings]})).await;
    for settings in good {
        let answer = quote(&settings).await;
        assert_eq!(answer.status, 200, "{settings}: {answer:?}");
    }
    for settings in bad {
        assert_eq!(quote(&settings).await.rejection(), (400, "invalid_settings"), "{settings}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_document_has_the_values_and_defaults_of_the_specification() {
    let served = Served::with_sqlite();
    let document = served.client.get("/openapi.json").await.body;
    let fields = &document["components"]["schemas"]["RenderSettings"]["properties"];
    for (key, names) in CHOICES {
        assert_eq!(fields[key]["enum"], json!(names), "{key}");
    }
    let align = fields["bgAlign"]["enum"].as_array().unwrap();
    assert_eq!(align[..3], ["left", "center", "right"].map(Value::from));
    assert!(align.contains(&json!("top-left")) && align.contains(&json!("bottom-right")), "{align:?}");
    let defaults = json!({
        "quality": "standard", "effect": "turntable", "easeOutRatio": 0.6, "amplitude": 60, "zoomStart": 1,
        "zoomEnd": 0.7, "scaleFrom": 0, "aspect": "16:9", "bgColor": "#ffffff", "bgAlign": "left", "length": 6,
        "animationSpeed": 1, "shadows": true, "reflector": false, "easing": true, "strictCredits": false, "rotateY": 0,
        "panX": 0, "tiltX": 0, "rollZ": 0, "scaleX": 1, "scaleY": 1, "scaleZ": 1, "translateX": 0, "translateY": 0,
        "translateZ": 0, "zoom": 1, "output": "video", "coverage": "hemisphere",
    });
    for (key, default) in defaults.as_object().unwrap() {
        assert_eq!(fields[key]["default"], *default, "{key}");
    }
    for key in ["sweepAngle", "vignette", "bgImageId", "animation"] {
        assert_eq!(fields[key].get("default"), None, "{key}");
    }
    for (key, min, max) in RANGES.into_iter().filter(|(key, ..)| !["scaleX", "scaleY", "scaleZ"].contains(key)) {
        let bounds = (fields[key]["minimum"].as_f64(), fields[key]["maximum"].as_f64());
        assert_eq!(bounds, (Some(min), Some(max)), "{key}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn only_administrators_are_exempt_from_the_length_limit() {
    let served = Served::with_sqlite();
    served.installation.admin(&["account", "create", "root@example.org", "--admin"]);
    let admin = served.client(&served.installation.key("root@example.org", &[]));
    for email in ["root@example.org", EMAIL] {
        served.installation.admin(&["credits", "grant", email, "10000"]);
    }
    for (client, is_capped) in [(&admin, false), (&served.client, true)] {
        let model = client.upload("chair", None).await.text("modelId");
        for (settings, credits) in [
            (json!({"quality": "share", "length": 121}), Some(121)),
            (json!({"quality": "pro", "length": 61}), Some(61 * 64)),
            (json!({"quality": "share", "length": 0}), None),
            (json!({"quality": "share", "length": -1}), None),
        ] {
            let made = client.post("/renders", json!({"modelId": model, "renderSettings": settings})).await;
            let quoted = client.post("/quote", json!({"renders": [settings]})).await;
            if let Some(credits) = credits.filter(|_| !is_capped) {
                assert_eq!((made.status, &made.data()["renderSettings"]), (201, &settings));
                assert_eq!((quoted.status, &quoted.data()["creditsRequired"]), (200, &json!(credits)));
            } else {
                assert_eq!(made.rejection(), (422, "invalid_length"), "{settings}");
                assert_eq!(quoted.rejection(), (422, "invalid_length"), "{settings}");
            }
        }
    }
    // The price of this batch exceeds 64 bits.
    let model = admin.upload("chair", None).await.text("modelId");
    let endless = json!({"modelId": model, "renderSettings": {"length": 1e300}});
    let rejected = admin.post("/renders/batch", json!({"renders": [endless, endless]})).await;
    assert_eq!(rejected.rejection(), (402, "no_credits"));
    let paid = async |client: &Client| client.get("/account").await.data()["paid"].clone();
    assert_eq!((paid(&admin).await, paid(&served.client).await), (json!(10_100 - 121 - 61 * 64), json!(10_100)));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_length_of_a_dataset_is_checked_like_that_of_a_video() {
    let served = Served::with_sqlite();
    let model = served.client.upload("chair", None).await.text("modelId");
    for length in [json!(0), json!(-1), json!(121)] {
        for settings in [
            json!({"output": "dataset", "datasetQuality": "100x800", "length": length}),
            json!({"effect": "dataset", "datasetQuality": "100x800", "videoLength": length}),
        ] {
            let made = served.client.post("/renders", json!({"modelId": model, "renderSettings": settings})).await;
            let quoted = served.client.post("/quote", json!({"renders": [settings]})).await;
            assert_eq!(made.rejection(), (422, "invalid_length"), "{settings}");
            assert_eq!(quoted.rejection(), (422, "invalid_length"), "{settings}");
        }
    }
    let settings = json!({"output": "dataset", "datasetQuality": "100x800", "length": 120});
    assert_eq!(served.client.post("/quote", json!({"renders": [settings]})).await.data()["creditsRequired"], 40);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn any_positive_aspect_ratio_is_valid() {
    let served = Served::with_sqlite();
    for (aspect, status) in [(1e-12, 200), (1e-300, 200), (0.0, 400)] {
        let decal = json!({"id": "d", "imageAssetId": "k3Jd92LmQx7a", "position": [0, 0, 1], "normal": [0, 0, 1],
                           "euler": [0, 0, 0], "size": 1, "imageAspect": aspect});
        let answer = served.client.post("/quote", json!({"renders": [{"decals": [decal]}]})).await;
        assert_eq!(answer.status, status, "{aspect}: {answer:?}");
        assert!(status == 200 || answer.rejection() == (400, "invalid_settings"), "{aspect}: {answer:?}");
    }
}

/// Even if an unknown name is very different from all known names, the error suggests the most similar one.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_error_for_an_unknown_setting_suggests_the_nearest() {
    let served = Served::with_sqlite();
    let document = served.client.get("/openapi.json").await.body;
    let known = document["components"]["schemas"]["RenderSettings"]["properties"].as_object().unwrap();
    let model = served.client.upload("chair", None).await.text("modelId");
    for key in ["fps", "resolution", "x", "zzzzzzzz"] {
        let body = json!({"modelId": model, "renderSettings": {key: 30}});
        let rejected = served.client.post("/renders", body).await;
        assert_eq!(rejected.rejection(), (400, "invalid_settings"), "{key}");
        let message = rejected.body["error"]["message"].as_str().unwrap();
        assert!(message.contains(&format!("'{key}'")), "{message}");
        let nearest = message.split("the nearest is ").nth(1).unwrap_or_else(|| panic!("no suggestion: {message}"));
        let nearest = nearest.split(|c: char| !c.is_ascii_alphanumeric()).find(|word| !word.is_empty());
        assert!(nearest.is_some_and(|nearest| known.contains_key(nearest)), "{message}");
    }
}
