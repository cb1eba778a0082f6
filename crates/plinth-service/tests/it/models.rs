//! Tests of uploads, edits and lists of models.

use plinth_db::{Db, renders};
use plinth_service::models::ModelQuery;
use plinth_spec::ErrorCode;
use plinth_spec::id::RenderId;
use plinth_spec::page::PageMeta;
use plinth_spec::wire::{CheckHash, UpdateModel};
use plinth_store::ObjectKey;
use plinth_testkit::{glb_with_triangle, glb_without_meshes, on_both_databases};

use crate::test_service::{self, TestService, code, upload};

async fn an_upload_makes_a_model_and_a_free_preview_or_a_billed_render(address: &str) {
    let test_service = TestService::new(address).await;
    let free = test_service.upload("chair", None).await.unwrap();
    assert!(free.is_new && free.result.duplicate.is_none());
    assert_eq!(test_service.account().await.paid, 100);
    let preview = test_service.service.render(&test_service.caller, free.result.render_id.as_str()).await.unwrap();
    assert!(preview.is_system_preview && !preview.is_preview);
    assert_eq!(preview.render_settings["quality"], "share");

    let billed = test_service.upload("table", Some(r#"{"quality": "share", "length": 2}"#)).await.unwrap();
    assert_eq!(test_service.account().await.paid, 98);
    let render = test_service.service.render(&test_service.caller, billed.result.render_id.as_str()).await.unwrap();
    assert!(!render.is_system_preview);
    let id = billed.result.model_id.as_str();
    let (model, _memory) = test_service.service.model_with_renders(&test_service.caller, id).await.unwrap();
    assert_eq!((model.row.original_name.as_str(), model.renders.len()), ("table.glb", 1));
    assert_eq!(model.mesh_names.unwrap(), ["table"]);
    assert_eq!(model.row.file_size, glb_with_triangle("table").len() as u64);
    test_service.assert_balanced().await;
}

async fn uploads_of_one_file_share_a_model_while_it_is_active(address: &str) {
    let test_service = TestService::new(address).await;
    let first = test_service.upload("chair", None).await.unwrap();
    let again = test_service.upload("chair", None).await.unwrap();
    assert!(!again.is_new);
    assert_eq!(again.result.duplicate, Some(true));
    assert_eq!((&again.result.model_id, &again.result.render_id), (&first.result.model_id, &first.result.render_id));
    let billed = test_service.upload("chair", Some("{}")).await.unwrap();
    assert_eq!((billed.result.duplicate, test_service.account().await.paid), (Some(true), 76));
    assert_ne!(billed.result.render_id, first.result.render_id);

    test_service.service.archive_model(&test_service.caller, first.result.model_id.as_str()).await.unwrap();
    let anew = test_service.upload("chair", None).await.unwrap();
    assert!(anew.is_new);
    // After this call, two models with the same file are active, which is allowed.
    test_service.service.unarchive_model(&test_service.caller, first.result.model_id.as_str()).await.unwrap();
    let other = test_service::caller(&test_service.service, "grace@example.org").await;
    let theirs = upload(&test_service.service, &other, "chair.glb", &glb_with_triangle("chair"), None).await.unwrap();
    assert!(theirs.is_new, "models are not shared between workspaces");
}

async fn concurrent_uploads_of_one_file_make_one_model(address: &str) {
    let test_service = TestService::new(address).await;
    let uploads = (0..8).map(|_n| {
        let (service, caller) = (test_service.service.clone(), test_service.caller.clone());
        tokio::spawn(
            async move { upload(&service, &caller, "x.glb", &glb_with_triangle("x"), None).await.unwrap().result },
        )
    });
    let mut results = Vec::new();
    for result in uploads.collect::<Vec<_>>() {
        results.push(result.await.unwrap());
    }
    assert_eq!(results.iter().filter(|r| r.duplicate.is_none()).count(), 1);
    assert!(results.iter().all(|r| r.model_id == results[0].model_id && r.render_id == results[0].render_id));
    assert_eq!(stored_models(&test_service), 1, "all copies but one are deleted at once");
    test_service.wait_ms(49 * 3600 * 1000);
    test_service.service.clean_up().await.unwrap();
    let file = test_service.service.store().find(&ObjectKey::Model(&results[0].model_id)).await.unwrap();
    assert!(file.is_some(), "the model's file remains");
}

/// Returns the number of model files in the store.
fn stored_models(test_service: &TestService) -> usize {
    std::fs::read_dir(test_service.folder.path().join("objects/models")).unwrap().count()
}

async fn uploads_that_the_balance_does_not_cover_leave_no_files(address: &str) {
    let test_service = TestService::new(address).await;
    // When the uploads start, the balance covers each of them. When they end, it covers only one.
    let uploads = (0..8).map(|n| {
        let (service, caller, name) = (test_service.service.clone(), test_service.caller.clone(), format!("{n}.glb"));
        let settings = Some(r#"{"quality": "share", "length": 60}"#);
        tokio::spawn(
            async move { upload(&service, &caller, &name, &glb_with_triangle(&name), settings).await.map(drop) },
        )
    });
    let mut rejected = 0;
    for upload in uploads.collect::<Vec<_>>() {
        if let Err(error) = upload.await.unwrap() {
            assert_eq!(error.code, ErrorCode::NoCredits);
            rejected += 1;
        }
    }
    assert_eq!((rejected, stored_models(&test_service)), (7, 1));
    test_service.assert_balanced().await;
}

async fn invalid_files_return_the_matching_error_code(address: &str) {
    let test_service = TestService::new(address).await;
    let send = async |name: &str, bytes: &[u8], settings: Option<&str>| {
        let error = upload(&test_service.service, &test_service.caller, name, bytes, settings).await.unwrap_err();
        (error.code, error.status)
    };
    let glb = glb_with_triangle("x");
    assert_eq!(send("x.gltf", &glb, None).await, (ErrorCode::InvalidFormat, 400));
    assert_eq!(send("x.glb", b"nonsense", None).await, (ErrorCode::UploadFailed, 422));
    assert_eq!(send("x.glb", &glb_without_meshes(), None).await, (ErrorCode::UploadFailed, 422));
    assert_eq!(send("x.zip", b"nonsense", None).await, (ErrorCode::UploadFailed, 422));
    assert_eq!(send("x.glb", &glb, Some("{")).await, (ErrorCode::InvalidSettings, 400));
    assert_eq!(send("x.glb", &glb, Some(r#"{"length": 121}"#)).await, (ErrorCode::InvalidLength, 422));
    assert_eq!(send("x.glb", &glb, Some(r#"{"preview": true}"#)).await, (ErrorCode::InvalidSettings, 400));
    assert_eq!(send("x.glb", &glb, Some(r#"{"quality": "4k", "length": 7}"#)).await, (ErrorCode::NoCredits, 402));
    let list = test_service.service.list_models(&test_service.caller, &ModelQuery::default()).await.unwrap();
    assert!(list.data.is_empty(), "no model is created from an invalid file");
    assert_eq!(test_service.account().await.paid, 100);
}

async fn an_upload_is_never_paid_from_the_free_pool(address: &str) {
    let test_service = TestService::new(address).await;
    test_service.grant(plinth_spec::funding::Pool::Paid, -100).await;
    test_service.grant(plinth_spec::funding::Pool::Free, 100).await;
    assert_eq!(code(test_service.upload("x", Some("{}")).await), ErrorCode::NoCredits);
}

async fn a_zip_is_converted_unless_conversion_is_disabled(address: &str) {
    let zip = {
        use std::io::Write as _;
        let mut writer = zip::ZipWriter::new(std::io::Cursor::new(Vec::new()));
        let obj = "mtllib a.mtl\nusemtl Oak\nv 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\n";
        for (name, content) in [("scan.obj", obj), ("a.mtl", "newmtl Oak\nmap_Kd oak.png\n")] {
            writer.start_file(name, zip::write::SimpleFileOptions::default()).unwrap();
            writer.write_all(content.as_bytes()).unwrap();
        }
        writer.finish().unwrap().into_inner()
    };
    let test_service = TestService::new(address).await;
    let uploaded = upload(&test_service.service, &test_service.caller, "scan.zip", &zip, None).await.unwrap();
    let model = test_service.service.model(&test_service.caller, uploaded.result.model_id.as_str()).await.unwrap();
    assert_eq!(model.row.original_name, "scan.glb");
    let contents = test_service.service.model_contents(&uploaded.result.model_id).await.unwrap().unwrap();
    assert_eq!(contents.warnings, ["the texture 'oak.png' is not in the ZIP"]);
    let again = upload(&test_service.service, &test_service.caller, "other.zip", &zip, None).await.unwrap();
    assert_eq!(again.result.duplicate, Some(true), "two conversions of a ZIP give the same bytes");
    let stored = test_service.service.store().read_all(&ObjectKey::Model(&uploaded.result.model_id)).await.unwrap();
    assert_eq!(&stored[..4], b"glTF");
}

async fn free_previews_are_limited_per_day(address: &str) {
    let test_service = TestService::with(address, |options| options.free_uploads_per_day = 2).await;
    test_service.model("a").await;
    test_service.wait_ms(3_600_000);
    let second = test_service.upload("b", None).await.unwrap();
    assert_eq!(code(test_service.upload("c", None).await), ErrorCode::UploadLimit);
    assert_eq!(code(test_service.service.create_upload_url(&test_service.caller, None).await), ErrorCode::UploadLimit);
    assert!(
        test_service.upload("c", Some(r#"{"quality": "share"}"#)).await.is_ok(),
        "billed renders do not count toward the limit"
    );
    let mut claims = test_service.service.claim_renders("w", 9).await.unwrap();
    while let Some(claim) = claims.pop() {
        let reported = test_service.service.fail_render(&claim, plinth_spec::FailureCode::Timeout, "").await.unwrap();
        assert!(reported.is_ok());
    }
    assert_eq!(
        code(test_service.upload("d", None).await),
        ErrorCode::UploadLimit,
        "failed previews count toward the limit"
    );
    assert!(second.is_new);
    test_service.wait_ms(23 * 3_600_000 - 1);
    assert_eq!(
        code(test_service.upload("d", None).await),
        ErrorCode::UploadLimit,
        "the first preview is less than a day old"
    );
    test_service.wait_ms(2);
    assert!(test_service.upload("d", None).await.is_ok(), "the first preview is more than a day old");
}

async fn models_are_edited_archived_and_deleted_in_allowed_states_only(address: &str) {
    let test_service = TestService::new(address).await;
    let (service, caller) = (&test_service.service, &test_service.caller);
    let id = test_service.model("chair").await;
    let edit = |json: &str| serde_json::from_str::<UpdateModel>(json).unwrap();
    let edited = service.update_model(caller, &id, edit(r#"{"title": "Chair", "tags": ["Red"]}"#)).await.unwrap();
    assert_eq!((edited.title.as_deref(), edited.sku, edited.tags), (Some("Chair"), None, vec!["red".to_owned()]));
    let cleared = service.update_model(caller, &id, edit(r#"{"title": "", "sku": "S"}"#)).await.unwrap();
    assert_eq!((cleared.title, cleared.sku.as_deref(), cleared.tags.len()), (None, Some("S"), 1));
    assert_eq!(code(service.update_model(caller, &id, edit("{}")).await), ErrorCode::BadRequest);

    assert_eq!(code(service.unarchive_model(caller, &id).await), ErrorCode::ModelNotFound, "the model is not archived");
    assert!(service.archive_model(caller, &id).await.unwrap().archived);
    assert_eq!(code(service.archive_model(caller, &id).await), ErrorCode::ModelNotFound, "the model is not active");
    let query = |status: &str| ModelQuery { status: Some(status.to_owned()), ..ModelQuery::default() };
    let count = async |status: &str| service.list_models(caller, &query(status)).await.unwrap().data.len();
    assert_eq!((count("active").await, count("archived").await, count("any").await), (0, 1, 1));
    assert_eq!(code(service.list_models(caller, &query("deleted")).await), ErrorCode::BadRequest);
    assert!(service.model(caller, &id).await.is_ok() && service.model_file(caller, &id).await.is_ok());
    assert!(service.update_model(caller, &id, edit(r#"{"sku": null}"#)).await.is_ok());
    assert!(service.delete_model(caller, &id).await.unwrap().deleted, "archived models can be deleted");
    assert_eq!(code(service.model(caller, &id).await), ErrorCode::ModelNotFound);
    assert_eq!(code(service.delete_model(caller, &id).await), ErrorCode::ModelNotFound);
    assert_eq!(count("any").await, 0);
    let (renders, _memory) =
        service.list_renders(caller, &plinth_service::renders::RenderQuery::default()).await.unwrap();
    assert_eq!(renders.data.len(), 1, "renders of a deleted model remain");
    let hash = CheckHash { sha256: Some("0".repeat(64)) };
    assert!(!service.check_hash(caller, &hash).await.unwrap().exists);
    assert_eq!(
        code(service.check_hash(caller, &CheckHash { sha256: Some("xyz".to_owned()) }).await),
        ErrorCode::Sha256Required
    );
}

async fn models_of_another_workspace_are_not_found(address: &str) {
    let test_service = TestService::new(address).await;
    let id = test_service.model("chair").await;
    let other = test_service::caller(&test_service.service, "grace@example.org").await;
    let service = &test_service.service;
    assert_eq!(code(service.model(&other, &id).await), ErrorCode::ModelNotFound);
    assert_eq!(code(service.model_file(&other, &id).await), ErrorCode::ModelNotFound);
    assert_eq!(code(service.model_file_url(&other, &id, None).await), ErrorCode::ModelNotFound);
    assert_eq!(code(service.delete_model(&other, &id).await), ErrorCode::ModelNotFound);
    assert_eq!(code(service.archive_model(&other, &id).await), ErrorCode::ModelNotFound);
    let sha256 = service.model(&test_service.caller, &id).await.unwrap().row.sha256;
    let ask = CheckHash { sha256: Some(sha256.to_uppercase()) };
    assert!(service.check_hash(&test_service.caller, &ask).await.unwrap().exists);
    assert!(!service.check_hash(&other, &ask).await.unwrap().exists);
    for nonsense in ["", "../x", "k3Jd92LmQx7a"] {
        assert_eq!(code(service.model(&test_service.caller, nonsense).await), ErrorCode::ModelNotFound);
    }
}

async fn pages_go_by_offset_or_cursor(address: &str) {
    let test_service = TestService::new(address).await;
    for n in 0..5 {
        test_service.wait_ms(1);
        test_service.model(&format!("m{n}")).await;
    }
    let list = async |query: ModelQuery| test_service.service.list_models(&test_service.caller, &query).await;
    let text = |value: &str| Some(value.to_owned());
    let page = list(ModelQuery { limit: text("2"), offset: text("1"), ..ModelQuery::default() }).await.unwrap();
    assert_eq!(page.meta, PageMeta::Offset { total: 5, total_is_estimate: None, offset: 1, limit: 2 });
    assert_eq!(page.data[0].original_name, "m3.glb");
    let mut cursor = text("");
    let mut seen = Vec::new();
    while let Some(at) = cursor.take() {
        let page = list(ModelQuery { limit: text("2"), cursor: Some(at), ..ModelQuery::default() }).await.unwrap();
        seen.extend(page.data.into_iter().map(|m| m.original_name));
        let PageMeta::Cursor { next_cursor, limit: 2 } = page.meta else { unreachable!("cursor mode") };
        cursor = next_cursor;
    }
    assert_eq!(seen, ["m4.glb", "m3.glb", "m2.glb", "m1.glb", "m0.glb"]);
    let bad = ModelQuery { cursor: text("nonsense"), ..ModelQuery::default() };
    assert_eq!(code(list(bad).await), ErrorCode::BadRequest);
    let bad = ModelQuery { updated_since: text("yesterday"), ..ModelQuery::default() };
    assert_eq!(code(list(bad).await), ErrorCode::BadRequest);
}

/// A failed preview does not prevent a new preview of the same model.
async fn a_failed_preview_is_created_again(address: &str) {
    let test_service = TestService::new(address).await;
    let first = test_service.upload("chair", None).await.unwrap().result.render_id;
    let claim = test_service.claim().await;
    test_service.service.fail_render(&claim, plinth_spec::FailureCode::RendererCrash, "gone").await.unwrap().unwrap();
    let second = test_service.upload("chair", None).await.unwrap().result.render_id;
    assert_ne!(first, second);
    assert!(exists(test_service.service.db(), &second).await);
}

async fn exists(db: &Db, id: &RenderId) -> bool {
    renders::find_anywhere(&mut db.read().await.unwrap(), id).await.unwrap().is_some()
}

mod both {
    use super::on_both_databases;
    on_both_databases! {
        an_upload_makes_a_model_and_a_free_preview_or_a_billed_render
        uploads_of_one_file_share_a_model_while_it_is_active
        concurrent_uploads_of_one_file_make_one_model
        uploads_that_the_balance_does_not_cover_leave_no_files
        invalid_files_return_the_matching_error_code
        an_upload_is_never_paid_from_the_free_pool
        a_zip_is_converted_unless_conversion_is_disabled
        free_previews_are_limited_per_day
        models_are_edited_archived_and_deleted_in_allowed_states_only
        models_of_another_workspace_are_not_found
        pages_go_by_offset_or_cursor
        a_failed_preview_is_created_again
    }
}
