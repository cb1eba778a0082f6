//! Memory budget for bodies of requests and responses. A large body is read or built only after memory was reserved for it.

use std::time::Duration;

use plinth_spec::ErrorCode;
use plinth_spec::limits;
use plinth_spec::wire::count_json_values;
use serde::de::DeserializeOwned;

use crate::access::Caller;
use crate::error::{Result, ServiceError};
use crate::fair_semaphore::FairPermit;
use crate::service::Service;

/// Estimated memory in bytes for each byte of a body. It covers the text, the parsed JSON values, and the objects built
/// from the values.
const MEMORY_PER_BYTE: u64 = 8;
/// Timeout for reserving memory, in seconds.
const WAIT_SECS: u64 = 30;

/// A reservation of memory for a body; released on drop.
#[derive(Debug)]
pub struct BodyMemory(#[expect(dead_code, reason = "the permit is released on drop")] Option<FairPermit>);

impl BodyMemory {
    /// Returns an empty reservation, for a small body.
    pub(crate) fn none() -> Self {
        Self(None)
    }
}

impl Service {
    /// Reserves the memory for reading or building a body of `bytes` bytes, and waits until the memory is available. A small body
    /// needs no reservation.
    /// Errors: `rate_limited` if the memory is not available within 30 s.
    pub async fn body_memory(&self, caller: &Caller, bytes: usize) -> Result<BodyMemory> {
        if bytes <= limits::JSON_SMALL_BYTES {
            return Ok(BodyMemory::none());
        }
        let waiting = self.body_memory.acquire(&caller.payer_id, (bytes as u64).saturating_mul(MEMORY_PER_BYTE));
        let granted = tokio::time::timeout(Duration::from_secs(WAIT_SECS), waiting).await;
        let granted = granted.map_err(|_late| ServiceError {
            retry_after_secs: Some(WAIT_SECS),
            ..ServiceError::new(
                ErrorCode::RateLimited,
                "too many large requests at the same time; send fewer or smaller requests",
            )
        })?;
        Ok(BodyMemory(Some(granted?)))
    }
}

/// Parses the JSON text of a request.
/// Errors: a message for the caller with the reason why the text cannot be parsed.
pub fn parse_json<T: DeserializeOwned>(text: &[u8]) -> std::result::Result<T, String> {
    let values = count_json_values(text);
    if values > limits::JSON_VALUES {
        return Err(format!("it has more than {} values", limits::JSON_VALUES));
    }
    serde_json::from_slice(text).map_err(|error| error.to_string())
}
