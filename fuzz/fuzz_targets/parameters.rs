//! Parses the small values of requests, which are the lines of the input: the parameters of a page, an ID, a timestamp, an
//! `Idempotency-Key` and the name of an output file.
#![no_main]

use libfuzzer_sys::fuzz_target;
use plinth_spec::id::RenderId;
use plinth_spec::idempotency::{KEY_CHARS, ReplayKey};
use plinth_spec::page::{PageRequest, Start, cursor_from_position};
use plinth_spec::wire::Timestamp;
use plinth_spec::{OutputFile, limits};

fuzz_target!(|text: &str| {
    let mut lines = text.split('\n');
    let [limit, offset, cursor, filters, id, time, key, file] = std::array::from_fn(|_line| lines.next());
    let filters = filters.unwrap_or_default();
    if let Ok(page) = PageRequest::parse(limit, offset, cursor, filters) {
        assert!((1..=limits::PAGE_MAX).contains(&page.limit));
        match &page.start {
            Start::Offset(offset) => assert!(*offset <= limits::OFFSET_MAX),
            Start::After(None) => {}
            Start::After(Some(position)) => {
                assert!(RenderId::parse(&position.id).is_some());
                let cursor = cursor_from_position(position, filters);
                let again = PageRequest::parse(limit, None, Some(&cursor), filters).expect("a cursor is read back");
                assert_eq!(again, page);
            }
        }
    }
    if let Some(id) = id.and_then(RenderId::parse) {
        assert!(id.as_str().len() == 12 && id.as_str().bytes().all(|byte| byte.is_ascii_alphanumeric()));
    }
    if let Some(Ok(time)) = time.map(Timestamp::parse) {
        serde_json::to_string(&time).expect("a timestamp that was read can be written");
    }
    let key = ReplayKey::from_header(key);
    assert!(key.as_str().chars().count() <= KEY_CHARS);
    if let Some(file) = file.and_then(OutputFile::from_name) {
        assert!(OutputFile::NAMES.contains(&file.as_str()));
    }
});
