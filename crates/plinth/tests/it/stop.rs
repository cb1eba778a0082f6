//! Tests of stopping a render by signals.

use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Child, ChildStderr, Command, Stdio};
use std::time::{Duration, Instant};

use plinth_testkit::{ffmpeg, hardware_ffmpeg};

use crate::{Place, plinth, program, text};

/// A running render of a one-minute video, and its output.
struct Running {
    child: Child,
    stderr: BufReader<ChildStderr>,
}

impl Running {
    fn start(place: &Place, ffmpeg: &Path) -> Self {
        Self::start_by(program(), place, ffmpeg)
    }

    fn start_by(mut program: Command, place: &Place, ffmpeg: &Path) -> Self {
        std::fs::write(place.file("out.mp4"), b"an older video").unwrap();
        let mut child = program
            .args(["render", &place.file("cube.glb"), "-o", &place.file("out.mp4"), "--all"])
            .args(["--quality", "share", "--length", "60", "--ffmpeg"])
            .arg(ffmpeg)
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let stderr = BufReader::new(child.stderr.take().unwrap());
        Self { child, stderr }
    }

    /// Waits for a line that begins with this text.
    fn until(&mut self, start: &str) {
        let mut line = String::new();
        while !line.starts_with(start) {
            line.clear();
            assert!(self.stderr.read_line(&mut line).unwrap() > 0, "the render ended before it printed '{start}'");
        }
    }

    fn signal(&self, name: &str) {
        assert!(Command::new("kill").arg(name).arg(self.child.id().to_string()).status().unwrap().success());
    }

    /// Waits for the end of the render. Returns exit code and last line.
    fn end(mut self) -> (Option<i32>, String) {
        let last = self.stderr.lines().map_while(Result::ok).last();
        (self.child.wait().unwrap().code(), last.unwrap_or_default())
    }
}

fn assert_untouched(place: &Place) {
    assert_eq!(place.names(), ["cube.glb", "out.mp4"]);
    assert_eq!(std::fs::read(place.file("out.mp4")).unwrap(), b"an older video");
}

#[test]
fn a_signal_at_any_time_sets_the_exit_code_and_leaves_no_files() {
    let moments = ["loading", "preparing", "rendering 0/", "rendering 180/"];
    let all = moments.map(|moment| [(moment, "-INT", 130), (moment, "-TERM", 143), (moment, "-HUP", 129)]);
    for (moment, signal, code) in all.into_iter().flatten() {
        let place = Place::new();
        let mut running = Running::start(&place, ffmpeg());
        running.until(moment);
        let begin = Instant::now();
        running.signal(signal);
        let (ended, last) = running.end();
        assert_eq!((ended, last.as_str()), (Some(code), "plinth: cancelled"), "{signal} while {moment}");
        assert!(begin.elapsed() < Duration::from_secs(10), "{signal} while {moment}: {:?}", begin.elapsed());
        assert_untouched(&place);
    }
}

#[test]
fn a_signal_after_the_test_of_an_encoder_ends_the_loading_of_a_model_at_once() {
    let place = Place::new();
    let ffmpeg = hardware_ffmpeg(place.other.path(), &["h264_nvenc"], "exit 1");
    let model = place.other.path().join("model.glb");
    assert!(Command::new("mkfifo").arg(&model).status().unwrap().success());
    // While this file is open, the render waits for the content of the model.
    let _open = std::fs::File::options().read(true).write(true).open(&model).unwrap();
    let mut child = program()
        .arg("render")
        .arg(&model)
        .args(["-o", &place.file("out.mp4"), "--quality", "share", "--encoder", "auto", "--ffmpeg"])
        .arg(ffmpeg)
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let stderr = BufReader::new(child.stderr.take().unwrap());
    let mut running = Running { child, stderr };
    running.until("plinth: h264_nvenc is not used: ");
    running.signal("-INT");
    let mut line = String::new();
    running.stderr.read_line(&mut line).unwrap();
    assert_eq!(line, "plinth: cancelled\n");
    assert_eq!(running.child.wait().unwrap().code(), Some(130));
    assert_eq!(place.names(), ["cube.glb"]);
}

#[test]
fn a_render_whose_messages_cannot_be_written_removes_its_files_when_it_is_stopped() {
    let place = Place::new();
    let mut running = Running::start(&place, ffmpeg());
    running.until("rendering 180/");
    // This simulates Ctrl-C in `plinth render … 2>&1 | tee log`, which also ends `tee`.
    let Running { mut child, stderr } = running;
    drop(stderr);
    assert!(Command::new("kill").arg("-INT").arg(child.id().to_string()).status().unwrap().success());
    assert_eq!(child.wait().unwrap().code(), Some(130));
    assert_untouched(&place);
}

#[test]
fn messages_that_cannot_be_written_change_no_exit_code() {
    let place = Place::new();
    let (cube, out) = (place.file("cube.glb"), place.file("still.png"));
    // The settings name a clip that the model lacks, which is a warning.
    let warns = ["render", &cube, "-o", &out, "--animation", "walk"];
    let cases: [(&[&str], i32); 3] =
        [(&warns, 0), (&["inspect", "none.glb"], 1), (&["render", &cube, "-o", "a.avi"], 2)];
    for (args, code) in cases {
        let full = std::fs::File::options().write(true).open("/dev/full").unwrap();
        assert_eq!(program().args(args).stderr(full).status().unwrap().code(), Some(code), "{args:?}");
    }
    assert!(Path::new(&out).exists());
}

#[test]
fn a_render_started_with_nohup_survives_the_end_of_its_terminal() {
    let place = Place::new();
    let mut nohup = Command::new("nohup");
    nohup.arg(env!("CARGO_BIN_EXE_plinth")).stdin(Stdio::null()).stdout(Stdio::null());
    let mut running = Running::start_by(nohup, &place, ffmpeg());
    running.until("rendering 0/");
    running.signal("-HUP");
    running.until("rendering 180/");
    running.signal("-TERM");
    assert_eq!(running.end(), (Some(143), "plinth: cancelled".to_owned()));
    assert_untouched(&place);
}

#[test]
fn a_signal_is_handled_while_an_encoder_accepts_no_frames() {
    let place = Place::new();
    let hangs = place.script("sleep 60");
    let mut running = Running::start(&place, Path::new(&hangs));
    running.until("rendering 0/");
    std::thread::sleep(Duration::from_secs(1));
    running.signal("-TERM");
    assert_eq!(running.end(), (Some(143), "plinth: cancelled".to_owned()));
    assert_untouched(&place);
}

#[test]
fn a_killed_render_keeps_the_older_file_and_the_next_one_removes_its_temporary_files() {
    let place = Place::new();
    let mut running = Running::start(&place, ffmpeg());
    running.until("rendering 180/");
    running.signal("-KILL");
    running.end();
    assert_eq!(std::fs::read(place.file("out.mp4")).unwrap(), b"an older video");
    assert!(place.names().len() > 2, "the killed render left no temporary files to test: {:?}", place.names());
    let done = plinth(&["render", &place.file("cube.glb"), "-o", &place.file("still.png"), "--quality", "share"]);
    assert!(done.status.success(), "{}", text(&done.stderr));
    assert_eq!(place.names(), ["cube.glb", "out.mp4", "still.png"]);
}

#[test]
fn a_failing_encoder_ends_the_render_with_its_message() {
    let place = Place::new();
    let dies = place.script(
        r#"case "$*" in -version) exec "$FFMPEG" -version;; esac; head -c 5000000 >/dev/null; echo 'no more room' >&2; exit 1"#,
    );
    let running = Running::start(&place, Path::new(&dies));
    let (code, last) = running.end();
    assert_eq!(code, Some(1));
    assert!(last.starts_with("plinth: encoding ") && last.ends_with(" failed: no more room"), "{last}");
    assert_untouched(&place);
}

#[test]
fn an_encoder_that_fails_on_a_full_disk_ends_the_render_with_the_folder() {
    let place = Place::new();
    let message = "av_interleaved_write_frame(): No space left on device";
    let fails = place.script(&format!("head -c 5000000 >/dev/null; echo '{message}' >&2; exit 1"));
    let (code, last) = Running::start(&place, Path::new(&fails)).end();
    assert_eq!(code, Some(1));
    let folder = place.folder.path().display();
    assert!(last.starts_with(&format!("plinth: the disk with the folder {folder} is full: {folder}/out.")), "{last}");
    assert!(last.ends_with(&format!("mp4 cannot be written: {message}")), "{last}");
    assert_untouched(&place);
}
