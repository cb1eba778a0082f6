//! What of the environment the jobs see: what drivers and encoders need, and no secrets.

use std::ffi::{OsStr, OsString};

/// Variables that a job sees by their names.
const NAMES: [&str; 13] = [
    "PATH",
    "LANG",
    "LC_ALL",
    "LC_CTYPE",
    "LD_LIBRARY_PATH",
    "XDG_CONFIG_DIRS",
    "XDG_DATA_DIRS",
    "XDG_RUNTIME_DIR",
    "CUDA_DEVICE_ORDER",
    "CUDA_VISIBLE_DEVICES",
    "NODEVICE_SELECT",
    "RAYON_NUM_THREADS",
    "RUST_BACKTRACE",
];
/// Variables of Vulkan, of VA-API, of their drivers and their makers, by how they begin.
const PREFIXES: [&str; 13] = [
    "VK_", "LIBVA_", "MESA_", "LP_", "GALLIUM_", "LIBGL_", "DRI_", "ZINK_", "RADV_", "ANV_", "NVIDIA_", "__NV_",
    "__GL_",
];

/// Those variables of a program that its jobs see.
pub fn child_environment(all: impl Iterator<Item = (OsString, OsString)>) -> Vec<(OsString, OsString)> {
    all.filter(|(name, _value)| is_passed_on(name)).collect()
}

fn is_passed_on(name: &OsStr) -> bool {
    let Some(name) = name.to_str() else { return false };
    NAMES.contains(&name) || PREFIXES.iter().any(|prefix| name.starts_with(prefix))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn drivers_get_theirs_and_secrets_stay() {
        let drivers = ["PATH", "VK_DRIVER_FILES", "LP_NUM_THREADS", "LIBVA_DRIVER_NAME"];
        let all = [
            "PATH",
            "VK_DRIVER_FILES",
            "LP_NUM_THREADS",
            "LIBVA_DRIVER_NAME",
            "AWS_SECRET_ACCESS_KEY",
            "PLINTH_DATABASE_URL",
            "HOME",
        ];
        let passed = child_environment(all.iter().map(|name| (OsString::from(name), OsString::from("x"))));
        let names: Vec<_> = passed.iter().map(|(name, _value)| name.to_str().unwrap()).collect();
        assert_eq!(names, drivers);
    }
}
