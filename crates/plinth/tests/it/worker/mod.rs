//! Tests of the worker.

/// Declares tests for a worker in the process of the server (`here`) and for workers in another process. A test is an async
/// function whose arguments are the deployment and whether the worker is in another process.
macro_rules! on_each_worker {
    ($($place:ident: $deployment:ident, $is_elsewhere:literal, [$($name:ident)*];)*) => {$(
        mod $place {
            use super::Deployment;
            $(
                #[tokio::test(flavor = "multi_thread")]
                async fn $name() {
                    Box::pin(super::$name(Deployment::$deployment().await, $is_elsewhere)).await;
                }
            )*
        }
    )*};
}

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
