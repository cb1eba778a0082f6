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
/// Estimated memory in bytes for each value of a JSON body, with the objects built from it.
const MEMORY_PER_VALUE: u64 = 100;
/// Timeout for reserving memory, in seconds.
const WAIT_SECS: u64 = 30;

/// A reservation of memory for a body; released on drop.
#[derive(Debug)]
pub struct BodyMemory(Option<FairPermit>);

impl BodyMemory {
    /// Returns an empty reservation, for a small body.
    pub(crate) fn none() -> Self {
        Self(None)
    }

    #[cfg(test)]
    pub(crate) fn of(permit: FairPermit) -> Self {
        Self(Some(permit))
    }

    /// Returns whether any memory is reserved.
    pub(crate) fn is_held(&self) -> bool {
        self.0.is_some()
    }

    /// Extends the reservation for the values of a JSON text, which may take more memory than the text's size tells. Does
    /// not wait, because a request that waits for more memory while it holds some could block others for ever.
    /// Errors: `rate_limited` if the memory is not available.
    pub fn extend_for_values(&mut self, text: &[u8]) -> Result<()> {
        let Some(permit) = &mut self.0 else { return Ok(()) };
        let needed = (count_json_values(text) as u64).saturating_mul(MEMORY_PER_VALUE);
        if permit.try_extend_to(needed) { Ok(()) } else { Err(too_many_bodies()) }
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
        Ok(BodyMemory(Some(granted.map_err(|_late| too_many_bodies())??)))
    }
}

fn too_many_bodies() -> ServiceError {
    let message = "too many large requests at the same time; send fewer or smaller requests";
    ServiceError { retry_after_secs: Some(WAIT_SECS), ..ServiceError::new(ErrorCode::RateLimited, message) }
}

/// Parses the JSON text of a request.
/// Errors: a message for the caller with the reason why the text cannot be parsed.
pub fn parse_json<T: DeserializeOwned>(text: &[u8], max_values: usize) -> std::result::Result<T, String> {
    if count_json_values(text) > max_values {
        return Err(format!("it has more than {max_values} values"));
    }
    serde_json::from_slice(text).map_err(|error| error.to_string())
}
