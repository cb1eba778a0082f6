//! Repeated requests: finds the renders that earlier requests created, and stores the idempotency keys of requests that were
//! answered with such renders.

use plinth_spec::id::{RenderId, WorkspaceId};
use plinth_spec::state::RenderStatus;

use super::Render;
use crate::sql::{Param, params};
use crate::states::is_in;
use crate::{Conn, Result, Tx};

/// An existing render to return instead of creating a new render.
#[derive(Clone, Debug, PartialEq)]
pub struct Earlier {
    pub render: Render,
    /// Whether a request with the same idempotency key has created the render or was answered with this render. False if the
    /// request has no key.
    pub has_same_key: bool,
}

/// Returns the SQL condition that is true if a request with the key `$2` in the workspace `$1` has created the render or was
/// answered with this render.
fn has_key(render: &str) -> String {
    format!(
        "({render}.replay_key = $2 OR EXISTS (SELECT 1 FROM replayed_keys WHERE replayed_keys.workspace_id = $1 \
         AND replayed_keys.replay_key = $2 AND replayed_keys.render_id = {render}.id))"
    )
}

/// Finds, for each of `drafts`, an earlier render to return instead of creating a new render. All drafts belong to one request.
/// An earlier render must have the workspace, model, settings and ordinal of the draft. If it was created since `any_since`, its
/// idempotency key does not matter. If it was created earlier, but since `keyed_since`, a request with the same key must have
/// created it or have been answered with it. Renders with the same key are preferred to others, then newer renders to older ones.
/// `any_since` must not be earlier than `keyed_since`.
pub async fn find_earlier(
    conn: &mut Conn,
    drafts: &[Render],
    keyed_since: i64,
    any_since: i64,
) -> Result<Vec<Option<Earlier>>> {
    let mut found = vec![None; drafts.len()];
    let Some(first) = drafts.first() else { return Ok(found) };
    let mut values = params![&first.workspace_id, first.replay_key.as_str(), keyed_since, any_since].to_vec();
    let mut wanted = Vec::with_capacity(drafts.len());
    for (number, draft) in (0_i64..).zip(drafts) {
        let at = values.len();
        let [n, model, settings, ordinal] = [at + 1, at + 2, at + 3, at + 4];
        wanted.push(format!("(CAST(${n} AS BIGINT), ${model}, ${settings}, CAST(${ordinal} AS BIGINT))"));
        values.extend_from_slice(params![
            number,
            &draft.model_id,
            draft.settings_sha256.as_str(),
            draft.replay_ordinal
        ]);
    }
    let sql = format!(
        "WITH wanted (number, wanted_model, wanted_settings, wanted_ordinal) AS (VALUES {}) \
         SELECT number, CAST(CASE WHEN $2 <> '' AND {} THEN 1 ELSE 0 END AS BIGINT) AS has_same_key, {} \
         FROM wanted JOIN renders ON renders.id = (SELECT earlier.id FROM renders earlier \
         WHERE earlier.workspace_id = $1 AND earlier.settings_sha256 = wanted_settings AND earlier.created_at >= $3 \
         AND earlier.model_id = wanted_model AND (earlier.created_at >= $4 OR {}) \
         AND earlier.replay_ordinal = wanted_ordinal AND NOT earlier.is_system_preview \
         AND earlier.deleted_at IS NULL AND NOT (earlier.{}) \
         ORDER BY CASE WHEN {} THEN 0 ELSE 1 END, earlier.created_at DESC, earlier.id DESC LIMIT 1)",
        wanted.join(", "),
        has_key("renders"),
        columns!(),
        has_key("earlier"),
        is_in(RenderStatus::has_failed),
        has_key("earlier"),
    );
    for row in conn.fetch_all_built(&sql, &values).await? {
        let number = row.count("number")?;
        if let Some(slot) = usize::try_from(number).ok().and_then(|number| found.get_mut(number)) {
            *slot = Some(Earlier { render: Render::of(&row)?, has_same_key: row.int("has_same_key")? == 1 });
        }
    }
    Ok(found)
}

/// Stores that a request with this idempotency key was answered with these renders.
pub async fn insert_replayed_keys(
    tx: &mut Tx,
    workspace: &WorkspaceId,
    key: &str,
    renders: &[RenderId],
    now: i64,
) -> Result<()> {
    if renders.is_empty() {
        return Ok(());
    }
    let columns = "workspace_id, replay_key, render_id, created_at";
    let values: Vec<Param> = renders.iter().flat_map(|render| params![workspace, key, render, now].to_vec()).collect();
    tx.insert_missing_rows("replayed_keys", columns, &values).await
}

/// Deletes the idempotency keys that were stored before a time. Returns the number of deleted rows.
pub async fn delete_replayed_keys(tx: &mut Tx, before: i64) -> Result<u64> {
    tx.execute("DELETE FROM replayed_keys WHERE created_at < $1", params![before]).await
}
