//! The endpoints that need a key, taken from the served OpenAPI document.

use plinth_testkit::Client;
use reqwest::Method;

/// An ID that does not exist.
pub(crate) const UNKNOWN: &str = "k3Jd92LmQx7a";

pub(crate) struct Endpoint {
    pub(crate) method: Method,
    /// Path in which all IDs are [`UNKNOWN`].
    pub(crate) path: String,
    pub(crate) id: String,
}

/// Returns all operations that need a key.
pub(crate) async fn endpoints(client: &Client) -> Vec<Endpoint> {
    let document = client.get("/openapi.json").await.body;
    let mut out = Vec::new();
    for (path, item) in document["paths"].as_object().unwrap() {
        for (method, operation) in item.as_object().unwrap() {
            if let (Ok(method), Some(id)) = (method.to_uppercase().parse(), operation["operationId"].as_str()) {
                let path = path.replace("{modelId}", UNKNOWN).replace("{id}", UNKNOWN).replace("{path}", "master.m3u8");
                out.push(Endpoint { method, path, id: id.to_owned() });
            }
        }
    }
    out.retain(|endpoint| endpoint.id != "get_health");
    assert!(out.len() > 30, "{}", out.len());
    out
}
