//! Tests that packaging errors name their cause, and that a failure leaves no files behind.

use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use plinth_media::hls::{HlsPlan, package};
use plinth_media::{H264Encoder, MediaError};
use plinth_spec::OutputFile;
use plinth_spec::quality::Codec;

use super::{package_in, video};
use crate::support::{names, plan, straight, write};

fn script(folder: &Path, lines: &str) -> PathBuf {
    let path = folder.join("ffmpeg.sh");
    std::fs::write(&path, format!("#!/bin/bash\n{}{lines}\n", plinth_testkit::ffmpeg_in_scripts())).unwrap();
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
    path
}

/// Packages a short video with a script that is called instead of ffmpeg. Returns the error message.
fn with_ffmpeg(lines: &str, cancel: &AtomicBool) -> String {
    let folder = tempfile::tempdir().unwrap();
    video(folder.path(), (64, 36), 40);
    let hls = folder.path().join("hls");
    let plan = HlsPlan {
        ffmpeg: script(folder.path(), lines),
        encoder: H264Encoder::Libx264,
        source: folder.path().join("out.mp4"),
        out_dir: hls.clone(),
    };
    let error = package(&plan, cancel).unwrap_err().to_string();
    assert!(names(&hls).is_empty(), "{:?}", names(&hls));
    assert!(!error.contains(".plinth-"), "contains a temporary name: {error}");
    error
}

#[test]
fn the_message_of_an_encoder_that_fails_is_quoted() {
    let message = with_ffmpeg("echo 'the encoder exploded' >&2; exit 3", &AtomicBool::new(false));
    assert!(message.contains("hls") && message.contains("the encoder exploded"), "{message}");
}

#[test]
fn a_full_disk_is_not_a_failure_of_the_encoder() {
    let cause = "av_interleaved_write_frame(): No space left on device";
    let message = with_ffmpeg(&format!("echo '{cause}' >&2; exit 1"), &AtomicBool::new(false));
    assert!(message.ends_with(&format!("hls cannot be written: {cause}")), "{message}");
}

#[test]
fn incomplete_files_of_an_encoder_are_rejected() {
    // The last output file contains the thumbnails, and the output file before it contains the smallest variant.
    let never = AtomicBool::new(false);
    let cut = r#""$FFMPEG" "$@" && for f in "$(dirname "${@: -1}")"/*.mp4; do truncate -s -1000 "$f"; done"#;
    assert!(with_ffmpeg(cut, &never).contains("is not complete"));
    let short = r#""$FFMPEG" "$@" && truncate -s -1000 "${@: -1}""#;
    assert!(with_ffmpeg(short, &never).contains("thumbnails"));
    let fewer = r#""$FFMPEG" "${@:1:8}" -frames:v 30 "${@:9}""#;
    let message = with_ffmpeg(fewer, &never);
    assert!(message.contains("not complete") || message.contains("failed"), "{message}");
}

#[test]
fn cancellation_works_while_an_encoder_runs() {
    let cancel = AtomicBool::new(false);
    let begin = Instant::now();
    let message = std::thread::scope(|scope| {
        scope.spawn(|| {
            std::thread::sleep(Duration::from_millis(300));
            cancel.store(true, Ordering::Relaxed);
        });
        with_ffmpeg("sleep 60", &cancel)
    });
    assert_eq!(message, MediaError::Stopped.to_string());
    assert!(begin.elapsed() < Duration::from_secs(20));
}

#[test]
fn a_file_that_is_not_a_video_is_rejected_and_named() {
    let folder = tempfile::tempdir().unwrap();
    let source = folder.path().join("out.mp4");
    for bytes in [b"".as_slice(), b"not a video", b"\0\0\0\x10moov\0\0\0\0\0\0\0\0"] {
        std::fs::write(&source, bytes).unwrap();
        let error = package_in(folder.path()).unwrap_err();
        assert!(matches!(error, MediaError::Source { .. }), "{error}");
        assert!(error.to_string().contains("out.mp4"), "{error}");
    }
    std::fs::remove_file(&source).unwrap();
    assert!(package_in(folder.path()).unwrap_err().to_string().contains("out.mp4"));
}

#[test]
fn a_video_with_alpha_is_rejected() {
    let folder = tempfile::tempdir().unwrap();
    let size = (64, 36);
    let mut plan = plan(folder.path(), size, Codec::ProRes4444, 2);
    plan.media.files.retain(|file, _path| *file == OutputFile::Video);
    write(plan, |i| straight(size, i, |_, _| [0.5; 4])).unwrap();
    std::fs::rename(folder.path().join("out.mov"), folder.path().join("out.mp4")).unwrap();
    let error = package_in(folder.path()).unwrap_err();
    assert!(matches!(error, MediaError::Source { .. }), "{error}");
}

#[test]
fn a_damaged_video_is_an_error_of_the_encoder() {
    let folder = tempfile::tempdir().unwrap();
    video(folder.path(), (64, 36), 40);
    let source = folder.path().join("out.mp4");
    let mut bytes = std::fs::read(&source).unwrap();
    let pictures = bytes.windows(4).position(|word| word == b"mdat").unwrap() + 4;
    bytes[pictures..].fill(0xff);
    std::fs::write(&source, bytes).unwrap();
    let error = package_in(folder.path()).unwrap_err();
    assert!(matches!(error, MediaError::Encoder { .. } | MediaError::Incomplete { .. }), "{error}");
    assert!(names(&folder.path().join("hls")).is_empty());
}
