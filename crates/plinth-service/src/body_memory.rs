//! Memory budget for bodies of requests and responses. A large body is read or built only after memory was reserved for it.

use std::time::Duration;

use plinth_spec::ErrorCode;
use plinth_spec::limits;
use plinth_spec::wire::count_json_values;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::access::Caller;
use crate::error::{Result, ServiceError};
use crate::fair_semaphore::FairPermit;
use crate::service::Service;

/// Estimated memory in bytes for each byte of a body. It covers the text, the parsed JSON values, and the objects built
/// from the values.
const MEMORY_PER_BYTE: u64 = 8;
/// Estimated memory in bytes for each value of a JSON body, with the objects built from it.
const MEMORY_PER_VALUE: u64 = 100;
/// Estimated memory in bytes for each byte of the texts in parsed render settings: the settings contain each text twice, and a
/// transaction that stores them works on a copy.
const MEMORY_PER_TEXT_BYTE: u64 = 4;
/// Timeout for reserving memory, in seconds.
const WAIT_SECS: u64 = 30;

/// A reservation of memory for a body; released on drop. A request that holds one never waits for another one, because such
/// requests could block each other.
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

    /// Releases the part of the reservation that is not necessary for this JSON text. Called when the text has arrived, because the
    /// number of its values is unknown before.
    pub fn shrink_to(&mut self, text: &[u8]) {
        self.shrink_to_values(text.len(), count_json_values(text));
    }

    /// Releases the part of the reservation that is not necessary for a text of `bytes` bytes with `values` values.
    pub fn shrink_to_values(&mut self, bytes: usize, values: usize) {
        if let Some(permit) = &mut self.0 {
            permit.shrink_to(json_bytes(bytes, values));
        }
    }

    /// Releases the part of the reservation that is not necessary any more if only these render settings are left of a body. Called
    /// by requests that take long, for example because they download a file.
    #[must_use]
    pub fn shrunk_to_settings(mut self, settings: Option<&Value>) -> Self {
        if let Some(permit) = &mut self.0 {
            permit.shrink_to(settings.map_or(0, parsed_bytes));
        }
        self
    }
}

/// Estimates the memory for parsed render settings, in bytes.
fn parsed_bytes(settings: &Value) -> u64 {
    let (bytes, values) = texts_and_values(settings);
    (bytes as u64).saturating_mul(MEMORY_PER_TEXT_BYTE) + (values as u64).saturating_mul(MEMORY_PER_VALUE)
}

/// Returns the total size of all strings and keys in a value, in bytes, and the number of values and keys.
fn texts_and_values(value: &Value) -> (usize, usize) {
    let add = |(bytes, values): (usize, usize), (more_bytes, more): (usize, usize)| (bytes + more_bytes, values + more);
    match value {
        Value::String(text) => (text.len(), 1),
        Value::Array(entries) => entries.iter().map(texts_and_values).fold((0, 1), add),
        Value::Object(members) => {
            let each = members.iter().map(|(key, member)| add((key.len(), 1), texts_and_values(member)));
            each.fold((0, 1), add)
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => (0, 1),
    }
}

/// Estimates the memory for a JSON text of `bytes` bytes with `values` values, in bytes.
const fn json_bytes(bytes: usize, values: usize) -> u64 {
    let (text, parsed) =
        ((bytes as u64).saturating_mul(MEMORY_PER_BYTE), (values as u64).saturating_mul(MEMORY_PER_VALUE));
    if text > parsed { text } else { parsed }
}

impl Service {
    /// Reserves the memory for reading or building a body of `bytes` bytes, and waits until the memory is available. A small body
    /// needs no reservation.
    /// Errors: `rate_limited` if the memory is not available within 30 s.
    pub async fn body_memory(&self, caller: &Caller, bytes: usize) -> Result<BodyMemory> {
        self.json_memory(caller, bytes, 0).await
    }

    /// Reserves the memory for receiving and parsing a JSON text of at most `bytes` bytes and `max_values` values, as
    /// [`Self::body_memory`] does. The number of values is unknown until the text has arrived, so memory for the maximum number is
    /// reserved. [`BodyMemory::shrink_to`] then releases the rest.
    /// Errors: `rate_limited` if the memory is not available within 30 s.
    pub async fn json_memory(&self, caller: &Caller, bytes: usize, max_values: usize) -> Result<BodyMemory> {
        if bytes <= limits::JSON_SMALL_BYTES {
            return Ok(BodyMemory::none());
        }
        let waiting = self.body_memory.acquire(&caller.payer_id, json_bytes(bytes, max_values.min(bytes)));
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

#[cfg(test)]
mod tests {
    use futures_util::FutureExt as _;
    use plinth_spec::id::{AccountId, LENGTH};
    use serde_json::json;

    use super::*;
    use crate::fair_semaphore::FairSemaphore;

    const CAPACITY: u64 = 1 << 20;

    #[tokio::test]
    async fn only_the_memory_of_the_settings_stays_reserved_during_a_long_request() {
        let gate = FairSemaphore::new(CAPACITY, CAPACITY);
        let account = AccountId::parse(&"a".repeat(LENGTH)).unwrap();
        // An object, a key, a list and its three entries, with four bytes of texts.
        let settings = json!({"a": ["bcd", 1, null]});
        for (settings, kept) in [(None, 0), (Some(&settings), 6 * MEMORY_PER_VALUE + 4 * MEMORY_PER_TEXT_BYTE)] {
            let memory = BodyMemory::of(gate.acquire(&account, CAPACITY).await.unwrap()).shrunk_to_settings(settings);
            assert!(gate.acquire(&account, CAPACITY - kept).now_or_never().is_some(), "{kept}");
            let all = gate.acquire(&account, CAPACITY).now_or_never();
            assert_eq!(all.is_some(), kept == 0, "{kept}");
            drop(memory);
        }
    }
}
