//! Bodies of requests and responses, one file per resource. Names are camelCase on the wire.

mod account;
mod asset;
mod change;
mod envelope;
mod health;
mod json_limit;
mod model;
mod overlay;
pub mod parameter;
mod render;
mod settings;
mod timestamp;

pub use account::{Account, BoundWorkspace, LedgerEntry, LedgerType, Product, QuoteRequest, Scope};
pub use asset::{AssetCreated, AssetDeleted, AssetRow};
pub use change::Change;
pub use envelope::{Data, ErrorBody, ErrorFacts, Page};
pub use health::Health;
pub use json_limit::{JsonRequest, count_json_values, json_request_bytes};
pub use model::{
    Animation, Archived, CheckHash, CreateUploadUrl, EditError, FinalizeUpload, HashMatch, IngestModel, ModelDeleted,
    ModelDetail, ModelEdited, ModelRow, RenderSummary, SignedUrl, StagedUpload, UpdateModel, UploadResult,
};
pub use overlay::{Alignment, Layer, OverlayCreated, OverlayResolved, OverlayRow, ResolveOverlay};
pub use render::{
    AssetUrl, BatchItem, BatchRender, CreateBatch, CreateRender, CreatedRender, DownloadAsset, HlsView, Render,
    RenderCancelled, RenderDeleted, RenderDismissed,
};
pub use settings::{EchoedRenderSettings, RenderSettings};
pub use timestamp::{Timestamp, TimestampError};
