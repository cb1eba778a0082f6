//! Tests of looks, the saved render settings of a workspace.

use plinth_db::DbError;
use plinth_db::looks::{self, Look};
use plinth_db::renders::{self, Render};
use plinth_spec::id::LookId;
use plinth_spec::state::RenderStatus;
use plinth_testkit::on_both_databases;

use crate::make;

fn look(n: u32, workspace: u32, name: &str) -> Look {
    Look {
        id: LookId::parse(&make::id_text('l', n)).unwrap(),
        workspace_id: make::workspace_id(workspace),
        name: name.to_owned(),
        settings: "{\"length\":3}".to_owned(),
        created_at: i64::from(n),
        updated_at: i64::from(n),
    }
}

async fn looks_belong_to_their_workspace(address: &str) {
    let db = make::open(address).await;
    db.write(|tx| {
        Box::pin(async move {
            make::tenant(tx, 2).await?;
            for (n, workspace, name) in [(1, 1, "Sale"), (2, 1, "Dark"), (3, 2, "Sale")] {
                looks::insert(tx, &look(n, workspace, name)).await?;
            }
            let (own, theirs) = (make::workspace_id(1), make::workspace_id(2));
            let first = look(1, 1, "Sale").id;
            assert!(!looks::rename(tx, &theirs, &first, "Mine", 9).await?);
            assert!(!looks::delete(tx, &theirs, &first).await?);
            assert!(looks::rename(tx, &own, &first, "Spring", 9).await?);
            looks::set_settings(tx, &first, "{}", 10).await?;
            looks::set_start(tx, &own, Some(first.as_str())).await
        })
    })
    .await
    .unwrap();
    let conn = &mut db.read().await.unwrap();
    let own = make::workspace_id(1);
    let names: Vec<String> = looks::list(conn, &own).await.unwrap().into_iter().map(|look| look.name).collect();
    assert_eq!((names, looks::count(conn, &own).await.unwrap()), (vec!["Dark".to_owned(), "Spring".to_owned()], 2));
    assert_eq!(looks::characters(conn, &own).await.unwrap(), 14);
    assert_eq!(looks::characters(conn, &make::workspace_id(3)).await.unwrap(), 0);
    let changed = Look { settings: "{}".to_owned(), updated_at: 10, ..look(1, 1, "Spring") };
    assert_eq!(looks::find(conn, &own, &changed.id).await.unwrap(), Some(changed.clone()));
    assert_eq!(looks::find_by_name(conn, &own, "Spring").await.unwrap(), Some(changed.clone()));
    assert_eq!(looks::find(conn, &make::workspace_id(2), &changed.id).await.unwrap(), None);
    assert_eq!(looks::start(conn, &own).await.unwrap(), Some(changed.id.to_string()));
    assert_eq!(looks::start(conn, &make::workspace_id(2)).await.unwrap(), None);
}

async fn a_name_is_used_once_in_a_workspace(address: &str) {
    let db = make::open(address).await;
    let add = async |n| db.write(move |tx| Box::pin(async move { looks::insert(tx, &look(n, 1, "Sale")).await })).await;
    add(1).await.unwrap();
    let error: DbError = add(2).await.unwrap_err();
    assert!(error.is_duplicate(), "{error}");
}

async fn the_newest_finished_renders_with_the_settings_of_a_look_are_found(address: &str) {
    let db = make::open(address).await;
    let adding = db.write(|tx| {
        Box::pin(async move {
            for (n, status, hash) in [
                (1, RenderStatus::Done, "s"),
                (2, RenderStatus::Pending, "s"),
                (3, RenderStatus::Done, "s"),
                (4, RenderStatus::Done, "other"),
                (5, RenderStatus::Done, "third"),
            ] {
                let render = Render { status, settings_sha256: hash.to_owned(), ..make::render(n, 1) };
                renders::insert(tx, &render).await?;
            }
            Ok::<_, DbError>(())
        })
    });
    adding.await.unwrap();
    let conn = &mut db.read().await.unwrap();
    let hashes = ["s".to_owned(), "other".to_owned(), "none".to_owned()];
    for (limit, expected) in [(1, vec![4, 3]), (4, vec![4, 3, 1])] {
        let found = renders::newest_done_with(conn, &make::workspace_id(1), &hashes, limit).await.unwrap();
        let ids: Vec<_> = found.iter().map(|render| render.id.clone()).collect();
        assert_eq!(ids, expected.into_iter().map(make::render_id).collect::<Vec<_>>());
        assert!(found.iter().all(|render| render.settings.is_empty()), "they may be large");
    }
    assert_eq!(renders::newest_done_with(conn, &make::workspace_id(2), &hashes, 4).await.unwrap(), []);
}

mod both {
    use super::on_both_databases;
    on_both_databases! {
        the_newest_finished_renders_with_the_settings_of_a_look_are_found
        looks_belong_to_their_workspace
        a_name_is_used_once_in_a_workspace
    }
}
