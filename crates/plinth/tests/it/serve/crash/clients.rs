//! Clients that repeat their requests until a server responds.

use std::time::{Duration, Instant};

use plinth_testkit::{Answer, Client};
use reqwest::Method;
use serde_json::Value;
use tokio::time::sleep;

/// Maximum time that a test waits for a step. Every step is much faster, even on a busy machine.
pub(in crate::serve) const TIMEOUT: Duration = Duration::from_mins(10);
pub(in crate::serve) const PAUSE: Duration = Duration::from_millis(50);

/// Clients of a service whose servers may be unavailable.
pub(in crate::serve) trait Clients: Sync {
    /// Returns a client of one of the servers.
    fn client(&self) -> Client;

    fn log(&self) -> String;

    /// Repeats a request until a server responds. Returns the response and the number of attempts.
    async fn answer(&self, request: impl Fn(&Client) -> reqwest::RequestBuilder) -> (Answer, usize);

    async fn get(&self, path: &str) -> Answer {
        self.answer(|client| client.request(Method::GET, path)).await.0
    }

    /// Waits until all renders and their packagings have ended. Returns the renders.
    async fn until_all_have_ended(&self) -> Vec<Value> {
        let (mut begin, mut left) = (Instant::now(), usize::MAX);
        loop {
            let renders = self.renders().await;
            let waiting: Vec<&Value> = renders.iter().filter(|render| !has_ended(render)).collect();
            if waiting.is_empty() {
                return renders;
            }
            if waiting.len() < left {
                (begin, left) = (Instant::now(), waiting.len());
            }
            assert!(begin.elapsed() < TIMEOUT, "{waiting:#?} do not end\n{}", self.log());
            sleep(PAUSE * 4).await;
        }
    }

    async fn renders(&self) -> Vec<Value> {
        let (mut renders, mut cursor) = (Vec::new(), String::new());
        loop {
            let page = self.get(&format!("/renders?limit=100&cursor={cursor}")).await;
            renders.extend(page.data().as_array().unwrap().iter().cloned());
            match page.body["meta"]["nextCursor"].as_str() {
                Some(next) => next.clone_into(&mut cursor),
                None => return renders,
            }
        }
    }
}

/// Returns whether a render and its packaging have ended.
fn has_ended(render: &Value) -> bool {
    let is = |name: &str, those: &[&str]| those.contains(&render[name].as_str().unwrap());
    is("status", &["error", "failed"]) || is("status", &["done"]) && is("hlsStatus", &["ready", "failed", "skipped"])
}

/// Reads a response. Returns `None` if the connection was closed before the response was complete.
pub(in crate::serve) async fn whole_answer(response: reqwest::Response) -> Option<Answer> {
    let (status, headers) = (response.status().as_u16(), response.headers().clone());
    let body = response.bytes().await.ok()?;
    Some(Answer { status, headers, body: serde_json::from_slice(&body).unwrap_or(Value::Null) })
}
