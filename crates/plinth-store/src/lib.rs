//! Blob storage in local files or in S3.
//!
//! [`ObjectKey`] lists every kind of stored object. Links to objects in S3 are presigned URLs of S3. Links to local
//! files are signed by [`LinkSigner`].

mod blob;
mod bundle;
mod error;
mod key;
mod link;
mod list;
mod open;
mod resume;
mod stored;
mod unfinished;

pub use blob::{Blob, BlobStream};
pub use bundle::{BundleEntry, bundle_length, bundle_stream};
pub use error::StoreError;
pub use key::{ObjectKey, all_hls_prefix, attempt_prefix, env_prefix, hls_prefix, render_prefix};
pub use link::{Link, LinkError, LinkMethod, LinkSecret, LinkSigner, NewLink};
pub use list::Listed;
pub use open::{Store, StoreOptions, is_s3_setting};
pub use stored::Stored;

/// The result of a store operation.
pub type Result<T> = std::result::Result<T, StoreError>;
