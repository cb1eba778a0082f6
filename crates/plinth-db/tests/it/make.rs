//! Builders of test rows.

use plinth_db::accounts::Account;
use plinth_db::models::{Contents, Model};
use plinth_db::renders::Render;
use plinth_db::staged::{self, NewStagedUpload};
use plinth_db::workspaces::Workspace;
use plinth_db::{Db, DbError, DbOptions, Tx, accounts, models, queue, renders, workspaces};
use plinth_spec::WorkClass;
use plinth_spec::funding::{Balance, Pool};
use plinth_spec::id::{AccountId, EntryId, ModelId, RenderId, StagedId, WorkspaceId};
use plinth_spec::state::{HlsStatus, ModelStatus, RenderStatus};
use plinth_spec::wire::LedgerType;

/// Builds the identifier of a row from a kind and a number.
pub(crate) fn id_text(kind: char, n: u32) -> String {
    format!("{kind}{n:011}")
}

pub(crate) fn account_id(n: u32) -> AccountId {
    AccountId::parse(&id_text('a', n)).unwrap()
}

pub(crate) fn workspace_id(n: u32) -> WorkspaceId {
    WorkspaceId::parse(&id_text('w', n)).unwrap()
}

pub(crate) fn model_id(n: u32) -> ModelId {
    ModelId::parse(&id_text('m', n)).unwrap()
}

pub(crate) fn render_id(n: u32) -> RenderId {
    RenderId::parse(&id_text('r', n)).unwrap()
}

pub(crate) fn entry_id(n: u32) -> EntryId {
    EntryId::parse(&id_text('e', n)).unwrap()
}

/// Opens a database with account 1, its workspace 1 and model 1.
pub(crate) async fn open(address: &str) -> Db {
    let db = Db::open(address, DbOptions::default()).await.unwrap();
    db.write(|tx| {
        Box::pin(async move {
            tenant(tx, 1).await?;
            models::insert(tx, &model(1, 1), &contents()).await
        })
    })
    .await
    .unwrap();
    db
}

/// Inserts an account and its personal workspace, both with the number `n`.
pub(crate) async fn tenant(tx: &mut Tx, n: u32) -> Result<(), DbError> {
    let account = Account {
        id: account_id(n),
        email: format!("{n}@example.org"),
        password_hash: None,
        is_admin: false,
        suspended_at: None,
        balance: Balance::default(),
        created_at: 1,
    };
    accounts::insert(tx, &account).await?;
    let workspace = Workspace {
        id: workspace_id(n),
        name: format!("workspace {n}"),
        owner_id: account.id,
        is_personal: true,
        created_at: 1,
        deleted_at: None,
    };
    workspaces::insert(tx, &workspace).await
}

/// Inserts a staged upload of a workspace. The hash of its ticket is `id`, and its link expires 100 ms after its creation.
pub(crate) async fn staged_upload(tx: &mut Tx, id: &StagedId, workspace: u32, created_at: i64) -> Result<(), DbError> {
    let upload = NewStagedUpload {
        id,
        ticket_sha256: id.as_str(),
        workspace_id: &workspace_id(workspace),
        created_at,
        link_expires_at: created_at + 100,
    };
    staged::insert(tx, upload).await
}

pub(crate) fn model(n: u32, workspace: u32) -> Model {
    Model {
        id: model_id(n),
        workspace_id: workspace_id(workspace),
        original_name: format!("{n}.glb"),
        title: None,
        sku: None,
        tags: Vec::new(),
        file_size: 100,
        sha256: id_text('f', n),
        animation_count: 0,
        status: ModelStatus::Active,
        created_at: i64::from(n),
        updated_at: i64::from(n),
    }
}

pub(crate) fn contents() -> Contents {
    Contents { animations: "[]".to_owned(), mesh_names: Some("[\"a\"]".to_owned()), material_names: None }
}

pub(crate) fn render(n: u32, model: u32) -> Render {
    Render {
        id: render_id(n),
        workspace_id: workspace_id(1),
        model_id: model_id(model),
        payer_id: account_id(1),
        settings: "{}".to_owned(),
        settings_sha256: "s".to_owned(),
        frames_sha256: "f".to_owned(),
        work_class: Some(WorkClass::Standard),
        replay_key: String::new(),
        replay_ordinal: 0,
        is_system_preview: false,
        pool: Some(Pool::Paid),
        credits: 24,
        status: RenderStatus::Pending,
        hls_status: HlsStatus::Pending,
        failure_code: None,
        error_message: None,
        warnings: "[]".to_owned(),
        attempt: 0,
        hls_attempt: 0,
        poster_attempt: None,
        files_attempt: None,
        files: None,
        trace_parent: None,
        progress: None,
        progress_attempt: None,
        progress_ends_at: None,
        created_at: i64::from(n),
        updated_at: i64::from(n),
    }
}

pub(crate) async fn add_renders(db: &Db, numbers: std::ops::Range<u32>) {
    db.write(|tx| {
        Box::pin(async move {
            for n in numbers {
                renders::insert(tx, &render(n, 1)).await?;
            }
            queue::enter(tx, queue::Kind::Render, [Some(WorkClass::Standard)], &account_id(1)).await?;
            Ok::<_, DbError>(())
        })
    })
    .await
    .unwrap();
}

/// Builds a ledger entry of account 1.
pub(crate) fn entry(n: u32, kind: LedgerType, credits: i64, render: Option<u32>) -> plinth_db::ledger::NewEntry {
    plinth_db::ledger::NewEntry {
        id: entry_id(n),
        account_id: account_id(1),
        workspace_id: render.map(|_some| workspace_id(1)),
        render_id: render.map(render_id),
        kind,
        pool: Pool::Paid,
        credits,
        price_cents: 0,
        source: "test".to_owned(),
        description: "test".to_owned(),
        created_at: i64::from(n),
    }
}

/// Asserts that the counters of renders are right for all workspaces.
pub(crate) async fn assert_counted(conn: &mut plinth_db::Conn) {
    for workspace in plinth_db::render_counts::list_workspaces(conn, None, 1000).await.unwrap() {
        assert!(!plinth_db::render_counts::is_miscounted(conn, &workspace).await.unwrap(), "{workspace}");
    }
}
