//! The workers' door: taking renders, reporting, giving back, and collecting what dead workers held.

mod assets;
mod claim;
mod files;
mod packaging;
mod queue;
mod reap;
mod report;

pub use assets::{AssetMissing, ImageAsset, RenderAssets};
pub use claim::{Claim, LeaseLost};
pub use files::{RenderFiles, StoredFile};
pub use queue::Queue;
