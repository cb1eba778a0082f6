//! The interface on a port of this machine, with one account.

use plinth_api::{Api, router};
use plinth_db::{Db, DbOptions};
use plinth_service::access::{NewAccount, NewKey};
use plinth_service::{Service, ServiceOptions};
use plinth_spec::wire::Scope;
use plinth_store::{LinkSigner, Store, StoreOptions};
use plinth_testkit::glb_with_triangle;
use reqwest::{Client, Method, RequestBuilder, Response, StatusCode};
use serde_json::Value;
use tempfile::TempDir;
use tokio::net::TcpListener;

use crate::form::Form;

pub(crate) const EMAIL: &str = "ada@example.org";

pub(crate) struct Server {
    pub(crate) service: Service,
    pub(crate) base: String,
    pub(crate) token: String,
    pub(crate) http: Client,
    _folder: TempDir,
}

impl Server {
    pub(crate) async fn start(address: &str) -> Self {
        Self::start_with(address, |_options| {}).await
    }

    pub(crate) async fn start_with(address: &str, change: impl FnOnce(&mut ServiceOptions)) -> Self {
        let _chosen_before = rustls::crypto::ring::default_provider().install_default();
        let folder = TempDir::new().unwrap();
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let base = format!("http://{}", listener.local_addr().unwrap());
        let store = Store::open(StoreOptions {
            address: format!("file://{}", folder.path().join("objects").display()),
            s3: Vec::new(),
            s3_public_endpoint: None,
            signer: LinkSigner::new(b"secret".to_vec(), base.parse().unwrap()),
        });
        let mut options = ServiceOptions { incoming: folder.path().to_owned(), ..ServiceOptions::default() };
        change(&mut options);
        let db = Db::open(address, DbOptions::default()).await.unwrap();
        let service = Service::new(db, store.unwrap(), options);
        let token = account(&service, EMAIL, &[Scope::Read, Scope::Render]).await;
        let app = router(&Api::new(service.clone(), &base), axum::Router::new());
        tokio::spawn(async move { axum::serve(listener, app).await });
        let http = Client::builder().no_proxy().build().unwrap();
        Self { service, base, token, http, _folder: folder }
    }

    /// A request of the account, to an address under `/v1`.
    pub(crate) fn request(&self, method: Method, path: &str) -> RequestBuilder {
        self.http.request(method, format!("{}/v1{path}", self.base)).bearer_auth(&self.token)
    }

    pub(crate) async fn get(&self, path: &str) -> Answer {
        Answer::of(self.request(Method::GET, path).send().await.unwrap()).await
    }

    pub(crate) async fn send(&self, method: Method, path: &str, body: Value) -> Answer {
        let request = self.request(method, path).header("content-type", "application/json").body(body.to_string());
        Answer::of(request.send().await.unwrap()).await
    }

    pub(crate) async fn post(&self, path: &str, body: Value) -> Answer {
        self.send(Method::POST, path, body).await
    }

    pub(crate) async fn form(&self, path: &str, form: Form) -> Answer {
        let request = self.request(Method::POST, path).header("content-type", Form::content_type());
        Answer::of(request.body(form.body()).send().await.unwrap()).await
    }

    /// Uploads a model of this name.
    pub(crate) async fn upload(&self, name: &str, settings: Option<&str>) -> Answer {
        let mut form = Form::default().file("file", &format!("{name}.glb"), &glb_with_triangle(name));
        if let Some(settings) = settings {
            form = form.text("renderSettings", settings);
        }
        self.form("/models", form).await
    }
}

/// A new account's token.
pub(crate) async fn account(service: &Service, email: &str, scopes: &[Scope]) -> String {
    let new = NewAccount { email: email.to_owned(), is_admin: false, password_hash: None };
    let account_id = service.create_account(new).await.unwrap();
    key(service, account_id, scopes).await
}

pub(crate) async fn key(service: &Service, account_id: plinth_spec::id::AccountId, scopes: &[Scope]) -> String {
    let new = NewKey {
        account_id,
        workspace_id: None,
        name: String::new(),
        scopes: scopes.to_vec(),
        expires_in_secs: None,
        has_legacy_prefix: false,
    };
    service.create_key(new).await.unwrap().token
}

/// A JSON answer.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: StatusCode,
    pub(crate) headers: reqwest::header::HeaderMap,
    pub(crate) body: Value,
}

impl Answer {
    pub(crate) async fn of(response: Response) -> Self {
        let (status, headers) = (response.status(), response.headers().clone());
        let body = serde_json::from_slice(&response.bytes().await.unwrap()).unwrap_or(Value::Null);
        Self { status, headers, body }
    }

    /// The result of a success.
    pub(crate) fn data(&self) -> &Value {
        assert!(self.status.is_success(), "{self:?}");
        &self.body["data"]
    }

    /// A text of the result.
    pub(crate) fn text(&self, name: &str) -> String {
        self.data()[name].as_str().unwrap_or_default().to_owned()
    }

    /// Status and code of a refusal, which has the envelope.
    pub(crate) fn refusal(&self) -> (u16, &str) {
        let error = &self.body["error"];
        assert_eq!(error["status"], self.status.as_u16(), "{self:?}");
        assert!(error["message"].as_str().is_some_and(|words| !words.is_empty()), "{self:?}");
        (self.status.as_u16(), error["code"].as_str().unwrap_or_default())
    }
}
