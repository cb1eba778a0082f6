//! A throw-away S3 server that checks signatures.

use std::path::Path;

use hyper_util::rt::{TokioExecutor, TokioIo};
use hyper_util::server::conn::auto::Builder;
use s3s::auth::SimpleAuth;
use s3s::service::S3ServiceBuilder;
use s3s_fs::FileSystem;
use tempfile::TempDir;
use tokio::net::TcpListener;
use tokio::task::JoinHandle;

/// The one bucket.
const BUCKET: &str = "plinth";
/// The one user.
const KEY: &str = "test-key";
const SECRET: &str = "test-secret";

/// An S3 server on this machine, with one empty bucket. It ends when dropped.
pub struct S3Server {
    folder: TempDir,
    endpoint: String,
    task: JoinHandle<()>,
}

impl S3Server {
    /// Starts one.
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
                    // A client may break off; that is its own affair.
                    let _ended = server.serve_connection(TokioIo::new(socket), service).await;
                });
            }
        });
        Self { folder, endpoint, task }
    }

    /// Where it listens.
    pub fn endpoint(&self) -> &str {
        &self.endpoint
    }

    /// Its bucket.
    pub const fn bucket(&self) -> &'static str {
        BUCKET
    }

    /// Access key and secret.
    pub const fn credentials(&self) -> (&'static str, &'static str) {
        (KEY, SECRET)
    }

    /// Where its objects lie.
    pub fn folder(&self) -> &Path {
        self.folder.path()
    }
}

impl Drop for S3Server {
    fn drop(&mut self) {
        self.task.abort();
    }
}
