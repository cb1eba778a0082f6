//! Writes renders directly into the database.

use plinth_db::renders::{self, Render};
use plinth_db::{Db, DbError, DbOptions};
use plinth_spec::id::{ModelId, RenderId};
use plinth_spec::state::{HlsStatus, RenderStatus};

/// Number of rows per statement. Larger statements are slow, because sqlx asks SQLite for the name of each parameter.
const AT_ONCE: usize = 40;

/// Returns the identifier of a render that [`fill`] wrote. Each workspace has a letter.
pub(super) fn id(letter: char, number: usize) -> String {
    format!("{letter}oad{number:08}")
}

/// Adds finished renders to the workspace of an account. They are copies of the preview of `model`, each a millisecond
/// older than the one before.
pub(super) async fn fill(address: &str, (letter, email, model): (char, &str, &ModelId), count: usize) {
    let db = Db::open(address, DbOptions::default()).await.unwrap();
    let mut conn = db.read().await.unwrap();
    let account = plinth_db::accounts::find_by_email(&mut conn, email).await.unwrap().unwrap().id;
    let workspace = plinth_db::workspaces::find_personal(&mut conn, &account).await.unwrap().unwrap().id;
    let newest = renders::list_summaries(&mut conn, model, &workspace, 1, 1 << 20).await.unwrap().remove(0);
    let like = renders::find_anywhere(&mut conn, &newest.id).await.unwrap().unwrap();
    drop(conn);
    for begin in (0..count).step_by(AT_ONCE) {
        let row = |number: usize| Render {
            id: RenderId::parse(&id(letter, number)).unwrap(),
            is_system_preview: false,
            status: RenderStatus::Done,
            hls_status: HlsStatus::Skipped,
            created_at: like.created_at - i64::try_from(number).unwrap(),
            updated_at: like.updated_at - i64::try_from(number).unwrap(),
            ..like.clone()
        };
        let rows: Vec<Render> = (begin..count.min(begin + AT_ONCE)).map(row).collect();
        let written = db.write(move |tx| {
            let rows = rows.clone();
            Box::pin(async move {
                renders::insert_all(tx, &rows).await?;
                Ok::<_, DbError>(())
            })
        });
        written.await.unwrap();
    }
    db.close().await;
}
