//! Selects the environment variables of jobs: the variables that drivers and encoders need, and no secrets.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

/// Names of variables that are passed to jobs.
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
/// Prefixes of the names of variables that are passed to jobs. Vulkan, VA-API and drivers read these variables.
const PREFIXES: [&str; 13] = [
    "VK_", "LIBVA_", "MESA_", "LP_", "GALLIUM_", "LIBGL_", "DRI_", "ZINK_", "RADV_", "ANV_", "NVIDIA_", "__NV_",
    "__GL_",
];

/// Names of variables that are not passed to jobs although they have one of the prefixes. They name a folder in which a
/// driver keeps compiled shaders, but jobs of different workspaces must not share such a folder.
const NOT_PASSED: [&str; 3] = ["MESA_SHADER_CACHE_DIR", "MESA_GLSL_CACHE_DIR", "__GL_SHADER_DISK_CACHE_PATH"];

/// Names of variables that contain paths of libraries and drivers.
const PATHS: [&str; 7] = [
    "LD_LIBRARY_PATH",
    "VK_DRIVER_FILES",
    "VK_ADD_DRIVER_FILES",
    "VK_ICD_FILENAMES",
    "VK_LAYER_PATH",
    "LIBVA_DRIVERS_PATH",
    "LIBGL_DRIVERS_PATH",
];

/// Returns the paths outside of the system's folders that jobs must be able to read: libraries and drivers from
/// environment variables, and ffmpeg.
pub(crate) fn programs(environment: &[(OsString, OsString)], ffmpeg: &Path) -> Vec<PathBuf> {
    let value = |name: &str| environment.iter().find(|(known, _value)| known == name).map(|(_name, value)| value);
    let paths = |name| value(name).into_iter().flat_map(std::env::split_paths);
    let libraries = PATHS.iter().flat_map(|name| paths(name)).filter(|path| path.is_absolute());
    let places: Vec<PathBuf> = match ffmpeg.components().count() {
        1 => paths("PATH").map(|folder| folder.join(ffmpeg)).collect(),
        _ => vec![ffmpeg.to_owned()],
    };
    libraries.chain(places.into_iter().find(|place| place.is_file())).collect()
}

/// Selects, from the environment variables of a worker, the variables that are passed to its jobs.
pub fn child_environment(all: impl Iterator<Item = (OsString, OsString)>) -> Vec<(OsString, OsString)> {
    all.filter(|(name, _value)| is_passed_on(name)).collect()
}

fn is_passed_on(name: &OsStr) -> bool {
    let Some(name) = name.to_str() else { return false };
    let has_prefix = PREFIXES.iter().any(|prefix| name.starts_with(prefix));
    NAMES.contains(&name) || (has_prefix && !NOT_PASSED.contains(&name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_contain_paths_of_variables_and_ffmpeg() {
        let folder = tempfile::tempdir().unwrap();
        let ffmpeg = folder.path().join("ffmpeg");
        std::fs::write(&ffmpeg, "").unwrap();
        let path = std::env::join_paths([Path::new("/no/such/folder"), folder.path()]).unwrap();
        let environment = [("PATH", path), ("LD_LIBRARY_PATH", "/opt/lib:relative:".into()), ("LANG", "/etc".into())];
        let environment = environment.map(|(name, value)| (name.into(), value));
        assert_eq!(programs(&environment, Path::new("ffmpeg")), [PathBuf::from("/opt/lib"), ffmpeg]);
        assert_eq!(programs(&[], Path::new("/bin/sh")), [PathBuf::from("/bin/sh")]);
        assert!(programs(&environment, Path::new("no-such-ffmpeg")).len() == 1);
    }

    #[test]
    fn driver_variables_are_passed_and_secrets_are_not() {
        let drivers = ["PATH", "VK_DRIVER_FILES", "LP_NUM_THREADS", "LIBVA_DRIVER_NAME"];
        let all = [
            "PATH",
            "VK_DRIVER_FILES",
            "LP_NUM_THREADS",
            "LIBVA_DRIVER_NAME",
            "AWS_SECRET_ACCESS_KEY",
            "PLINTH_DATABASE_URL",
            "HOME",
            "MESA_SHADER_CACHE_DIR",
            "__GL_SHADER_DISK_CACHE_PATH",
        ];
        let passed = child_environment(all.iter().map(|name| (OsString::from(name), OsString::from("x"))));
        let names: Vec<_> = passed.iter().map(|(name, _value)| name.to_str().unwrap()).collect();
        assert_eq!(names, drivers);
    }
}
