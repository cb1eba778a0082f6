//! Opens a store in a local folder or an S3 bucket.

use std::path::Path as FilePath;
use std::sync::Arc;
use std::time::Duration;

use object_store::aws::{AmazonS3, AmazonS3Builder, AmazonS3ConfigKey};
use object_store::local::LocalFileSystem;
use object_store::path::Path;
use object_store::{ClientOptions, ObjectStore, RetryConfig};
use tokio::sync::Semaphore;

use crate::Result;
use crate::blob::PUTS_AT_ONCE;
use crate::error::StoreError;
use crate::key::ObjectKey;
use crate::link::LinkSigner;

/// Maximum time for which a request to S3 may receive no data.
const READ_TIME: Duration = Duration::from_mins(1);
/// [`READ_TIME`] of uploads. S3 responds after it has received the whole body, so this is also the maximum time for sending a body. At
/// most 18 parts of 8 MiB are sent at the same time, three of each of six files. They need a connection of 4 Mbit/s.
const UPLOAD_READ_TIME: Duration = Duration::from_mins(5);
/// Number of times that an upload is sent while it receives no data.
const UPLOAD_TRIES: u32 = 3;
/// Time since the first attempt of an upload after which it is not sent again. S3 rejects signatures that are more than 15 minutes
/// old, and `object_store` signs an upload only once.
const UPLOAD_RETRY_TIME: Duration = UPLOAD_READ_TIME.saturating_mul(UPLOAD_TRIES);
/// Maximum total time of a ping, and of other requests that are not repeated.
const PING_TIME: Duration = Duration::from_secs(10);

/// Options of [`Store::open`].
#[derive(Clone, Debug)]
pub struct StoreOptions {
    /// `file:///FOLDER` or `s3://BUCKET/PREFIX`.
    pub address: String,
    /// S3 settings by their usual names, such as `aws_access_key_id` and `aws_endpoint`.
    pub s3: Vec<(String, String)>,
    /// Endpoint of S3 in signed links. Needed if clients reach S3 at another address than the server.
    pub s3_public_endpoint: Option<String>,
    /// Signer of links to local files.
    pub signer: LinkSigner,
}

/// An open store. Cloning it is cheap.
#[derive(Clone, Debug)]
pub struct Store {
    /// The client of all requests for which there is no other client.
    pub(crate) objects: Arc<dyn ObjectStore>,
    /// The client of uploads.
    pub(crate) uploads: Arc<dyn ObjectStore>,
    /// The client of pings, and of other short requests that are not repeated.
    pub(crate) pings: Arc<dyn ObjectStore>,
    pub(crate) links: Links,
    /// Folder of the local store; `None` for S3.
    pub(crate) folder: Option<Arc<FilePath>>,
    prefix: Path,
    /// Limits the number of concurrent uploads.
    pub(crate) puts: Arc<Semaphore>,
}

/// The signer of links to objects.
#[derive(Clone, Debug)]
pub(crate) enum Links {
    Local(LinkSigner),
    // The signature of an S3 link covers the host name, so links must be signed for the endpoint that clients use.
    S3(Arc<AmazonS3>),
}

impl Store {
    /// Opens a store. A missing folder is created, but a missing bucket is not.
    /// Errors: if the address is malformed, or the S3 settings are unknown or incomplete.
    pub fn open(options: StoreOptions) -> Result<Self> {
        let address = options.address.as_str();
        if let Some(folder) = address.strip_prefix("file://") {
            return Self::open_folder(FilePath::new(folder), options.signer);
        }
        let Some(place) = address.strip_prefix("s3://") else {
            let scheme = address.split(':').next().unwrap_or_default();
            return Err(StoreError::Address { problem: format!("'{scheme}' is not a known kind") });
        };
        let (bucket, prefix) = place.split_once('/').unwrap_or((place, ""));
        if bucket.is_empty() {
            return Err(StoreError::Address { problem: "the bucket is missing".to_owned() });
        }
        let client = |purpose| s3(bucket, &options.s3, None, purpose).map(Arc::new);
        let links = s3(bucket, &options.s3, options.s3_public_endpoint.as_deref(), Purpose::Requests)?;
        let prefix = Path::parse(prefix.trim_matches('/'))
            .map_err(|error| StoreError::Address { problem: error.to_string() })?;
        Ok(Self {
            objects: client(Purpose::Requests)?,
            uploads: client(Purpose::Uploads)?,
            pings: client(Purpose::Pings)?,
            links: Links::S3(Arc::new(links)),
            folder: None,
            prefix,
            puts: Arc::new(Semaphore::new(PUTS_AT_ONCE)),
        })
    }

    fn open_folder(folder: &FilePath, signer: LinkSigner) -> Result<Self> {
        if folder.as_os_str().is_empty() {
            return Err(StoreError::Address { problem: "the folder is missing".to_owned() });
        }
        std::fs::create_dir_all(folder)?;
        // With fsync, an object survives a power failure once its write has been acknowledged. The automatic cleanup
        // removes empty folders.
        let files = LocalFileSystem::new_with_prefix(folder)?.with_fsync(true).with_automatic_cleanup(true);
        let files: Arc<dyn ObjectStore> = Arc::new(files);
        Ok(Self {
            uploads: Arc::clone(&files),
            pings: Arc::clone(&files),
            objects: files,
            links: Links::Local(signer),
            folder: Some(folder.into()),
            prefix: Path::default(),
            puts: Arc::new(Semaphore::new(PUTS_AT_ONCE)),
        })
    }

    /// Returns the folder of the local store; `None` for S3.
    pub fn folder(&self) -> Option<&FilePath> {
        self.folder.as_deref()
    }

    /// Returns the signer of links to local files; `None` for S3, whose links are signed with the S3 credentials.
    pub const fn local_signer(&self) -> Option<&LinkSigner> {
        match &self.links {
            Links::Local(signer) => Some(signer),
            Links::S3(_) => None,
        }
    }

    pub(crate) fn path(&self, key: &ObjectKey<'_>) -> Result<Path> {
        self.path_of(&key.path())
    }

    pub(crate) fn path_of(&self, key: &str) -> Result<Path> {
        let key = Path::parse(key).map_err(object_store::Error::from)?;
        Ok(self.prefix.parts().chain(key.parts()).collect())
    }
}

/// The purpose of an S3 client, on which its time limits and retries depend.
#[derive(Clone, Copy)]
enum Purpose {
    /// All requests except those below.
    Requests,
    Uploads,
    /// Pings, and other short requests that are not repeated.
    Pings,
}

impl Purpose {
    fn time_limits(self) -> ClientOptions {
        // There is no limit on the total time of a response, because a slow client may take long to download a model of 1
        // GB.
        let unlimited = ClientOptions::new().with_timeout_disabled();
        match self {
            Self::Requests => unlimited.with_read_timeout(READ_TIME),
            Self::Uploads => unlimited.with_read_timeout(UPLOAD_READ_TIME),
            Self::Pings => unlimited.with_timeout(PING_TIME),
        }
    }

    fn retries(self) -> RetryConfig {
        match self {
            Self::Requests => RetryConfig::default(),
            Self::Uploads => RetryConfig { retry_timeout: UPLOAD_RETRY_TIME, ..RetryConfig::default() },
            // The caller wants to know whether the store responds now, and decides how often it is asked.
            Self::Pings => RetryConfig { max_retries: 0, ..RetryConfig::default() },
        }
    }
}

/// Returns whether `name` is an S3 setting, such as `AWS_ACCESS_KEY_ID`.
pub fn is_s3_setting(name: &str) -> bool {
    name.to_ascii_lowercase().parse::<AmazonS3ConfigKey>().is_ok()
}

fn s3(bucket: &str, settings: &[(String, String)], endpoint: Option<&str>, purpose: Purpose) -> Result<AmazonS3> {
    use_ring();
    let problem = |problem: String| StoreError::Address { problem };
    let mut builder = AmazonS3Builder::new().with_client_options(purpose.time_limits()).with_retry(purpose.retries());
    for (name, value) in settings {
        let key: AmazonS3ConfigKey = name
            .to_ascii_lowercase()
            .parse()
            .map_err(|_unknown| problem(format!("there is no S3 setting '{name}'")))?;
        builder = builder.with_config(key, value);
    }
    // The bucket of the address replaces a bucket among the settings, such as `AWS_BUCKET`.
    builder = builder.with_bucket_name(bucket);
    let endpoint = endpoint
        .map(str::to_owned)
        .or_else(|| builder.get_config_value(&AmazonS3ConfigKey::S3Endpoint))
        .or_else(|| builder.get_config_value(&AmazonS3ConfigKey::Endpoint));
    if let Some(endpoint) = endpoint {
        // Plain HTTP is allowed if the configured endpoint begins with `http://`. Such an S3 server is on the same
        // machine or network.
        // The endpoint is set by the key that has precedence.
        builder = builder
            .with_allow_http(endpoint.starts_with("http://"))
            .with_config(AmazonS3ConfigKey::S3Endpoint, endpoint);
    }
    builder.build().map_err(|error| problem(error.to_string()))
}

/// Installs ring as the TLS crypto provider of this process, unless a provider is already installed.
fn use_ring() {
    let _chosen_before = rustls::crypto::ring::default_provider().install_default();
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::blob::{PART_BYTES, PARTS_AT_ONCE};

    #[test]
    fn all_parts_that_are_uploaded_at_once_fit_through_4_mbit_per_second() {
        let bits = 8 * (PUTS_AT_ONCE * PARTS_AT_ONCE * PART_BYTES) as u64;
        assert_eq!(bits / UPLOAD_READ_TIME.as_secs() / 1_000_000, 4);
    }

    #[test]
    fn there_is_time_for_two_retries_before_s3_rejects_the_signature() {
        for (purpose, read_time) in [(Purpose::Requests, READ_TIME), (Purpose::Uploads, UPLOAD_READ_TIME)] {
            let RetryConfig { retry_timeout, max_retries, .. } = purpose.retries();
            assert!(retry_timeout > 2 * read_time && max_retries >= 2, "{retry_timeout:?} for {read_time:?}");
        }
        let signed_for = Duration::from_mins(15);
        assert!(Purpose::Uploads.retries().retry_timeout <= signed_for, "S3 would reject the signature");
    }
}
