//! Tests of multipart uploads that S3 has forgotten.

use plinth_store::{ObjectKey, StoreError, Stored};
use plinth_testkit::{Reply, Web};

use crate::both::{model, s3_at};

const XML: &str = "application/xml";
/// Size of the file. It has two parts.
const SIZE: usize = 9 << 20;

/// Starts an S3 server that does not know an upload any more when the client completes or aborts it. This also happens if the
/// response to an earlier completion was lost. The server has an object of the size `stored`.
fn forgetful(stored: Option<u64>) -> Web {
    Web::start(move |visit| match visit.method.as_str() {
        "POST" if visit.path.contains("?uploads") => {
            let begun = "<InitiateMultipartUploadResult><UploadId>first</UploadId></InitiateMultipartUploadResult>";
            Reply::new("200 OK", XML, begun)
        }
        "PUT" => Reply::new("200 OK", XML, "").with_header("ETag", "\"part\""),
        "HEAD" => stored.map_or_else(Reply::missing, |size| Reply::model("").saying_length(size)),
        _ => Reply::new("404 Not Found", XML, "<Error><Code>NoSuchUpload</Code></Error>"),
    })
}

async fn put(stored: Option<u64>) -> Result<Stored, StoreError> {
    let server = forgetful(stored);
    let store = s3_at(&format!("http://{}", server.address()), "bucket", ("key", "secret"));
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), "a".repeat(SIZE)).unwrap();
    let id = model();
    store.put_file(&ObjectKey::Model(&id), file.path()).await
}

#[tokio::test]
async fn a_file_is_stored_if_only_the_response_to_its_completion_was_lost() {
    let size = SIZE as u64;
    let stored = put(Some(size)).await.unwrap();
    assert_eq!(stored, Stored { size, crc32: crc32fast::hash("a".repeat(SIZE).as_bytes()) });
}

#[tokio::test]
async fn an_upload_that_s3_has_forgotten_may_be_repeated() {
    for stored in [None, Some(SIZE as u64 - 1)] {
        let error = put(stored).await.unwrap_err();
        assert!(matches!(error, StoreError::UploadLost { .. }) && error.may_pass(), "{error}");
    }
}
