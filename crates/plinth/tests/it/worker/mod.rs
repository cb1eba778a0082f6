//! Tests of the worker: complete renders, and failures.

pub(crate) mod autoscaler;
mod deployment;
mod encoders;
mod failures;
mod fence;
mod notified;
mod outages;
mod pools;
mod presence;
mod preview_beside_render;
mod preview_crowd;
mod preview_left;
mod previews;
mod process;
mod renders;
mod stopping;
mod storing;
mod warm;
