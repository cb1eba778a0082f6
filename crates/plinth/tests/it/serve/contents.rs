//! Tests of the contents of a model in the API: meshes, materials and animations.

use plinth_db::{Db, DbError, DbOptions, models};
use plinth_spec::id::ModelId;
use plinth_spec::state::ModelStatus;
use plinth_testkit::{Form, glb_with_names};
use serde_json::{Value, json};

use super::backstage::Backstage;
use super::on_both;
use super::server::{EMAIL, Served};
use crate::glb;

async fn clips_are_listed(served: Served) {
    let client = &served.client;
    let made = client.form("/models", Form::default().file("file", "a.glb", &glb::with_clips())).await;
    assert_eq!(made.status, 201, "{made:?}");
    client.upload("still", None).await.data();
    let moving = client.get(&format!("/models/{}", made.text("modelId"))).await;
    let clips = json!([
        {"name": "Walk", "duration": 2.0, "channels": 2},
        {"name": "Turn around", "duration": 1.5, "channels": 1},
    ]);
    assert_eq!(moving.data()["animations"], clips);
    let rows = client.get("/models").await;
    let counts = rows.data().as_array().unwrap().iter().map(|row| &row["animationCount"]).collect::<Vec<_>>();
    assert_eq!(counts, [&json!(0), &json!(2)]);
    let still = client.get(&format!("/models/{}", rows.data()[0]["id"].as_str().unwrap())).await;
    assert_eq!(still.data()["animations"], json!([]));
    for row in rows.data().as_array().unwrap() {
        for key in ["animations", "meshNames", "materialNames", "renders"] {
            assert_eq!(row.get(key), None, "only the details of a model contain {key}");
        }
    }
}

async fn names_are_listed_or_null(served: Served) {
    let client = &served.client;
    let made = client.form("/models", Form::default().file("file", "a.glb", &glb::with_clips())).await;
    let known = client.get(&format!("/models/{}", made.text("modelId"))).await;
    assert_eq!(known.data()["meshNames"], json!(["a_b", "a_b_1", "a_b_2"]));
    assert_eq!(known.data()["materialNames"], json!(["Oak wood"]));
    // A model of an earlier version, which did not store names.
    let old = models::Model {
        id: ModelId::parse("before000000").unwrap(),
        workspace_id: Backstage::of(&served).await.caller.workspace_id,
        original_name: "old.glb".to_owned(),
        title: None,
        sku: None,
        tags: Vec::new(),
        file_size: 1,
        sha256: "0".repeat(64),
        animation_count: 0,
        status: ModelStatus::Active,
        created_at: 0,
        updated_at: 0,
    };
    let contents = models::Contents { animations: "[]".to_owned(), mesh_names: None, material_names: None };
    let db = Db::open(&served.installation.database(), DbOptions::default()).await.unwrap();
    let written = db.write(move |tx| {
        Box::pin(async move {
            models::insert(tx, &old, &contents).await?;
            Ok::<_, DbError>(())
        })
    });
    written.await.unwrap();
    db.close().await;
    let unknown = client.get("/models/before000000").await;
    let names = (&unknown.data()["meshNames"], &unknown.data()["materialNames"]);
    assert_eq!((names, &unknown.data()["originalName"]), ((&Value::Null, &Value::Null), &json!("old.glb")));
    assert!(
        unknown.data().as_object().unwrap().contains_key("meshNames"),
        "unknown names are null; the field is not omitted"
    );
    let page = served.browser(EMAIL).await.get("/models/before000000").await;
    assert!(page.shows("not known</span>") && page.shows("Textures and warnings of this model are not known"));
    assert!(!page.shows("<summary>Textures"), "{}", page.html);
    let composer = served.browser(EMAIL).await.get("/models/before000000/compose").await;
    assert_eq!(composer.status, 200, "{}", composer.html);
}

/// The page of a model shows textures, warnings and the number of triangles, which the API does not return.
async fn textures_warnings_and_triangles_are_on_the_page_of_a_model(served: Served) {
    let client = &served.client;
    let form = Form::default().file("file", "a.glb", &glb_with_names("oak"));
    let model = client.form("/models", form).await.text("modelId");
    let browser = served.browser(EMAIL).await;
    let page = browser.get(&format!("/models/{model}")).await;
    for shown in [
        "oak 4 <span class=\"quiet\">png, 2×2</span>",
        "EXT_of_nobody",
        "bufferView 99 does not exist",
        "<dt>Triangles</dt><dd>1</dd>",
        "<dt>Made with</dt><dd>oak 0</dd>",
    ] {
        assert!(page.shows(shown), "{shown}: {}", page.html);
    }
    let composer = browser.get(&format!("/models/{model}/compose")).await;
    assert!(composer.shows("<option value=\"oak 3\" data-maps=\"map\">"), "{}", composer.html);
    // Uploading the same content again returns the existing model.
    let form = Form::default().file("file", "b.glb", &glb_with_names("oak"));
    assert_eq!(client.form("/models", form).await.text("modelId"), model);
    let detail = client.get(&format!("/models/{model}")).await;
    for key in ["contents", "textures", "warnings", "triangles"] {
        assert_eq!(detail.data().get(key), None, "{key}");
    }
    // The page says that this model has no textures.
    let plain = client.upload("plain", None).await.text("modelId");
    let page = browser.get(&format!("/models/{plain}")).await;
    assert!(page.shows("The model has none.") && page.shows("Everything in the file can be used."), "{}", page.html);
}

on_both! {
    clips_are_listed names_are_listed_or_null textures_warnings_and_triangles_are_on_the_page_of_a_model
}
