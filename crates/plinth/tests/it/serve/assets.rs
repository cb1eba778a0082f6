//! Tests of overlays, textures and environments over HTTP.

use plinth_db::{Db, DbError, DbOptions, envs, textures};
use plinth_service::access::Caller;
use plinth_spec::id::{EnvId, TextureId};
use plinth_spec::limits;
use plinth_testkit::{Answer, Client, Form, png, sha256_hex};
use reqwest::Method;
use serde_json::{Value, json};

use super::backstage::Backstage;
use super::on_both;
use super::server::{EMAIL, Served};

fn image(shade: u8) -> Form {
    Form::default().file("file", "a.png", &png(shade))
}

pub(super) fn environment() -> Form {
    let webp = b"RIFF\0\0\0\0WEBPsome";
    Form::default().file("sdr", "a", webp).file("gainmap", "b", webp).file("metadata", "c", b"{}")
}

async fn delete(client: &Client, path: String) -> Answer {
    client.send(Method::DELETE, &path, json!({})).await
}

async fn overlays_have_defaults_and_bounds(served: Served) {
    let client = &served.client;
    let made = client.form("/overlays", image(1)).await;
    let id = made.text("id");
    assert_eq!(
        (made.status, made.data()),
        (200, &json!({"id": id, "layer": "background", "alignment": "left", "name": "a.png"}))
    );
    let row = client.get("/overlays").await.data()[0].clone();
    let created = row["createdAt"].clone();
    let expected = json!({"id": id, "layer": "background", "name": "a.png", "description": "", "alignment": "left",
        "opacity": 1.0, "fileSize": png(1).len(), "width": 2, "height": 2, "filename": "a.png", "isSystem": false,
        "createdAt": created});
    assert_eq!(row, expected);
    for layer in ["background", "foreground", "decal", "texture"] {
        let full = image(2).text("layer", layer).text("alignment", "center").text("opacity", "0.5");
        let full = full.text("name", &"n".repeat(100)).text("description", &"d".repeat(500));
        assert_eq!(client.form("/overlays", full).await.text("layer"), layer);
        let listed = client.get(&format!("/overlays?layer={layer}")).await;
        let rows = listed.data().as_array().unwrap();
        assert!(rows.iter().all(|row| row["layer"] == layer) && !rows.is_empty(), "{listed:?}");
        assert_eq!((&rows[0]["opacity"], &rows[0]["alignment"]), (&json!(0.5), &json!("center")));
    }
    for (field, value) in [
        ("layer", "sky"),
        ("alignment", "top-left"),
        ("opacity", "1.01"),
        ("opacity", "-0.1"),
        ("opacity", "NaN"),
        ("name", &"n".repeat(101)),
        ("description", &"d".repeat(501)),
    ] {
        let rejected = client.form("/overlays", image(1).text(field, value)).await;
        assert_eq!(rejected.rejection(), (400, "bad_request"), "{field} {value}");
    }
    assert_eq!(client.get("/overlays?layer=sky").await.rejection(), (400, "bad_request"));
    for (what, bytes) in
        [("gif", &b"GIF89a"[..]), ("svg", b"<svg xmlns='http://www.w3.org/2000/svg'/>"), ("cut", &png(1)[..40])]
    {
        for path in ["/overlays", "/assets/textures"] {
            let rejected = client.form(path, Form::default().file("file", "a.png", bytes)).await;
            assert_eq!(rejected.rejection(), (400, "bad_request"), "{path} {what}");
        }
    }
    assert_eq!(delete(client, format!("/overlays/{id}")).await.data(), &json!({"id": id, "deleted": true}));
    assert_eq!(delete(client, format!("/overlays/{id}")).await.rejection(), (404, "not_found"));
}

async fn equal_images_are_stored_once(served: Served) {
    let client = &served.client;
    let hash = |shade: u8| sha256_hex(&png(shade));
    let overlay = client.form("/overlays", image(1).text("layer", "decal")).await.text("id");
    let texture = client.form("/assets/textures", image(2)).await.text("id");
    let resolve = async |body: Value| client.post("/overlays/resolve", body).await;
    for (body, expected) in [
        (json!({"sha256": hash(1), "layer": "decal"}), Some(&overlay)),
        (json!({"sha256": hash(1).to_uppercase(), "layer": "decal"}), Some(&overlay)),
        (json!({"sha256": hash(1)}), None),
        (json!({"sha256": hash(2), "layer": "texture"}), Some(&texture)),
        (json!({"sha256": hash(2), "layer": "decal"}), None),
        (json!({"sha256": hash(3), "layer": "texture"}), None),
    ] {
        let found = resolve(body.clone()).await;
        assert_eq!(
            (found.data()["exists"] == true, found.data()["id"].as_str()),
            (expected.is_some(), expected.map(String::as_str)),
            "{body}"
        );
    }
    for body in [json!({}), json!({"sha256": "abc"}), json!({"sha256": "x".repeat(64)})] {
        assert_eq!(resolve(body).await.rejection(), (400, "sha256_required"));
    }
    assert_eq!(resolve(json!({"sha256": hash(1), "layer": "sky"})).await.rejection(), (400, "bad_request"));
    let again = client.form("/assets/textures", image(2).text("name", "other")).await;
    assert_eq!((again.status, again.data()), (200, &json!({"id": texture, "deduped": true})));
    let row = client.get("/assets/textures").await.data()[0].clone();
    let expected = json!({"id": texture, "name": "", "fileSize": png(2).len(), "width": 2, "height": 2, "createdAt": row["createdAt"]});
    assert_eq!(row, expected);
    // In another workspace, the same content creates another texture.
    let eve = served.client(&served.installation.account("eve@example.org"));
    let theirs = eve.form("/assets/textures", image(2)).await;
    assert!(theirs.status == 201 && theirs.text("id") != texture);
    assert_eq!(delete(client, format!("/assets/textures/{texture}")).await.data()["deleted"], true);
    assert_eq!(delete(client, format!("/assets/textures/{texture}")).await.rejection(), (404, "not_found"));
    assert_eq!(client.form("/assets/textures", image(2)).await.status, 201, "a deleted texture is created again");
}

async fn an_environment_needs_three_valid_files(served: Served) {
    let client = &served.client;
    let webp = b"RIFF\0\0\0\0WEBPsome";
    let full =
        environment().file("thumb", "d", webp).text("name", "Studio").text("width", "4096").text("height", "2048");
    let made = client.form("/assets/envs", full).await;
    assert_eq!(made.status, 201);
    let id = made.text("id");
    let row = client.get("/assets/envs").await.data()[0].clone();
    let expected = json!({"id": id, "name": "Studio", "fileSize": 3 * webp.len() + 2, "width": 4096, "height": 2048,
        "createdAt": row["createdAt"]});
    assert_eq!(row, expected);
    let without = |part: &str| {
        let parts: [(&str, &[u8]); 3] = [("sdr", webp), ("gainmap", webp), ("metadata", b"{}")];
        let rest = parts.into_iter().filter(|(name, _)| *name != part);
        rest.fold(Form::default(), |form, (name, bytes)| form.file(name, name, bytes))
    };
    for part in ["sdr", "gainmap", "metadata"] {
        assert_eq!(client.form("/assets/envs", without(part)).await.rejection(), (400, "no_file"), "without {part}");
        let wrong = without(part).file(part, part, b"nonsense");
        assert_eq!(client.form("/assets/envs", wrong).await.rejection(), (400, "bad_request"), "an invalid {part}");
    }
    let wrong = environment().file("thumb", "d", &png(1));
    assert_eq!(client.form("/assets/envs", wrong).await.rejection(), (400, "bad_request"), "a PNG is not a WebP");
    let list = without("metadata").file("metadata", "c", b"[]");
    assert_eq!(client.form("/assets/envs", list).await.rejection(), (400, "bad_request"), "metadata must be an object");
    assert_eq!(client.form("/assets/envs", environment().text("width", "0")).await.rejection(), (400, "bad_request"));
    let plain = client.form("/assets/envs", environment()).await.text("id");
    assert_eq!(client.get("/assets/envs").await.data()[0]["width"], Value::Null);
    assert_eq!(delete(client, format!("/assets/envs/{plain}")).await.data(), &json!({"id": plain, "deleted": true}));
    assert_eq!(delete(client, format!("/assets/envs/{plain}")).await.rejection(), (404, "not_found"));
}

/// The limit of each kind of asset applies to all workspaces of an account together.
async fn each_kind_has_a_maximum_number(served: Served) {
    let client = &served.client;
    let team = served.installation.admin(&["workspace", "create", "Team", "--owner", EMAIL])["id"]
        .as_str()
        .unwrap()
        .to_owned();
    let bound = served.client(&served.installation.key(EMAIL, &["--workspace", &team]));
    let bob = served.client(&served.installation.account("bob@example.org"));
    for (path, cap, form) in [
        ("/overlays", limits::OVERLAYS, image as fn(u8) -> Form),
        ("/assets/textures", limits::TEXTURES, image),
        ("/assets/envs", limits::ENVS, |_| environment()),
    ] {
        let mut first = String::new();
        for number in 0..cap {
            let whose = if number % 10 == 9 { &bound } else { client };
            let made = whose.form(path, form(u8::try_from(number).unwrap())).await;
            if number == 0 {
                first = made.text("id");
            }
            made.data();
        }
        for whose in [client, &bound] {
            assert_eq!(whose.form(path, form(200)).await.rejection(), (429, "limit_reached"), "{path}");
        }
        assert!(
            [200, 201].contains(&bob.form(path, form(200)).await.status),
            "{path}: another account has its own limit"
        );
        if path == "/assets/textures" {
            let known = client.form(path, form(1)).await;
            assert_eq!(
                (known.status, &known.data()["deduped"]),
                (200, &json!(true)),
                "a file that is stored already does not count again"
            );
        }
        delete(client, format!("{path}/{first}")).await.data();
        assert!(
            [200, 201].contains(&bound.form(path, form(200)).await.status),
            "{path}: after a deletion, the account is below its limit"
        );
        assert_eq!(client.form(path, form(201)).await.rejection(), (429, "limit_reached"), "{path}");
    }
}

/// Inserts rows of assets with these total sizes. The store does not contain their files.
async fn fill(served: &Served, caller: &Caller, texture_bytes: u64, env_bytes: u64) {
    let db = Db::open(&served.installation.database(), DbOptions::default()).await.unwrap();
    let workspace_id = caller.workspace_id.clone();
    let texture = textures::Texture {
        id: TextureId::parse("large0000000").unwrap(),
        workspace_id: workspace_id.clone(),
        name: String::new(),
        file_size: texture_bytes,
        width: 1,
        height: 1,
        content_type: "image/png".to_owned(),
        sha256: "0".repeat(64),
        created_at: 0,
    };
    let env = envs::Env {
        id: EnvId::parse("large0000000").unwrap(),
        workspace_id,
        name: String::new(),
        file_size: env_bytes,
        width: None,
        height: None,
        has_thumb: false,
        is_system: false,
        created_at: 0,
    };
    let written = db.write(move |tx| {
        Box::pin(async move {
            textures::insert(tx, &texture).await?;
            envs::insert(tx, &env).await?;
            Ok::<_, DbError>(())
        })
    });
    written.await.unwrap();
    db.close().await;
}

async fn each_kind_has_a_maximum_size(served: Served) {
    let client = &served.client;
    let caller = Backstage::of(&served).await.caller;
    let (one_image, one_env) = (png(1).len() as u64, 34);
    fill(&served, &caller, limits::TEXTURES_BYTES - one_image, limits::ENVS_BYTES - one_env).await;
    assert_eq!(client.form("/assets/textures", image(1)).await.status, 201, "exactly the remaining size");
    assert_eq!(client.form("/assets/textures", image(2)).await.rejection(), (429, "limit_reached"));
    assert_eq!(client.form("/assets/envs", environment()).await.status, 201, "exactly the remaining size");
    assert_eq!(client.form("/assets/envs", environment()).await.rejection(), (429, "limit_reached"));
    assert_eq!(client.form("/overlays", image(2)).await.status, 200, "the total size of overlays is not limited");
}

on_both! {
    overlays_have_defaults_and_bounds equal_images_are_stored_once an_environment_needs_three_valid_files
    each_kind_has_a_maximum_number each_kind_has_a_maximum_size
}

/// Builds a JPEG with these dimensions in which no two rows are equal.
fn jpeg(width: u32, height: u32) -> Vec<u8> {
    let shade = |n: u32| u8::try_from(n * 37 % 256).unwrap();
    let picture = ::image::RgbImage::from_fn(width, height, |x, y| ::image::Rgb([shade(x), shade(y), shade(x * y)]));
    let mut bytes = std::io::Cursor::new(Vec::new());
    picture.write_to(&mut bytes, ::image::ImageFormat::Jpeg).unwrap();
    bytes.into_inner()
}

/// Adds an EXIF orientation to a JPEG.
fn held(jpeg: &[u8], orientation: u8) -> Vec<u8> {
    let mut note = b"Exif\0\0II*\0\x08\0\0\0\x01\0\x12\x01\x03\0\x01\0\0\0".to_vec();
    note.extend([orientation, 0, 0, 0, 0, 0, 0, 0]);
    let length = u16::try_from(note.len() + 2).unwrap().to_be_bytes();
    [&jpeg[..2], b"\xff\xe1", &length, &note, &jpeg[2..]].concat()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn pictures_are_measured_upright() {
    let served = Served::with_sqlite();
    let client = &served.client;
    let bytes = jpeg(40, 20);
    for path in ["/overlays", "/assets/textures"] {
        for (orientation, size) in [(1, (40, 20)), (3, (40, 20)), (6, (20, 40)), (8, (20, 40))] {
            let made = client.form(path, Form::default().file("file", "a.jpg", &held(&bytes, orientation))).await;
            let rows = client.get(path).await;
            let row = rows.data().as_array().unwrap().iter().find(|row| row["id"] == made.data()["id"]).unwrap();
            assert_eq!((&row["width"], &row["height"]), (&json!(size.0), &json!(size.1)), "{path} {orientation}");
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn truncated_images_are_rejected() {
    let served = Served::with_sqlite();
    let whole = jpeg(64, 64);
    let mut wrong = Vec::new();
    for path in ["/overlays", "/assets/textures"] {
        for (what, bytes) in [("cut", &whole[..whole.len() / 3]), ("empty", &[])] {
            let answer = served.client.form(path, Form::default().file("file", "a.jpg", bytes)).await;
            if (answer.status, &answer.body["error"]["code"]) != (400, &json!("bad_request")) {
                wrong.push(format!("{path} {what}: {} {}", answer.status, answer.body));
            }
        }
        assert_eq!(served.client.get(path).await.data(), &json!([]), "{path}: nothing was stored; {wrong:?}");
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}
