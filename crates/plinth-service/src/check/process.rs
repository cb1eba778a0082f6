//! Runs file checks in a separate process with limits on memory and time.

use std::fs::File;
use std::io::{Read as _, Seek as _, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, ExitStatus, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::sleep;
use std::time::{Duration, Instant};

use plinth_spec::ErrorCode;
use plinth_spec::id::AccountId;
use serde::de::DeserializeOwned;

use super::{FileReport, ImageReport, PanoramaReport, check_file, check_image};
use crate::error::{Result, ServiceError, is_of_full_disk};
use crate::fair_semaphore::FairSemaphore;
use crate::memory::is_out_of_memory;
use crate::service::{Checker, Service};
use crate::system::{ending_signal, plinth_command};

/// Memory limit of an image check: the largest allowed image plus the working memory of its decoder.
const IMAGE_MEMORY_BYTES: u64 = 1536 << 20;
/// Maximum size in bytes of the report on stdout, and of the output on stderr.
const REPORT_BYTES: u64 = 4 << 20;
/// Number of bytes that are written to find out whether the disk is full. They are more than a block of a disk, because files may have
/// been deleted since the check failed.
const ROOM_BYTES: usize = 1 << 20;
/// Numbers of the signals by which an operator or a service manager stops all processes of a server: SIGHUP, SIGINT, SIGTERM.
const STOP_SIGNALS: [i32; 3] = [1, 2, 15];
/// Time in seconds after which a client may send a file again, if the check of the file was interrupted.
const INTERRUPTED_RETRY_SECS: u64 = 5;
/// Time that a check waits for a permit, in addition to the time limit of a check.
const TURN_TIME: Duration = Duration::from_mins(1);
/// Number of the signal that the kernel sends to a process that exceeds its CPU time limit.
const SIGXCPU: i32 = 24;
/// Initial and maximum interval between two polls of the process.
const PAUSE: (Duration, Duration) = (Duration::from_millis(1), Duration::from_millis(20));

/// A kind of file check.
pub(crate) trait Subject: DeserializeOwned + Send + 'static {
    /// Name of the kind of file, for messages.
    const NAME: &'static str;
    /// Arguments of `plinth check-file` that select this kind of check.
    const ARGS: &'static [&'static str];
    /// Returns the memory limit of a check. `allowed` is the configured limit.
    fn memory_bytes(allowed: u64) -> u64;
    /// Runs the check in the current process, without a separate process.
    fn check(file: &Path, to: &[PathBuf]) -> std::io::Result<Self>;
    /// Returns the semaphore that limits concurrent checks of this kind.
    fn turns(service: &Service) -> &FairSemaphore;
}

impl Subject for FileReport {
    const NAME: &'static str = "model";
    const ARGS: &'static [&'static str] = &[];

    fn memory_bytes(allowed: u64) -> u64 {
        allowed
    }

    fn check(file: &Path, to: &[PathBuf]) -> std::io::Result<Self> {
        check_file(File::open(file)?, to.first().map(File::create).transpose()?)
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

    fn check(file: &Path, _to: &[PathBuf]) -> std::io::Result<Self> {
        check_image(File::open(file)?)
    }

    fn turns(service: &Service) -> &FairSemaphore {
        &service.image_checks
    }
}

impl Subject for PanoramaReport {
    const NAME: &'static str = "panorama";
    const ARGS: &'static [&'static str] = &["--panorama"];

    fn memory_bytes(allowed: u64) -> u64 {
        allowed
    }

    fn check(_file: &Path, _to: &[PathBuf]) -> std::io::Result<Self> {
        Err(std::io::Error::other("only a checker process encodes panoramas, and none is configured"))
    }

    fn turns(service: &Service) -> &FairSemaphore {
        &service.model_checks
    }
}

/// The reason why a check returned no report.
#[derive(Debug)]
pub(crate) enum CheckError {
    /// The check exceeded its memory limit or its time limit. The message says which limit.
    TooMuch(String),
    /// The check was interrupted, because the server or the whole machine is being stopped. Another check may succeed.
    Interrupted,
    /// The check failed for an internal reason.
    Failed(Box<dyn std::error::Error + Send + Sync>),
}

impl CheckError {
    /// Returns the error of an upload whose check was interrupted. `Retry-After` distinguishes it from other internal errors.
    pub(crate) fn interrupted(code: ErrorCode) -> ServiceError {
        let message = "the server is being stopped and has not checked the file; send it again";
        let error = ServiceError::new(code, message).with_status(500);
        ServiceError { retry_after_secs: Some(INTERRUPTED_RETRY_SECS), ..error }
    }

    fn failed(error: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> Self {
        Self::Failed(error.into())
    }
}

impl Service {
    /// Waits for a permit of the paying account, then checks a file. A check that also converts the file writes the
    /// results to the paths `to`: the GLB of a ZIP with a model, or image, gain map, metadata and thumbnail of a
    /// panorama. The check stops if the future is dropped, or if [`stop_checks`](Self::stop_checks) is called.
    /// Errors: the account waits too long for a permit, or the disk is full.
    pub(crate) async fn check<S: Subject>(
        &self,
        payer: &AccountId,
        file: PathBuf,
        to: Vec<PathBuf>,
    ) -> Result<std::result::Result<S, CheckError>> {
        tokio::select! {
            biased;
            () = self.stop_checks.cancelled() => Ok(Err(CheckError::Interrupted)),
            checked = self.check_to_the_end(payer, file, to) => checked,
        }
    }

    /// Interrupts all checks, including checks that are requested later, so that their requests are answered before the server
    /// ends.
    pub fn stop_checks(&self) {
        self.stop_checks.cancel();
    }

    async fn check_to_the_end<S: Subject>(
        &self,
        payer: &AccountId,
        file: PathBuf,
        to: Vec<PathBuf>,
    ) -> Result<std::result::Result<S, CheckError>> {
        // Accounts take turns, so the first check of an account waits only for the end of one other check, and for the first
        // checks of accounts that came before it or were not served lately.
        let most = self.options.checker.as_ref().map_or(Duration::ZERO, |checker| checker.time) + TURN_TIME;
        let turn = tokio::time::timeout(most, S::turns(self).acquire(payer, 1)).await;
        let turn = turn.map_err(|_late| {
            let message =
                format!("the account has too many files that wait for their check; send the {} later", S::NAME);
            let error = ServiceError::new(ErrorCode::RateLimited, message);
            ServiceError { retry_after_secs: Some(TURN_TIME.as_secs()), ..error }
        })??;
        let (checker, folder) = (self.options.checker.clone(), self.options.incoming.clone());
        let stop = StopOnDrop(Arc::default());
        let stopped = Arc::clone(&stop.0);
        let checking = tokio::task::spawn_blocking(move || {
            let checked = match &checker {
                Some(checker) => in_process(checker, &file, &to, &folder, &stopped),
                None => S::check(&file, &to).map_err(CheckError::failed),
            };
            // The task owns the permit, so that it is held until the check has ended, even if the caller disconnects.
            drop(turn);
            checked
        });
        // A panic in the reader is a bug. The check then counts as failed, so the file is rejected.
        match checking.await.unwrap_or_else(|panic| Err(CheckError::failed(panic))) {
            Err(CheckError::Failed(cause)) if is_of_full_disk(cause.as_ref()) => {
                Err(ServiceError::no_room(ErrorCode::Internal).with_cause(cause))
            }
            checked => Ok(checked),
        }
    }
}

/// Stops a check when the future that waits for it is dropped.
struct StopOnDrop(Arc<AtomicBool>);

impl Drop for StopOnDrop {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

fn in_process<S: Subject>(
    checker: &Checker,
    file: &Path,
    to: &[PathBuf],
    folder: &Path,
    stop: &AtomicBool,
) -> std::result::Result<S, CheckError> {
    let memory_bytes = S::memory_bytes(checker.memory_bytes);
    // The process writes its output to files. With pipes, the parent would have to read both pipes while it waits. The
    // process itself limits the size of the files.
    let mut report = tempfile::tempfile_in(folder).map_err(CheckError::failed)?;
    let mut stderr = tempfile::tempfile_in(folder).map_err(CheckError::failed)?;
    let mut command = plinth_command(&checker.program);
    command.arg("check-file").args(S::ARGS).arg("--memory-bytes").arg(memory_bytes.to_string());
    command.arg("--seconds").arg(checker.time.as_secs().to_string()).arg(file).args(to);
    // The check reads untrusted files, so it gets none of this process's environment variables. It opens its files before
    // it enters the sandbox. The sandbox does not allow the check to start processes, because they could outlive the check.
    if let Some(fence) = checker.fence.fence_of_single_process() {
        command.arg("--fence").arg(fence.to_argument().map_err(CheckError::failed)?);
    }
    command.env_clear().stdin(Stdio::null());
    command.stdout(report.try_clone().map_err(CheckError::failed)?);
    command.stderr(stderr.try_clone().map_err(CheckError::failed)?);
    let mut child = command.spawn().map_err(CheckError::failed)?;
    let ended = wait(&mut child, checker.time, stop);
    if ended.is_none() {
        // `kill` fails only if the process has ended already.
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
        let stderr = read(&mut stderr).map(|text| String::from_utf8_lossy(&text).into_owned()).unwrap_or_default();
        if is_out_of_memory(&stderr) {
            let most = memory_bytes >> 20;
            return CheckError::TooMuch(format!(
                "the {} needs more than {most} MB of memory to be read; simplify it",
                S::NAME
            ));
        }
        if ending_signal(status).is_some_and(|signal| STOP_SIGNALS.contains(&signal)) {
            return CheckError::Interrupted;
        }
        if ending_signal(status) == Some(SIGXCPU) {
            return too_long();
        }
        without_report(format!("the check ended with {status}: {unreadable}; {stderr}"), &mut report)
    })
}

/// Returns the error of a check that ended without a report. On a full disk, the check could write neither `report` nor the reason.
fn without_report(problem: String, report: &mut File) -> CheckError {
    // Some file systems reserve no space before the bytes are written to the disk.
    let written = report.write_all(&vec![0_u8; ROOM_BYTES]).and_then(|()| report.sync_data());
    match written {
        Err(error) if is_of_full_disk(&error) => CheckError::failed(error),
        _ => CheckError::failed(problem),
    }
}

/// Waits for a check to end. Returns `None` on a timeout, or if `stop` is set.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_check_that_cannot_write_its_report_has_found_the_disk_full() {
        let folder = tempfile::tempdir().unwrap();
        let with_room = tempfile::tempfile_in(folder.path()).unwrap();
        let full = File::options().write(true).open("/dev/full").unwrap();
        for (mut report, is_full) in [(with_room, false), (full, true)] {
            let CheckError::Failed(cause) = without_report("it ended".to_owned(), &mut report) else {
                panic!("not an internal error");
            };
            assert_eq!(is_of_full_disk(cause.as_ref()), is_full, "{cause}");
        }
    }
}
