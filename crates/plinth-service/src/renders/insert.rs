//! Creates renders in one transaction: finds renders to replay, charges the prices, and inserts rows and ledger
//! entries.

use std::collections::BTreeSet;

use plinth_db::queue::{self, Kind};
use plinth_db::renders::{self, Earlier, Render};
use plinth_db::{Conn, Tx, accounts, models};
use plinth_spec::funding::{self, Balance, Cost, Pool};
use plinth_spec::id::{AccountId, ModelId, RenderId};
use plinth_spec::idempotency::{ReplayKey, resubmit_since};
use plinth_spec::settings::{Output, ParseOptions};
use plinth_spec::state::{HlsStatus, RenderStatus};
use plinth_spec::{ErrorCode, RenderSettings, WorkClass, pricing};

use crate::access::{Caller, check_current_rights};
use crate::billing::charge;
use crate::error::{Result, ServiceError};
use crate::hash::sha256_hex;
use crate::ids::New as _;

const DAY_MS: i64 = 24 * 3600 * 1000;
/// Value of `replay_ordinal` for a render that must never be returned for a repeated request.
const NO_ORDINAL: i64 = -1;
const SYSTEM_PREVIEW: &str = "{\"quality\":\"share\"}";

/// A render to create.
#[derive(Clone, Debug)]
pub(crate) struct Wanted {
    pub model_id: ModelId,
    pub settings: RenderSettings,
    /// Whether the free pool must not be charged, even if the settings allow it.
    pub is_strict: bool,
}

impl Wanted {
    /// Returns the render to create for an upload.
    // Spec, Errors, no_credits: renders of uploads are never charged to the free pool.
    pub(crate) const fn of_upload(model_id: ModelId, settings: RenderSettings) -> Self {
        Self { model_id, settings, is_strict: true }
    }

    fn cost(&self) -> Cost {
        let cost = pricing::cost(&self.settings);
        Cost { strict: cost.strict || self.is_strict, ..cost }
    }
}

/// A created or replayed render.
#[derive(Clone, Debug)]
pub(crate) struct CreatedOrReplayed {
    pub render: Render,
    /// Whether an earlier request created the render.
    pub is_replay: bool,
}

/// Creates all renders of a request or none, and charges the new ones. A replay is an existing render that is returned
/// instead of a new one. `key` is the idempotency key of the request. An upload has no key, so its render is always new
/// and is never replayed. Locks the paying account.
/// Errors: the balance is too low, the caller has lost its rights, or the model of a new render is not active. A replay with
/// the same key needs no active model.
// Source: Spec, Create-render rules, 1 to 6.
pub(crate) async fn insert_renders(
    tx: &mut Tx,
    caller: &Caller,
    wanted: Vec<Wanted>,
    key: Option<&ReplayKey>,
    now: i64,
) -> Result<Vec<CreatedOrReplayed>> {
    let payer = accounts::lock(tx, &caller.payer_id).await?;
    let payer = payer.ok_or_else(|| ServiceError::internal("the paying account is missing"))?;
    check_current_rights(tx, caller, now).await?;
    let mut drafts: Vec<Render> = Vec::with_capacity(wanted.len());
    for want in &wanted {
        drafts.push(draft(caller, want, key, &drafts, now));
    }
    let earlier = match key {
        Some(key) => renders::find_earlier(tx, &drafts, key.replays_since(now), resubmit_since(now)).await?,
        None => vec![None; drafts.len()],
    };
    check_are_active(tx, caller, &drafts, &earlier).await?;
    let is_new = earlier.iter().map(Option::is_none);
    let costs: Vec<Cost> =
        wanted.iter().zip(is_new).filter(|(_, is_new)| *is_new).map(|(want, _)| want.cost()).collect();
    let pools = decide_funding(payer.balance, &costs)?;
    let mut funding = costs.into_iter().zip(pools);
    let mut created = Vec::with_capacity(drafts.len());
    let mut of_other_keys = Vec::new();
    for (draft, earlier) in drafts.into_iter().zip(earlier) {
        created.push(if let Some(Earlier { render, has_same_key }) = earlier {
            if !has_same_key {
                of_other_keys.push(render.id.clone());
            }
            CreatedOrReplayed { render, is_replay: true }
        } else {
            let (cost, pool) = funding.next().ok_or_else(|| ServiceError::internal("a render without funding"))?;
            CreatedOrReplayed { render: funded(draft, cost, pool), is_replay: false }
        });
    }
    if let Some(key) = key.filter(|key| !key.as_str().is_empty()) {
        // Later requests with this key get the same renders, even after the time in which equal requests with other keys are
        // answered with these renders.
        renders::insert_replayed_keys(tx, &caller.workspace_id, key.as_str(), &of_other_keys, now).await?;
    }
    let new: Vec<Render> = created.iter().filter(|one| !one.is_replay).map(|one| one.render.clone()).collect();
    renders::insert_all(tx, &new).await?;
    charge(tx, &caller.payer_id, &new, now).await?;
    queue::enter(tx, Kind::Render, new.iter().map(|render| render.work_class), &caller.payer_id).await?;
    Ok(created)
}

/// Decides which pool pays for each render.
/// Errors: the balance is too low.
fn decide_funding(balance: Balance, costs: &[Cost]) -> Result<Vec<Pool>> {
    funding::decide(balance, costs).map_err(|short| {
        let what = match costs {
            [_one] => format!("a render of {} credits", short.credits),
            all => {
                let credits = all.iter().fold(0_u64, |sum, cost| sum.saturating_add(cost.credits));
                format!("all {} renders, which cost {credits} credits together, each from one pool", all.len())
            }
        };
        let Balance { paid, free, .. } = balance;
        let message = format!("the balance does not cover {what}: {paid} paid and {free} free credits are left");
        ServiceError::new(ErrorCode::NoCredits, message)
    })
}

/// Returns an error early if the balance does not cover a render. [`insert_renders`] checks the balance again with the account
/// locked.
pub(crate) async fn check_funds(conn: &mut Conn, payer: &AccountId, wanted: &Wanted) -> Result<()> {
    let payer = accounts::find(conn, payer).await?;
    let payer = payer.ok_or_else(|| ServiceError::internal("the paying account is missing"))?;
    decide_funding(payer.balance, &[wanted.cost()]).map(drop)
}

/// Returns an error if a model is not active or does not belong to the workspace. Does not check the models of renders
/// that are replayed for the same idempotency key.
async fn check_are_active(tx: &mut Tx, caller: &Caller, drafts: &[Render], earlier: &[Option<Earlier>]) -> Result<()> {
    let is_own = |earlier: &Option<Earlier>| earlier.as_ref().is_some_and(|earlier| earlier.has_same_key);
    let checked = drafts.iter().zip(earlier).filter(|(_draft, earlier)| !is_own(earlier));
    let ids: BTreeSet<&ModelId> = checked.map(|(draft, _earlier)| &draft.model_id).collect();
    let ids: Vec<ModelId> = ids.into_iter().cloned().collect();
    let active = models::list_active(tx, &caller.workspace_id, &ids).await?;
    let missing =
        drafts.iter().zip(earlier).position(|(draft, earlier)| !is_own(earlier) && !active.contains(&draft.model_id));
    match missing {
        Some(index) => Err(ServiceError::model_not_found().of_render(index, drafts.len())),
        None => Ok(()),
    }
}

fn funded(draft: Render, cost: Cost, pool: Pool) -> Render {
    let frames_sha256 = if pool == Pool::Free { marked(&draft.frames_sha256) } else { draft.frames_sha256.clone() };
    Render { pool: Some(pool), credits: cost.credits, frames_sha256, ..draft }
}

fn draft(caller: &Caller, want: &Wanted, key: Option<&ReplayKey>, before: &[Render], now: i64) -> Render {
    let settings = want.settings.canonical();
    let settings_sha256 = sha256_hex(&settings);
    let is_equal = |r: &&Render| r.model_id == want.model_id && r.settings_sha256 == settings_sha256;
    let equal_before = before.iter().filter(is_equal).count();
    let is_dataset = want.settings.video().output == Output::Dataset;
    Render {
        settings,
        settings_sha256,
        frames_sha256: sha256_hex(want.settings.frames()),
        work_class: Some(WorkClass::of(&want.settings)),
        replay_key: key.map(ReplayKey::as_str).unwrap_or_default().to_owned(),
        replay_ordinal: key.map_or(NO_ORDINAL, |_key| i64::try_from(equal_before).unwrap_or(i64::MAX)),
        hls_status: if is_dataset { HlsStatus::Skipped } else { HlsStatus::Pending },
        ..blank(caller, want.model_id.clone(), now)
    }
}

/// Creates the free preview of an upload without settings, and returns its identifier. If the model has such a preview
/// already, returns the identifier of this preview. Locks the paying account.
/// Errors: the account has used up its free previews of the last 24 hours, or the caller has lost its rights.
pub(crate) async fn insert_system_preview(
    tx: &mut Tx,
    caller: &Caller,
    model: &ModelId,
    per_day: u32,
    now: i64,
) -> Result<RenderId> {
    accounts::lock(tx, &caller.payer_id).await?;
    check_current_rights(tx, caller, now).await?;
    if let Some(existing) = renders::find_system_preview(tx, model).await? {
        return Ok(existing);
    }
    check_free_uploads(renders::count_system_previews(tx, &caller.payer_id, free_uploads_since(now)).await?, per_day)?;
    let settings = RenderSettings::from_text(SYSTEM_PREVIEW, ParseOptions::default())?;
    let render = Render {
        settings: SYSTEM_PREVIEW.to_owned(),
        settings_sha256: sha256_hex(SYSTEM_PREVIEW),
        frames_sha256: marked(&sha256_hex(settings.frames())),
        work_class: Some(WorkClass::of(&settings)),
        is_system_preview: true,
        ..blank(caller, model.clone(), now)
    };
    renders::insert(tx, &render).await?;
    queue::enter(tx, Kind::Render, [render.work_class], &caller.payer_id).await?;
    Ok(render.id)
}

/// Returns an error if the free previews of the last 24 hours are used up.
pub(crate) fn check_free_uploads(used: u64, per_day: u32) -> Result<()> {
    if used < u64::from(per_day) {
        return Ok(());
    }
    let message =
        format!("the {per_day} free uploads in 24 hours are used up; send renderSettings for a billed render, or wait");
    Err(ServiceError::new(ErrorCode::UploadLimit, message))
}

/// Returns the start of the time span in which free previews are counted.
pub(crate) const fn free_uploads_since(now: i64) -> i64 {
    now - DAY_MS
}

/// Derives the hash of watermarked frames from the hash of the same frames without a watermark. The hashes differ, so
/// a render with a watermark never shares frames with a render without a watermark.
fn marked(frames_sha256: &str) -> String {
    sha256_hex(format!("marked {frames_sha256}"))
}

fn blank(caller: &Caller, model_id: ModelId, now: i64) -> Render {
    Render {
        id: RenderId::new_random(),
        workspace_id: caller.workspace_id.clone(),
        model_id,
        payer_id: caller.payer_id.clone(),
        settings: String::new(),
        settings_sha256: String::new(),
        frames_sha256: String::new(),
        work_class: None,
        replay_key: String::new(),
        replay_ordinal: NO_ORDINAL,
        is_system_preview: false,
        pool: None,
        credits: 0,
        status: RenderStatus::Pending,
        hls_status: HlsStatus::Skipped,
        failure_code: None,
        error_message: None,
        warnings: "[]".to_owned(),
        attempt: 0,
        hls_attempt: 0,
        poster_attempt: None,
        files_attempt: None,
        files: None,
        trace_parent: plinth_trace::current(),
        progress: None,
        progress_attempt: None,
        progress_ends_at: None,
        created_at: now,
        updated_at: now,
    }
}
