//! Paths of the system that drivers, encoders and the C library need.

/// Paths that jobs may read: libraries, drivers and their configuration, fonts, and hardware information.
///
/// Of /etc and /proc, the list contains only selected files. Other configuration files and the command lines of other
/// processes may contain secrets.
pub(crate) const READABLE: &[&str] = &[
    "/usr",
    "/bin",
    "/lib",
    "/lib32",
    "/lib64",
    "/sbin",
    "/nix/store",
    "/run/opengl-driver",
    "/etc/OpenCL",
    "/etc/alternatives",
    "/etc/drirc",
    "/etc/fonts",
    "/etc/glvnd",
    "/etc/ld.so.cache",
    "/etc/ld.so.conf",
    "/etc/ld.so.conf.d",
    "/etc/ld.so.preload",
    "/etc/libva.conf",
    "/etc/localtime",
    "/etc/nvidia",
    "/etc/vulkan",
    "/proc/cpuinfo",
    "/proc/devices",
    "/proc/driver",
    "/proc/filesystems",
    "/proc/meminfo",
    "/proc/modules",
    "/proc/self",
    "/proc/stat",
    "/proc/sys/vm",
    "/proc/version",
    "/sys/bus",
    "/sys/class",
    "/sys/dev",
    "/sys/devices",
    "/sys/fs/cgroup",
    "/sys/module",
    "/var/cache/fontconfig",
];

/// Devices that jobs may read, write and control with ioctl.
pub(crate) const DEVICES: &[&str] = &[
    "/dev/dri",
    "/dev/dxg",
    "/dev/full",
    "/dev/kfd",
    "/dev/null",
    "/dev/random",
    "/dev/udmabuf",
    "/dev/urandom",
    "/dev/zero",
];

/// Prefix of NVIDIA's device names in /dev.
pub(crate) const NVIDIA: &str = "nvidia";
