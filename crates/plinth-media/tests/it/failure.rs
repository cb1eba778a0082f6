//! Tests that errors name their cause, and that a failure leaves no files behind.

use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use plinth_frame::{Frame, FrameSink as _};
use plinth_media::MediaError;
use plinth_spec::OutputFile;
use plinth_spec::quality::Codec;

use crate::support::{Plan, ball, names, plan, straight, write};

const SIZE: (u32, u32) = (640, 360);

/// Writes a script to `folder` that is called instead of ffmpeg.
fn script(folder: &Path, lines: &str) -> PathBuf {
    let path = folder.join("ffmpeg.sh");
    std::fs::write(&path, format!("#!/bin/bash\n{}{lines}\n", plinth_testkit::ffmpeg_in_scripts())).unwrap();
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
    path
}

/// An output folder that contains an older video, and a folder for all other files.
struct Place {
    out: tempfile::TempDir,
    aside: tempfile::TempDir,
}

impl Place {
    fn new() -> Self {
        let place = Self { out: tempfile::tempdir().unwrap(), aside: tempfile::tempdir().unwrap() };
        std::fs::write(place.out.path().join("out.mp4"), b"an older video").unwrap();
        place
    }

    fn plan(&self, lines: &str) -> Plan {
        let mut plan = plan(self.out.path(), SIZE, Codec::H264, 40);
        plan.media.ffmpeg = script(self.aside.path(), lines);
        plan
    }

    /// Asserts that the output folder contains only the older video.
    fn assert_untouched(&self) {
        assert_eq!(names(self.out.path()), ["out.mp4"]);
        assert_eq!(std::fs::read(self.out.path().join("out.mp4")).unwrap(), b"an older video");
    }
}

fn fails(lines: &str) -> String {
    let place = Place::new();
    let error = write(place.plan(lines), |i| ball(SIZE, i, [9; 3])).unwrap_err().to_string();
    place.assert_untouched();
    assert!(!error.contains(".partial"), "contains a temporary name: {error}");
    error
}

#[test]
fn the_message_of_an_encoder_that_fails_midway_is_quoted() {
    let message = fails("head -c 1000000 >/dev/null; echo 'first words' >&2; echo 'the encoder exploded' >&2; exit 3");
    assert!(message.contains("out.mp4") && message.contains("the encoder exploded"), "{message}");
}

#[test]
fn the_message_of_an_encoder_that_fails_at_the_start_is_quoted() {
    let message = fails(r#"exec "$FFMPEG" -no_such_option"#);
    assert!(message.contains("no_such_option"), "{message}");
}

#[test]
fn the_error_names_the_signal_that_ended_an_encoder_without_a_message() {
    let message = fails("head -c 1000000 >/dev/null; kill -KILL $$");
    assert!(message.contains("without a message") && message.contains("SIGKILL"), "{message}");
}

#[test]
fn the_message_of_an_encoder_that_fails_at_the_end_is_quoted() {
    let message = fails("cat >/dev/null; echo 'cannot write the index' >&2; exit 1");
    assert!(message.contains("cannot write the index"), "{message}");
}

#[test]
fn the_error_names_a_full_disk() {
    // The arguments `1` to `$#-1` are all arguments except the last, which is the output file.
    let message = fails(r#"exec "$FFMPEG" "${@:1:$#-1}" /dev/full"#);
    assert!(message.contains("No space left on device"), "{message}");
}

#[test]
fn a_full_disk_differs_from_other_failures_of_an_encoder() {
    let full = r#"exec "$FFMPEG" "${@:1:$#-1}" /dev/full"#;
    // The error quotes only the last lines.
    let long = "cat >/dev/null; echo 'Disk quota exceeded' >&2; printf '%s\\n' 1 2 3 4 5 >&2; exit 1";
    for (lines, is_full) in [(full, true), (long, true), ("cat >/dev/null; echo 'out of luck' >&2; exit 1", false)] {
        let place = Place::new();
        let error = write(place.plan(lines), |i| ball(SIZE, i, [9; 3])).unwrap_err();
        assert_eq!(matches!(error, MediaError::DiskFull { .. }), is_full, "{error}");
        assert_eq!(matches!(error, MediaError::Encoder { .. }), !is_full, "{error}");
        place.assert_untouched();
    }
}

#[test]
fn an_encoder_prints_its_messages_in_english() {
    let message = fails(r#"cat >/dev/null; echo "locale: $LC_ALL" >&2; exit 1"#);
    assert!(message.ends_with("locale: C"), "{message}");
}

#[test]
fn the_error_names_a_file_size_limit() {
    let message = fails(r#"trap '' XFSZ; ulimit -f 2; exec "$FFMPEG" "$@""#);
    assert!(message.contains("File too large"), "{message}");
    let message = fails(r#"ulimit -c 0 -f 2; exec "$FFMPEG" "$@""#);
    assert!(message.contains("SIGXFSZ"), "{message}");
}

#[test]
fn an_incomplete_file_of_an_encoder_is_rejected() {
    let cut = r#""$FFMPEG" "$@"; truncate -s -1000 "${@: -1}""#;
    assert!(fails(cut).contains("is not complete: it is truncated"));
    let short =
        r#""$FFMPEG" -loglevel error -y -f lavfi -i testsrc2=s=64x64 -frames:v 5 -f mp4 "${@: -1}"; cat >/dev/null"#;
    assert!(fails(short).contains("it has 5 of 40 frames"));
}

#[test]
fn a_surviving_child_of_a_failed_encoder_is_not_waited_for() {
    let begin = Instant::now();
    let message = fails("sleep 60 & echo 'gone' >&2; exit 1");
    assert!(message.contains("gone"), "{message}");
    assert!(begin.elapsed() < Duration::from_secs(20), "{:?}", begin.elapsed());
}

#[test]
fn the_error_of_a_missing_ffmpeg_says_what_to_install() {
    let place = Place::new();
    let mut plan = place.plan("");
    plan.media.ffmpeg = PathBuf::from("/nowhere/ffmpeg");
    let error = write(plan, |i| ball(SIZE, i, [9; 3])).unwrap_err().to_string();
    assert!(error.contains("/nowhere/ffmpeg") && error.contains("install ffmpeg"), "{error}");
    place.assert_untouched();
}

#[test]
fn all_files_are_as_before_if_the_last_one_cannot_get_its_name() {
    let place = Place::new();
    let stop = AtomicBool::new(false);
    let mut writer = plan(place.out.path(), SIZE, Codec::H264, 2).start(&stop).unwrap();
    // No file can replace a folder. The posters get their names after the videos.
    let obstacle = place.out.path().join("out.poster.png");
    std::fs::create_dir(&obstacle).unwrap();
    for i in 0..2 {
        writer.frame(&ball(SIZE, i, [9; 3])).unwrap();
    }
    let error = writer.finish().unwrap_err().to_string();
    assert!(error.contains("out.poster.png cannot be written"), "{error}");
    std::fs::remove_dir(&obstacle).unwrap();
    place.assert_untouched();
}

#[test]
fn a_dropped_writer_leaves_no_files() {
    for codec in [Codec::H264, Codec::ProRes4444] {
        let place = Place::new();
        let stop = AtomicBool::new(false);
        let mut writer = plan(place.out.path(), SIZE, codec, 90).start(&stop).unwrap();
        for i in 0..20 {
            let frame = if codec == Codec::H264 { ball(SIZE, i, [9; 3]) } else { straight(SIZE, i, |_, _| [0.5; 4]) };
            writer.frame(&frame).unwrap();
        }
        assert!(names(place.out.path()).len() > 1, "no file was started");
        drop(writer);
        place.assert_untouched();
    }
}

#[test]
fn cancellation_works_while_an_encoder_hangs() {
    for (lines, frames) in [("sleep 60", 40), ("cat >/dev/null; sleep 60", 3)] {
        let place = Place::new();
        let stop = AtomicBool::new(false);
        let mut plan = place.plan(lines);
        plan.frames.count = frames;
        let begin = Instant::now();
        let error = std::thread::scope(|scope| {
            scope.spawn(|| {
                std::thread::sleep(Duration::from_millis(500));
                stop.store(true, Ordering::Relaxed);
            });
            let mut writer = plan.start(&stop).unwrap();
            for i in 0..frames {
                if let Err(error) = writer.frame(&ball(SIZE, i, [9; 3])) {
                    return *error.0.downcast::<MediaError>().unwrap();
                }
            }
            writer.finish().unwrap_err()
        });
        assert!(matches!(error, MediaError::Stopped), "{error}");
        assert!(begin.elapsed() < Duration::from_secs(10), "{:?}", begin.elapsed());
        place.assert_untouched();
    }
}

#[test]
fn missing_frames_leave_no_file() {
    let place = Place::new();
    let stop = AtomicBool::new(false);
    let mut writer = plan(place.out.path(), SIZE, Codec::H264, 5).start(&stop).unwrap();
    writer.frame(&ball(SIZE, 0, [9; 3])).unwrap();
    let error = writer.finish().unwrap_err().to_string();
    assert!(error.contains("1 of 5 frames"), "{error}");
    place.assert_untouched();
}

#[test]
fn a_frame_with_the_wrong_size_is_rejected() {
    let place = Place::new();
    let spoils: [fn(&mut Frame); 3] = [|f| f.region.x = 400, |f| f.pixels.truncate(9), |f| f.index = 7];
    for spoil in spoils {
        let error = write(plan(place.out.path(), SIZE, Codec::H264, 1), |i| {
            let mut frame = ball(SIZE, i, [9; 3]);
            spoil(&mut frame);
            frame
        });
        assert!(matches!(error, Err(MediaError::Frames { .. })), "{error:?}");
        place.assert_untouched();
    }
}

#[test]
fn invalid_outputs_are_rejected_before_a_frame_is_drawn() {
    let long_name = format!("{}.mp4", "t".repeat(300));
    let place = Place::new();
    let stop = AtomicBool::new(false);
    let rejected = |change: &dyn Fn(&mut Plan)| {
        let mut plan = plan(place.out.path(), SIZE, Codec::H264, 1);
        change(&mut plan);
        let error = plan.start(&stop).err().unwrap().to_string();
        place.assert_untouched();
        error
    };
    let named = |plan: &mut Plan, file, name| drop(plan.media.files.insert(file, place.out.path().join(name)));
    let twice = rejected(&|plan| named(plan, OutputFile::Web, "out.mp4"));
    assert!(twice.contains("out.mp4 is the name of two outputs"), "{twice}");
    let folder = rejected(&|plan| named(plan, OutputFile::FullPoster, ""));
    assert!(folder.contains("is a directory"), "{folder}");
    let nowhere = rejected(&|plan| named(plan, OutputFile::Thumb, "no/such/t.mp4"));
    assert!(nowhere.contains("no/such/t.mp4 cannot be written"), "{nowhere}");
    assert!(!nowhere.contains(".partial"), "contains a temporary name: {nowhere}");
    let long = rejected(&|plan| named(plan, OutputFile::Thumb, long_name.as_str()));
    assert!(long.contains("too long"), "{long}");
}
