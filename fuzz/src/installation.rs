//! A service with an account, a model and a finished render, which answers requests without a network.

use std::collections::BTreeMap;

use axum::Router;
use axum::body::{Body, Bytes, to_bytes};
use http::{Request, Response};
use plinth_api::{Api, router};
use plinth_db::{Db, DbOptions};
use plinth_service::access::{Caller, NewAccount, NewKey};
use plinth_service::admin::{Actor, Grant};
use plinth_service::jobs::RenderFiles;
use plinth_service::models::Upload;
use plinth_service::{Service, ServiceOptions};
use plinth_spec::OutputFile;
use plinth_spec::quality::Codec;
use plinth_spec::wire::Scope;
use plinth_store::{LinkSigner, ObjectKey, Store, StoreOptions};
use tempfile::TempDir;
use tower::ServiceExt as _;

/// Maximum number of bytes of a response.
const MAX_RESPONSE: usize = 1 << 24;
/// Credits of the account, enough for all requests.
const CREDITS: i64 = 100_000;
/// Content of the finished video.
const VIDEO: &[u8] = b"0123456789";

/// A service on a new SQLite database and a new local store. They are deleted when the value is dropped.
pub struct Installation {
    router: Router,
    /// Value of the header `authorization`.
    pub authorization: String,
    /// Names in braces, and the values by which they are replaced in requests.
    names: Vec<(&'static str, String)>,
    _folder: TempDir,
}

impl Installation {
    /// Creates the installation. `model` is a GLB.
    pub async fn new(model: &[u8]) -> Self {
        let folder = TempDir::new().expect("a temporary folder");
        let database = format!("sqlite://{}", folder.path().join("plinth.db").display());
        let db = Db::open(&database, DbOptions::default()).await.expect("a new database");
        let store = StoreOptions {
            address: format!("file://{}", folder.path().join("objects").display()),
            s3: Vec::new(),
            s3_public_endpoint: None,
            signer: LinkSigner::new("http://127.0.0.1:1".parse().expect("a valid URL")),
        };
        let options = ServiceOptions {
            incoming: folder.path().join("incoming"),
            requests_per_minute: u32::MAX,
            account_storage_bytes: 1 << 20,
            reserve_bytes: 0,
            ..ServiceOptions::default()
        };
        std::fs::create_dir_all(&options.incoming).expect("a new folder");
        let service = Service::new(db, Store::open(store).expect("a new store"), options);
        let (caller, token) = account(&service).await;
        let mut file = service.incoming_model(&caller, None).await.expect("there is room");
        file.write(model).await.expect("there is room");
        let upload = Upload { file, name: "a.glb".to_owned(), settings: None };
        let uploaded = service.upload_model(&caller, upload).await.expect("a valid model").result;
        finish_render(&service).await;
        let credits = service.grant_credits(&Actor::Command, &caller.account_id, Grant::paid(CREDITS)).await;
        credits.expect("a valid number of credits");
        let staged = service.create_upload_url(&caller, None).await.expect("there is room");
        let names = vec![
            ("{render}", uploaded.render_id.to_string()),
            ("{model}", uploaded.model_id.to_string()),
            ("{upload}", staged.url.trim_start_matches("http://127.0.0.1:1").to_owned()),
            ("{ticket}", staged.ticket),
        ];
        let router = router(&Api::new(service, "http://127.0.0.1:1"), Router::new());
        Self { router, authorization: format!("Bearer {token}"), names, _folder: folder }
    }

    /// Replaces names in braces by identifiers of this installation, its upload link and its ticket.
    pub fn replaced(&self, text: &[u8]) -> Vec<u8> {
        let mut out = Vec::with_capacity(text.len());
        let mut rest = text;
        while let Some(first) = rest.first() {
            let found = self.names.iter().find(|(name, _value)| rest.starts_with(name.as_bytes()));
            out.extend_from_slice(found.map_or(std::slice::from_ref(first), |(_name, value)| value.as_bytes()));
            rest = &rest[found.map_or(1, |(name, _value)| name.len())..];
        }
        out
    }

    /// Sends a request. Returns its response and the response's body.
    pub async fn send(&self, request: Request<Body>) -> (Response<()>, Bytes) {
        let response = self.router.clone().oneshot(request).await.expect("the router never fails");
        let (head, body) = response.into_parts();
        let body = to_bytes(body, MAX_RESPONSE).await.expect("a complete body");
        (Response::from_parts(head, ()), body)
    }
}

async fn account(service: &Service) -> (Caller, String) {
    let new = NewAccount { email: "ada@example.org".to_owned(), is_admin: false, password_hash: None };
    let account_id = service.create_account(new).await.expect("a new account");
    let key = NewKey {
        account_id,
        workspace_id: None,
        name: "fuzz".to_owned(),
        scopes: vec![Scope::Read, Scope::Render],
        expires_in_secs: None,
        has_legacy_prefix: false,
    };
    let token = service.create_key(key).await.expect("a new key").token;
    (service.authenticate(Some(&token)).await.expect("the key is valid"), token)
}

/// Ends the only queued render with a video.
async fn finish_render(service: &Service) {
    let claim = service.claim_renders("fuzz", 1).await.expect("a database").remove(0);
    let (id, attempt) = (&claim.render.id, claim.render.attempt);
    let key = ObjectKey::Render(id, attempt, OutputFile::Video, Codec::H264);
    let stored = service.store().put(&key, Bytes::from_static(VIDEO)).await.expect("a store");
    let files = RenderFiles { codec: Codec::H264, stored: BTreeMap::from([(OutputFile::Video, stored.into())]) };
    service.poster_stored(&claim).await.expect("a database").expect("the claim is valid");
    service.finish_render(&claim, &files, &[]).await.expect("a database").expect("the claim is valid");
}
