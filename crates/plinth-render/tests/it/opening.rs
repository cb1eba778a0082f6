//! Tests of opening a device while a model is decoded.
#![cfg(target_os = "linux")]

use plinth_render::{Gpu, GpuOptions};

use crate::alone::is_alone;

#[test]
fn the_threads_that_decode_models_start_before_a_driver_is_loaded() {
    if !is_alone("opening::the_threads_that_decode_models_start_before_a_driver_is_loaded") {
        return;
    }
    let threads = || std::fs::read_dir("/proc/self/task").unwrap().count();
    let before = threads();
    let opening = Gpu::start_opening(GpuOptions::default());
    let started = threads() - before;
    // Some drivers crash if the process exits while they start.
    let _opened = opening.join().unwrap();
    // One more thread opens the device.
    assert!(started > rayon::current_num_threads(), "{started} threads");
}
