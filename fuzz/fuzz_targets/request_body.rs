//! Parses the JSON bodies of requests. The number of JSON values in a body must never be underestimated.
#![no_main]

use libfuzzer_sys::{fuzz_mutator, fuzz_target, fuzzer_mutate};
use plinth_spec::wire::{
    CheckHash, CreateBatch, CreateRender, CreateUploadUrl, FinalizeUpload, IngestModel, QuoteRequest, ResolveOverlay,
    UpdateModel, count_json_values,
};
use serde::de::DeserializeOwned;
use serde_json::Value;

fuzz_target!(|data: &[u8]| {
    if let Ok(value) = serde_json::from_slice::<Value>(data) {
        assert!(values(&value) <= count_json_values(data));
    }
    read::<CheckHash>(data);
    read::<CreateBatch>(data);
    read::<CreateRender>(data);
    read::<CreateUploadUrl>(data);
    read::<FinalizeUpload>(data);
    read::<IngestModel>(data);
    read::<QuoteRequest>(data);
    read::<ResolveOverlay>(data);
    read::<UpdateModel>(data);
});

fn read<T: DeserializeOwned>(data: &[u8]) {
    let _any = serde_json::from_slice::<T>(data);
}

/// Counts a value and all values in it.
fn values(value: &Value) -> usize {
    match value {
        Value::Array(list) => 1 + list.iter().map(values).sum::<usize>(),
        Value::Object(members) => 1 + members.values().map(values).sum::<usize>(),
        _ => 1,
    }
}

fuzz_mutator!(|data: &mut [u8], size: usize, max_size: usize, seed: u32| {
    let changed = plinth_fuzz::mutate_json(&data[..size], max_size, seed, fuzzer_mutate);
    plinth_fuzz::replace(data, size, &changed)
});
