//! Tests of uploads that go directly to the store.

use plinth_testkit::{Answer, glb_with_triangle};
use serde_json::json;

use super::on_both;
use super::server::Served;

async fn a_staged_upload_becomes_a_model(served: Served) {
    let client = &served.client;
    let staged = client.post("/models/create-upload-url?expires=5", json!({})).await;
    let (lifetime, most) = (&staged.data()["expiresIn"], &staged.data()["maxBytes"]);
    assert_eq!((staged.status, lifetime, most), (201, &json!(60), &json!(1 << 30)));
    let (url, ticket) = (staged.text("url"), staged.text("ticket"));
    let finalize = json!({"ticket": ticket, "filename": "chair.glb", "renderSettings": {"quality": "share"}});
    assert_eq!(
        client.post("/models/finalize", finalize.clone()).await.rejection(),
        (404, "not_found"),
        "nothing was uploaded"
    );
    let glb = glb_with_triangle("staged");
    let put = client.http.put(&url).body(glb.clone()).send().await.unwrap();
    assert!(put.status().is_success(), "{}", put.status());
    assert!(
        client.http.get(&url).send().await.unwrap().status().is_client_error(),
        "an upload link does not allow reading"
    );
    for (body, rejection) in [
        (json!({"ticket": ticket, "filename": "chair.zip"}), (400, "invalid_format")),
        (json!({"ticket": ticket}), (400, "bad_request")),
        (json!({"ticket": "x", "filename": "a.glb"}), (400, "bad_request")),
        (json!({"filename": "a.glb"}), (400, "bad_request")),
        (json!({"ticket": "x".repeat(40), "filename": "a.glb"}), (404, "not_found")),
    ] {
        assert_eq!(client.post("/models/finalize", body.clone()).await.rejection(), rejection, "{body}");
    }
    let eve = served.client(&served.installation.account("eve@example.org"));
    assert_eq!(
        eve.post("/models/finalize", finalize.clone()).await.rejection(),
        (404, "not_found"),
        "another's ticket"
    );
    let made = client.post("/models/finalize", finalize.clone()).await;
    assert_eq!((made.status, made.data().get("duplicate")), (201, None));
    let render = client.get(&format!("/renders/{}", made.text("renderId"))).await;
    assert_eq!(render.data()["renderSettings"], json!({"quality": "share"}));
    let file = client.get_with(&format!("/models/{}/file", made.text("modelId")), "accept", "*/*").await;
    assert_eq!(file.bytes().await.unwrap(), glb);
    assert_eq!(
        client.post("/models/finalize", finalize).await.rejection(),
        (404, "not_found"),
        "a ticket can be used only once"
    );
    // Uploads the same file again, with another ticket.
    let staged = client.post("/models/create-upload-url", json!({})).await;
    client.http.put(staged.text("url")).body(glb).send().await.unwrap();
    let again = client.post("/models/finalize", json!({"ticket": staged.text("ticket"), "filename": "b.GLB"})).await;
    assert_eq!((again.status, &again.data()["duplicate"]), (200, &json!(true)));
    let left = std::fs::read_dir(served.installation.objects().join("staged")).map_or(0, Iterator::count);
    assert_eq!(left, 0, "the staged file is removed");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_part_of_a_file_is_not_stored_as_the_whole_file() {
    let served = Served::with_sqlite();
    let client = &served.client;
    let staged = client.post("/models/create-upload-url", json!({})).await;
    let put = client.http.put(staged.text("url")).header("content-range", "bytes 0-3/8").body("glTF");
    assert_eq!(Answer::to(put).await.rejection(), (400, "bad_request"));
    let finalize = json!({"ticket": staged.text("ticket"), "filename": "a.glb"});
    assert_eq!(client.post("/models/finalize", finalize).await.rejection(), (404, "not_found"));
}

on_both! { a_staged_upload_becomes_a_model }
