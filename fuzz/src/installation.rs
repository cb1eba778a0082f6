//! A service with an account, a model, a finished video and a finished dataset, which answers requests without a network.

use std::collections::BTreeMap;
use std::net::Ipv4Addr;

use axum::Router;
use axum::body::{Body, Bytes, to_bytes};
use http::{Request, Response};
use plinth_api::{Api, router};
use plinth_db::{Db, DbOptions};
use plinth_service::access::{Caller, ClientAddress, NewAccount, NewKey};
use plinth_service::admin::{Actor, Grant};
use plinth_service::models::Upload;
use plinth_service::{Service, ServiceOptions};
use plinth_spec::id::AccountId;
use plinth_spec::idempotency::ReplayKey;
use plinth_spec::role::Role;
use plinth_spec::wire::{CreateLook, CreateRender, Scope};
use plinth_store::{LinkSigner, Store, StoreOptions};
use plinth_studio::Studio;
use tempfile::TempDir;
use tower::ServiceExt as _;

use crate::PIXEL;
use crate::results::finish_renders;

/// Markup that is part of all names in an installation. A page that shows it without escaping it would let users run
/// scripts in the browsers of others.
pub const MARKUP: &str = "<plinth-fuzz>";
/// Names in an installation. Besides the markup, they contain what ends the value of an attribute.
pub(crate) const NAME: &str = "<plinth-fuzz>\"'&";
/// Maximum number of bytes of a response.
const MAX_RESPONSE: usize = 1 << 24;
/// Credits of the account, enough for all requests.
const CREDITS: i64 = 100_000;
/// Seconds for which a link to sign in is valid.
const SIGN_IN_SECS: i64 = 600;
const PUBLIC_URL: &str = "http://127.0.0.1:1";

/// A service on a new SQLite database and a new local store. They are deleted when the value is dropped.
pub struct Installation {
    router: Router,
    service: Service,
    account: AccountId,
    /// Value of the header `authorization`.
    pub authorization: String,
    /// Secret of the session of the account's browser.
    session: String,
    /// Names in braces, and the values by which they are replaced in requests.
    names: BTreeMap<&'static str, String>,
    _folder: TempDir,
}

impl Installation {
    /// Creates the installation. `model` is a GLB.
    pub async fn new(model: &[u8]) -> Self {
        let folder = TempDir::new().expect("a temporary folder");
        let service = service(&folder).await;
        let (caller, token) = account(&service, "ada@example.org", true).await;
        let credits = service.grant_credits(&Actor::Command, &caller.account_id, Grant::paid(CREDITS)).await;
        credits.expect("a valid number of credits");
        let mut file = service.incoming_model(&caller, None).await.expect("there is room");
        file.write(model).await.expect("there is room");
        let upload = Upload { file, name: format!("{NAME}.glb"), settings: Some("{}".to_owned()) };
        let uploaded = service.upload_model(&caller, upload).await.expect("a valid model").result;
        let settings = Some(serde_json::json!({"output": "dataset"}));
        let dataset = CreateRender { model_id: Some(uploaded.model_id.to_string()), render_settings: settings };
        let dataset = service.create_render(&caller, dataset, ReplayKey::from_header(None)).await;
        finish_renders(&service).await;
        let video = service.download_url(&caller, uploaded.render_id.as_str(), None, None).await;
        let staged = service.create_upload_url(&caller, None).await.expect("there is room");
        let path = |url: &str| url.trim_start_matches(PUBLIC_URL).to_owned();
        let names = BTreeMap::from([
            ("render", uploaded.render_id.to_string()),
            ("dataset", dataset.expect("a valid request").id.to_string()),
            ("model", uploaded.model_id.to_string()),
            ("file", path(&video.expect("a finished video").url)),
            ("upload", path(&staged.url)),
            ("ticket", staged.ticket),
            ("account", caller.account_id.to_string()),
            ("workspace", caller.workspace_id.to_string()),
        ]);
        let pages = plinth_studio::router(&Studio::new(service.clone(), &PUBLIC_URL.parse().expect("a valid URL")));
        let router = router(&Api::new(service.clone(), PUBLIC_URL), pages);
        let authorization = format!("Bearer {token}");
        let account = caller.account_id.clone();
        let mut made = Self { router, service, account, authorization, session: String::new(), names, _folder: folder };
        made.add_named_things(&caller).await;
        made.sign_in_again().await;
        made
    }

    /// Creates things that pages list: a team with a member and an invitation, a look, a key, a decal and a texture.
    async fn add_named_things(&mut self, caller: &Caller) {
        let team = self.service.create_team(caller, NAME).await.expect("a valid name");
        let (member, _token) = account(&self.service, "grace@example.org", false).await;
        let invited = self.service.invite(caller, team.as_str(), Role::Admin, "", "").await.expect("there is room");
        self.service.accept_invitation(&member, &invited.link).await.expect("a valid invitation");
        let invited = self.service.invite(caller, team.as_str(), Role::Editor, "", "").await.expect("there is room");
        let invitation = self.service.team(caller, team.as_str()).await.expect("a team").invitations.remove(0).id;
        let look = CreateLook { name: Some(NAME.to_owned()), render_settings: Some(serde_json::json!({"length": 2})) };
        let look = self.service.create_look(caller, look).await.expect("a valid look").id;
        let key = self.service.create_key(key(caller.account_id.clone())).await.expect("there is room").id;
        let decal = self.send_image("/v1/overlays", "layer", "decal").await;
        let texture = self.send_image("/v1/assets/textures", "name", NAME).await;
        self.names.extend([
            ("team", team.to_string()),
            ("member", member.account_id.to_string()),
            ("invitation", invitation.to_string()),
            ("join", invited.link),
            ("look", look),
            ("key", key.to_string()),
            ("decal", decal),
            ("texture", texture),
        ]);
    }

    /// Uploads an image with a text field. Returns its identifier.
    async fn send_image(&self, path: &str, field: &str, text: &str) -> String {
        let mut form = format!("--b\r\ncontent-disposition: form-data; name=\"{field}\"\r\n\r\n{text}\r\n--b\r\ncontent-disposition: form-data; name=\"file\"; filename=\"<plinth-fuzz>.png\"\r\n\r\n").into_bytes();
        form.extend_from_slice(PIXEL);
        form.extend_from_slice(b"\r\n--b--\r\n");
        let request = Request::post(path).header("authorization", &self.authorization);
        let request = request.header("content-type", "multipart/form-data; boundary=b").body(Body::from(form));
        let (response, body) = self.send(request.expect("a valid request")).await;
        assert!(response.status().is_success(), "{}", String::from_utf8_lossy(&body));
        let created: serde_json::Value = serde_json::from_slice(&body).expect("a response in JSON");
        created["data"]["id"].as_str().expect("an identifier").to_owned()
    }

    /// Signs the account's browser in if its session has ended.
    pub async fn sign_in_again(&mut self) {
        if self.service.session(&self.session).await.expect("a database").is_none() {
            let link = self.service.create_sign_in(&self.account, SIGN_IN_SECS).await.expect("an account");
            self.session = self.service.sign_in(&link, NAME).await.expect("a valid link");
        }
        let session = self.service.session(&self.session).await.expect("a database").expect("a new session");
        self.names.insert("form_token", format!("{}.{}", session.form_token, session.caller.workspace_id));
    }

    /// Returns the value of the header `cookie` of the account's browser.
    pub fn cookie(&self) -> String {
        format!("plinth_session={}", self.session)
    }

    /// Replaces names in braces by identifiers of this installation, and by its links, tickets and tokens.
    pub fn replaced(&self, text: &[u8]) -> Vec<u8> {
        let mut out = Vec::with_capacity(text.len());
        let mut rest = text;
        while let Some(first) = rest.first() {
            let found = self.names.iter().find(|(name, _value)| {
                rest[1..].strip_prefix(name.as_bytes()).is_some_and(|after| *first == b'{' && after.starts_with(b"}"))
            });
            out.extend_from_slice(found.map_or(std::slice::from_ref(first), |(_name, value)| value.as_bytes()));
            rest = &rest[found.map_or(1, |(name, _value)| name.len() + 2)..];
        }
        out
    }

    /// Sends a request. Returns its response and the response's body.
    pub async fn send(&self, mut request: Request<Body>) -> (Response<()>, Bytes) {
        request.extensions_mut().insert(ClientAddress { address: Ipv4Addr::LOCALHOST.into(), is_shared: true });
        let response = self.router.clone().oneshot(request).await.expect("the router never fails");
        let (head, body) = response.into_parts();
        let body = to_bytes(body, MAX_RESPONSE).await.expect("a complete body");
        (Response::from_parts(head, ()), body)
    }
}

async fn service(folder: &TempDir) -> Service {
    let database = format!("sqlite://{}", folder.path().join("plinth.db").display());
    let db = Db::open(&database, DbOptions::default()).await.expect("a new database");
    let store = StoreOptions {
        address: format!("file://{}", folder.path().join("objects").display()),
        s3: Vec::new(),
        s3_public_endpoint: None,
        signer: LinkSigner::new(PUBLIC_URL.parse().expect("a valid URL")),
    };
    let options = ServiceOptions {
        incoming: folder.path().join("incoming"),
        requests_per_minute: u32::MAX,
        account_storage_bytes: 1 << 20,
        reserve_bytes: 0,
        ..ServiceOptions::default()
    };
    std::fs::create_dir_all(&options.incoming).expect("a new folder");
    Service::new(db, Store::open(store).expect("a new store"), options)
}

async fn account(service: &Service, email: &str, is_admin: bool) -> (Caller, String) {
    let new = NewAccount { email: email.to_owned(), is_admin, password_hash: None };
    let account_id = service.create_account(new).await.expect("a new account");
    let token = service.create_key(key(account_id)).await.expect("a new key").token;
    (service.authenticate(Some(&token)).await.expect("the key is valid"), token)
}

fn key(account_id: AccountId) -> NewKey {
    NewKey {
        account_id,
        workspace_id: None,
        name: NAME.to_owned(),
        scopes: vec![Scope::Read, Scope::Render],
        expires_in_secs: None,
        has_legacy_prefix: false,
    }
}
