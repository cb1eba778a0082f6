//! A check in a process of its own, with bounds on its memory and its time.

use std::fs::File;
use std::io::{Read as _, Seek as _};
use std::os::unix::process::ExitStatusExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::sleep;
use std::time::{Duration, Instant};

use plinth_spec::id::AccountId;
use serde::de::DeserializeOwned;

use super::{FileReport, ImageReport, check_file, check_image};
use crate::error::Result;
use crate::fair_semaphore::FairSemaphore;
use crate::memory::is_out_of_memory;
use crate::service::{Checker, Service};

/// Memory that the check of an image may take: the largest picture, and what its decoder needs beside it.
const IMAGE_MEMORY_BYTES: u64 = 1536 << 20;
/// Most bytes of a report, and of what a check says besides.
const REPORT_BYTES: u64 = 64 << 20;
/// Signal 24: the limit of processor time is used up.
const SIGXCPU: i32 = 24;
/// First and longest pause between two looks whether a check has ended.
const PAUSE: (Duration, Duration) = (Duration::from_millis(1), Duration::from_millis(20));

/// What is checked.
pub(crate) trait Subject: DeserializeOwned + Send + 'static {
    /// What people call it.
    const NAME: &'static str;
    /// Arguments of `plinth check-file` that say what the file is expected to be.
    const ARGS: &'static [&'static str];
    /// Memory that a check may take, of what the operator allows.
    fn memory_bytes(allowed: u64) -> u64;
    /// Checks in this process.
    fn check(file: &Path, to: Option<&Path>) -> std::io::Result<Self>;
    /// Checks of this kind that may run at a time.
    fn turns(service: &Service) -> &FairSemaphore;
}

impl Subject for FileReport {
    const NAME: &'static str = "model";
    const ARGS: &'static [&'static str] = &[];

    fn memory_bytes(allowed: u64) -> u64 {
        allowed
    }

    fn check(file: &Path, to: Option<&Path>) -> std::io::Result<Self> {
        check_file(File::open(file)?, to.map(File::create).transpose()?)
    }

    fn turns(service: &Service) -> &FairSemaphore {
        &service.model_checks
    }
}

impl Subject for ImageReport {
    const NAME: &'static str = "image";
    const ARGS: &'static [&'static str] = &["--image"];

    fn memory_bytes(allowed: u64) -> u64 {
        allowed.min(IMAGE_MEMORY_BYTES)
    }

    fn check(file: &Path, _to: Option<&Path>) -> std::io::Result<Self> {
        check_image(File::open(file)?)
    }

    fn turns(service: &Service) -> &FairSemaphore {
        &service.image_checks
    }
}

/// Why a check gave no report.
#[derive(Debug)]
pub(crate) enum CheckError {
    /// The file needs more than it may have, as the message says.
    TooMuch(String),
    /// The check failed.
    Failed(Box<dyn std::error::Error + Send + Sync>),
}

impl CheckError {
    fn failed(error: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> Self {
        Self::Failed(error.into())
    }
}

impl Service {
    /// Checks a file when it is the turn of the account that pays; a ZIP is converted to a file at `to`. When this future is
    /// dropped, the check is ended.
    pub(crate) async fn check<S: Subject>(
        &self,
        payer: &AccountId,
        file: PathBuf,
        to: Option<PathBuf>,
    ) -> Result<std::result::Result<S, CheckError>> {
        let turn = S::turns(self).acquire(payer, 1).await?;
        let (checker, folder) = (self.options.checker.clone(), self.options.incoming.clone());
        let stop = StopOnDrop(Arc::default());
        let stopped = Arc::clone(&stop.0);
        let checking = tokio::task::spawn_blocking(move || {
            let checked = match &checker {
                Some(checker) => in_process(checker, &file, to.as_deref(), &folder, &stopped),
                None => S::check(&file, to.as_deref()).map_err(CheckError::failed),
            };
            // The turn goes along: a caller that goes away does not let more in while this one still works.
            drop(turn);
            checked
        });
        // A reader that panics is a bug, and the file that found it is rejected.
        Ok(checking.await.unwrap_or_else(|panic| Err(CheckError::failed(panic))))
    }
}

/// Stops a check when the request that waits for it goes away.
struct StopOnDrop(Arc<AtomicBool>);

impl Drop for StopOnDrop {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

fn in_process<S: Subject>(
    checker: &Checker,
    file: &Path,
    to: Option<&Path>,
    folder: &Path,
    stop: &AtomicBool,
) -> std::result::Result<S, CheckError> {
    let memory_bytes = S::memory_bytes(checker.memory_bytes);
    // Files, so that nobody has to read while the check writes. It bounds their size itself.
    let mut report = tempfile::tempfile_in(folder).map_err(CheckError::failed)?;
    let mut said = tempfile::tempfile_in(folder).map_err(CheckError::failed)?;
    let mut command = Command::new(&checker.program);
    command.arg("check-file").args(S::ARGS).arg("--memory-bytes").arg(memory_bytes.to_string());
    command.arg("--seconds").arg(checker.time.as_secs().to_string()).arg(file).args(to);
    // It reads what strangers sent: it gets none of this process' secrets. It opens these files before it enters the fence.
    if let Some(fence) = checker.fence.fence(Vec::new(), Vec::new(), Vec::new()) {
        command.arg("--fence").arg(fence.to_argument().map_err(CheckError::failed)?);
    }
    command.env_clear().stdin(Stdio::null());
    command.stdout(report.try_clone().map_err(CheckError::failed)?);
    command.stderr(said.try_clone().map_err(CheckError::failed)?);
    let mut child = command.spawn().map_err(CheckError::failed)?;
    let ended = wait(&mut child, checker.time, stop);
    if ended.is_none() {
        // Fails only where it has ended meanwhile.
        drop(child.kill());
        drop(child.wait());
    }
    let too_long = || {
        let most = checker.time.as_secs();
        CheckError::TooMuch(format!("the {} needs more than {most} s to be read; simplify it", S::NAME))
    };
    let Some(status) = ended else { return Err(too_long()) };
    let text = read(&mut report).map_err(CheckError::failed)?;
    serde_json::from_slice(&text).map_err(|unreadable| {
        let said = read(&mut said).map(|text| String::from_utf8_lossy(&text).into_owned()).unwrap_or_default();
        if is_out_of_memory(&said) {
            let most = memory_bytes >> 20;
            return CheckError::TooMuch(format!(
                "the {} needs more than {most} MB of memory to be read; simplify it",
                S::NAME
            ));
        }
        if status.signal() == Some(SIGXCPU) {
            return too_long();
        }
        CheckError::failed(format!("the check ended with {status}: {unreadable}; {said}"))
    })
}

/// Waits for the end of a check. None: it takes too long, or nobody waits for it any more.
fn wait(child: &mut Child, most: Duration, stop: &AtomicBool) -> Option<ExitStatus> {
    let (begin, (mut pause, longest)) = (Instant::now(), PAUSE);
    while begin.elapsed() < most && !stop.load(Ordering::Relaxed) {
        match child.try_wait() {
            Ok(Some(status)) => return Some(status),
            Ok(None) => sleep(pause),
            Err(_gone) => return None,
        }
        pause = (pause * 2).min(longest);
    }
    child.try_wait().ok().flatten()
}

fn read(file: &mut File) -> std::io::Result<Vec<u8>> {
    let mut text = Vec::new();
    file.rewind()?;
    file.take(REPORT_BYTES).read_to_end(&mut text)?;
    Ok(text)
}
