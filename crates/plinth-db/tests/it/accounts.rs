//! Tests of accounts, workspaces, API keys, sessions and the ledger.

use plinth_db::ledger;
use plinth_db::ledger::Posted::{Done, Duplicate, InsufficientCredits};
use plinth_db::sessions::LinkPurpose;
use plinth_db::tokens::NewToken;
use plinth_db::workspaces::Workspace;
use plinth_db::{DbError, accounts, renders, sessions, tokens, workspaces};
use plinth_spec::funding::Balance;
use plinth_spec::id::TokenId;
use plinth_spec::role::Role;
use plinth_spec::wire::{LedgerType, Scope};
use plinth_testkit::on_both_databases;

use crate::make;

async fn the_balance_is_the_sum_of_the_entries(address: &str) {
    let db = make::open(address).await;
    let posted = db
        .write(|tx| {
            Box::pin(async move {
                renders::insert(tx, &make::render(1, 1)).await?;
                Ok::<_, DbError>([
                    ledger::post(tx, &make::entry(1, LedgerType::SignupBonus, 100, None)).await?,
                    ledger::post(tx, &make::entry(2, LedgerType::Render, -24, Some(1))).await?,
                    ledger::post(tx, &make::entry(3, LedgerType::Render, -24, Some(1))).await?,
                    ledger::post(tx, &make::entry(4, LedgerType::Refund, 24, Some(1))).await?,
                    ledger::post(tx, &make::entry(5, LedgerType::Refund, 24, Some(1))).await?,
                    ledger::post(tx, &make::entry(6, LedgerType::AdminGrant, -101, None)).await?,
                ])
            })
        })
        .await
        .unwrap();
    assert_eq!(posted, [Done, Done, Duplicate, Done, Duplicate, InsufficientCredits]);
    let mut conn = db.read().await.unwrap();
    let account = accounts::find_by_email(&mut conn, "1@example.org").await.unwrap().unwrap();
    assert_eq!(account.balance, Balance { paid: 100, free: 0 });
    assert!(ledger::find_unbalanced(&mut conn).await.unwrap().is_empty());
    let entries = ledger::list(&mut conn, &make::account_id(1), None, 10, 0).await.unwrap();
    assert_eq!(entries.iter().map(|e| e.credits).collect::<Vec<_>>(), [24, -24, 100]);
    let of_workspace =
        ledger::list(&mut conn, &make::account_id(1), Some(&make::workspace_id(1)), 10, 0).await.unwrap();
    assert_eq!(of_workspace.len(), 2);
    assert_eq!(ledger::count(&mut conn, &make::account_id(1), Some(&make::workspace_id(1))).await.unwrap(), 2);
}

async fn concurrent_charges_never_overdraw(address: &str) {
    let db = make::open(address).await;
    db.write(|tx| Box::pin(async move { ledger::post(tx, &make::entry(1, LedgerType::SignupBonus, 100, None)).await }))
        .await
        .unwrap();
    let charges = (0..40u32).map(|n| {
        let db = db.clone();
        tokio::spawn(async move {
            db.write(move |tx| {
                Box::pin(async move { ledger::post(tx, &make::entry(10 + n, LedgerType::AdminGrant, -7, None)).await })
            })
            .await
            .unwrap()
        })
    });
    let mut done = 0;
    for charge in charges.collect::<Vec<_>>() {
        done += usize::from(charge.await.unwrap() == Done);
    }
    assert_eq!(done, 14);
    let mut conn = db.read().await.unwrap();
    let account = accounts::find(&mut conn, &make::account_id(1)).await.unwrap().unwrap();
    assert_eq!(account.balance.paid, 2);
    assert!(ledger::find_unbalanced(&mut conn).await.unwrap().is_empty());
}

async fn a_bearer_is_read_with_account_workspace_and_role(address: &str) {
    let db = make::open(address).await;
    let key = TokenId::parse(&make::id_text('t', 1)).unwrap();
    let team = Workspace {
        id: make::workspace_id(9),
        name: "Team".to_owned(),
        owner_id: make::account_id(2),
        is_personal: false,
        created_at: 5,
        deleted_at: None,
    };
    let token = NewToken {
        id: key.clone(),
        account_id: make::account_id(1),
        workspace_id: team.id.clone(),
        name: "ci".to_owned(),
        sha256: "hash".to_owned(),
        prefix: "plinth".to_owned(),
        last4: "wxyz".to_owned(),
        scopes: vec![Scope::Read, Scope::Render],
        created_at: 6,
        expires_at: Some(99),
    };
    let (inserted, owner, id) = (team.clone(), key.clone(), team.id.clone());
    db.write(|tx| {
        Box::pin(async move {
            make::tenant(tx, 2).await?;
            workspaces::insert(tx, &inserted).await?;
            workspaces::set_member(tx, &inserted.id, &make::account_id(1), Role::Editor, 6).await?;
            tokens::insert(tx, &token).await?;
            tokens::touch(tx, &owner, 50).await
        })
    })
    .await
    .unwrap();
    let mut conn = db.read().await.unwrap();
    let bearer = tokens::find_bearer(&mut conn, "hash").await.unwrap().unwrap();
    assert_eq!(bearer.role, Some(Role::Editor));
    assert_eq!((bearer.payer_id, bearer.workspace_name.as_str()), (make::account_id(2), "Team"));
    assert_eq!((bearer.token.expires_at, bearer.token.last_used_at), (Some(99), Some(50)));
    assert!(!bearer.is_owner_suspended && !bearer.workspace_is_deleted && !bearer.workspace_is_personal);
    assert!(tokens::find_bearer(&mut conn, "other").await.unwrap().is_none());
    assert_eq!(tokens::list(&mut conn, &make::account_id(1)).await.unwrap().len(), 1);
    drop(conn);

    let removed = db
        .write(|tx| {
            Box::pin(async move {
                accounts::set_suspended(tx, &make::account_id(2), Some(7)).await?;
                workspaces::set_deleted(tx, &id, 8).await?;
                tokens::revoke(tx, &key, 9).await?;
                workspaces::remove_member(tx, &id, &make::account_id(1), Role::Editor).await
            })
        })
        .await
        .unwrap();
    assert!(removed);
    let bearer = tokens::find_bearer(&mut db.read().await.unwrap(), "hash").await.unwrap().unwrap();
    assert!(bearer.is_owner_suspended && !bearer.is_suspended && bearer.workspace_is_deleted);
    assert_eq!((bearer.role, bearer.token.revoked_at), (None, Some(9)));
}

async fn a_sign_in_link_works_once_and_sessions_end(address: &str) {
    let db = make::open(address).await;
    let used = db
        .write(|tx| {
            Box::pin(async move {
                sessions::insert_link(tx, "link", &make::account_id(1), LinkPurpose::SignIn, 100).await?;
                assert!(sessions::use_link(tx, "link", LinkPurpose::SetPassword, 50).await?.is_none());
                let first = sessions::use_link(tx, "link", LinkPurpose::SignIn, 50).await?;
                let second = sessions::use_link(tx, "link", LinkPurpose::SignIn, 51).await?;
                sessions::insert(tx, "session", &make::account_id(1), "Firefox", 50, 100).await?;
                Ok::<_, DbError>((first, second))
            })
        })
        .await
        .unwrap();
    assert_eq!(used, (Some(make::account_id(1)), None));
    let mut conn = db.read().await.unwrap();
    let session = sessions::find(&mut conn, "session", 99, 49).await.unwrap().unwrap();
    assert_eq!((session.account_id, session.workspace_id, session.seen_at), (make::account_id(1), None, 50));
    assert!(sessions::find(&mut conn, "session", 100, 49).await.unwrap().is_none(), "the session has expired");
    assert!(sessions::find(&mut conn, "session", 99, 50).await.unwrap().is_none(), "the session was idle for too long");
    drop(conn);
    let used = db.write(|tx| {
        Box::pin(async move {
            sessions::touch(tx, "session", 60).await?;
            sessions::set_workspace(tx, "session", Some(&make::workspace_id(1))).await?;
            assert_eq!(sessions::delete_expired(tx, 60, 59).await?, 0);
            sessions::find(tx, "session", 60, 59).await
        })
    });
    let session = used.await.unwrap().unwrap();
    assert_eq!((session.workspace_id, session.seen_at), (Some(make::workspace_id(1)), 60));
    let suspend =
        db.write(|tx| Box::pin(async move { accounts::set_suspended(tx, &make::account_id(1), Some(61)).await }));
    suspend.await.unwrap();
    let mut conn = db.read().await.unwrap();
    assert!(sessions::find(&mut conn, "session", 62, 59).await.unwrap().is_none(), "the account is suspended");
    drop(conn);
    assert_eq!(db.write(|tx| Box::pin(sessions::delete_expired(tx, 99, 60))).await.unwrap(), 1, "not used");
    assert_eq!(db.write(|tx| Box::pin(sessions::delete_expired(tx, 100, 0))).await.unwrap(), 1, "the link");
}

async fn a_second_account_with_the_same_address_is_a_duplicate(address: &str) {
    let db = make::open(address).await;
    let error = db.write(|tx| Box::pin(make::tenant(tx, 1))).await.unwrap_err();
    assert!(error.is_duplicate(), "{error:?}");
}

async fn the_owner_keeps_the_role_until_a_team_is_handed_over(address: &str) {
    let db = make::open(address).await;
    let roles = db.write(move |tx| {
        Box::pin(async move {
            let (ada, grace) = (make::account_id(1), make::account_id(2));
            make::tenant(tx, 2).await?;
            let id = make::workspace_id(9);
            let (name, owner_id) = ("Team".to_owned(), ada.clone());
            let team =
                Workspace { id: id.clone(), name, owner_id, is_personal: false, created_at: 5, deleted_at: None };
            workspaces::insert(tx, &team).await?;
            // A request that read the role of a member may hand the team over after the member was removed.
            assert!(!workspaces::set_owner(tx, &id, &ada, &grace).await?);
            assert_eq!(workspaces::role_of(tx, &id, &ada).await?, Some(Role::Owner));
            workspaces::set_member(tx, &id, &grace, Role::Editor, 6).await?;
            assert!(workspaces::set_owner(tx, &id, &ada, &grace).await?);
            // A request that read the role before the team was handed over may write a role afterwards.
            workspaces::set_member(tx, &id, &grace, Role::Viewer, 8).await?;
            let mut is_removed = false;
            for read in [Role::Editor, Role::Owner] {
                is_removed |= workspaces::remove_member(tx, &id, &grace, read).await?;
            }
            let roles = (workspaces::role_of(tx, &id, &ada).await?, workspaces::role_of(tx, &id, &grace).await?);
            Ok::<_, DbError>((roles, is_removed))
        })
    });
    assert_eq!(roles.await.unwrap(), ((Some(Role::Admin), Some(Role::Owner)), false));
}

async fn a_role_changes_only_if_it_is_the_one_that_was_read(address: &str) {
    let db = make::open(address).await;
    let changed = db.write(move |tx| {
        Box::pin(async move {
            let (team, grace) = (make::workspace_id(1), make::account_id(2));
            make::tenant(tx, 2).await?;
            workspaces::set_member(tx, &team, &grace, Role::Editor, 6).await?;
            let promoted = workspaces::set_role(tx, &team, &grace, Role::Editor, Role::Admin).await?;
            // A request that read the role before it changed may write a role afterwards.
            let outdated = workspaces::set_role(tx, &team, &grace, Role::Editor, Role::Viewer).await?;
            let after_change = workspaces::role_of(tx, &team, &grace).await?;
            assert!(!workspaces::remove_member(tx, &team, &grace, Role::Editor).await?, "an administrator by now");
            assert!(workspaces::remove_member(tx, &team, &grace, Role::Admin).await?);
            let removed = workspaces::set_role(tx, &team, &grace, Role::Admin, Role::Viewer).await?;
            let after_removal = workspaces::role_of(tx, &team, &grace).await?;
            Ok::<_, DbError>(((promoted, outdated, after_change), (removed, after_removal)))
        })
    });
    assert_eq!(changed.await.unwrap(), ((true, false, Some(Role::Admin)), (false, None)));
}

mod both {
    use super::on_both_databases;
    on_both_databases! {
        the_balance_is_the_sum_of_the_entries
        concurrent_charges_never_overdraw
        a_bearer_is_read_with_account_workspace_and_role
        a_sign_in_link_works_once_and_sessions_end
        a_second_account_with_the_same_address_is_a_duplicate
        the_owner_keeps_the_role_until_a_team_is_handed_over
        a_role_changes_only_if_it_is_the_one_that_was_read
    }
}
