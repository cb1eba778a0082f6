//! What drivers, encoders and the C library need of the system.

/// Read-only: libraries, drivers and their configuration, fonts, what the kernel tells of the hardware.
///
/// Neither all of /etc nor all of /proc: configuration holds secrets, and so do other processes' command lines.
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

/// Devices that may be read, written to and controlled.
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

/// Beginning of the names of NVIDIA's devices in /dev, which are numbered.
pub(crate) const NVIDIA: &str = "nvidia";
