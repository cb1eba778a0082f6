//! Tests of the administration of the installation.

use plinth_db::{renders, storage};
use plinth_service::access::{Caller, ClientAddress, NewAccount, hash_password};
use plinth_service::admin::{AccountQuery, Actor, AssetKind, Grant};
use plinth_service::jobs::WorkerRow;
use plinth_service::{Result, Service};
use plinth_spec::funding::Pool;
use plinth_spec::id::{AccountId, RenderId, WorkspaceId};
use plinth_spec::role::Role;
use plinth_spec::state::RenderStatus;
use plinth_spec::wire::{Scope, ServiceHealth};
use plinth_spec::{AdminAction, ErrorCode, FailureCode, WorkClass, WorkerState, limits};
use plinth_testkit::on_both_databases;
use serde_json::json;

use crate::test_service::{self, EMAIL, START, TestService, code, some_files};

const ROOT: &str = "root@example.org";

/// Creates an administrator, and returns it as an actor and as a caller.
async fn admin(service: &Service, email: &str) -> (Actor, Caller) {
    let new = NewAccount { email: email.to_owned(), is_admin: true, password_hash: None };
    let id = service.create_account(new).await.unwrap();
    let token = test_service::key(service, &id, None, vec![Scope::Read, Scope::Render]).await;
    let caller = service.authenticate(Some(&token)).await.unwrap();
    (Actor::of(&caller).unwrap(), caller)
}

/// Returns the log without the entries of [`admin`].
async fn log(service: &Service) -> Vec<(AdminAction, String, String, Option<String>)> {
    let mut entries = service.admin_log(100, 0).await.unwrap().entries;
    entries.retain(|entry| entry.reason != "a new account");
    entries.into_iter().map(|entry| (entry.action, entry.subject, entry.reason, entry.admin)).collect()
}

async fn a_grant_is_booked_once_and_logged_with_its_reason(address: &str) {
    let test_service = TestService::new(address).await;
    let (service, ada) = (&test_service.service, &test_service.caller.account_id);
    let (root, _) = admin(service, ROOT).await;
    let grant = Grant { reason: " a lost render ".to_owned(), ..Grant::paid(50) };
    for _again in 0..2 {
        let balance = service.grant_credits(&root, ada, grant.clone()).await.unwrap();
        assert_eq!((balance.paid, balance.free), (150, 0));
    }
    test_service.wait_ms(1);
    let free = Grant { pool: Pool::Free, ..Grant::paid(7) };
    assert_eq!(service.grant_credits(&Actor::Command, ada, free).await.unwrap().free, 7);
    let too_many = Grant { reason: "x".to_owned(), ..Grant::paid(-151) };
    assert_eq!(code(service.grant_credits(&root, ada, too_many).await), ErrorCode::NoCredits);
    for wrong in [0, 1_000_000_001, i64::MIN, i64::MAX] {
        assert_eq!(code(service.grant_credits(&root, ada, Grant::paid(wrong)).await), ErrorCode::BadRequest);
    }
    for reason in ["x".repeat(limits::ADMIN_REASON_CHARS + 1), "a\nb".to_owned()] {
        let wrong = Grant { reason, ..Grant::paid(1) };
        assert_eq!(code(service.grant_credits(&root, ada, wrong).await), ErrorCode::BadRequest);
    }
    let expected = [
        (AdminAction::GrantCredits, format!("{EMAIL}: +7 free credits"), String::new(), None),
        (
            AdminAction::GrantCredits,
            format!("{EMAIL}: +50 paid credits"),
            "a lost render".to_owned(),
            Some(ROOT.to_owned()),
        ),
    ];
    assert_eq!(log(service).await, expected, "a rejected grant is not in the log");
    let view = service.account_view(ada.as_str()).await.unwrap();
    assert_eq!((view.log.len(), view.ledger.len(), view.keys, view.workspaces.len()), (2, 3, 1, 1));
    assert_eq!(code(service.account_view("k3Jd92LmQx7a").await), ErrorCode::NotFound);
    test_service.assert_balanced().await;
}

async fn a_grant_with_the_identifier_of_another_one_is_rejected(address: &str) {
    let test_service = TestService::new(address).await;
    let (service, ada) = (&test_service.service, &test_service.caller.account_id);
    let grace = test_service::account(service, "grace@example.org").await;
    let grant = Grant::paid(50);
    service.grant_credits(&Actor::Command, ada, grant.clone()).await.unwrap();
    let other_number = Grant { credits: 60, ..grant.clone() };
    let other_pool = Grant { pool: Pool::Free, ..grant.clone() };
    for (account, other) in [(ada, other_number), (ada, other_pool), (&grace, grant)] {
        let error = service.grant_credits(&Actor::Command, account, other).await.unwrap_err();
        assert!(error.code == ErrorCode::BadRequest && error.message.contains("reload the page"), "{error}");
    }
    let balance = async |email: &str| service.find_account(email).await.unwrap().balance;
    let balances = [balance(EMAIL).await, balance("grace@example.org").await];
    assert_eq!(balances.map(|balance| (balance.paid, balance.free)), [(150, 0), (100, 0)]);
}

async fn accounts_are_searched_by_a_text_on_one_line(address: &str) {
    let test_service = TestService::new(address).await;
    let query = |search: &str| AccountQuery { search: search.to_owned(), ..AccountQuery::default() };
    assert_eq!(test_service.service.list_accounts(&query(" ADA\n"), 10).await.unwrap().len(), 1);
    for search in ["a\0d", "a\nd"] {
        let found = test_service.service.list_accounts(&query(search), 10).await;
        assert_eq!(code(found), ErrorCode::BadRequest, "{search:?}");
    }
}

async fn only_an_administrator_who_is_not_suspended_acts(address: &str) {
    let test_service = TestService::new(address).await;
    let (service, ada) = (&test_service.service, &test_service.caller);
    assert_eq!(code(Actor::of(ada)), ErrorCode::NotFound);
    let (root, caller) = admin(service, ROOT).await;
    let (other, other_caller) = admin(service, "other@example.org").await;
    // The actors are an account that is no administrator, a removed administrator and a suspended one.
    let pretender = Actor::Account(Box::new(ada.clone()));
    service.set_admin(&root, &other_caller.account_id, false, "left").await.unwrap();
    for actor in [&pretender, &other] {
        let (id, overlay) = (&ada.account_id, AssetKind::Overlay);
        let attempts: [Result<()>; 5] = [
            service.grant_credits(actor, id, Grant::paid(5)).await.map(drop),
            service.suspend_account(actor, id, "").await,
            service.reactivate_account(actor, id, "").await,
            service.set_admin(actor, id, true, "").await,
            service.set_system_asset(actor, overlay, "k3Jd92LmQx7a", true, "").await,
        ];
        for attempt in attempts {
            let message = attempt.unwrap_err().message;
            assert!(message.contains("needs an administrator"), "{message}");
        }
    }
    service.set_admin(&root, &ada.account_id, true, "").await.unwrap();
    service.suspend_account(&pretender, &caller.account_id, "").await.unwrap();
    assert_eq!(code(service.grant_credits(&root, &ada.account_id, Grant::paid(5)).await), ErrorCode::NotFound);
    assert_eq!(test_service.account().await.paid, 100);
}

async fn the_last_administrator_stays_one(address: &str) {
    let test_service = TestService::new(address).await;
    let service = &test_service.service;
    let (root, caller) = admin(service, ROOT).await;
    let id = &caller.account_id;
    let own = service.suspend_account(&root, id, "").await.unwrap_err();
    assert!(own.message.contains("your own account"), "{own}");
    for last in [
        service.set_admin(&root, id, false, "").await,
        service.set_admin(&Actor::Command, id, false, "").await,
        service.suspend_account(&Actor::Command, id, "").await,
    ] {
        let error = last.unwrap_err();
        assert!(error.message.contains("last administrator"), "{error}");
    }
    let (_, second) = admin(service, "second@example.org").await;
    service.suspend_account(&root, &second.account_id, "").await.unwrap();
    assert_eq!(
        code(service.set_admin(&root, id, false, "").await),
        ErrorCode::BadRequest,
        "the other one is suspended"
    );
    service.reactivate_account(&root, &second.account_id, "").await.unwrap();
    service.set_admin(&root, id, false, "").await.unwrap();
    assert!(log(service).await.iter().any(|entry| entry.0 == AdminAction::RemoveAdmin));
}

/// Two administrators who remove each other at the same moment do not leave an installation without one.
async fn administrators_cannot_remove_each_other_at_once(address: &str) {
    let test_service = TestService::new(address).await;
    let service = &test_service.service;
    let accounts = [admin(service, "a@example.org").await, admin(service, "b@example.org").await];
    for _round in 0..8 {
        let removals = [(0, 1), (1, 0)].map(|(actor, target)| {
            let (service, actor) = (service.clone(), accounts[actor].0.clone());
            let target: AccountId = accounts[target].1.account_id.clone();
            tokio::spawn(async move { service.set_admin(&actor, &target, false, "").await.is_ok() })
        });
        let mut removed = 0;
        for removal in removals {
            removed += usize::from(removal.await.unwrap());
        }
        let query = AccountQuery { admins: true, ..AccountQuery::default() };
        let left = service.list_accounts(&query, 10).await.unwrap();
        assert_eq!((removed, left.len()), (1, 1));
        for (_, caller) in &accounts {
            service.set_admin(&Actor::Command, &caller.account_id, true, "").await.unwrap();
        }
    }
}

async fn a_suspended_account_is_shut_out_and_its_renders_are_made(address: &str) {
    let test_service = TestService::new(address).await;
    let service = &test_service.service;
    let (root, _) = admin(service, ROOT).await;
    let bob = NewAccount {
        email: "bob@example.org".to_owned(),
        is_admin: false,
        password_hash: Some(hash_password("long enough").unwrap()),
    };
    let bob = service.create_account(bob).await.unwrap();
    let token = test_service::key(service, &bob, None, vec![Scope::Read, Scope::Render]).await;
    let caller = service.authenticate(Some(&token)).await.unwrap();
    let glb = plinth_testkit::glb_with_triangle("bob");
    let uploaded = test_service::upload(service, &caller, "a.glb", &glb, Some("{}")).await.unwrap().result;
    let link = service.create_sign_in(&bob, 3600).await.unwrap();
    let session = service.sign_in(&service.create_sign_in(&bob, 3600).await.unwrap(), "").await.unwrap();
    assert!(service.session(&session).await.unwrap().is_some());
    let running = test_service.claim().await;

    for _again in 0..2 {
        service.suspend_account(&root, &bob, "fraud").await.unwrap();
    }
    let error = service.authenticate(Some(&token)).await.unwrap_err();
    assert_eq!((error.code, error.status), (ErrorCode::Forbidden, 403));
    assert!(error.message.contains("suspended"), "{error}");
    assert!(service.session(&session).await.unwrap().is_none(), "its sessions have ended");
    assert!(service.sign_in(&link, "").await.is_err(), "its links are invalid");
    let client = || ClientAddress { address: "192.0.2.1".parse().unwrap(), is_shared: false };
    let password = service.sign_in_with_password(client(), "bob@example.org", "long enough".to_owned(), "").await;
    let error = password.unwrap_err();
    assert!(error.code == ErrorCode::Forbidden && error.message.contains("suspended"), "{error}");
    assert_eq!(code(service.create_sign_in(&bob, 3600).await), ErrorCode::Forbidden);
    // A render that was running when the account was suspended is still finished.
    service.poster_stored(&running).await.unwrap().unwrap();
    service.finish_render(&running, &some_files(), &[]).await.unwrap().unwrap();

    test_service.wait_ms(1);
    service.reactivate_account(&root, &bob, "a mistake").await.unwrap();
    let caller = service.authenticate(Some(&token)).await.unwrap();
    let render = service.render(&caller, uploaded.render_id.as_str()).await.unwrap();
    assert_eq!(render.status.as_str(), "done");
    let entries = log(service).await;
    let actions: Vec<_> = entries.iter().map(|entry| (entry.0, entry.2.as_str())).collect();
    assert_eq!(actions, [(AdminAction::Reactivate, "a mistake"), (AdminAction::Suspend, "fraud")], "once");
}

/// Otherwise a suspended user could join the team again with another account.
async fn invitations_of_a_suspended_account_are_void(address: &str) {
    let test_service = TestService::new(address).await;
    let (service, ada) = (&test_service.service, &test_service.caller);
    let (root, _) = admin(service, ROOT).await;
    let new = NewAccount { email: "bob@example.org".to_owned(), is_admin: false, password_hash: None };
    let bob = service.create_account(new).await.unwrap();
    let token = test_service::key(service, &bob, None, vec![Scope::Read]).await;
    let bob = service.authenticate(Some(&token)).await.unwrap();
    let team = service.create_team(ada, "Shop").await.unwrap();
    let secret = async |caller: &Caller, role| {
        let invited =
            service.invite(caller, team.as_str(), role, "", "https://plinth.example.org/join/").await.unwrap();
        invited.link.rsplit('/').next().unwrap().to_owned()
    };
    let for_bob = secret(ada, Role::Admin).await;
    service.accept_invitation(&bob, &for_bob).await.unwrap();
    let by_bob = secret(&bob, Role::Editor).await;
    assert_eq!(service.invitation(&by_bob).await.unwrap().role, Role::Editor);
    service.suspend_account(&root, &bob.account_id, "fraud").await.unwrap();
    assert_eq!(code(service.invitation(&by_bob).await), ErrorCode::NotFound);
    service.reactivate_account(&root, &bob.account_id, "").await.unwrap();
    assert!(service.invitation(&by_bob).await.is_ok());
}

async fn the_size_of_the_store_follows_its_rows(address: &str) {
    let test_service = TestService::new(address).await;
    let (service, caller) = (&test_service.service, &test_service.caller);
    let uploaded = test_service.upload("chair", Some("{}")).await.unwrap().result;
    let bytes = async || storage::total(&mut service.db().read().await.unwrap()).await.unwrap();
    let consistent = async || {
        let miscounted = storage::find_miscounted(&mut service.db().read().await.unwrap()).await.unwrap();
        assert_eq!(miscounted, []);
    };
    let model = bytes().await;
    assert!(model > 100, "the model: {model}");
    let claim = test_service.claim().await;
    service.poster_stored(&claim).await.unwrap().unwrap();
    let files = some_files();
    service.finish_render(&claim, &files, &[]).await.unwrap().unwrap();
    let drawn = files.stored_bytes();
    assert_eq!(bytes().await, model + drawn);
    let packaging = service.claim_packaging("worker").await.unwrap().unwrap();
    service.release_packaging(&packaging).await.unwrap().unwrap();
    let packaging = service.claim_packaging("worker").await.unwrap().unwrap();
    service.finish_packaging(&packaging, 1000).await.unwrap().unwrap();
    assert_eq!(bytes().await, model + drawn + 1000);
    consistent().await;
    let view = service.account_view(caller.account_id.as_str()).await.unwrap();
    assert_eq!((view.stored_bytes, view.renders.len()), (model + drawn + 1000, 1));
    service.delete_render(caller, uploaded.render_id.as_str()).await.unwrap();
    assert_eq!(bytes().await, model);
    service.delete_model(caller, uploaded.model_id.as_str()).await.unwrap();
    assert_eq!(bytes().await, 0);
    consistent().await;
}

async fn renders_of_an_earlier_version_are_measured(address: &str) {
    let test_service = TestService::new(address).await;
    let service = &test_service.service;
    test_service.upload("chair", Some("{}")).await.unwrap();
    let claim = test_service.claim().await;
    service.poster_stored(&claim).await.unwrap().unwrap();
    service.finish_render(&claim, &some_files(), &[]).await.unwrap().unwrap();
    let total = async || storage::total(&mut service.db().read().await.unwrap()).await.unwrap();
    let size = total().await;
    // A render that was inserted as finished has no size, like one that an earlier version has finished.
    let render =
        renders::find_anywhere(&mut service.db().read().await.unwrap(), &claim.render.id).await.unwrap().unwrap();
    let old = renders::Render { id: RenderId::parse("k3Jd92LmQx7a").unwrap(), ..render };
    let inserted = service.db().write(move |tx| Box::pin(async move { renders::insert(tx, &old).await }));
    inserted.await.unwrap();
    assert_eq!(total().await, size);
    assert_eq!((service.measure_renders().await.unwrap(), service.measure_renders().await.unwrap()), (1, 0));
    assert_eq!(total().await, size + some_files().stored_bytes());
    assert_eq!(storage::find_miscounted(&mut service.db().read().await.unwrap()).await.unwrap(), []);
    service.delete_render(&test_service.caller, "k3Jd92LmQx7a").await.unwrap();
    assert_eq!(total().await, size);
    // A counter that an earlier version did not update is corrected.
    let (workspace, other) = (test_service.caller.workspace_id.clone(), "k3Jd92LmQx7b");
    let old = storage::find_miscounted(&mut service.db().read().await.unwrap()).await.unwrap();
    assert_eq!((old, service.recount_storage().await.unwrap()), (Vec::new(), 0));
    let wrong = renders::Render { id: RenderId::parse(other).unwrap(), ..claim.render.clone() };
    let measured = service.db().write(move |tx| {
        Box::pin(async move {
            let render = renders::Render { files: Some("{}".to_owned()), status: RenderStatus::Done, ..wrong };
            renders::insert(tx, &render).await?;
            // The size is added to the counter of another workspace, so the counter of the own workspace is wrong.
            storage::measure(tx, &render.id, &WorkspaceId::parse("k3Jd92LmQx7c").unwrap(), 77).await
        })
    });
    assert!(measured.await.unwrap());
    let found = storage::find_miscounted(&mut service.db().read().await.unwrap()).await.unwrap();
    assert_eq!((found, service.recount_storage().await.unwrap()), (vec![workspace], 1));
    assert_eq!(service.account_view(test_service.caller.account_id.as_str()).await.unwrap().stored_bytes, size + 77);
}

fn worker(id: &str, state: WorkerState) -> WorkerRow {
    WorkerRow {
        id: id.to_owned(),
        name: format!("worker {id}"),
        pool: String::new(),
        takes: "share".to_owned(),
        version: "1".to_owned(),
        adapter: "llvmpipe".to_owned(),
        encoder: "libx264".to_owned(),
        slots: 1,
        state,
        started_at: 0,
        seen_at: 0,
    }
}

async fn the_overview_shows_queue_workers_failures_and_rate(address: &str) {
    let test_service = TestService::new(address).await;
    let service = &test_service.service;
    let model = test_service.model("chair").await;
    for claim in service.claim_renders("cleaner", 16).await.unwrap() {
        service.fail_render(&claim, FailureCode::RendererError, "broken").await.unwrap().unwrap();
    }
    for n in 1..=4 {
        let settings = json!({"quality": "share", "length": n});
        test_service.render(&model, settings, Some(&n.to_string())).await.unwrap();
        test_service.wait_ms(10_000);
    }
    service.report_worker(worker("a", WorkerState::Claiming)).await.unwrap();
    service.report_worker(worker("b", WorkerState::DiskFull)).await.unwrap();
    let done = service.claim_renders("worker a", 1).await.unwrap().remove(0);
    service.poster_stored(&done).await.unwrap().unwrap();
    service.finish_render(&done, &some_files(), &[]).await.unwrap().unwrap();
    let failed = service.claim_renders("worker a", 1).await.unwrap().remove(0);
    service.fail_render(&failed, FailureCode::Timeout, "slow").await.unwrap().unwrap();
    service.claim_renders("worker a", 1).await.unwrap();
    let packaging = service.claim_packaging("worker a").await.unwrap().unwrap();
    service.fail_packaging(&packaging).await.unwrap().unwrap();

    let seen = service.admin_overview().await.unwrap();
    let share = seen.queue.iter().find(|row| row.class == Some(WorkClass::Share)).unwrap();
    assert_eq!((share.waiting, share.running, share.oldest_at), (1, 1, Some(START + 30_000)));
    assert_eq!(seen.running.len(), 1);
    assert_eq!((seen.running[0].worker.as_deref(), seen.running[0].email.as_str()), (Some("worker a"), EMAIL));
    assert_eq!((seen.rate.hour, seen.rate.day, seen.rate.week), (1, 1, 1));
    let mut failures: Vec<_> = seen.failures.iter().map(|f| (f.code, f.count.hour)).collect();
    failures.sort();
    let expected = [(None, 1), (Some(FailureCode::RendererError), 1), (Some(FailureCode::Timeout), 1)];
    assert_eq!(failures, expected);
    let last = seen.hours.iter().fold((0, 0), |sum, hour| (sum.0 + hour.done, sum.1 + hour.failed));
    assert_eq!(last, (1, 2));
    assert_eq!((seen.health.status, seen.accounts), (ServiceHealth::Ok, 1));
    assert_eq!(seen.storage.largest[0].email, EMAIL);
    let fleet: Vec<_> = seen.fleet.workers.iter().map(|w| (w.row.id.as_str(), w.is_lost, w.jobs)).collect();
    assert_eq!(fleet, [("b", false, 0), ("a", false, 1)], "those that claim nothing come first");
    assert_eq!((seen.fleet.count(WorkerState::Claiming), seen.fleet.lost()), (1, 0));

    // A worker that stops reporting is listed as lost for a day. A worker that ends is not listed any more.
    test_service.wait_ms(71_000);
    service.report_worker(worker("b", WorkerState::Claiming)).await.unwrap();
    let fleet = service.fleet().await.unwrap();
    let states: Vec<_> = fleet.workers.iter().map(|w| (w.row.id.as_str(), w.is_lost)).collect();
    assert_eq!((states, fleet.count(WorkerState::Claiming), fleet.lost()), (vec![("a", true), ("b", false)], 1, 1));
    service.forget_worker("b".to_owned()).await.unwrap();
    test_service.wait_ms(24 * 3_600_000);
    service.clean_up().await.unwrap();
    assert!(service.fleet().await.unwrap().workers.is_empty());
    test_service.wait_ms(8 * 24 * 3_600_000);
    service.clean_up().await.unwrap();
    assert!(service.admin_overview().await.unwrap().failures.is_empty());
}

async fn a_published_environment_is_for_everybody(address: &str) {
    let test_service = TestService::new(address).await;
    let (service, ada) = (&test_service.service, &test_service.caller);
    let (root, _) = admin(service, ROOT).await;
    let grace = test_service::caller(service, "grace@example.org").await;
    let id = crate::assets::environment(&test_service, ada).await;
    let change =
        async |is_system| service.set_system_asset(&root, AssetKind::Environment, &id, is_system, "nice").await;
    assert!(service.list_envs(&grace).await.unwrap().data.is_empty());
    for _again in 0..2 {
        change(true).await.unwrap();
    }
    for caller in [ada, &grace] {
        let rows = service.list_envs(caller).await.unwrap().data;
        assert_eq!((rows.len(), rows[0].is_system), (1, Some(true)));
        assert_eq!(code(service.delete_env(caller, &id).await), ErrorCode::Forbidden);
    }
    // Another workspace can use the published environment for a render.
    let glb = plinth_testkit::glb_with_triangle("grace");
    let settings = json!({"envId": id}).to_string();
    test_service::upload(service, &grace, "a.glb", &glb, Some(&settings)).await.unwrap();
    let claim = test_service.claim().await;
    let parsed =
        plinth_spec::RenderSettings::from_text(&settings, plinth_spec::settings::ParseOptions::default()).unwrap();
    let found = async || service.find_render_assets(&claim, &parsed).await.unwrap();
    assert_eq!(found().await.unwrap().env.unwrap().as_str(), id);
    assert_eq!(service.list_system_assets().await.unwrap().len(), 1);
    assert!(service.list_private_assets(ada).await.unwrap().is_empty());
    test_service.wait_ms(1);
    change(false).await.unwrap();
    assert_eq!(found().await.unwrap_err().code, FailureCode::EnvDownloadFailed);
    assert_eq!(code(service.delete_env(&grace, &id).await), ErrorCode::NotFound);
    assert!(service.delete_env(ada, &id).await.unwrap().deleted);
    for (kind, id) in
        [(AssetKind::Environment, id.as_str()), (AssetKind::Overlay, id.as_str()), (AssetKind::Overlay, "x")]
    {
        let missing = service.set_system_asset(&root, kind, id, true, "").await;
        assert_eq!(code(missing), ErrorCode::NotFound);
    }
    let actions: Vec<_> = log(service).await.into_iter().map(|entry| entry.0).collect();
    assert_eq!(actions, [AdminAction::WithdrawEnvironment, AdminAction::PublishEnvironment], "each once");
}

mod both {
    use super::on_both_databases;
    on_both_databases! {
        a_grant_is_booked_once_and_logged_with_its_reason
        a_grant_with_the_identifier_of_another_one_is_rejected
        accounts_are_searched_by_a_text_on_one_line
        only_an_administrator_who_is_not_suspended_acts
        the_last_administrator_stays_one
        administrators_cannot_remove_each_other_at_once
        a_suspended_account_is_shut_out_and_its_renders_are_made
        invitations_of_a_suspended_account_are_void
        the_size_of_the_store_follows_its_rows
        renders_of_an_earlier_version_are_measured
        the_overview_shows_queue_workers_failures_and_rate
        a_published_environment_is_for_everybody
    }
}
