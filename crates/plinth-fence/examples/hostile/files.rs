//! Attempts to access files outside the sandbox.

use std::ffi::{CStr, CString, c_long};
use std::fs::{File, OpenOptions, hard_link, read, read_dir, remove_file, rename, write};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _, symlink};
use std::path::Path;
use std::process::{Command, Stdio};

use super::Attack;
use crate::targets::Targets;

// Numbers of system calls that libc does not define on every architecture (Linux, scripts/syscall.tbl). Older kernels
// report that they do not exist.
const SETXATTRAT: c_long = 463;
const REMOVEXATTRAT: c_long = 466;
const FILE_GETATTR: c_long = 468;
const FILE_SETATTR: c_long = 469;

/// The extended attribute that contains the access control list of a file.
const ACL: &CStr = c"system.posix_acl_access";

pub(crate) const ATTACKS: &[Attack] = &[
    ("open-database", |t| File::open(&t.database).is_ok()),
    ("write-database", |t| OpenOptions::new().append(true).open(&t.database).is_ok()),
    ("truncate-database", truncate_database),
    ("chmod-database", chmod_database),
    ("touch-database", touch_database),
    ("acl-database", acl_database),
    ("no-acl-database", |t| {
        // SAFETY: the strings are null-terminated. The database has no access control list, so nothing changes.
        unsafe {
            let path = c(&t.database);
            libc::syscall(REMOVEXATTRAT, libc::AT_FDCWD, path.as_ptr(), 0, ACL.as_ptr()) == 0
        }
    }),
    ("flags-database", flags_database),
    ("link-database", |t| hard_link(&t.database, fresh(&t.own.join("out/database"))).is_ok()),
    ("move-database", move_database),
    ("database-by-symlink", |t| {
        let link = t.own.join("out/symlink");
        symlink(&t.database, fresh(&link)).is_ok() && File::open(link).is_ok()
    }),
    ("symlink-as-output", |t| symlink(&t.database, fresh(&t.own.join("out/video.mp4"))).is_ok()),
    ("pipe-as-output", |t| {
        let path = t.own.join("out/pipe");
        // SAFETY: the path is null-terminated.
        unsafe { libc::mkfifo(c(fresh(&path)).as_ptr(), 0o600) == 0 }
    }),
    ("database-by-open-file", |_t| {
        (3..20).any(|fd| read(format!("/proc/self/fd/{fd}")).is_ok_and(|text| text == b"database"))
    }),
    ("database-by-shell", |t| shell(&format!("cat '{}'", t.database.display()))),
    ("list-other-job", |t| read_dir(&t.other).is_ok()),
    ("read-other-job", |t| read(t.other.join("model.glb")).is_ok()),
    ("watch-other-job", |t| {
        // SAFETY: the path is null-terminated. The descriptor is closed when this process ends.
        unsafe {
            let watch = libc::inotify_init1(libc::IN_CLOEXEC);
            watch >= 0 && libc::inotify_add_watch(watch, c(&t.other).as_ptr(), libc::IN_CREATE) >= 0
        }
    }),
    ("write-other-job", |t| write(t.other.join("planted"), b"x").is_ok()),
    ("change-own-model", |t| OpenOptions::new().append(true).open(t.own.join("model.glb")).is_ok()),
    ("link-own-model-to-writable", |t| {
        let link = t.own.join("out/model.glb");
        hard_link(t.own.join("model.glb"), fresh(&link)).is_ok() && OpenOptions::new().append(true).open(link).is_ok()
    }),
    ("write-outside", |t| write(t.outside.join("planted"), b"x").is_ok()),
    ("write-outside-by-shell", |t| shell(&format!("echo x >'{}/planted'", t.outside.display()))),
    ("write-shared-memory", |_t| {
        let file = format!("/dev/shm/plinth-hostile-{}", std::process::id());
        write(&file, b"x").is_ok() && remove_file(&file).is_ok()
    }),
    ("read-passwords", |_t| read("/etc/shadow").or_else(|_kept| read("/etc/passwd")).is_ok()),
    ("start-own-program", start_own_program),
];

/// Deletes the file at a path, and returns the path.
fn fresh(path: &Path) -> &Path {
    drop(remove_file(path));
    path
}

fn shell(line: &str) -> bool {
    let mut shell = Command::new("/bin/sh");
    shell.arg("-c").arg(line).stdout(Stdio::null()).stderr(Stdio::null());
    shell.status().is_ok_and(|status| status.success())
}

fn c(path: &Path) -> CString {
    CString::new(path.as_os_str().as_bytes()).unwrap()
}

/// Truncates the database to its current length. No data is lost even if the call succeeds.
fn truncate_database(targets: &Targets) -> bool {
    let Ok(about) = std::fs::metadata(&targets.database) else { return false };
    // SAFETY: the path is null-terminated.
    unsafe { libc::truncate(c(&targets.database).as_ptr(), about.len().try_into().unwrap()) == 0 }
}

/// Sets the mode of the database to its current mode. Nothing changes even if the call succeeds.
fn chmod_database(targets: &Targets) -> bool {
    let about = std::fs::metadata(&targets.database);
    about.is_ok_and(|about| std::fs::set_permissions(&targets.database, about.permissions()).is_ok())
}

fn touch_database(targets: &Targets) -> bool {
    // SAFETY: the path is null-terminated; a null pointer for the times means the current time.
    unsafe { libc::utimensat(libc::AT_FDCWD, c(&targets.database).as_ptr(), std::ptr::null(), 0) == 0 }
}

/// Sets an access control list that grants the same permissions as the current mode. Nothing changes even if the call
/// succeeds.
fn acl_database(targets: &Targets) -> bool {
    let Ok(about) = std::fs::metadata(&targets.database) else { return false };
    let entry = |tag: u32, shift: u32| tag | (((about.mode() >> shift) & 7) << 16);
    // Linux, include/uapi/linux/posix_acl_xattr.h: version 2, then the owner, the group and all others, each without an
    // ID.
    let list = [2, entry(1, 6), u32::MAX, entry(4, 3), u32::MAX, entry(0x20, 0), u32::MAX];
    // The structure `xattr_args`: address and size of the value, no flags.
    let value = [list.as_ptr().expose_provenance(), size_of_val(&list)];
    let (path, size) = (c(&targets.database), size_of_val(&value));
    // SAFETY: the strings are null-terminated, and the kernel reads the structure and the list.
    unsafe { libc::syscall(SETXATTRAT, libc::AT_FDCWD, path.as_ptr(), 0, ACL.as_ptr(), value.as_ptr(), size) == 0 }
}

/// Sets the attributes of the database, such as "immutable", to their current values.
fn flags_database(targets: &Targets) -> bool {
    let mut attributes = [0_u64; 3];
    let (path, size) = (c(&targets.database), size_of_val(&attributes));
    // SAFETY: the path is null-terminated. The kernel writes at most `size` bytes to the array, and reads the same
    // number of bytes.
    unsafe {
        libc::syscall(FILE_GETATTR, libc::AT_FDCWD, path.as_ptr(), attributes.as_mut_ptr(), size, 0) == 0
            && libc::syscall(FILE_SETATTR, libc::AT_FDCWD, path.as_ptr(), attributes.as_ptr(), size, 0) == 0
    }
}

fn move_database(targets: &Targets) -> bool {
    let there = targets.own.join("out/moved");
    rename(&targets.database, &there).is_ok() && rename(&there, &targets.database).is_ok()
}

fn start_own_program(targets: &Targets) -> bool {
    let program = targets.own.join("out/program");
    let file = OpenOptions::new().write(true).create_new(true).mode(0o755).open(fresh(&program));
    let written = file.and_then(|mut file| std::io::copy(&mut File::open("/bin/true")?, &mut file));
    written.is_ok() && Command::new(program).status().is_ok()
}
