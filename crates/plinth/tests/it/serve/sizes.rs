//! Tests of files and requests that have the maximum size or exceed it.

use std::io::{Cursor, Read as _, Write as _};
use std::net::TcpStream;
use std::time::Duration;

use bytes::Bytes;
use futures_util::stream::{self, Stream, StreamExt as _};
use plinth_spec::limits;
use plinth_testkit::{Answer, Form, Reply, Web, glb_with_triangle, png};
use reqwest::{Body, Method};
use serde_json::{Value, json};

use super::on_both;
use super::server::Served;

const PIECE: u64 = 1 << 20;

/// Returns a stream of `count` zero bytes, in several chunks.
fn zeros(count: u64) -> impl Stream<Item = std::io::Result<Bytes>> + Send + 'static {
    let piece = Bytes::from(vec![0; usize::try_from(PIECE).unwrap()]);
    let rest = piece.slice(..usize::try_from(count % PIECE).unwrap());
    let pieces = stream::iter(0..count / PIECE).map(move |_| Ok(piece.clone()));
    pieces.chain(stream::once(std::future::ready(Ok(rest))))
}

/// Pads a file to `size` bytes.
fn filled(mut bytes: Vec<u8>, size: u64, with: u8) -> Vec<u8> {
    bytes.resize(usize::try_from(size).unwrap(), with);
    bytes
}

/// Returns whether a request was rejected because its body or fields of its form are too long.
fn is_too_long(answer: &Answer) -> bool {
    answer.body["error"]["message"].to_string().contains("has more than")
}

async fn images_have_at_most_25_mb(served: Served) {
    let client = &served.client;
    for path in ["/overlays", "/assets/textures"] {
        for (size, rejection) in [(limits::IMAGE_BYTES, None), (limits::IMAGE_BYTES + 1, Some((400, "file_too_large")))]
        {
            let form = Form::default().file("file", "a.png", &filled(png(1), size, 0));
            let answer = client.form(path, form).await;
            match rejection {
                None => assert!([200, 201].contains(&answer.status), "{path} {size}: {answer:?}"),
                Some(rejection) => assert_eq!(answer.rejection(), rejection, "{path} {size}"),
            }
        }
        assert_eq!(client.form(path, Form::default().text("name", "x")).await.rejection(), (400, "no_file"), "{path}");
    }
    let overlays = client.get("/overlays").await;
    assert_eq!(overlays.data()[0]["fileSize"], 25 << 20, "the stored file is complete");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn parts_of_environments_have_at_most_48_mb() {
    let served = Served::with_sqlite();
    let (limit, webp, text) = (limits::ENV_PART_BYTES, b"RIFF\0\0\0\0WEBP".to_vec(), b"{}".to_vec());
    for (large, size, rejection) in [
        ("sdr", limit, None),
        ("metadata", limit, None),
        ("gainmap", limit + 1, Some((400, "file_too_large"))),
        ("metadata", limit + 1, Some((400, "file_too_large"))),
        ("thumb", limit + 1, Some((400, "file_too_large"))),
    ] {
        let parts = [("sdr", &webp), ("gainmap", &webp), ("metadata", &text), ("thumb", &webp)];
        let form = parts.into_iter().fold(Form::default(), |form, (name, bytes)| {
            let fill = if name == "metadata" { b' ' } else { 0 };
            let bytes = if name == large { filled(bytes.clone(), size, fill) } else { bytes.clone() };
            form.file(name, name, &bytes)
        });
        let answer = served.client.form("/assets/envs", form).await;
        match rejection {
            None => assert_eq!(answer.status, 201, "{large} {size}: {answer:?}"),
            Some(rejection) => assert_eq!(answer.rejection(), rejection, "{large} {size}"),
        }
    }
}

/// If a client sends too much, the server reads the request to its end and returns an error. A file of the maximum size
/// is accepted and checked.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn models_have_at_most_1_gb() {
    let served = Served::with_sqlite();
    let client = &served.client;
    for (size, rejection) in [
        (limits::MODEL_FILE_BYTES, (422, "upload_failed")),
        (limits::MODEL_FILE_BYTES + 1, (400, "file_too_large")),
        (limits::MODEL_FILE_BYTES + 300 * PIECE, (400, "file_too_large")),
    ] {
        let (before, after) = Form::around_file("file", "a.glb");
        let length = before.len() as u64 + size + after.len() as u64;
        let ends = |bytes: Vec<u8>| stream::once(std::future::ready(Ok(Bytes::from(bytes))));
        let body = ends(before).chain(zeros(size)).chain(ends(after));
        let request = client.request(Method::POST, "/models").header("content-type", Form::content_type());
        let request = request.header("content-length", length).body(Body::wrap_stream(body));
        assert_eq!(Answer::to(request).await.rejection(), rejection, "{size}");
    }
    let staged = client.post("/models/create-upload-url", json!({})).await;
    let put = client.http.put(staged.text("url")).body(Body::wrap_stream(zeros(limits::MODEL_FILE_BYTES + 1)));
    assert_eq!(Answer::to(put).await.rejection(), (400, "file_too_large"));
    let finalize = json!({"ticket": staged.text("ticket"), "filename": "a.glb"});
    assert_eq!(client.post("/models/finalize", finalize.clone()).await.rejection(), (400, "file_too_large"));
    // The link accepts another file.
    let put = client.http.put(staged.text("url")).body(glb_with_triangle("smaller")).send().await.unwrap();
    assert!(put.status().is_success(), "{}", put.status());
    assert_eq!(client.post("/models/finalize", finalize).await.status, 201);
    let endless = Reply::model(vec![0; usize::try_from(PIECE).unwrap()]).saying_no_length();
    let endless = Web::start(move |_visit| endless.clone().repeated(u64::MAX, Duration::ZERO));
    let address = endless.address().to_string();
    let served = served.again(|installation| installation.set("PLINTH_INGEST_ALLOW_HOSTS", &address));
    let answer = served.client.post("/models/ingest", json!({"url": endless.url("/a.glb")})).await;
    assert_eq!(answer.rejection(), (400, "file_too_large"));
    let left = std::fs::read_dir(served.installation.folder.path().join("data/incoming")).unwrap().count();
    assert_eq!(left, 0, "no temporary files remain");
}

/// Before the server reads a file that a client has uploaded to the store directly, it checks the size of the file.
async fn a_staged_file_that_is_too_large_is_removed(served: Served) {
    let client = &served.client;
    let staged = client.post("/models/create-upload-url", json!({})).await;
    assert_eq!(staged.data()["maxBytes"], limits::MODEL_FILE_BYTES);
    assert!(client.http.put(staged.text("url")).body("x").send().await.unwrap().status().is_success());
    let [file] = std::fs::read_dir(served.installation.objects().join("staged"))
        .unwrap()
        .collect::<Vec<_>>()
        .try_into()
        .unwrap();
    let file = file.unwrap().path();
    std::fs::File::options().write(true).open(&file).unwrap().set_len(limits::MODEL_FILE_BYTES + 1).unwrap();
    let finalize = json!({"ticket": staged.text("ticket"), "filename": "a.glb"});
    assert_eq!(client.post("/models/finalize", finalize.clone()).await.rejection(), (400, "file_too_large"));
    assert!(!file.exists(), "the file is removed");
    assert_eq!(client.post("/models/finalize", finalize).await.rejection(), (404, "not_found"));
}

/// Builds a ZIP of a few kilobytes that unpacks to this size.
fn archive(unpacked: u64) -> Vec<u8> {
    let mut archive = zip::ZipWriter::new(Cursor::new(Vec::new()));
    let options = zip::write::SimpleFileOptions::default();
    let obj = b"v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\n";
    archive.start_file("a.obj", options).unwrap();
    archive.write_all(obj).unwrap();
    archive.start_file("a.txt", options).unwrap();
    let piece = vec![0; usize::try_from(PIECE).unwrap()];
    let mut left = usize::try_from(unpacked).unwrap() - obj.len();
    while left > 0 {
        let part = left.min(piece.len());
        archive.write_all(&piece[..part]).unwrap();
        left -= part;
    }
    archive.finish().unwrap().into_inner()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn archives_unpack_to_at_most_500_mb() {
    let served = Served::with_sqlite();
    let upload = async |size| {
        let form = Form::default().file("file", "a.zip", &archive(size));
        served.client.form("/models", form).await
    };
    assert_eq!(upload(limits::ZIP_UNPACKED_BYTES).await.status, 201);
    assert_eq!(upload(limits::ZIP_UNPACKED_BYTES + 1).await.rejection(), (400, "upload_failed"));
}

/// Every JSON body has the size limit that the OpenAPI document states.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn json_bodies_have_the_limits_of_the_document() {
    let served = Served::with_sqlite();
    let client = &served.client;
    let document = client.get("/openapi.json").await.body;
    let mut limited = Vec::new();
    for (path, item) in document["paths"].as_object().unwrap() {
        for (method, operation) in item.as_object().unwrap() {
            let body = &operation["requestBody"];
            if body["content"]["application/json"].is_null() {
                continue;
            }
            let description = body["description"].as_str().unwrap_or_else(|| panic!("{method} {path} states no limit"));
            let most: usize = description.strip_prefix("At most ").unwrap().split(' ').next().unwrap().parse().unwrap();
            let send = async |bytes: usize| {
                let body = filled(b"{}".to_vec(), bytes as u64, b' ');
                let method = Method::from_bytes(method.to_uppercase().as_bytes()).unwrap();
                let request = client.request(method, &path.replace("{modelId}", "k3Jd92LmQx7a"));
                Answer::to(request.header("content-type", "application/json").body(body)).await
            };
            let (at, above) = (send(most).await, send(most + 1).await);
            assert!(!is_too_long(&at), "{method} {path}: {at:?}");
            assert_eq!(above.rejection(), (400, "bad_request"), "{method} {path}");
            assert!(is_too_long(&above), "{method} {path}: {above:?}");
            limited.push(most);
        }
    }
    limited.sort_unstable();
    let (small, render, batch) = (limits::JSON_SMALL_BYTES, limits::JSON_RENDER_BYTES, limits::JSON_BATCH_BYTES);
    assert_eq!(limited, [[small; 4].as_slice(), &[render; 8], &[batch; 2]].concat());
}

/// Without a limit, parsing many small values would take many times the memory of the text.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_number_of_json_values_is_limited() {
    let served = Served::with_sqlite();
    let quote = async |values: usize| {
        let body = json!({"renders": [{"hiddenMeshNames": vec![json!(""); values]}]});
        served.client.post("/quote", body).await
    };
    // Six values are no strings: the object, its member, the list, its member, the inner list, and one that the
    // counting adds.
    assert_eq!(quote(limits::JSON_BATCH_VALUES - 6).await.rejection(), (400, "invalid_settings"));
    let rejected = quote(limits::JSON_BATCH_VALUES - 4).await;
    assert_eq!(rejected.rejection(), (400, "bad_request"));
    assert!(rejected.body["error"]["message"].as_str().unwrap().contains("more than 600000 values"), "{rejected:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn batches_with_many_mesh_names_or_material_edits_are_priced() {
    let served = Served::with_sqlite();
    let names = (0..512).map(|i| format!("{i:0>80}")).collect::<Vec<_>>();
    // The edits of all materials together have nearly 32 KB.
    let edit = json!({"opacity": 1, "roughness": 1, "metalness": 1, "sheen": 1, "ior": 1, "clearcoat": 1, "thickness": 1,
        "bumpScale": 1, "transmission": 1});
    let edits = (0..240).map(|i| (i.to_string(), edit.clone())).collect::<serde_json::Map<_, _>>();
    for settings in [json!({"hiddenMeshNames": names}), json!({"materialEdits": edits})] {
        let quote = served.client.post("/quote", json!({"renders": vec![settings; 100]})).await;
        assert_eq!(quote.status, 200, "{quote:?}");
    }
}

/// The server receives the headers of both requests before it receives the first body.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn large_bodies_of_one_account_wait_for_each_other() {
    let served = Served::with_sqlite();
    let names = vec![json!(""); limits::JSON_BATCH_VALUES - 6];
    let mut body = json!({"renders": [{"hiddenMeshNames": names}]}).to_string();
    body.push_str(&" ".repeat(limits::JSON_BATCH_BYTES - body.len()));
    let head = format!(
        "POST /v1/quote HTTP/1.1\r\nHost: a\r\nConnection: close\r\nAuthorization: Bearer {}\r\n\
         Content-Type: application/json\r\nContent-Length: {}\r\n\r\n",
        served.client.token,
        body.len()
    );
    let address = served.server.base.strip_prefix("http://").unwrap();
    let begun = [(); 2].map(|()| {
        let mut stream = TcpStream::connect(address).unwrap();
        stream.write_all(head.as_bytes()).unwrap();
        stream
    });
    tokio::time::sleep(Duration::from_millis(500)).await;
    let answers = begun.map(|mut stream| {
        let body = body.clone();
        std::thread::spawn(move || {
            stream.write_all(body.as_bytes()).unwrap();
            let mut answer = String::new();
            stream.read_to_string(&mut answer).unwrap();
            answer
        })
    });
    for answer in answers {
        let answer = answer.join().unwrap();
        assert!(answer.starts_with("HTTP/1.1 400 ") && answer.contains("invalid_settings"), "{answer}");
    }
}

/// Spec, Limits: 100 renders per batch, 64 keyframes and 64 decals per render.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_batch_may_have_a_hundred_renders_with_all_keyframes_and_decals() {
    let served = Served::with_sqlite();
    let model = served.client.upload("chair", None).await.text("modelId");
    let image = Form::default().file("file", "a.png", &png(1)).text("layer", "decal");
    let image = served.client.form("/overlays", image).await.text("id");
    let keyframe =
        json!({"pose": {"position": [0.5, 1.25, 4.0], "lookAt": [0.0, 0.125, 0.0], "fov": 35.5}, "dwell": 0.5});
    let decal = |n: u32| {
        json!({"id": format!("decal-{n}"), "imageAssetId": image, "position": [0.1, 0.2, 0.3], "normal": [0.0, 0.0, 1.0],
            "euler": [0.0, 0.0, 0.5], "size": 0.25, "imageAspect": 1.5, "placementScale": [1.0, 1.0, 1.0]})
    };
    let decals: Vec<Value> = (0..64).map(decal).collect();
    let render = |n: u32| {
        let settings = json!({"quality": "share", "length": 0.5 + f64::from(n) / 1000.0, "effect": "keyframes",
            "keyframes": vec![keyframe.clone(); 64], "decals": decals});
        json!({"modelId": model, "renderSettings": settings})
    };
    let batch = json!({"renders": (0..100).map(render).collect::<Vec<_>>()});
    let created = served.client.post("/renders/batch", batch).await;
    assert_eq!((created.status, created.data().as_array().map(Vec::len)), (201, Some(100)), "{:.300?}", created.body);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn fields_of_forms_have_a_size_limit() {
    let served = Served::with_sqlite();
    let client = &served.client;
    let text = |bytes: usize| String::from_utf8(filled(b"{}".to_vec(), bytes as u64, b' ')).unwrap();
    let upload = async |settings: usize| {
        let form = Form::default().file("file", "a.glb", &glb_with_triangle("a"));
        client.form("/models", form.text("renderSettings", &text(settings))).await
    };
    assert_eq!(upload(limits::JSON_RENDER_BYTES).await.status, 201);
    assert_eq!(upload(limits::JSON_RENDER_BYTES + 1).await.rejection(), (400, "invalid_settings"));
    let texture = async |name: usize| {
        let form = Form::default().file("file", "a.png", &png(1)).text("name", &" ".repeat(name));
        client.form("/assets/textures", form).await
    };
    assert_eq!(texture(limits::FORM_FIELD_BYTES).await.status, 201);
    assert_eq!(texture(limits::FORM_FIELD_BYTES + 1).await.rejection(), (400, "bad_request"));
}

/// Fields with the same name count separately. The error depends on the field with which the form becomes too large.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_fields_of_a_form_have_a_size_limit_together() {
    let served = Served::with_sqlite();
    let image = filled(png(1), limits::IMAGE_BYTES, 0);
    let name = " ".repeat(limits::FORM_FIELD_BYTES);
    let most = (limits::JSON_RENDER_BYTES + limits::FORM_UNKNOWN_BYTES) / limits::FORM_FIELD_BYTES + 16;
    let form = |names: usize| {
        let form = Form::default().file("file", "a.png", &image);
        (0..names).fold(form, |form, _| form.text("name", &name))
    };
    let send = async |form: Form| served.client.form("/assets/textures", form).await;
    assert_eq!(send(form(most)).await.status, 201);
    for (form, code) in [(form(most + 1), "bad_request"), (form(most).file("file", "a.png", b"a"), "file_too_large")] {
        let answer = send(form).await;
        assert_eq!(answer.rejection(), (400, code));
        let message = answer.body["error"]["message"].to_string();
        assert!(message.contains("too large together"), "{code}: {message}");
    }
}

/// The parser of forms buffers everything before the content of a part in memory.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn headers_of_the_parts_of_a_form_have_a_size_limit() {
    let served = Served::with_sqlite();
    let client = &served.client;
    let endless = "a".repeat(3 * limits::FORM_HEAD_BYTES);
    let unused = format!("--x\r\nContent-Disposition: form-data; name=\"unused\"\r\n\r\n{endless}\r\n");
    let file = "--x\r\nContent-Disposition: form-data; name=\"file\"; filename=\"a.glb\"\r\n\r\nglTF\r\n--x--\r\n";
    for path in ["/models", "/overlays", "/assets/textures", "/assets/envs"] {
        let send = async |body: String| {
            let request = client.request(Method::POST, path).header("content-type", "multipart/form-data; boundary=x");
            let answer = Answer::to(request.body(body)).await;
            (answer.status, answer.body["error"]["message"].as_str().unwrap().contains("the headers of a part"))
        };
        assert_eq!(send(format!("--x\r\nX: {endless}")).await, (400, true), "{path}");
        assert_eq!(send(endless.clone()).await, (400, true), "{path}");
        // The chunk in which the content ends is not counted, and it may contain some hundred kilobytes of the next headers.
        assert_eq!(send(format!("{unused}--x\r\nX: {}", endless.repeat(6))).await, (400, true), "{path}");
        // The content of an unused field has another limit.
        assert!(!send(format!("{unused}{file}")).await.1, "{path}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn unknown_fields_of_forms_have_a_size_limit_and_fields_a_maximum_number() {
    let served = Served::with_sqlite();
    let client = &served.client;
    let (glb, half) = (glb_with_triangle("a"), "a".repeat(limits::FORM_UNKNOWN_BYTES / 2 - 100));
    for (path, file, status) in
        [("/models", "a.glb", 201), ("/assets/textures", "a.png", 201), ("/overlays", "a.png", 200)]
    {
        let content = if status == 201 && path == "/models" { glb.clone() } else { png(1) };
        let form = || Form::default().text("layer", "background").file("file", file, &content);
        let within = form().text("unknown", &half).text("other", &half);
        // The server may reject the unknown fields for another reason, but not because of their size.
        let answer = client.form(path, within.clone()).await;
        assert!(!is_too_long(&answer), "{path}: {answer:?}");
        let answer = client.form(path, within.text("more", &"a".repeat(300))).await;
        assert_eq!(answer.rejection(), (400, "bad_request"), "{path}");
        assert!(is_too_long(&answer), "{path}: {answer:?}");
        let many = (0..limits::FORM_FIELDS).fold(form(), |form, n| form.text(&n.to_string(), "a"));
        assert_eq!(client.form(path, many).await.status, 400, "{path}");
    }
}

/// Images are decoded in a child process.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn images_that_decode_to_many_pixels_do_not_take_the_servers_memory() {
    const MOST_MB: u64 = 300;
    let served = Served::with_sqlite();
    let mut picture = Cursor::new(Vec::new());
    // Each image file has about 130 KB and decodes to 128 MB of grey pixels.
    let grey = image::GrayImage::new(16_384, 8_192);
    grey.write_to(&mut picture, image::ImageFormat::Png).unwrap();
    drop(grey);
    let picture = picture.into_inner();
    let sent = (0..12_u8).map(|n| {
        let (client, mut picture) = (served.client.clone(), picture.clone());
        // Appends a byte, so that each file is different.
        picture.push(n);
        tokio::spawn(async move {
            client.form("/assets/textures", Form::default().file("file", "a.png", &picture)).await.status
        })
    });
    let sent: Vec<_> = sent.collect();
    while !sent.iter().all(tokio::task::JoinHandle::is_finished) {
        let asked = std::time::Instant::now();
        assert_eq!(served.client.get("/health").await.status, 200);
        assert!(asked.elapsed() < Duration::from_secs(1), "{:?}", asked.elapsed());
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    for one in sent {
        assert_eq!(one.await.unwrap(), 201, "the images are valid");
    }
    let peak = served.server.peak_memory_mb();
    assert!(peak < MOST_MB, "the server took {peak} MB");
}

on_both! { images_have_at_most_25_mb a_staged_file_that_is_too_large_is_removed }
