//! Downloads, signed links, HLS streams and ZIP bundles.

mod bundle;
mod cover;
mod disposition;
mod file;
pub(crate) mod hls;
mod link;
mod local;

pub use bundle::Bundle;
pub use cover::Cover;
pub use disposition::attachment;
pub use file::Delivery;
pub use local::LocalLink;
