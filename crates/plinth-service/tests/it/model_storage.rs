//! Tests of the storage limit for an account's models, and of the deletion of the files of deleted models.

use plinth_db::{accounts, storage, unreferenced_objects};
use plinth_service::access::Caller;
use plinth_service::models::Uploaded;
use plinth_service::storage::Finding;
use plinth_service::{FetchOptions, HostRule, Result, Service, ServiceOptions};
use plinth_spec::ErrorCode;
use plinth_spec::id::{ModelId, WorkspaceId};
use plinth_spec::role::Role;
use plinth_spec::wire::{FinalizeUpload, IngestModel, Scope};
use plinth_store::ObjectKey;
use plinth_testkit::{Reply, TestDatabase, Web, glb_with_triangle, on_both_databases};

use crate::test_service::{self, TestService, code, some_files, upload};

/// Settings of a render that costs two credits.
pub(crate) const CHEAP: Option<&str> = Some(r#"{"quality": "share", "length": 1}"#);

/// Returns the size of a model whose name has one character.
fn size() -> u64 {
    glb_with_triangle("a").len() as u64
}

/// Creates a service whose storage limit per account is one byte too small for `models + 1` models of this size.
async fn with_room_for(address: &str, models: u64) -> TestService {
    TestService::with(address, |options| options.account_storage_bytes = (models + 1) * size() - 1).await
}

async fn used(test_service: &TestService, caller: &Caller) -> u64 {
    let conn = &mut test_service.service.db().read().await.unwrap();
    assert_eq!(storage::find_miscounted(conn).await.unwrap(), []);
    storage::models_of_account(conn, &caller.payer_id).await.unwrap()
}

async fn has_file(service: &Service, model: &str) -> bool {
    let id = ModelId::parse(model).unwrap();
    service.store().find(&ObjectKey::Model(&id)).await.unwrap().is_some()
}

/// Asserts that the rows and files of models agree. The renders of these tests have no files.
async fn assert_consistent(test_service: &TestService) {
    let mut findings = Vec::new();
    let mut add = |finding| {
        let (Finding::Orphan { path, .. } | Finding::Gone { path }) = finding;
        findings.extend(Some(path).filter(|path| path.starts_with("models/")));
    };
    test_service.service.check_storage(false, &mut add).await.unwrap();
    assert_eq!(findings, Vec::<String>::new());
}

fn finalize(ticket: &str) -> FinalizeUpload {
    FinalizeUpload { ticket: Some(ticket.to_owned()), filename: Some("a.glb".to_owned()), render_settings: None }
}

/// Uploads a file to a new link, and returns the ticket.
async fn stage(service: &Service, caller: &Caller, bytes: &[u8]) -> String {
    let staged = service.create_upload_url(caller, None).await.unwrap();
    let link = crate::delivery::parts(&staged.url);
    let mut file = service.begin_local_put(&link, None).await.unwrap();
    service.write_local_put(&link, &mut file, bytes).await.unwrap();
    service.finish_local_put(&link, file).await.unwrap();
    staged.ticket
}

async fn a_model_beyond_the_limit_is_rejected_whichever_way_it_comes(address: &str) {
    let web = Web::start(|visit| match visit.path.as_str() {
        "/a.glb" => Reply::model(glb_with_triangle("a")),
        "/large.glb" => Reply::model("glTF").saying_length(10 * size()),
        _ => Reply::model(glb_with_triangle("x")),
    });
    let test_service = TestService::with(address, |options| {
        options.account_storage_bytes = 2 * size();
        options.fetch = FetchOptions {
            allowed_hosts: vec![HostRule::parse(&web.address().to_string()).unwrap()],
            ..FetchOptions::default()
        };
    })
    .await;
    let (service, caller) = (&test_service.service, &test_service.caller);
    let ingest = async |name: &str| -> Result<Uploaded> {
        let url = Some(format!("http://{}/{name}.glb", web.address()));
        service.ingest_model(caller, IngestModel { url, render_settings: None }).await
    };
    test_service.model("a").await;
    let (known, new) =
        (stage(service, caller, &glb_with_triangle("a")).await, stage(service, caller, &glb_with_triangle("n")).await);
    let last = test_service.upload("b", CHEAP).await.unwrap().result;
    assert_eq!(used(&test_service, caller).await, 2 * size());
    let rejected = test_service.upload("c", None).await.unwrap_err();
    assert_eq!((rejected.code, rejected.status), (ErrorCode::LimitReached, 429));
    assert!(rejected.message.contains("Delete models"), "{}", rejected.message);
    assert_eq!(code(test_service.upload("c", CHEAP).await), ErrorCode::LimitReached);
    assert_eq!(code(service.create_upload_url(caller, None).await), ErrorCode::LimitReached);
    assert_eq!(code(service.finalize_upload(caller, finalize(&new)).await), ErrorCode::LimitReached);
    assert_eq!(code(ingest("x").await), ErrorCode::LimitReached);
    assert_eq!(code(ingest("large").await), ErrorCode::LimitReached, "the file is not received");
    // An upload of a file that the workspace already has needs no space.
    assert!(!test_service.upload("a", CHEAP).await.unwrap().is_new);
    assert!(!service.finalize_upload(caller, finalize(&known)).await.unwrap().is_new);
    assert!(!ingest("a").await.unwrap().is_new);
    assert_eq!(used(&test_service, caller).await, 2 * size());
    // Another account has its own limit.
    let guest = test_service::caller(service, "grace@example.org").await;
    upload(service, &guest, "c.glb", &glb_with_triangle("c"), None).await.unwrap();
    // A rejected upload link can be finalized after other models were deleted.
    service.cancel_render(caller, last.render_id.as_str()).await.unwrap();
    service.delete_model(caller, last.model_id.as_str()).await.unwrap();
    assert!(service.finalize_upload(caller, finalize(&new)).await.unwrap().is_new);
    assert_eq!(used(&test_service, caller).await, 2 * size());
    assert_consistent(&test_service).await;
}

async fn a_zip_is_measured_after_its_conversion(address: &str) {
    let zip = {
        use std::io::Write as _;
        let mut writer = zip::ZipWriter::new(std::io::Cursor::new(Vec::new()));
        writer.start_file("scan.obj", zip::write::SimpleFileOptions::default()).unwrap();
        writer.write_all(b"v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\n").unwrap();
        writer.finish().unwrap().into_inner()
    };
    let test_service = TestService::with(address, |options| options.account_storage_bytes = zip.len() as u64).await;
    let send = async |caller: &Caller| upload(&test_service.service, caller, "scan.zip", &zip, None).await;
    assert_eq!(code(send(&test_service.caller).await), ErrorCode::LimitReached);
}

async fn a_model_beyond_the_limit_is_neither_checked_nor_stored(address: &str) {
    let test_service = with_room_for(address, 1).await;
    test_service.model("a").await;
    let blind = test_service.without_checks(address).await;
    let sent = upload(&blind, &test_service.caller, "b.glb", &glb_with_triangle("b"), None).await;
    assert_eq!(code(sent), ErrorCode::LimitReached);
    let mut conn = test_service.service.db().read().await.unwrap();
    assert_eq!(unreferenced_objects::list(&mut conn).await.unwrap(), Vec::<String>::new());
}

async fn concurrent_uploads_do_not_exceed_the_limit(address: &str) {
    let test_service = with_room_for(address, 3).await;
    let uploads = ["a", "b", "c", "d", "e", "f", "g", "h"].map(|name| {
        let (service, caller) = (test_service.service.clone(), test_service.caller.clone());
        tokio::spawn(async move { upload(&service, &caller, "x.glb", &glb_with_triangle(name), None).await.map(drop) })
    });
    let mut stored = 0;
    for upload in uploads {
        match upload.await.unwrap() {
            Ok(()) => stored += 1,
            Err(error) => assert_eq!(error.code, ErrorCode::LimitReached),
        }
    }
    assert_eq!((stored, used(&test_service, &test_service.caller).await), (3, 3 * size()));
    let files = std::fs::read_dir(test_service.folder.path().join("objects/models")).unwrap().count();
    assert_eq!(files, 3, "the files of rejected uploads are deleted at once");
}

async fn the_size_of_a_request_rejects_a_file_early_unless_it_may_be_known(address: &str) {
    let test_service = with_room_for(address, 1).await;
    let (service, caller) = (&test_service.service, &test_service.caller);
    let check = async |name: &str, sizes| service.check_upload_early(caller, name, sizes).await;
    assert!(check("x.glb", 0..=size()).await.is_ok());
    assert_eq!(code(check("x.glb", 2 * size()..=2 * size()).await), ErrorCode::LimitReached);
    assert!(check("x.zip", 2 * size()..=2 * size()).await.is_ok(), "the size of its GLB is not known");
    let model = test_service.model("a").await;
    assert!(check("x.GLB", size()..=size()).await.is_ok(), "it may be the same file");
    assert!(check("x.glb", 1..=1).await.is_ok(), "it has room");
    assert_eq!(code(check("x.glb", size() + 1..=3 * size()).await), ErrorCode::LimitReached);
    service.archive_model(caller, &model).await.unwrap();
    assert_eq!(code(check("x.GLB", size()..=size()).await), ErrorCode::LimitReached);
}

async fn the_file_of_a_deleted_model_is_deleted_at_once_if_all_its_renders_have_ended(address: &str) {
    let test_service = with_room_for(address, 2).await;
    let (service, caller) = (&test_service.service, &test_service.caller);
    let kept = test_service.upload("a", CHEAP).await.unwrap().result;
    let claim = test_service.claim().await;
    service.poster_stored(&claim).await.unwrap().unwrap();
    service.finish_render(&claim, &some_files(), &[]).await.unwrap().unwrap();
    // A second model with the same bytes has a file of its own.
    service.archive_model(caller, kept.model_id.as_str()).await.unwrap();
    let twin = test_service.upload("a", CHEAP).await.unwrap().result;
    service.cancel_render(caller, twin.render_id.as_str()).await.unwrap();
    service.delete_model(caller, twin.model_id.as_str()).await.unwrap();
    let files = async |service| {
        (has_file(service, kept.model_id.as_str()).await, has_file(service, twin.model_id.as_str()).await)
    };
    assert_eq!(files(service).await, (true, false));
    assert_eq!(used(&test_service, caller).await, size());
    service.delete_model(caller, kept.model_id.as_str()).await.unwrap();
    assert_eq!((files(service).await, used(&test_service, caller).await), ((false, false), 0));
    let render = service.render(caller, kept.render_id.as_str()).await.unwrap();
    assert_eq!(render.status.as_str(), "done", "renders remain");
    service.clean_up().await.unwrap();
    assert_consistent(&test_service).await;
    assert!(test_service.upload("a", None).await.unwrap().is_new, "the file can be uploaded again");
}

async fn the_file_of_a_deleted_model_remains_until_its_renders_have_ended(address: &str) {
    let test_service = with_room_for(address, 1).await;
    let (service, caller) = (&test_service.service, &test_service.caller);
    let uploaded = test_service.upload("a", CHEAP).await.unwrap().result;
    let other = test_service.render(uploaded.model_id.as_str(), serde_json::json!({"quality": "share"}), None).await;
    let model = uploaded.model_id.as_str();
    let claim = test_service.claim_first().await;
    service.delete_model(caller, model).await.unwrap();
    let cleaned = async || {
        service.clean_up().await.unwrap();
        assert_consistent(&test_service).await;
        (has_file(service, model).await, used(&test_service, caller).await)
    };
    assert_eq!(cleaned().await, (true, size()), "a render is claimed, another one waits");
    assert_eq!(code(test_service.upload("b", None).await), ErrorCode::LimitReached, "its file counts");
    service.release_render(&claim).await.unwrap().unwrap();
    let claim = test_service.claim_first().await;
    service.poster_stored(&claim).await.unwrap().unwrap();
    service.finish_render(&claim, &some_files(), &[]).await.unwrap().unwrap();
    assert_eq!(cleaned().await, (true, size()), "a render waits");
    let left = other.unwrap().id;
    let left = if claim.render.id == left { uploaded.render_id.clone() } else { left };
    service.cancel_render(caller, left.as_str()).await.unwrap();
    assert_eq!(cleaned().await, (false, 0));
    assert!(test_service.upload("b", None).await.unwrap().is_new);
}

async fn a_hold_keeps_the_files_of_deleted_models(address: &str) {
    let test_service = TestService::new(address).await;
    let (service, caller) = (&test_service.service, &test_service.caller);
    let uploaded = test_service.upload("a", CHEAP).await.unwrap().result;
    service.cancel_render(caller, uploaded.render_id.as_str()).await.unwrap();
    let hold = service.hold_storage().await.unwrap();
    service.delete_model(caller, uploaded.model_id.as_str()).await.unwrap();
    service.clean_up().await.unwrap();
    assert!(has_file(service, uploaded.model_id.as_str()).await, "a backup may be copying it");
    assert_eq!(used(&test_service, caller).await, size(), "it still needs space");
    hold.release().await.unwrap();
    service.clean_up().await.unwrap();
    assert!(!has_file(service, uploaded.model_id.as_str()).await);
    assert_eq!(used(&test_service, caller).await, 0);
}

/// Creates a team of the test account with `member` as an editor. Returns the team and the caller of a key of `member`
/// for this team.
pub(crate) async fn team_with(test_service: &TestService, member: &Caller) -> (WorkspaceId, Caller) {
    let (service, owner) = (&test_service.service, &test_service.caller);
    let team = service.create_team(owner, "Shop").await.unwrap();
    let email = service.account(member).await.unwrap().email;
    service.set_member(&team, &email, Role::Editor).await.unwrap();
    let token = test_service::key(service, &member.account_id, Some(&team), vec![Scope::Read, Scope::Render]).await;
    (team, service.authenticate(Some(&token)).await.unwrap())
}

async fn the_owner_of_a_team_pays_for_its_models(address: &str) {
    let test_service = with_room_for(address, 2).await;
    let (service, owner) = (&test_service.service, &test_service.caller);
    let grace = test_service::caller(service, "grace@example.org").await;
    let (team, editor) = team_with(&test_service, &grace).await;
    let send = async |caller: &Caller, name: &str| {
        upload(service, caller, "x.glb", &glb_with_triangle(name), CHEAP).await.map(|uploaded| uploaded.result)
    };
    send(owner, "a").await.unwrap();
    send(&editor, "b").await.unwrap();
    assert_eq!((used(&test_service, owner).await, used(&test_service, &grace).await), (2 * size(), 0));
    assert_eq!(code(send(&editor, "c").await), ErrorCode::LimitReached);
    assert_eq!(code(send(owner, "c").await), ErrorCode::LimitReached);
    // With two models of her own, Grace has no room for the model of the team.
    send(&grace, "a").await.unwrap();
    let own = send(&grace, "b").await.unwrap();
    let offered =
        service.offer_team(owner, team.as_str(), grace.account_id.as_str(), "https://example.org/join/").await;
    let secret = offered.unwrap().link.rsplit('/').next().unwrap().to_owned();
    assert_eq!(code(service.accept_invitation(&grace, &secret).await), ErrorCode::LimitReached);
    service.cancel_render(&grace, own.render_id.as_str()).await.unwrap();
    service.delete_model(&grace, own.model_id.as_str()).await.unwrap();
    service.accept_invitation(&grace, &secret).await.unwrap();
    assert_eq!((used(&test_service, owner).await, used(&test_service, &grace).await), (size(), 2 * size()));
    send(owner, "c").await.unwrap();
}

/// An account has more models than the limit allows if the operator has lowered the limit.
async fn an_account_beyond_its_limit_accepts_a_team_without_models(address: &str) {
    let test_service = TestService::new(address).await;
    let (service, owner) = (&test_service.service, &test_service.caller);
    let grace = test_service::caller(service, "grace@example.org").await;
    let (team, _editor) = team_with(&test_service, &grace).await;
    upload(service, &grace, "x.glb", &glb_with_triangle("a"), None).await.unwrap();
    let options = ServiceOptions { account_storage_bytes: size() - 1, ..service.options().clone() };
    let lowered = Service::new(service.db().clone(), service.store().clone(), options);
    let link = lowered.offer_team(owner, team.as_str(), grace.account_id.as_str(), "").await.unwrap().link;
    assert_eq!(lowered.accept_invitation(&grace, &link).await.unwrap(), team);
}

/// Otherwise two teams that an account accepts at the same time could together exceed its limit.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_team_is_not_accepted_while_another_request_of_the_account_changes_something() {
    let database = TestDatabase::postgres();
    let test_service = TestService::new(database.address()).await;
    let (service, owner) = (&test_service.service, &test_service.caller);
    let grace = test_service::caller(service, "grace@example.org").await;
    let (team, _editor) = team_with(&test_service, &grace).await;
    let offered =
        service.offer_team(owner, team.as_str(), grace.account_id.as_str(), "https://example.org/join/").await;
    let secret = offered.unwrap().link.rsplit('/').next().unwrap().to_owned();
    let (locked, is_locked) = tokio::sync::oneshot::channel();
    let (end, is_ended) = tokio::sync::oneshot::channel::<()>();
    let (db, account) = (service.db().clone(), grace.account_id.clone());
    let other = tokio::spawn(async move {
        let changing = db.write(|tx| {
            Box::pin(async move {
                accounts::lock(tx, &account).await?;
                locked.send(()).unwrap();
                is_ended.await.unwrap();
                Ok::<_, plinth_db::DbError>(())
            })
        });
        changing.await.unwrap();
    });
    is_locked.await.unwrap();
    let busy = service.accept_invitation(&grace, &secret).await.unwrap_err();
    assert_eq!((busy.code, busy.retry_after_secs), (ErrorCode::RateLimited, Some(1)));
    end.send(()).unwrap();
    other.await.unwrap();
    service.accept_invitation(&grace, &secret).await.unwrap();
}

async fn files_of_models_in_deleted_teams_are_deleted(address: &str) {
    let test_service = with_room_for(address, 1).await;
    let (service, owner) = (&test_service.service, &test_service.caller);
    let grace = test_service::caller(service, "grace@example.org").await;
    let (team, editor) = team_with(&test_service, &grace).await;
    let sent = upload(service, &editor, "x.glb", &glb_with_triangle("a"), CHEAP).await.unwrap().result;
    service.cancel_render(&editor, sent.render_id.as_str()).await.unwrap();
    service.delete_team(owner, team.as_str()).await.unwrap();
    assert_eq!(code(test_service.upload("b", None).await), ErrorCode::LimitReached, "the file is still there");
    service.clean_up().await.unwrap();
    assert!(!has_file(service, sent.model_id.as_str()).await);
    assert_consistent(&test_service).await;
    test_service.upload("b", None).await.unwrap();
}

async fn upload_links_of_a_deleted_team_store_nothing(address: &str) {
    let test_service = TestService::new(address).await;
    let (service, owner) = (&test_service.service, &test_service.caller);
    let grace = test_service::caller(service, "grace@example.org").await;
    let (team, editor) = team_with(&test_service, &grace).await;
    let staged = service.create_upload_url(&editor, None).await.unwrap();
    let link = crate::delivery::parts(&staged.url);
    let mut file = service.begin_local_put(&link, None).await.unwrap();
    service.write_local_put(&link, &mut file, b"glTF").await.unwrap();
    service.finish_local_put(&link, file).await.unwrap();
    service.delete_team(owner, team.as_str()).await.unwrap();
    assert_eq!(code(service.begin_local_put(&link, None).await), ErrorCode::NotFound);
    assert_eq!(service.measure_staged().await.unwrap(), 1, "the file that was stored before is deleted");
}

mod both {
    use super::on_both_databases;
    on_both_databases! {
        a_model_beyond_the_limit_is_rejected_whichever_way_it_comes
        a_zip_is_measured_after_its_conversion
        a_model_beyond_the_limit_is_neither_checked_nor_stored
        concurrent_uploads_do_not_exceed_the_limit
        the_size_of_a_request_rejects_a_file_early_unless_it_may_be_known
        the_file_of_a_deleted_model_is_deleted_at_once_if_all_its_renders_have_ended
        the_file_of_a_deleted_model_remains_until_its_renders_have_ended
        a_hold_keeps_the_files_of_deleted_models
        the_owner_of_a_team_pays_for_its_models
        an_account_beyond_its_limit_accepts_a_team_without_models
        files_of_models_in_deleted_teams_are_deleted
        upload_links_of_a_deleted_team_store_nothing
    }
}
