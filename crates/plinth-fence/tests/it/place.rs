//! A temporary folder that contains the hostile job and the files that it attacks.

use std::collections::BTreeSet;
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::process::CommandExt as _;
use std::path::PathBuf;
use std::process::Command;

use plinth_fence::runs_as_root;
use tempfile::TempDir;

/// ID of the user `nobody`, who exists on every system and owns no files.
pub(crate) const NOBODY: u32 = 65534;

/// A temporary folder. It contains the folder of the attacking job, the folder of another job, a database, an unrelated
/// folder, and the attacking program.
pub(crate) struct Place {
    pub(crate) folder: TempDir,
    as_nobody: bool,
}

impl Place {
    pub(crate) fn new() -> Self {
        let place = Self { folder: tempfile::tempdir().unwrap(), as_nobody: false };
        for made in ["own/out", "other", "outside"] {
            std::fs::create_dir_all(place.path(made)).unwrap();
        }
        std::fs::write(place.path("database"), "database").unwrap();
        std::fs::write(place.path("own/model.glb"), "model").unwrap();
        std::fs::write(place.path("other/model.glb"), "model").unwrap();
        // Cargo builds the attacking program in the folder `examples` beside the tests.
        let hostile = std::env::current_exe().unwrap().with_file_name("../examples/hostile");
        // A separate process copies the program. If this process wrote the copy, a child process of another test could
        // inherit the open file, and Linux refuses to run a file that is open for writing.
        assert!(Command::new("cp").arg(hostile).arg(place.path("hostile")).status().unwrap().success());
        place
    }

    /// Creates a folder whose programs run as a user without privileges.
    pub(crate) fn of_nobody() -> Self {
        let mut place = Self::new();
        if runs_as_root() {
            let paths =
                ["", "own", "own/out", "own/model.glb", "other", "other/model.glb", "outside", "database", "hostile"];
            for path in paths {
                std::os::unix::fs::chown(place.path(path), Some(NOBODY), Some(NOBODY)).unwrap();
            }
            place.as_nobody = true;
        }
        place
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Returns the names of the attacks that succeed when a server starts the job.
    pub(crate) fn reached(&self, fence: Option<String>) -> BTreeSet<String> {
        self.reached_from("serve", fence)
    }

    /// Returns the names of the attacks that succeed when the program runs with the given role as its first argument.
    pub(crate) fn reached_from(&self, role: &str, fence: Option<String>) -> BTreeSet<String> {
        let targets = ["own", "other", "database", "outside"].map(|name| self.path(name).to_str().unwrap().to_owned());
        let mut server = Command::new(self.path("hostile"));
        server.arg(role).arg(targets.join(":")).args(fence).env("SECRET", "canary");
        if self.as_nobody {
            server.uid(NOBODY).gid(NOBODY);
        }
        let done = server.output().unwrap();
        let stdout = String::from_utf8_lossy(&done.stdout).into_owned();
        assert!(done.status.success(), "{stdout}{}", String::from_utf8_lossy(&done.stderr));
        let reached = stdout.strip_prefix("reached: ").and_then(|rest| rest.split(';').next());
        reached.unwrap().split_ascii_whitespace().map(str::to_owned).collect()
    }

    /// Lets other users enter the folder. By default, only its owner can access it.
    pub(crate) fn open_to_all(&self) {
        std::fs::set_permissions(self.folder.path(), std::fs::Permissions::from_mode(0o755)).unwrap();
    }
}
