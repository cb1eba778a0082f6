//! Tests of overlays, textures and environment maps.

use bytes::Bytes;
use plinth_db::{envs, overlays, storage, textures, unreferenced_objects};
use plinth_service::access::Caller;
use plinth_service::admin::{Actor, AssetKind};
use plinth_service::assets::{EnvPartFile, NewEnv, NewOverlay, NewTexture};
use plinth_service::jobs::ImageAsset;
use plinth_service::models::Incoming;
use plinth_spec::id::TextureId;
use plinth_spec::settings::ParseOptions;
use plinth_spec::wire::{Layer, ResolveOverlay};
use plinth_spec::{EnvPart, ErrorCode, FailureCode, RenderSettings, limits};
use plinth_store::ObjectKey;
use plinth_testkit::{glb_with_triangle, on_both_databases};
use serde_json::json;

use crate::model_storage::{CHEAP, team_with};
use crate::test_service::{self, TestService, code, some_files, upload};

fn png(shade: u8) -> Bytes {
    plinth_testkit::png(shade).into()
}

async fn file(test_service: &TestService, bytes: &[u8]) -> Incoming {
    let length = Some(bytes.len() as u64);
    let room = test_service.service.room(&test_service.caller, limits::ENV_PART_BYTES, length).await.unwrap();
    let mut file = test_service.service.incoming_file(&room, limits::ENV_PART_BYTES).unwrap();
    file.write(bytes).await.unwrap();
    file
}

async fn new_texture(test_service: &TestService, shade: u8) -> NewTexture {
    NewTexture { file: Some(file(test_service, &png(shade)).await), name: None }
}

async fn overlay(test_service: &TestService, shade: u8, layer: Option<&str>) -> NewOverlay {
    NewOverlay {
        file: Some(file(test_service, &png(shade)).await),
        filename: "sky.png".to_owned(),
        layer: layer.map(str::to_owned),
        ..NewOverlay::default()
    }
}

async fn overlays_have_defaults_bounds_and_an_owner(address: &str) {
    let test_service = TestService::new(address).await;
    let (service, caller) = (&test_service.service, &test_service.caller);
    let created = service.create_overlay(caller, overlay(&test_service, 1, None).await).await.unwrap();
    assert_eq!(
        (created.layer, created.alignment.as_str(), created.name.as_str()),
        (Layer::Background, "left", "sky.png")
    );
    let bad = [
        NewOverlay { layer: Some("sky".to_owned()), ..NewOverlay::default() },
        NewOverlay { alignment: Some("top".to_owned()), ..NewOverlay::default() },
        NewOverlay { opacity: Some("1.1".to_owned()), ..NewOverlay::default() },
        NewOverlay { opacity: Some("NaN".to_owned()), ..NewOverlay::default() },
        NewOverlay { name: Some("x".repeat(101)), ..NewOverlay::default() },
        NewOverlay { description: Some("x".repeat(501)), ..NewOverlay::default() },
        NewOverlay { file: Some(file(&test_service, b"GIF89a").await), ..NewOverlay::default() },
        NewOverlay { file: Some(file(&test_service, b"").await), ..NewOverlay::default() },
    ];
    for mut new in bad {
        if new.file.is_none() {
            new.file = Some(file(&test_service, &png(1)).await);
        }
        assert_eq!(code(service.create_overlay(caller, new).await), ErrorCode::BadRequest);
    }
    let rows = service.list_overlays(caller, None).await.unwrap().data;
    assert_eq!((rows.len(), rows[0].width, rows[0].height, rows[0].is_system), (1, 2, 2, false));
    assert!(service.list_overlays(caller, Some("decal")).await.unwrap().data.is_empty());
    assert_eq!(code(service.list_overlays(caller, Some("sky")).await), ErrorCode::BadRequest);

    let other = test_service::caller(service, "grace@example.org").await;
    let id = created.id.to_string();
    assert_eq!(code(service.delete_overlay(&other, &id).await), ErrorCode::Forbidden);
    assert_eq!(code(service.delete_overlay(&other, "k3Jd92LmQx7a").await), ErrorCode::NotFound);
    assert!(service.list_overlays(&other, None).await.unwrap().data.is_empty());
    service.set_system_asset(&Actor::Command, AssetKind::Overlay, &id, true, "").await.unwrap();
    assert_eq!(
        service.list_overlays(&other, None).await.unwrap().data.len(),
        1,
        "system overlays are visible in all workspaces"
    );
    assert_eq!(
        code(service.delete_overlay(caller, &id).await),
        ErrorCode::Forbidden,
        "a system overlay cannot be deleted"
    );
    let second = service.create_overlay(caller, overlay(&test_service, 2, Some("decal")).await).await.unwrap();
    assert!(service.delete_overlay(caller, second.id.as_str()).await.unwrap().deleted);
    assert_eq!(service.clean_up().await.unwrap().objects, 1, "the cleanup deletes the overlay's image");
}

async fn an_image_is_found_by_content_layer_and_workspace(address: &str) {
    let test_service = TestService::new(address).await;
    let (service, caller) = (&test_service.service, &test_service.caller);
    let texture = service.create_texture(caller, new_texture(&test_service, 1).await).await.unwrap();
    let again = service.create_texture(caller, new_texture(&test_service, 1).await).await.unwrap();
    assert_eq!((again.id.as_str(), again.deduped), (texture.id.as_str(), Some(true)));
    let overlay = service.create_overlay(caller, overlay(&test_service, 1, Some("decal")).await).await.unwrap();
    assert_eq!(service.list_textures(caller).await.unwrap().data.len(), 1);
    let digest: [u8; 32] = sha2::Digest::finalize(sha2::Digest::chain_update(sha2::Sha256::default(), png(1))).into();
    // Upper-case hex is accepted, too.
    let hash = digest.map(|byte| format!("{byte:02X}")).concat();
    let ask = |layer: Option<&str>| ResolveOverlay { sha256: Some(hash.clone()), layer: layer.map(str::to_owned) };
    let resolve = async |caller, layer| service.resolve_overlay(caller, &ask(layer)).await.unwrap().id;
    assert_eq!(resolve(caller, Some("decal")).await, Some(overlay.id.to_string()));
    assert_eq!(resolve(caller, Some("texture")).await, Some(texture.id));
    assert_eq!(resolve(caller, None).await, None);
    let other = test_service::caller(service, "grace@example.org").await;
    assert_eq!(resolve(&other, Some("decal")).await, None);
    let none = ResolveOverlay { sha256: None, layer: None };
    assert_eq!(code(service.resolve_overlay(caller, &none).await), ErrorCode::Sha256Required);
}

async fn a_render_uses_the_assets_of_its_workspace_and_of_the_system(address: &str) {
    let test_service = TestService::new(address).await;
    let (service, caller) = (&test_service.service, &test_service.caller);
    let new = async |shade, layer| service.create_overlay(caller, overlay(&test_service, shade, layer).await).await;
    let (sky, decal) = (new(1, None).await.unwrap().id, new(2, Some("decal")).await.unwrap().id);
    let pattern = new(3, Some("texture")).await.unwrap().id;
    let texture =
        TextureId::parse(&service.create_texture(caller, new_texture(&test_service, 1).await).await.unwrap().id);
    let texture = texture.unwrap();
    let settings = json!({
        "bgImageId": sky,
        "materialEdits": {
            "A": {"mapAssetId": texture}, "B": {"mapAssetId": pattern}, "C": {"mapAssetId": decal},
            "D": {"mapAssetId": "k3Jd92LmQx7a"},
        },
    });
    let parsed = RenderSettings::from_json(&settings, ParseOptions::default()).unwrap();
    let claim_of = async |caller: &Caller| {
        upload(service, caller, "a.glb", &glb_with_triangle(&caller.email), Some("{}")).await.unwrap();
        test_service.claim().await
    };
    let found = service.find_render_assets(&claim_of(caller).await, &parsed).await.unwrap().unwrap();
    let expected = [
        (sky.to_string(), ImageAsset::Overlay(sky.clone())),
        (texture.to_string(), ImageAsset::Texture(texture)),
        (pattern.to_string(), ImageAsset::Overlay(pattern.clone())),
    ];
    assert_eq!(found.images, expected.into(), "a decal is no image of a material");
    let other = claim_of(&test_service::caller(service, "grace@example.org").await).await;
    let missing = service.find_render_assets(&other, &parsed).await.unwrap().unwrap_err();
    assert_eq!(missing.code, FailureCode::OverlayMissing);
    service.set_system_asset(&Actor::Command, AssetKind::Overlay, sky.as_str(), true, "").await.unwrap();
    let found = service.find_render_assets(&other, &parsed).await.unwrap().unwrap();
    assert_eq!(found.images.into_keys().collect::<Vec<_>>(), [sky.to_string()]);
}

async fn an_account_can_have_one_hundred_overlays(address: &str) {
    let test_service = TestService::new(address).await;
    for shade in 0..u8::try_from(limits::OVERLAYS).unwrap() {
        test_service
            .service
            .create_overlay(&test_service.caller, overlay(&test_service, shade, None).await)
            .await
            .unwrap();
    }
    let error = test_service
        .service
        .create_overlay(&test_service.caller, overlay(&test_service, 200, None).await)
        .await
        .unwrap_err();
    assert_eq!((error.code, error.status), (ErrorCode::LimitReached, 429));
}

async fn an_environment_needs_three_valid_files(address: &str) {
    let test_service = TestService::new(address).await;
    let (service, caller) = (&test_service.service, &test_service.caller);
    let webp = Bytes::from_static(b"RIFF\x04\0\0\0WEBPVP8 ");
    let part = async |part, bytes: &[u8]| EnvPartFile { part, file: file(&test_service, bytes).await };
    let json = Bytes::from_static(b"{\"version\": 1}");
    let parts = async |sdr: &[u8], metadata: &[u8]| NewEnv {
        files: vec![
            part(EnvPart::Sdr, sdr).await,
            part(EnvPart::GainMap, &webp).await,
            part(EnvPart::Metadata, metadata).await,
        ],
        width: Some("2048".to_owned()),
        ..NewEnv::default()
    };
    let id = service.create_env(caller, parts(&webp, &json).await).await.unwrap().id;
    let rows = service.list_envs(caller).await.unwrap().data;
    assert_eq!((rows[0].id.as_str(), rows[0].width, rows[0].height), (id.as_str(), Some(2048), None));
    let mut without = parts(&webp, &json).await;
    without.files.pop();
    assert_eq!(code(service.create_env(caller, without).await), ErrorCode::NoFile);
    let wrong = [
        parts(&json, &json).await,
        parts(&webp, &webp).await,
        parts(&webp, b"[1]").await,
        parts(&webp, b"{\"a\": \"\xff\"}").await,
        NewEnv { width: Some("wide".to_owned()), ..parts(&webp, &json).await },
    ];
    for new in wrong {
        assert_eq!(code(service.create_env(caller, new).await), ErrorCode::BadRequest);
    }
    let other = test_service::caller(service, "grace@example.org").await;
    assert_eq!(code(service.delete_env(&other, &id).await), ErrorCode::NotFound);
    assert!(service.delete_env(caller, &id).await.unwrap().deleted);
    assert_eq!(service.clean_up().await.unwrap().objects, 3);
}

/// Uploads an environment and returns its identifier.
pub(crate) async fn environment(test_service: &TestService, caller: &Caller) -> String {
    let mut files = Vec::new();
    for (part, bytes) in [
        (EnvPart::Sdr, &b"RIFF\x04\0\0\0WEBPVP8 "[..]),
        (EnvPart::GainMap, b"RIFF\x04\0\0\0WEBPVP8 "),
        (EnvPart::Metadata, b"{}"),
    ] {
        files.push(EnvPartFile { part, file: file(test_service, bytes).await });
    }
    test_service.service.create_env(caller, NewEnv { files, ..NewEnv::default() }).await.unwrap().id
}

async fn referenced_objects_are_not_scheduled_for_deletion(address: &str) {
    let test_service = TestService::new(address).await;
    let (service, caller) = (&test_service.service, &test_service.caller);
    let marks = async || unreferenced_objects::list(&mut service.db().read().await.unwrap()).await.unwrap();
    test_service.model("chair").await;
    service.create_texture(caller, new_texture(&test_service, 1).await).await.unwrap();
    service.create_overlay(caller, overlay(&test_service, 1, None).await).await.unwrap();
    assert!(marks().await.is_empty());
    // Two uploads of the same content run concurrently. One of them returns the texture of the other.
    let twice = [new_texture(&test_service, 2).await, new_texture(&test_service, 2).await];
    let [first, second] = twice.map(|new| service.create_texture(caller, new));
    let (first, second) = tokio::join!(first, second);
    let (first, second) = (first.unwrap(), second.unwrap());
    assert_eq!(first.id, second.id);
    assert!(first.deduped.is_some() != second.deduped.is_some(), "{first:?} {second:?}");
    let named = ObjectKey::Texture(&TextureId::parse(&first.id).unwrap()).path();
    let left = marks().await;
    assert!(left.len() <= 1 && !left.contains(&named), "{left:?}");
}

async fn known_files_and_files_over_a_limit_are_not_checked(address: &str) {
    let test_service = TestService::new(address).await;
    let caller = &test_service.caller;
    let known = test_service.service.create_texture(caller, new_texture(&test_service, 1).await).await.unwrap();
    let blind = test_service.without_checks(address).await;
    let again = blind.create_texture(caller, new_texture(&test_service, 1).await).await.unwrap();
    assert_eq!((again.id, again.deduped), (known.id, Some(true)));
    assert_eq!(code(blind.create_texture(caller, new_texture(&test_service, 2).await).await), ErrorCode::Internal);
    for shade in 0..u8::try_from(limits::OVERLAYS).unwrap() {
        test_service.service.create_overlay(caller, overlay(&test_service, shade, None).await).await.unwrap();
    }
    assert_eq!(
        code(blind.check_overlay_count(caller).await),
        ErrorCode::LimitReached,
        "the limit is checked before the image is received"
    );
    assert_eq!(
        code(blind.create_overlay(caller, overlay(&test_service, 200, None).await).await),
        ErrorCode::LimitReached,
        "the limit is checked before the image is decoded"
    );
}

async fn assets_of_a_deleted_team_count_until_they_are_deleted(address: &str) {
    let test_service = TestService::new(address).await;
    let (service, owner) = (&test_service.service, &test_service.caller);
    let grace = test_service::caller(service, "grace@example.org").await;
    let (team, editor) = team_with(&test_service, &grace).await;
    service.create_overlay(&editor, overlay(&test_service, 1, None).await).await.unwrap();
    service.create_texture(&editor, new_texture(&test_service, 1).await).await.unwrap();
    environment(&test_service, &editor).await;
    let published = service.create_overlay(&editor, overlay(&test_service, 2, None).await).await.unwrap().id;
    service.set_system_asset(&Actor::Command, AssetKind::Overlay, published.as_str(), true, "").await.unwrap();
    let usage = async || {
        let conn = &mut service.db().read().await.unwrap();
        assert_eq!(storage::find_miscounted(conn).await.unwrap(), []);
        let own = &owner.workspace_id;
        let (textures, _bytes) = textures::usage(conn, own).await.unwrap();
        let (envs, _bytes) = envs::usage(conn, own).await.unwrap();
        (overlays::count(conn, own).await.unwrap(), textures, envs)
    };
    service.clean_up().await.unwrap();
    assert_eq!(usage().await, (1, 1, 1));
    upload(service, &editor, "x.glb", &glb_with_triangle("a"), CHEAP).await.unwrap();
    let claim = test_service.claim().await;
    // Unlike members, an operator can delete a workspace with unfinished renders.
    service.delete_workspace(&team).await.unwrap();
    service.clean_up().await.unwrap();
    assert_eq!(usage().await, (1, 1, 1), "a render may need them");
    service.poster_stored(&claim).await.unwrap().unwrap();
    service.finish_render(&claim, &some_files(), &[]).await.unwrap().unwrap();
    let hold = service.hold_storage().await.unwrap();
    service.clean_up().await.unwrap();
    assert_eq!(usage().await, (1, 1, 1), "a backup may be copying the files");
    hold.release().await.unwrap();
    assert_eq!(
        service.clean_up().await.unwrap().objects,
        5 + 1,
        "the files of the assets and of the model are deleted"
    );
    assert_eq!(usage().await, (0, 0, 0));
    let left = service.list_overlays(owner, None).await.unwrap().data;
    assert_eq!(left.iter().map(|row| &row.id).collect::<Vec<_>>(), [&published]);
    let file = service.store().find(&ObjectKey::Overlay(&published)).await.unwrap();
    assert!(file.is_some(), "the overlay is available to all workspaces");
}

mod both {
    use super::on_both_databases;
    on_both_databases! {
        overlays_have_defaults_bounds_and_an_owner
        an_image_is_found_by_content_layer_and_workspace
        a_render_uses_the_assets_of_its_workspace_and_of_the_system
        an_account_can_have_one_hundred_overlays
        an_environment_needs_three_valid_files
        known_files_and_files_over_a_limit_are_not_checked
        referenced_objects_are_not_scheduled_for_deletion
        assets_of_a_deleted_team_count_until_they_are_deleted
    }
}
