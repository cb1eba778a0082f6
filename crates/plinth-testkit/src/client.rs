//! HTTP client that sends an API key.

use reqwest::header::HeaderMap;
use reqwest::{Method, RequestBuilder, Response};
use serde_json::Value;

use crate::{Form, glb_with_triangle};

/// A client of the HTTP API. It does not follow redirects and does not use proxies.
#[derive(Clone)]
pub struct Client {
    /// The client that sends the requests. Tests also use it to request other URLs.
    pub http: reqwest::Client,
    /// Base URL of the server.
    pub base: String,
    /// API key.
    pub token: String,
}

impl Client {
    pub fn new(base: &str, token: &str) -> Self {
        let _chosen_before = rustls::crypto::ring::default_provider().install_default();
        let http = reqwest::Client::builder().no_proxy().redirect(reqwest::redirect::Policy::none()).build();
        Self { http: http.expect("a client"), base: base.to_owned(), token: token.to_owned() }
    }

    /// Builds a request to a path under `/v1`.
    pub fn request(&self, method: Method, path: &str) -> RequestBuilder {
        self.http.request(method, format!("{}/v1{path}", self.base)).bearer_auth(&self.token)
    }

    /// Sends a GET request with an additional header.
    pub async fn get_with(&self, path: &str, name: &str, value: &str) -> Response {
        self.request(Method::GET, path).header(name, value).send().await.expect("an answer")
    }

    /// Sends a GET request and parses the JSON response.
    pub async fn get(&self, path: &str) -> Answer {
        Answer::to(self.request(Method::GET, path)).await
    }

    /// Sends a JSON body and parses the JSON response.
    pub async fn send(&self, method: Method, path: &str, body: Value) -> Answer {
        let request = self.request(method, path).header("content-type", "application/json");
        Answer::to(request.body(body.to_string())).await
    }

    /// Sends a POST request with a JSON body, and parses the JSON response.
    pub async fn post(&self, path: &str, body: Value) -> Answer {
        self.send(Method::POST, path, body).await
    }

    /// Sends a POST request with a multipart form, and parses the JSON response.
    pub async fn form(&self, path: &str, form: Form) -> Answer {
        let request = self.request(Method::POST, path).header("content-type", Form::content_type());
        Answer::to(request.body(form.body())).await
    }

    /// Uploads a model that consists of one node with the name `name`.
    pub async fn upload(&self, name: &str, settings: Option<Value>) -> Answer {
        let form = Form::default().file("file", &format!("{name}.glb"), &glb_with_triangle(name));
        let form = match settings {
            Some(settings) => form.text("renderSettings", &settings.to_string()),
            None => form,
        };
        self.form("/models", form).await
    }
}

/// A JSON response.
#[derive(Debug)]
pub struct Answer {
    pub status: u16,
    pub headers: HeaderMap,
    /// Body of the response, or null if the body is not JSON.
    pub body: Value,
}

impl Answer {
    /// Sends a request and reads the response.
    pub async fn to(request: RequestBuilder) -> Self {
        Self::of(request.send().await.expect("an answer")).await
    }

    /// Reads the whole body of a response.
    pub async fn of(response: Response) -> Self {
        let (status, headers) = (response.status().as_u16(), response.headers().clone());
        let body = serde_json::from_slice(&response.bytes().await.expect("the whole response")).unwrap_or(Value::Null);
        Self { status, headers, body }
    }

    /// Returns the member `data` of a successful response. Panics if the request failed.
    pub fn data(&self) -> &Value {
        assert!((200..300).contains(&self.status), "{self:?}");
        &self.body["data"]
    }

    /// Returns a string member of `data`. Panics if it is missing.
    pub fn text(&self, name: &str) -> String {
        self.data()[name].as_str().unwrap_or_else(|| panic!("no {name} in {self:?}")).to_owned()
    }

    /// Returns the status and the error code of an error response.
    pub fn rejection(&self) -> (u16, &str) {
        let error = &self.body["error"];
        assert_eq!(error["status"], self.status, "{self:?}");
        assert!(error["message"].as_str().is_some_and(|message| !message.is_empty()), "{self:?}");
        (self.status, error["code"].as_str().unwrap_or_default())
    }

    /// Returns the value of a header, or an empty string if the header is missing.
    pub fn header(&self, name: &str) -> &str {
        header(&self.headers, name)
    }
}

/// Returns the value of a header, or an empty string if the header is missing.
pub fn header<'a>(headers: &'a HeaderMap, name: &str) -> &'a str {
    headers.get(name).map_or("", |value| value.to_str().expect("ASCII"))
}
