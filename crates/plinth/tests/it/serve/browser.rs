//! An HTTP client that behaves like a browser: it stores its cookie, and sends `Origin` with forms. It does not follow
//! redirects.

use plinth_testkit::Client;
use reqwest::{Method, RequestBuilder};
use url::form_urlencoded::Serializer;

use super::server::Served;

pub(crate) struct Browser {
    http: reqwest::Client,
    base: String,
    /// Name and value of the session cookie; `None` if the browser has none.
    pub(crate) cookie: Option<String>,
}

impl Browser {
    pub(crate) fn new(base: &str) -> Self {
        Self::with(base, None)
    }

    /// Creates a browser with this cookie.
    pub(crate) fn with(base: &str, cookie: Option<String>) -> Self {
        Self { http: Client::new(base, "").http, base: base.to_owned(), cookie }
    }

    pub(crate) fn request(&self, method: Method, path: &str) -> RequestBuilder {
        let request = self.http.request(method, format!("{}{path}", self.base));
        match &self.cookie {
            Some(cookie) => request.header("cookie", cookie),
            None => request,
        }
    }

    pub(crate) async fn get(&self, path: &str) -> Page {
        Page::of(self.request(Method::GET, path)).await
    }

    /// Posts a form as a page of the web UI does, and stores the cookie of the response.
    pub(crate) async fn post(&mut self, path: &str, fields: &[(&str, &str)]) -> Page {
        let origin = self.base.clone();
        let page = Page::of(self.form(path, fields).header("origin", origin)).await;
        if let Some(cookie) = page.headers.get("set-cookie") {
            let pair = cookie.to_str().unwrap().split(';').next().unwrap();
            self.cookie = (!pair.ends_with('=')).then(|| pair.to_owned());
        }
        page
    }

    /// Returns the request of a form without the header `Origin`.
    pub(crate) fn form(&self, path: &str, fields: &[(&str, &str)]) -> RequestBuilder {
        let body = Serializer::new(String::new()).extend_pairs(fields).finish();
        self.request(Method::POST, path).header("content-type", "application/x-www-form-urlencoded").body(body)
    }

    /// Posts a form with the CSRF token of this session.
    pub(crate) async fn send(&mut self, path: &str, fields: &[(&str, &str)]) -> Page {
        let token = self.get("/keys").await.form_token();
        self.post(path, &[fields, &[("form_token", token.as_str())]].concat()).await
    }
}

impl Served {
    /// Returns a browser in which an account is signed in.
    pub(crate) async fn browser(&self, email: &str) -> Browser {
        let mut browser = Browser::new(&self.server.base);
        let page = browser.post(&self.link(email, &[]), &[]).await;
        assert_eq!((page.status, page.header("location")), (303, "/"));
        browser
    }

    /// Creates a sign-in link and returns its path.
    pub(crate) fn link(&self, email: &str, more: &[&str]) -> String {
        let made = self.installation.admin(&[&["account", "sign-in", email], more].concat());
        let url = made["url"].as_str().unwrap().to_owned();
        url[url.find("/sign-in/").unwrap()..].to_owned()
    }

    /// Uploads a model through the API and returns the path of the page of its render.
    pub(crate) async fn page_of_render(&self, client: &Client, name: &str) -> String {
        format!("/renders/{}", client.upload(name, None).await.text("renderId"))
    }
}

/// A response to a browser.
#[derive(Debug)]
pub(crate) struct Page {
    pub(crate) status: u16,
    pub(crate) headers: reqwest::header::HeaderMap,
    pub(crate) html: String,
}

impl Page {
    pub(crate) async fn of(request: RequestBuilder) -> Self {
        let response = request.send().await.unwrap();
        let (status, headers) = (response.status().as_u16(), response.headers().clone());
        Self { status, headers, html: response.text().await.unwrap() }
    }

    pub(crate) fn header(&self, name: &str) -> &str {
        self.headers.get(name).map_or("", |value| value.to_str().unwrap())
    }

    /// Returns whether the page contains this text.
    pub(crate) fn shows(&self, text: &str) -> bool {
        self.html.contains(text)
    }

    /// Returns the HTML of the page between two strings.
    pub(crate) fn between(&self, before: &str, after: &str) -> &str {
        let found = self.html.split_once(before).and_then(|(_, rest)| rest.split_once(after));
        found.unwrap_or_else(|| panic!("no {before} … {after} in {}", self.html)).0
    }

    pub(crate) fn form_token(&self) -> String {
        self.between("name=\"form_token\" value=\"", "\"").to_owned()
    }
}
