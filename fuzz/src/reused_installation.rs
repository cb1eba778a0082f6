//! An installation that is used for several inputs.

use std::cell::RefCell;

use tokio::runtime::{Builder, Runtime};

use crate::Installation;

/// Number of requests after which a new installation replaces the old one, so that requests are not rejected because of
/// its limits.
const REQUESTS: usize = 500;
/// A model that is small and valid.
const MODEL: &[u8] = include_bytes!("../seeds/glb/bd87b2bbac254c10.glb");

thread_local! {
    static STATE: RefCell<Option<(Runtime, Installation, usize)>> = const { RefCell::new(None) };
}

/// Calls `use_once` with an installation, which earlier inputs may have changed, and with the runtime on which it was
/// created.
pub fn with_installation(use_once: impl FnOnce(&Runtime, &mut Installation)) {
    STATE.with_borrow_mut(|state| {
        if state.as_ref().is_none_or(|(_runtime, _installation, left)| *left == 0) {
            let runtime = Builder::new_current_thread().enable_all().build().expect("a runtime");
            let installation = runtime.block_on(Installation::new(MODEL));
            *state = Some((runtime, installation, REQUESTS));
        }
        let Some((runtime, installation, left)) = state else { return };
        *left -= 1;
        use_once(runtime, installation);
    });
}
