//! Tests of the counters of model files, and of the time from which a model file is no longer needed.

use plinth_db::models;
use plinth_db::workspaces::{self, Workspace};
use plinth_db::{Db, DbError, model_files, renders, storage};
use plinth_spec::id::ModelId;
use plinth_spec::role::Role;
use plinth_spec::state::{ModelStatus, RenderStatus};
use plinth_testkit::on_both_databases;

use crate::make;

/// Returns the total size of the models that account `n` pays for, after a check that the counters equal the sums over the rows.
async fn bytes_of(db: &Db, n: u32) -> u64 {
    let conn = &mut db.read().await.unwrap();
    assert_eq!(storage::find_miscounted(conn).await.unwrap(), []);
    storage::models_of_account(conn, &make::account_id(n)).await.unwrap()
}

async fn unneeded(db: &Db) -> Vec<ModelId> {
    model_files::list_unneeded(&mut db.read().await.unwrap(), 9).await.unwrap()
}

async fn set_file_deleted(db: &Db, model: u32) -> bool {
    let id = make::model_id(model);
    db.write(move |tx| Box::pin(async move { model_files::set_deleted(tx, &id, 20).await })).await.unwrap()
}

async fn delete(db: &Db, model: u32) {
    let id = make::model_id(model);
    let deleting = db.write(move |tx| {
        Box::pin(async move { models::set_status(tx, &id, ModelStatus::Active, ModelStatus::Deleted, 9).await })
    });
    assert!(deleting.await.unwrap());
}

async fn a_file_is_needed_until_its_model_is_deleted_and_all_its_renders_have_ended(address: &str) {
    let db = make::open(address).await;
    let size = make::model(1, 1).file_size;
    assert!(!set_file_deleted(&db, 1).await, "the model is active");
    delete(&db, 1).await;
    let unfinished = RenderStatus::ALL.iter().filter(|status| !status.is_final());
    for (n, status) in (1..).zip(unfinished) {
        let render = renders::Render { status: *status, ..make::render(n, 1) };
        db.write(move |tx| Box::pin(async move { renders::insert(tx, &render).await })).await.unwrap();
        assert_eq!(unneeded(&db).await, [], "{status:?}");
        assert!(!set_file_deleted(&db, 1).await, "{status:?}");
        let ending = db.write(move |tx| {
            Box::pin(async move {
                renders::set_status(tx, &make::render_id(n), *status, RenderStatus::Failed, None, 10).await
            })
        });
        assert!(ending.await.unwrap());
    }
    assert_eq!(bytes_of(&db, 1).await, size, "the file counts until it is deleted");
    assert_eq!(unneeded(&db).await, [make::model_id(1)]);
    assert!(set_file_deleted(&db, 1).await);
    assert!(!set_file_deleted(&db, 1).await, "its size is subtracted once");
    assert_eq!((bytes_of(&db, 1).await, unneeded(&db).await), (0, Vec::new()));
}

async fn an_account_has_the_models_of_all_workspaces_that_it_owns(address: &str) {
    let db = make::open(address).await;
    let size = make::model(1, 1).file_size;
    db.write(|tx| {
        Box::pin(async move {
            make::tenant(tx, 2).await?;
            let team = Workspace {
                id: make::workspace_id(3),
                name: "team".to_owned(),
                owner_id: make::account_id(1),
                is_personal: false,
                created_at: 1,
                deleted_at: None,
            };
            workspaces::insert(tx, &team).await?;
            models::insert(tx, &make::model(2, 2), &make::contents()).await?;
            models::insert(tx, &make::model(3, 3), &make::contents()).await?;
            models::insert(tx, &make::model(4, 3), &make::contents()).await?;
            Ok::<_, DbError>(())
        })
    })
    .await
    .unwrap();
    assert_eq!((bytes_of(&db, 1).await, bytes_of(&db, 2).await), (3 * size, size));
    let of_team = storage::models_of_workspace(&mut db.read().await.unwrap(), &make::workspace_id(3)).await.unwrap();
    assert_eq!(of_team, 2 * size);
    let handing_over = db.write(|tx| {
        Box::pin(async move {
            let (team, from, to) = (make::workspace_id(3), make::account_id(1), make::account_id(2));
            workspaces::set_member(tx, &team, &to, Role::Editor, 5).await?;
            workspaces::set_owner(tx, &team, &from, &to).await
        })
    });
    assert!(handing_over.await.unwrap());
    assert_eq!((bytes_of(&db, 1).await, bytes_of(&db, 2).await), (size, 3 * size));
    // The models of a deleted team still count for its owner until their files are deleted.
    let mark = async || {
        let marking = db.write(|tx| {
            Box::pin(async move { model_files::delete_of_workspace(tx, &make::workspace_id(3), 1, 7).await })
        });
        marking.await.unwrap()
    };
    let deleted = async || model_files::list_deleted_workspaces(&mut db.read().await.unwrap(), 9).await.unwrap();
    assert_eq!(deleted().await, []);
    let deleting = db.write(|tx| Box::pin(async move { workspaces::set_deleted(tx, &make::workspace_id(3), 6).await }));
    assert!(deleting.await.unwrap());
    assert_eq!(deleted().await, [make::workspace_id(3)]);
    assert_eq!((mark().await, mark().await, mark().await), (1, 1, 0));
    assert_eq!(bytes_of(&db, 2).await, 3 * size);
    assert_eq!(unneeded(&db).await, [make::model_id(3), make::model_id(4)]);
    assert!(set_file_deleted(&db, 3).await && set_file_deleted(&db, 4).await);
    assert_eq!((bytes_of(&db, 2).await, mark().await), (size, 0));
    assert_eq!(deleted().await, []);
}

async fn only_active_models_with_a_size_in_the_range_are_found(address: &str) {
    let db = make::open(address).await;
    let size = make::model(1, 1).file_size;
    let has = async |workspace: u32, sizes| {
        let conn = &mut db.read().await.unwrap();
        model_files::has_active_of_size(conn, &make::workspace_id(workspace), &sizes).await.unwrap()
    };
    assert!(has(1, size..=size).await && has(1, 0..=size + 1).await);
    assert!(!has(1, 0..=size - 1).await && !has(1, size + 1..=size + 9).await && !has(2, size..=size).await);
    delete(&db, 1).await;
    assert!(!has(1, size..=size).await);
}

mod both {
    use super::on_both_databases;
    on_both_databases! {
        a_file_is_needed_until_its_model_is_deleted_and_all_its_renders_have_ended
        an_account_has_the_models_of_all_workspaces_that_it_owns
        only_active_models_with_a_size_in_the_range_are_found
    }
}
