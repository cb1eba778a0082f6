//! A test service with one account.

use std::os::unix::fs::PermissionsExt as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use plinth_db::{Db, DbOptions, TimeLimits, ledger};
use plinth_fence::FenceOptions;
use plinth_service::access::{Caller, ClientAddress, NewAccount, NewKey};
use plinth_service::admin::{Actor, Grant};
use plinth_service::jobs::{Claim, RenderFiles, StoredFile};
use plinth_service::models::{Upload, Uploaded};
use plinth_service::{Checker, Clock, Result, Service, ServiceOptions};
use plinth_spec::funding::{Balance, Pool};
use plinth_spec::id::{AccountId, WorkspaceId};
use plinth_spec::idempotency::ReplayKey;
use plinth_spec::quality::Codec;
use plinth_spec::settings::Output;
use plinth_spec::wire::{Account, CreateRender, CreatedRender, Scope};
use plinth_spec::{ErrorCode, OutputFile};
use plinth_store::{LinkSigner, Store, StoreOptions};
use plinth_testkit::{S3Server, glb_with_triangle};
use serde_json::Value;
use tempfile::TempDir;

/// Initial time of the tests' clock, as Unix time in milliseconds.
pub(crate) const START: i64 = 1_800_000_000_000;
pub(crate) const EMAIL: &str = "ada@example.org";

pub(crate) struct TestService {
    pub(crate) service: Service,
    pub(crate) caller: Caller,
    pub(crate) time: Arc<AtomicI64>,
    pub(crate) folder: TempDir,
}

impl TestService {
    pub(crate) async fn new(address: &str) -> Self {
        Self::with(address, |_options| {}).await
    }

    pub(crate) async fn with(address: &str, change: impl FnOnce(&mut ServiceOptions)) -> Self {
        let folder = TempDir::new().unwrap();
        let time = Arc::new(AtomicI64::new(START));
        let mut options = ServiceOptions {
            clock: Clock::Set(Arc::clone(&time)),
            incoming: folder.path().to_owned(),
            ..ServiceOptions::default()
        };
        change(&mut options);
        let service = open(address, &folder, options).await;
        let caller = caller(&service, EMAIL).await;
        Self { service, caller, time, folder }
    }

    /// Opens a second service on the same database and store, as another process does.
    pub(crate) async fn beside(&self, address: &str) -> Service {
        open(address, &self.folder, self.service.options().clone()).await
    }

    /// Opens a second service on the same database, whose store is in another folder, as on another machine.
    pub(crate) async fn elsewhere(&self, address: &str, folder: &TempDir) -> Service {
        open(address, folder, self.service.options().clone()).await
    }

    /// Opens a second service on the same database and store, whose transactions have these time limits.
    pub(crate) async fn limited(&self, address: &str, time_limits: TimeLimits) -> Service {
        let db = Db::open(address, DbOptions { time_limits, ..DbOptions::default() }).await.unwrap();
        Service::new(db, self.service.store().clone(), self.service.options().clone())
    }

    /// Opens a second service on the same database, whose store is S3.
    pub(crate) fn with_s3(&self, s3: &S3Server) -> Service {
        self.with_s3_at(s3.endpoint(), s3.bucket(), s3.credentials())
    }

    /// Opens a second service on the same database, whose store is the bucket of an S3 server.
    pub(crate) fn with_s3_at(&self, endpoint: &str, bucket: &str, (key, secret): (&str, &str)) -> Service {
        let s3_options = [
            ("AWS_ENDPOINT_URL", endpoint),
            ("AWS_REGION", "us-east-1"),
            ("AWS_ACCESS_KEY_ID", key),
            ("AWS_SECRET_ACCESS_KEY", secret),
        ];
        let store = Store::open(StoreOptions {
            address: format!("s3://{bucket}/some/where"),
            s3: s3_options.map(|(name, value)| (name.to_owned(), value.to_owned())).to_vec(),
            s3_public_endpoint: None,
            signer: LinkSigner::new("http://127.0.0.1:1".parse().unwrap()),
        });
        Service::new(self.service.db().clone(), store.unwrap(), self.service.options().clone())
    }

    /// Opens a second service on the same database and store, in which every file check fails.
    pub(crate) async fn without_checks(&self, address: &str) -> Service {
        self.checked_by(address, "exit 1", Duration::from_mins(1)).await
    }

    /// Opens a second service on the same database and store. Its file checks run this shell script.
    pub(crate) async fn checked_by(&self, address: &str, script: &str, time: Duration) -> Service {
        let program = self.folder.path().join("checker");
        std::fs::write(&program, format!("#!/bin/sh\n{script}\n")).unwrap();
        std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
        let checker = Some(Checker { program, memory_bytes: 1 << 30, time, fence: FenceOptions::off() });
        open(address, &self.folder, ServiceOptions { checker, ..self.service.options().clone() }).await
    }

    pub(crate) fn wait_ms(&self, ms: i64) {
        self.time.fetch_add(ms, Ordering::SeqCst);
    }

    /// Uploads a model with this name, with or without render settings.
    pub(crate) async fn upload(&self, name: &str, settings: Option<&str>) -> Result<Uploaded> {
        upload(&self.service, &self.caller, &format!("{name}.glb"), &glb_with_triangle(name), settings).await
    }

    pub(crate) async fn model(&self, name: &str) -> String {
        self.upload(name, None).await.unwrap().result.model_id.to_string()
    }

    pub(crate) async fn render(&self, model: &str, settings: Value, key: Option<&str>) -> Result<CreatedRender> {
        let request = CreateRender { model_id: Some(model.to_owned()), render_settings: Some(settings) };
        self.service.create_render(&self.caller, request, ReplayKey::from_header(key)).await
    }

    pub(crate) async fn account(&self) -> Account {
        self.service.account(&self.caller).await.unwrap()
    }

    /// Opens a session of the account and returns its secret.
    pub(crate) async fn session(&self) -> String {
        let link = self.service.create_sign_in(&self.caller.account_id, 60).await.unwrap();
        self.service.sign_in(&link, "").await.unwrap()
    }

    pub(crate) async fn grant(&self, pool: Pool, credits: i64) {
        grant(&self.service, EMAIL, pool, credits).await.unwrap();
    }

    /// Asserts that every balance is the sum of its ledger entries.
    pub(crate) async fn assert_balanced(&self) {
        let mut conn = self.service.db().read().await.unwrap();
        assert_eq!(ledger::find_unbalanced(&mut conn).await.unwrap(), []);
    }

    /// Claims the first render of the queue.
    pub(crate) async fn claim_first(&self) -> Claim {
        self.service.claim_renders("worker", 1).await.unwrap().remove(0)
    }

    /// Claims one render, which must be the only queued render.
    pub(crate) async fn claim(&self) -> Claim {
        let mut claims = self.service.claim_renders("worker", 1).await.unwrap();
        claims.pop().unwrap()
    }
}

async fn open(address: &str, folder: &TempDir, options: ServiceOptions) -> Service {
    let db = Db::open(address, DbOptions::default()).await.unwrap();
    let store = Store::open(StoreOptions {
        address: format!("file://{}", folder.path().join("objects").display()),
        s3: Vec::new(),
        s3_public_endpoint: None,
        signer: LinkSigner::new("http://127.0.0.1:1".parse().unwrap()),
    });
    Service::new(db, store.unwrap(), options)
}

pub(crate) async fn account(service: &Service, email: &str) -> AccountId {
    let new = NewAccount { email: email.to_owned(), is_admin: false, password_hash: None };
    service.create_account(new).await.unwrap()
}

/// Creates an account and an API key with both scopes, and returns the authenticated caller.
pub(crate) async fn caller(service: &Service, email: &str) -> Caller {
    let account = account(service, email).await;
    let token = key(service, &account, None, vec![Scope::Read, Scope::Render]).await;
    service.authenticate(Some(&token)).await.unwrap()
}

pub(crate) async fn key(
    service: &Service,
    account: &AccountId,
    workspace: Option<&WorkspaceId>,
    scopes: Vec<Scope>,
) -> String {
    let new = NewKey { workspace_id: workspace.cloned(), scopes, ..new_key(account) };
    service.create_key(new).await.unwrap().token
}

/// Returns the data of a new key of an account: for its personal workspace, with both scopes, and without an expiry.
pub(crate) fn new_key(account: &AccountId) -> NewKey {
    NewKey {
        account_id: account.clone(),
        workspace_id: None,
        name: "test".to_owned(),
        scopes: vec![Scope::Read, Scope::Render],
        expires_in_secs: None,
        has_legacy_prefix: false,
    }
}

pub(crate) fn client(address: &str) -> ClientAddress {
    ClientAddress { address: address.parse().unwrap(), is_shared: false }
}

pub(crate) async fn upload(
    service: &Service,
    caller: &Caller,
    name: &str,
    bytes: &[u8],
    settings: Option<&str>,
) -> Result<Uploaded> {
    let mut file = service.incoming_model(caller, None).await.unwrap();
    file.write(bytes).await?;
    let upload = Upload { file, name: name.to_owned(), settings: settings.map(str::to_owned) };
    service.upload_model(caller, upload).await
}

/// Grants credits to an account, as a command does.
pub(crate) async fn grant(service: &Service, email: &str, pool: Pool, credits: i64) -> Result<Balance> {
    let id = service.find_account(email).await?.id;
    service.grant_credits(&Actor::Command, &id, Grant { pool, ..Grant::paid(credits) }).await
}

/// Suspends an account or ends its suspension, as a command does.
pub(crate) async fn set_suspended(service: &Service, email: &str, is_suspended: bool) {
    let id = service.find_account(email).await.unwrap().id;
    let changed = if is_suspended {
        service.suspend_account(&Actor::Command, &id, "").await
    } else {
        service.reactivate_account(&Actor::Command, &id, "").await
    };
    changed.unwrap();
}

pub(crate) fn code<T: std::fmt::Debug>(result: Result<T>) -> ErrorCode {
    result.unwrap_err().code
}

/// Builds a list of output files of three bytes each.
pub(crate) fn files_of(output: Output, codec: Codec) -> RenderFiles {
    let file = StoredFile { size: 3, crc32: 0x3524_41c2 };
    RenderFiles { codec, stored: OutputFile::all_of(output).map(|one| (one, file)).collect() }
}

pub(crate) fn some_files() -> RenderFiles {
    files_of(Output::Video, Codec::H264)
}
