//! State machines of models, renders and HLS packagings. Each is one table of transitions.

mod hls;
mod model;
mod render;

pub use hls::{HlsEvent, HlsStatus};
pub use model::{ModelEvent, ModelStatus};
pub use render::{RenderEvent, RenderStatus};

/// All transitions of a table, as old state, event and new state.
fn transitions<S: Copy, E: Copy>(
    states: &'static [S],
    events: &'static [E],
    after: fn(S, E) -> Option<S>,
) -> impl Iterator<Item = (S, E, S)> {
    states
        .iter()
        .flat_map(move |from| events.iter().filter_map(move |event| Some((*from, *event, after(*from, *event)?))))
}
