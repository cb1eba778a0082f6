//! A temporary S3 server that checks signatures.

use std::path::Path;

use hyper_util::rt::{TokioExecutor, TokioIo};
use hyper_util::server::conn::auto::Builder;
use s3s::auth::SimpleAuth;
use s3s::service::S3ServiceBuilder;
use s3s_fs::FileSystem;
use tempfile::TempDir;
use tokio::net::TcpListener;
use tokio::task::JoinHandle;

/// Name of the server's only bucket.
const BUCKET: &str = "plinth";
/// Access key of the server's only user.
const KEY: &str = "test-key";
const SECRET: &str = "test-secret";

/// A local S3 server with one empty bucket. It stops when it is dropped.
pub struct S3Server {
    folder: TempDir,
    endpoint: String,
    task: JoinHandle<()>,
}

impl S3Server {
    /// Starts a server.
    pub async fn start() -> Self {
        let folder = TempDir::with_prefix("plinth-s3-").expect("a temporary folder");
        std::fs::create_dir(folder.path().join(BUCKET)).expect("a bucket");
        let files = FileSystem::new(folder.path()).expect("a file system");
        let mut builder = S3ServiceBuilder::new(files);
        builder.set_auth(SimpleAuth::from_single(KEY, SECRET));
        let service = builder.build();
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let endpoint = format!("http://{}", listener.local_addr().expect("an address"));
        let task = tokio::spawn(async move {
            while let Ok((socket, _peer)) = listener.accept().await {
                let service = service.clone();
                tokio::spawn(async move {
                    let server = Builder::new(TokioExecutor::new());
                    // Clients may disconnect at any time, so the errors of a connection are ignored.
                    let _ended = server.serve_connection(TokioIo::new(socket), service).await;
                });
            }
        });
        Self { folder, endpoint, task }
    }

    /// Returns the URL of the server.
    pub fn endpoint(&self) -> &str {
        &self.endpoint
    }

    /// Returns the name of the bucket.
    pub const fn bucket(&self) -> &'static str {
        BUCKET
    }

    /// Returns the access key and the secret key.
    pub const fn credentials(&self) -> (&'static str, &'static str) {
        (KEY, SECRET)
    }

    /// Returns the folder that contains the objects.
    pub fn folder(&self) -> &Path {
        self.folder.path()
    }
}

impl Drop for S3Server {
    fn drop(&mut self) {
        self.task.abort();
    }
}
