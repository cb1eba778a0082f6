//! Tests of texts and names with special characters.

use plinth_testkit::{Form, glb_with_triangle, png};
use reqwest::Method;
use serde_json::json;

use super::on_both;
use super::server::Served;

/// Texts with characters that have a special meaning in databases, headers or file systems.
const ODD: [&str; 8] = [
    "a\0b",
    "a\u{1f}b",
    "a\r\nSet-Cookie: x=1",
    "\u{202e}gpj.exe",
    "😀",
    "'; DROP TABLE models; --",
    "\u{feff}",
    "%s%n",
];

async fn special_characters_in_urls_are_rejected_or_not_found(served: Served) {
    let client = &served.client;
    for text in ODD {
        let encoded: String = url::form_urlencoded::byte_serialize(text.as_bytes()).collect();
        for query in [
            "models?tags=",
            "models?status=",
            "models?cursor=",
            "models?updatedSince=",
            "renders?model=",
            "renders?status=",
            "purchases?limit=",
            "overlays?layer=",
        ] {
            let answer = client.get(&format!("/{query}{encoded}")).await;
            assert!([200, 400].contains(&answer.status), "{query}{encoded}: {answer:?}");
        }
        for path in ["models/", "renders/", "renders/x/hls/", "overlays/", "assets/envs/"] {
            let answer = client.send(Method::DELETE, &format!("/{path}{encoded}"), json!({})).await;
            assert!([404, 405].contains(&answer.status), "{path}{encoded}: {answer:?}");
        }
    }
}

async fn special_characters_in_bodies_are_rejected_or_stored(served: Served) {
    let client = &served.client;
    served.installation.admin(&["credits", "grant", super::server::EMAIL, "10000"]);
    let model = client.upload("chair", None).await.text("modelId");
    let path = format!("/models/{model}");
    for text in ODD {
        let kept = client.send(Method::PATCH, &path, json!({"title": text, "tags": [text]})).await;
        if kept.status == 200 {
            assert_eq!(client.get(&path).await.data()["title"], text.trim());
        } else {
            assert_eq!(kept.rejection(), (400, "bad_request"), "{text:?}");
        }
        for (path, body) in [
            ("/renders", json!({"modelId": text})),
            (
                "/renders",
                json!({"modelId": model, "renderSettings": {"animation": text, "bgImageId": text, "envId": text}}),
            ),
            (
                "/renders",
                json!({"modelId": model, "renderSettings": {"hiddenMeshNames": [text], "materialEdits": {text: {}}}}),
            ),
            ("/renders", json!({"modelId": model, "renderSettings": {text: 1}})),
            ("/models/finalize", json!({"ticket": text, "filename": text})),
            ("/models/finalize", json!({"ticket": "x".repeat(40), "filename": format!("{text}.glb")})),
            ("/models/ingest", json!({"url": text})),
            ("/models/check-hash", json!({"sha256": text})),
            ("/overlays/resolve", json!({"sha256": text, "layer": text})),
            ("/quote", json!({"renders": [{"quality": text}]})),
        ] {
            let answer = client.post(path, body.clone()).await;
            assert!([201, 400, 404].contains(&answer.status), "{path} {body}: {answer:?}");
        }
        let form = Form::default().file("file", "a.png", &png(7)).text("name", text);
        for path in ["/overlays", "/assets/textures"] {
            let answer = client.form(path, form.clone()).await;
            assert!([200, 201, 400].contains(&answer.status), "{path} {text:?}: {answer:?}");
        }
    }
}

/// File names are returned unchanged. They cannot inject headers or parameters.
async fn special_characters_in_file_names_are_escaped(served: Served) {
    let client = &served.client;
    let long = "x".repeat(4096);
    for name in ["a\tb", "%00", "..\\..\\x", "../../x", "'; x=y", "\u{202e}x", "😀 ü", ";filename=y", &long] {
        let form = Form::default().file("file", &format!("{name}.glb"), &glb_with_triangle(name));
        let made = client.form("/models", form).await;
        if made.status != 201 {
            assert_eq!(made.rejection().0, 400, "{name}");
            continue;
        }
        let path = format!("/models/{}/file", made.text("modelId"));
        let file = client.request(Method::GET, &path).send().await.unwrap();
        let disposition = file.headers()["content-disposition"].to_str().unwrap().to_owned();
        assert!(
            disposition.starts_with("attachment; filename=\"") && disposition.matches('"').count() == 2,
            "{disposition}"
        );
        assert!(
            disposition.matches(';').count() <= 2 && !disposition.contains("/x") && !disposition.contains("\\x"),
            "{disposition}"
        );
        let link = client.get(&format!("{path}-url")).await.text("url");
        let by_link = client.http.get(link).send().await.unwrap();
        assert_eq!(
            (by_link.status().as_u16(), by_link.headers()["content-disposition"].to_str().unwrap()),
            (200, disposition.as_str())
        );
    }
}

on_both! {
    special_characters_in_urls_are_rejected_or_not_found special_characters_in_bodies_are_rejected_or_stored
    special_characters_in_file_names_are_escaped
}
