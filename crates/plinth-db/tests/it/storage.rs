//! Tests of the counters of stored bytes while processes of an earlier version change the same rows.

use plinth_db::accounts::{self, AccountFilter};
use plinth_db::leases::{self, Lease, Report};
use plinth_db::queue::{self, Kind};
use plinth_db::renders::{self, Render};
use plinth_db::{DbError, storage, workspaces};
use plinth_spec::WorkClass;
use plinth_spec::state::{HlsStatus, RenderStatus};
use plinth_testkit::on_both_databases;

use crate::make;

/// Builds a finished render without a stored size, as an earlier version writes it.
fn finished(n: u32) -> Render {
    Render { status: RenderStatus::Done, files: Some("{}".to_owned()), files_attempt: Some(1), ..make::render(n, 1) }
}

async fn a_counter_below_zero_counts_as_zero_until_it_is_corrected(address: &str) {
    let db = make::open(address).await;
    db.write(|tx| {
        Box::pin(async move {
            make::tenant(tx, 2).await?;
            // The size is added to the counter of workspace 2, so it is missing from the counter of workspace 1.
            renders::insert(tx, &finished(1)).await?;
            assert!(storage::measure(tx, &make::render_id(1), &make::workspace_id(2), 777).await?);
            storage::recount(tx, &make::workspace_id(2)).await?;
            assert!(renders::set_deleted(tx, &make::render_id(1), 9).await?);
            Ok::<_, DbError>(())
        })
    })
    .await
    .unwrap();
    let seen = async || {
        let conn = &mut db.read().await.unwrap();
        let listed = accounts::list(conn, &AccountFilter::default(), 1, 1).await.unwrap();
        let largest = storage::largest(conn, 9).await.unwrap();
        let summaries = workspaces::list_summaries(conn, &make::account_id(1)).await.unwrap();
        [
            storage::total(conn).await.unwrap(),
            storage::of_account(conn, &make::account_id(1)).await.unwrap(),
            largest.iter().find(|one| one.account_id == make::account_id(1)).unwrap().bytes,
            listed[0].stored_bytes,
            summaries[0].stored_bytes,
        ]
    };
    assert_eq!(seen().await, [0; 5]);
    let miscounted = storage::find_miscounted(&mut db.read().await.unwrap()).await.unwrap();
    assert_eq!(miscounted, [make::workspace_id(1)]);
    let counted = db.write(|tx| Box::pin(async move { storage::recount(tx, &make::workspace_id(1)).await }));
    counted.await.unwrap();
    assert_eq!(seen().await, [make::model(1, 1).file_size; 5]);
}

async fn packaging_leaves_a_render_of_an_earlier_version_to_be_measured(address: &str) {
    let db = make::open(address).await;
    let packaging = db.write(|tx| {
        Box::pin(async move {
            renders::insert(tx, &finished(1)).await?;
            queue::enter(tx, Kind::Package, [Some(WorkClass::Standard)], &make::account_id(1)).await?;
            let lease = Lease { token: "p".to_owned(), until: 1_000, worker: "w".into() };
            assert!(leases::claim(tx, Kind::Package, &lease, 10).await?.is_some());
            let packaged = Report::new(RenderStatus::Done, RenderStatus::Done, HlsStatus::Ready);
            let report = Report { stored_bytes: Some(1000), is_last: true, ..packaged };
            leases::report(tx, &make::render_id(1), "p", &report, 11).await
        })
    });
    assert!(packaging.await.unwrap());
    let model = make::model(1, 1).file_size;
    let total = async || storage::total(&mut db.read().await.unwrap()).await.unwrap();
    assert_eq!(total().await, model);
    let unmeasured = storage::list_unmeasured(&mut db.read().await.unwrap(), 9).await.unwrap();
    assert_eq!(unmeasured.iter().map(|render| &render.id).collect::<Vec<_>>(), [&make::render_id(1)]);
    let measuring = db.write(|tx| {
        Box::pin(async move { storage::measure(tx, &make::render_id(1), &make::workspace_id(1), 500).await })
    });
    assert!(measuring.await.unwrap());
    assert_eq!(total().await, model + 500);
    assert_eq!(storage::find_miscounted(&mut db.read().await.unwrap()).await.unwrap(), []);
    let deleting = db.write(|tx| Box::pin(async move { renders::set_deleted(tx, &make::render_id(1), 12).await }));
    assert!(deleting.await.unwrap());
    assert_eq!(total().await, model);
    assert_eq!(storage::find_miscounted(&mut db.read().await.unwrap()).await.unwrap(), []);
}

mod both {
    use super::on_both_databases;
    on_both_databases! {
        a_counter_below_zero_counts_as_zero_until_it_is_corrected
        packaging_leaves_a_render_of_an_earlier_version_to_be_measured
    }
}
