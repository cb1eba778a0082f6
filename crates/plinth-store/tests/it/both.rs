//! Tests that run both on a local store and on S3.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use bytes::Bytes;
use futures_util::StreamExt as _;
use plinth_spec::OutputFile;
use plinth_spec::id::{ModelId, RenderId};
use plinth_spec::quality::Codec;
use plinth_store::{
    BlobStream, BundleEntry, LinkMethod, LinkSecret, LinkSigner, NewLink, ObjectKey, Store, StoreError, StoreOptions,
    Stored, bundle_length, bundle_stream, render_prefix,
};
use plinth_testkit::{Reply, S3Server, Web};
use tempfile::TempDir;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;
use tokio::time::timeout;

fn signer() -> LinkSigner {
    LinkSigner::new("http://127.0.0.1:1/".parse().unwrap())
}

fn secret() -> LinkSecret {
    LinkSecret { id: "id".to_owned(), secret: "secret".to_owned() }
}

pub(crate) fn local() -> (Store, TempDir) {
    let folder = TempDir::new().unwrap();
    let address = format!("file://{}", folder.path().join("objects").display());
    let options = StoreOptions { address, s3: Vec::new(), s3_public_endpoint: None, signer: signer() };
    (Store::open(options).unwrap(), folder)
}

async fn s3() -> (Store, S3Server) {
    let server = S3Server::start().await;
    (s3_at(server.endpoint(), server.bucket(), server.credentials()), server)
}

pub(crate) fn s3_at(endpoint: &str, bucket: &str, credentials: (&str, &str)) -> Store {
    s3_with(&[("AWS_ENDPOINT", endpoint)], bucket, credentials, None)
}

fn s3_with(
    settings: &[(&str, &str)],
    bucket: &str,
    (key, secret): (&str, &str),
    public_endpoint: Option<&str>,
) -> Store {
    let credentials = [("AWS_ACCESS_KEY_ID", key), ("AWS_SECRET_ACCESS_KEY", secret), ("AWS_REGION", "us-east-1")];
    let settings = credentials.iter().chain(settings);
    let options = StoreOptions {
        address: format!("s3://{bucket}/some/prefix"),
        s3: settings.map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect(),
        s3_public_endpoint: public_endpoint.map(str::to_owned),
        signer: signer(),
    };
    Store::open(options).unwrap()
}

async fn all(mut stream: BlobStream) -> Vec<u8> {
    let mut out = Vec::new();
    while let Some(piece) = stream.next().await {
        out.extend(piece.unwrap());
    }
    out
}

pub(crate) fn model() -> ModelId {
    ModelId::parse("m00000000001").unwrap()
}

fn render() -> RenderId {
    RenderId::parse("r00000000001").unwrap()
}

async fn stored_objects_are_read_whole_and_in_ranges(store: Store) {
    let id = model();
    let key = ObjectKey::Model(&id);
    assert!(store.find(&key).await.unwrap().is_none());
    assert!(store.read(&key, None).await.err().unwrap().is_not_found());
    let stored = store.put(&key, Bytes::from_static(b"0123456789")).await.unwrap();
    assert_eq!(stored, Stored { size: 10, crc32: crc32fast::hash(b"0123456789") });
    let blob = store.find(&key).await.unwrap().unwrap();
    assert_eq!(blob.size, 10);
    assert!(blob.etag.is_some() && blob.modified_at_ms > 1_700_000_000_000);
    assert_eq!(store.read_all(&key).await.unwrap(), "0123456789");
    for (range, expected) in [(0..10, "0123456789"), (3..5, "34"), (9..10, "9"), (4..4, "")] {
        assert_eq!(all(store.read(&key, Some(range)).await.unwrap()).await, expected.as_bytes());
    }
    store.put(&key, Bytes::from_static(b"other")).await.unwrap();
    assert_ne!(store.find(&key).await.unwrap().unwrap().etag, blob.etag);
    store.delete(&key).await.unwrap();
    store.delete(&key).await.unwrap();
    assert!(store.find(&key).await.unwrap().is_none());
    store.ping().await.unwrap();
}

async fn a_new_object_does_not_replace_an_existing_one(store: Store) {
    for content in ["first", "second"] {
        store.put_new(&ObjectKey::StoreId, Bytes::from(content)).await.unwrap();
        assert_eq!(store.read_all(&ObjectKey::StoreId).await.unwrap(), "first");
    }
}

async fn a_small_object_is_read_by_one_request(store: Store) {
    assert!(store.read_once(&ObjectKey::StoreId).await.unwrap_err().is_not_found());
    store.put(&ObjectKey::StoreId, Bytes::from_static(b"some text")).await.unwrap();
    assert_eq!(store.read_once(&ObjectKey::StoreId).await.unwrap(), "some text");
}

async fn large_files_are_uploaded_in_parts_and_read_back_unchanged(store: Store) {
    let bytes: Vec<u8> = (0..40_000_000u32).map(|i| i.wrapping_mul(2_654_435_761).to_be_bytes()[0]).collect();
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), &bytes).unwrap();
    let id = model();
    let stored = store.put_file(&ObjectKey::Model(&id), file.path()).await.unwrap();
    assert_eq!(stored, Stored { size: bytes.len() as u64, crc32: crc32fast::hash(&bytes) });
    assert!(all(store.read(&ObjectKey::Model(&id), None).await.unwrap()).await == bytes);
}

async fn no_more_of_a_file_is_stored_than_its_size_at_the_beginning(store: Store) {
    // Like a file that grows meanwhile, a file of this folder has more content than its size says.
    let growing = std::path::Path::new("/proc/self/status");
    assert_eq!(std::fs::metadata(growing).unwrap().len(), 0);
    assert!(std::fs::read(growing).unwrap().len() > 100);
    let id = model();
    let stored = store.put_file(&ObjectKey::Model(&id), growing).await.unwrap();
    assert_eq!(stored, Stored { size: 0, crc32: 0 });
    assert_eq!(store.find(&ObjectKey::Model(&id)).await.unwrap().unwrap().size, 0);
}

async fn a_file_whose_size_has_changed_since_it_was_checked_is_not_stored(store: Store) {
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), b"checked").unwrap();
    let id = model();
    let key = ObjectKey::Model(&id);
    let put = |size| store.put_file_of_size(&key, file.path(), size);
    for other in [6, 8] {
        let error = put(other).await.unwrap_err();
        assert!(matches!(error, StoreError::File(_)) && !error.may_pass(), "{error}");
    }
    assert!(store.find(&key).await.unwrap().is_none());
    assert_eq!(put(7).await.unwrap().size, 7);
}

async fn deleting_a_prefix_deletes_all_objects_under_it_and_no_others(store: Store) {
    let (first, second) = (render(), RenderId::parse("r00000000002").unwrap());
    for id in [&first, &second] {
        for attempt in 1..3 {
            let key = ObjectKey::Render(id, attempt, OutputFile::Web, Codec::H264);
            store.put(&key, Bytes::from_static(b"x")).await.unwrap();
        }
    }
    assert_eq!(store.delete_prefix(&render_prefix(&first)).await.unwrap(), 2);
    assert_eq!(store.delete_prefix(&render_prefix(&first)).await.unwrap(), 0);
    assert!(store.find(&ObjectKey::Render(&first, 1, OutputFile::Web, Codec::H264)).await.unwrap().is_none());
    assert!(store.find(&ObjectKey::Render(&second, 2, OutputFile::Web, Codec::H264)).await.unwrap().is_some());
    let id = model();
    store.put(&ObjectKey::Model(&id), Bytes::from_static(b"x")).await.unwrap();
    assert_eq!(store.delete_prefix(&ObjectKey::Model(&id).path()).await.unwrap(), 1);
}

async fn a_bundle_has_the_announced_length_and_another_zip_reader_opens_it(store: Store) {
    let id = render();
    let mut entries = Vec::new();
    for (file, content) in [(OutputFile::Video, "video bytes"), (OutputFile::FullPoster, "poster")] {
        let key = ObjectKey::Render(&id, 1, file, Codec::H264);
        let stored = store.put(&key, Bytes::from_static(content.as_bytes())).await.unwrap();
        entries.push(BundleEntry { name: file.file_name(Codec::H264), key, stored });
    }
    let zip = all(bundle_stream(&store, &entries)).await;
    assert_eq!(zip.len() as u64, bundle_length(&entries));
    let mut archive = zip::ZipArchive::new(std::io::Cursor::new(zip)).unwrap();
    let names: Vec<_> = archive.file_names().map(|name| name.unwrap().into_owned()).collect();
    assert_eq!(names, ["video.mp4", "poster.png"]);
    let text = std::io::read_to_string(archive.by_name("video.mp4").unwrap()).unwrap();
    assert_eq!(text, "video bytes");
    store.delete(&ObjectKey::Render(&id, 1, OutputFile::FullPoster, Codec::H264)).await.unwrap();
    let mut broken = bundle_stream(&store, &entries);
    let mut failed = false;
    while let Some(piece) = broken.next().await {
        failed |= piece.is_err();
    }
    assert!(failed, "a missing object ends the stream with an error");
}

macro_rules! on_both_stores {
    ($($name:ident)*) => {$(
        mod $name {
            #[tokio::test]
            async fn local() {
                let (store, _folder) = super::local();
                super::$name(store).await;
            }

            #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn s3() {
                let (store, _server) = super::s3().await;
                super::$name(store).await;
            }
        }
    )*};
}
on_both_stores! {
    stored_objects_are_read_whole_and_in_ranges
    a_new_object_does_not_replace_an_existing_one
    a_small_object_is_read_by_one_request
    large_files_are_uploaded_in_parts_and_read_back_unchanged
    no_more_of_a_file_is_stored_than_its_size_at_the_beginning
    a_file_whose_size_has_changed_since_it_was_checked_is_not_stored
    deleting_a_prefix_deletes_all_objects_under_it_and_no_others
    a_bundle_has_the_announced_length_and_another_zip_reader_opens_it
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_s3_link_works_without_credentials_and_a_changed_link_is_rejected() {
    let (store, _server) = s3().await;
    let id = model();
    let key = ObjectKey::Model(&id);
    let http = reqwest::Client::builder().no_proxy().build().unwrap();
    let put = NewLink { method: LinkMethod::Put, key: &key, lifetime_secs: 60, disposition: None, now_secs: 0 };
    let disposition = Some("attachment; filename=\"a.glb\"");
    let get = NewLink { method: LinkMethod::Get, disposition, ..put };
    let put = store.link(put, &secret()).await.unwrap();
    assert!(http.put(&put).body("glb").send().await.unwrap().status().is_success());
    assert_eq!(store.read_all(&key).await.unwrap(), "glb");

    let get = store.link(get, &secret()).await.unwrap();
    let answer = http.get(&get).send().await.unwrap();
    assert!(get.starts_with(&format!("{}/", store.link_origin().await.unwrap())), "{get}");
    assert_eq!(answer.headers()["content-disposition"], "attachment; filename=\"a.glb\"");
    assert_eq!(answer.headers()["content-type"], "model/gltf-binary");
    assert_eq!(answer.text().await.unwrap(), "glb");

    let other = get.replace("m00000000001", "m00000000002");
    assert!(!http.get(&other).send().await.unwrap().status().is_success());
    assert!(!http.put(&get).body("x").send().await.unwrap().status().is_success());
    let unsigned = get.split('?').next().unwrap();
    assert!(!http.get(unsigned).send().await.unwrap().status().is_success());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_ping_is_a_single_request() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let store = s3_at(&format!("http://{}", listener.local_addr().unwrap()), "bucket", ("key", "secret"));
    let requests = Arc::new(AtomicU32::new(0));
    let counter = Arc::clone(&requests);
    let server = tokio::spawn(async move {
        loop {
            let (mut socket, _peer) = listener.accept().await.unwrap();
            // Each connection is used for one request.
            if socket.read(&mut [0; 4096]).await.unwrap() > 0 {
                counter.fetch_add(1, Ordering::SeqCst);
            }
            let answer = b"HTTP/1.1 503 Service Unavailable\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";
            socket.write_all(answer).await.unwrap();
        }
    });
    // With retries, the pauses before them would take longer.
    assert!(timeout(Duration::from_secs(5), store.ping()).await.unwrap().is_err());
    assert_eq!(requests.load(Ordering::SeqCst), 1);
    server.abort();
}

/// Starts an S3 server that responds with an internal error to the first upload, as to a conditional write that it does not support.
/// The object exists after it if `stores_first`.
fn without_conditional_writes(stores_first: bool) -> (Web, Arc<AtomicU32>) {
    let uploads = Arc::new(AtomicU32::new(0));
    let counter = Arc::clone(&uploads);
    let server = Web::start(move |visit| match visit.method.as_str() {
        "HEAD" if stores_first && counter.load(Ordering::SeqCst) > 0 => {
            Reply::model("").with_header("ETag", "\"e\"").with_header("Last-Modified", "Mon, 01 Jan 2024 00:00:00 GMT")
        }
        "PUT" if counter.fetch_add(1, Ordering::SeqCst) == 0 => Reply::new("501 Not Implemented", "text/plain", ""),
        "PUT" => Reply::new("200 OK", "text/plain", "").with_header("ETag", "\"e\""),
        _ => Reply::missing(),
    });
    (server, uploads)
}

#[tokio::test]
async fn a_new_object_is_stored_without_conditional_writes() {
    for (stores_first, expected_uploads) in [(false, 2), (true, 1)] {
        let (server, uploads) = without_conditional_writes(stores_first);
        let store = s3_at(&format!("http://{}", server.address()), "bucket", ("key", "secret"));
        store.put_new(&ObjectKey::StoreId, Bytes::from_static(b"id")).await.unwrap();
        assert_eq!(uploads.load(Ordering::SeqCst), expected_uploads);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_ping_fails_without_the_folder_or_the_bucket() {
    let (store, folder) = local();
    store.ping().await.unwrap();
    std::fs::remove_dir(folder.path().join("objects")).unwrap();
    assert!(store.ping().await.is_err());
    std::fs::write(folder.path().join("objects"), "not a folder").unwrap();
    assert!(store.ping().await.is_err());
    let (store, server) = s3().await;
    store.ping().await.unwrap();
    std::fs::remove_dir_all(server.folder().join(server.bucket())).unwrap();
    assert!(store.ping().await.is_err());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_bucket_of_the_address_and_the_endpoint_for_s3_have_precedence() {
    let server = S3Server::start().await;
    let settings = [
        ("AWS_ENDPOINT_URL_S3", server.endpoint()),
        ("AWS_ENDPOINT_URL", "https://127.0.0.1:1"),
        ("AWS_BUCKET", "other"),
        ("AWS_BUCKET_NAME", "other"),
    ];
    let id = model();
    let key = ObjectKey::Model(&id);
    let link = NewLink { method: LinkMethod::Get, key: &key, lifetime_secs: 60, disposition: None, now_secs: 0 };
    for public in [None, Some("http://files.example.org"), Some("https://files.example.org")] {
        let store = s3_with(&settings, server.bucket(), server.credentials(), public);
        store.put(&key, Bytes::from_static(b"glb")).await.unwrap();
        let url = store.link(link, &secret()).await.unwrap();
        let begin = format!("{}/{}/some/prefix/", public.unwrap_or(server.endpoint()), server.bucket());
        assert!(url.starts_with(&begin), "{url}");
    }
    assert!(server.folder().join(server.bucket()).join("some/prefix").join(key.path()).exists());
}

#[tokio::test]
async fn a_local_link_expires_after_its_lifetime() {
    let (store, _folder) = local();
    let model = ModelId::parse("m00000000001").unwrap();
    let link = NewLink {
        method: LinkMethod::Get,
        key: &ObjectKey::Model(&model),
        lifetime_secs: 90,
        disposition: None,
        now_secs: 1000,
    };
    let url = store.link(link, &secret()).await.unwrap();
    assert!(url.contains("?exp=1090&"), "{url}");
}

#[test]
fn the_error_for_an_invalid_address_lists_valid_ones() {
    let open = |address: &str, s3: &[(&str, &str)]| {
        let s3 = s3.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect();
        let options = StoreOptions { address: address.to_owned(), s3, s3_public_endpoint: None, signer: signer() };
        Store::open(options).err().unwrap().to_string()
    };
    for address in ["", "ftp://x", "s3://", "file://"] {
        assert!(open(address, &[]).contains("s3://BUCKET/PREFIX"), "{address}");
    }
    assert!(open("s3://bucket", &[("aws_nonsense", "1")]).contains("aws_nonsense"));
}

/// The download takes longer than the default time limit that `object_store` has for a whole response, including
/// retries.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "takes four minutes"]
async fn a_slow_client_receives_a_large_object_completely() {
    const SIZE: usize = 64 << 20;
    let (store, _server) = s3().await;
    let id = model();
    let content: Bytes = (0..=250_u8).cycle().take(SIZE).collect();
    store.put(&ObjectKey::Model(&id), content.clone()).await.unwrap();
    let mut pieces = store.read(&ObjectKey::Model(&id), None).await.unwrap();
    let (begin, mut read) = (tokio::time::Instant::now(), 0);
    while let Some(piece) = pieces.next().await {
        let piece = piece.unwrap();
        assert_eq!(piece, content.slice(read..read + piece.len()));
        read += piece.len();
        // The client reads so slowly that the whole object takes 240 s.
        tokio::time::sleep_until(begin + Duration::from_mins(4).mul_f64(read as f64 / SIZE as f64)).await;
    }
    assert_eq!(read, SIZE);
}
