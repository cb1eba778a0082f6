//! Memory for request bodies: what is large waits for its part of a budget before it is read.

use std::time::Duration;

use plinth_spec::ErrorCode;
use plinth_spec::limits;
use plinth_spec::wire::count_json_values;
use serde::de::DeserializeOwned;

use crate::access::Caller;
use crate::error::{Result, ServiceError};
use crate::fair_semaphore::FairPermit;
use crate::service::Service;

/// Memory that a body takes for each byte of its text: the text, the parsed values, and what is made of them.
const MEMORY_PER_BYTE: u64 = 8;
/// A request waits for memory this long, in seconds.
const WAIT_SECS: u64 = 30;

/// Memory that a request may use, until this is dropped.
#[derive(Debug, Default)]
pub struct BodyMemory(#[expect(dead_code, reason = "it counts as long as it lives")] Option<FairPermit>);

impl Service {
    /// Waits for the memory that a body of `bytes` needs, which is read as a whole. Small ones need not wait.
    /// Errors: too many large bodies for too long.
    pub async fn body_memory(&self, caller: &Caller, bytes: usize) -> Result<BodyMemory> {
        if bytes <= limits::JSON_SMALL_BYTES {
            return Ok(BodyMemory(None));
        }
        let waiting = self.body_memory.acquire(&caller.payer_id, bytes as u64 * MEMORY_PER_BYTE);
        let granted = tokio::time::timeout(Duration::from_secs(WAIT_SECS), waiting).await;
        let granted = granted.map_err(|_late| ServiceError {
            retry_after_secs: Some(WAIT_SECS),
            ..ServiceError::new(
                ErrorCode::RateLimited,
                "too many large requests at a time; send fewer, or smaller ones",
            )
        })?;
        Ok(BodyMemory(Some(granted?)))
    }
}

/// Parses JSON text that somebody sent.
/// Errors: why it cannot be read, for people.
pub fn parse_json<T: DeserializeOwned>(text: &[u8]) -> std::result::Result<T, String> {
    let values = count_json_values(text);
    if values > limits::JSON_VALUES {
        return Err(format!("it has more than {} values", limits::JSON_VALUES));
    }
    serde_json::from_slice(text).map_err(|error| error.to_string())
}
