//! Tests of uploads whose file is too large, and of uploads beyond the limit of an account.

use plinth_db::{DbError, staged};
use plinth_spec::id::StagedId;
use plinth_spec::limits;
use plinth_testkit::on_both_databases;

use crate::make;

const LIMIT: u64 = limits::MODEL_FILE_BYTES;

async fn a_file_that_is_too_large_is_remembered_and_does_not_count(address: &str) {
    let db = make::open(address).await;
    let [rejected, stored] = [1, 2].map(|n| StagedId::parse(&make::id_text('s', n)).unwrap());
    let (one, two) = (rejected.clone(), stored.clone());
    let written = db.write(|tx| {
        Box::pin(async move {
            for id in [&one, &two] {
                make::staged_upload(tx, id, 1, 5).await?;
            }
            staged::set_size(tx, &two, LIMIT).await?;
            staged::set_too_large(tx, &one).await?;
            // An earlier file of this upload is stored, so it still counts.
            staged::set_too_large(tx, &two).await
        })
    });
    written.await.unwrap();
    let seen = async || {
        let conn = &mut db.read().await.unwrap();
        let bytes = staged::open_bytes(conn, &make::workspace_id(1), 0, None).await.unwrap();
        let [rejected, stored] = [&rejected, &stored];
        let too_large = [staged::is_too_large(conn, rejected).await, staged::is_too_large(conn, stored).await];
        (bytes, too_large.map(Result::unwrap))
    };
    assert_eq!(seen().await, (LIMIT, [true, false]));
    let again = rejected.clone();
    let smaller = db.write(|tx| {
        Box::pin(async move {
            staged::set_size(tx, &again, 7).await?;
            Ok::<_, DbError>(())
        })
    });
    smaller.await.unwrap();
    assert_eq!(seen().await, (LIMIT + 7, [false, false]));
}

async fn the_latest_uploads_beyond_the_limit_of_an_account_are_listed(address: &str) {
    let db = make::open(address).await;
    let id = |n| StagedId::parse(&make::id_text('s', n)).unwrap();
    let beyond = db.write(move |tx| {
        Box::pin(async move {
            for account in [2, 3] {
                make::tenant(tx, account).await?;
            }
            // Beside the first file, the third is too large, the fourth is not. The fifth belongs to another account.
            let uploads = [(1, 1, 60), (2, 1, 0), (3, 1, 50), (4, 1, 40), (5, 2, 100), (6, 1, LIMIT + 1)];
            // A third account exceeds its own limit.
            for (n, workspace, size) in uploads.into_iter().chain([(7, 3, 70), (8, 3, 40)]) {
                make::staged_upload(tx, &id(n), workspace, i64::from(n) + 10).await?;
                staged::set_size(tx, &id(n), size).await?;
            }
            let all = staged::list_beyond(tx, 0, 100).await?;
            staged::finalize(tx, &id(1), 20).await?;
            Ok::<_, DbError>((all, staged::list_beyond(tx, 0, 100).await?))
        })
    });
    assert_eq!(beyond.await.unwrap(), (vec![id(3), id(8)], vec![id(8)]));
}

async fn an_upload_counts_as_long_as_its_link_says(address: &str) {
    let db = make::open(address).await;
    let id = |n| StagedId::parse(&make::id_text('s', n)).unwrap();
    let seen = db.write(move |tx| {
        Box::pin(async move {
            // The links expire at 105 and 107.
            for (n, created_at) in [(1, 5), (2, 7)] {
                make::staged_upload(tx, &id(n), 1, created_at).await?;
                staged::set_size(tx, &id(n), 60).await?;
            }
            let mut seen = Vec::new();
            for since in [104, 105, 107] {
                let uploads = staged::count_open(tx, &make::workspace_id(1), since).await?;
                let bytes = staged::open_bytes(tx, &make::workspace_id(1), since, None).await?;
                seen.push((uploads, bytes, staged::list_beyond(tx, since, 50).await?.len()));
            }
            Ok::<_, DbError>(seen)
        })
    });
    assert_eq!(seen.await.unwrap(), [(2, 120, 2), (1, 60, 1), (0, 0, 0)]);
}

mod both {
    use super::on_both_databases;
    on_both_databases! {
        a_file_that_is_too_large_is_remembered_and_does_not_count
        the_latest_uploads_beyond_the_limit_of_an_account_are_listed
        an_upload_counts_as_long_as_its_link_says
    }
}
