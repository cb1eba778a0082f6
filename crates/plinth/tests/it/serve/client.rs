//! A plain HTTP client with a token.

use plinth_testkit::glb_with_triangle;
use reqwest::{Method, RequestBuilder, Response};
use serde_json::Value;

use super::form::Form;

#[derive(Clone)]
pub(crate) struct Client {
    pub(crate) http: reqwest::Client,
    pub(crate) base: String,
    pub(crate) token: String,
}

impl Client {
    pub(crate) fn new(base: &str, token: &str) -> Self {
        let _chosen_before = rustls::crypto::ring::default_provider().install_default();
        let http = reqwest::Client::builder().no_proxy().redirect(reqwest::redirect::Policy::none()).build().unwrap();
        Self { http, base: base.to_owned(), token: token.to_owned() }
    }

    /// A request to an address under `/v1`.
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
    pub(crate) async fn upload(&self, name: &str, settings: Option<Value>) -> Answer {
        let form = Form::default().file("file", &format!("{name}.glb"), &glb_with_triangle(name));
        let form = match settings {
            Some(settings) => form.text("renderSettings", &settings.to_string()),
            None => form,
        };
        self.form("/models", form).await
    }
}

/// A JSON answer.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) headers: reqwest::header::HeaderMap,
    pub(crate) body: Value,
}

impl Answer {
    pub(crate) async fn of(response: Response) -> Self {
        let (status, headers) = (response.status().as_u16(), response.headers().clone());
        let body = serde_json::from_slice(&response.bytes().await.unwrap()).unwrap_or(Value::Null);
        Self { status, headers, body }
    }

    /// The result of a success.
    pub(crate) fn data(&self) -> &Value {
        assert!((200..300).contains(&self.status), "{self:?}");
        &self.body["data"]
    }

    /// A text of the result.
    pub(crate) fn text(&self, name: &str) -> String {
        self.data()[name].as_str().unwrap_or_else(|| panic!("no {name} in {self:?}")).to_owned()
    }

    /// Status and code of a refusal, which has the envelope.
    pub(crate) fn refusal(&self) -> (u16, &str) {
        let error = &self.body["error"];
        assert_eq!(error["status"], self.status, "{self:?}");
        assert!(error["message"].as_str().is_some_and(|words| !words.is_empty()), "{self:?}");
        (self.status, error["code"].as_str().unwrap_or_default())
    }
}
