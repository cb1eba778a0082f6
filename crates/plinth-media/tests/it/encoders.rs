//! Tests how a hardware encoder is chosen, which properties its files have, and what happens when it fails. A script
//! simulates ffmpeg and the hardware.

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use plinth_media::hls::{HlsPlan, package};
use plinth_media::{EncoderChoice, EncoderFound, H264Encoder, MediaError, Outcome, choose_encoder};
use plinth_spec::quality::Codec;
use plinth_testkit::hardware_ffmpeg;

use crate::files::assert_h264;
use crate::support::{Plan, ball, names, packets, plan, write};

const SIZE: (u32, u32) = (640, 360);
const NVENC: &str = "h264_nvenc";

fn choose(ffmpeg: &Path, choice: &str) -> Result<EncoderFound, MediaError> {
    choose_encoder(ffmpeg, choice.parse().unwrap(), &AtomicBool::new(false))
}

/// Returns the reason why the only hardware encoder of an ffmpeg is not used.
fn reason(lines: &str) -> String {
    let folder = tempfile::tempdir().unwrap();
    let ffmpeg = hardware_ffmpeg(folder.path(), &[NVENC], lines);
    let found = choose(&ffmpeg, "auto").unwrap();
    assert_eq!(found.encoder, H264Encoder::Libx264);
    let (encoders, reasons): (Vec<_>, Vec<_>) = found.failures().unzip();
    assert_eq!(encoders, [H264Encoder::Nvenc]);
    reasons[0].to_owned()
}

/// Returns a plan that writes all outputs to `folder` with this encoder.
fn plan_with(folder: &Path, ffmpeg: &Path, encoder: H264Encoder, frames: u32) -> Plan {
    let mut plan = plan(folder, SIZE, Codec::H264, frames);
    (plan.media.ffmpeg, plan.media.encoder) = (ffmpeg.to_owned(), encoder);
    plan
}

#[test]
fn auto_uses_working_hardware_and_its_files_have_the_usual_properties() {
    for (name, encoder) in [
        (NVENC, H264Encoder::Nvenc),
        ("h264_vaapi", H264Encoder::Vaapi),
        ("h264_videotoolbox", H264Encoder::VideoToolbox),
    ] {
        let (folder, aside) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let log = aside.path().join("log");
        let lines = format!("echo \"$ENCODER of '$SIZE'\" >>{}", log.display());
        let ffmpeg = hardware_ffmpeg(aside.path(), &[name], &lines);
        assert_eq!(choose(&ffmpeg, "auto").unwrap().encoder, encoder);
        assert_eq!(choose(&ffmpeg, name).unwrap().encoder, encoder);
        std::fs::remove_file(&log).unwrap();
        write(plan_with(folder.path(), &ffmpeg, encoder, 31), |i| ball(SIZE, i, [90; 3])).unwrap();
        let video = folder.path().join("out.mp4");
        assert_h264(&video, SIZE, 31);
        assert_h264(&folder.path().join("out.thumb.mp4"), (160, 90), 31);
        let packets = packets(&video);
        let keys: Vec<usize> = (0..packets.len()).filter(|at| packets[*at].is_key).collect();
        assert_eq!(keys, [0, 30], "{name}");
        assert!(packets.iter().all(|packet| (packet.decoded_secs - packet.shown_secs).abs() < 1e-6), "{name}");
        // A video with only one frame has no sync sample table.
        write(plan_with(aside.path(), &ffmpeg, encoder, 1), |i| ball(SIZE, i, [90; 3])).unwrap();
        let out_dir = folder.path().join("hls");
        let made = package(&HlsPlan { ffmpeg, encoder, source: video, out_dir }, &AtomicBool::new(false)).unwrap();
        assert_eq!(made.hardware_failure, None);
        // The thumbnail video is never encoded by a hardware encoder. The web video is a copy of the main video, so it
        // needs no encoder.
        let used = std::fs::read_to_string(log).unwrap();
        assert_eq!(used, format!("{name} of '640x360'\n{name} of '640x360'\n{name} of ''\n"));
    }
}

#[test]
fn nvenc_is_preferred_and_a_failing_encoder_is_skipped() {
    let folder = tempfile::tempdir().unwrap();
    let both = hardware_ffmpeg(folder.path(), &["h264_vaapi", NVENC], "");
    assert_eq!(choose(&both, "auto").unwrap().encoder, H264Encoder::Nvenc);
    assert_eq!(choose(&both, "h264_vaapi").unwrap().encoder, H264Encoder::Vaapi, "the requested one");
    let broken = "if [[ $ENCODER == h264_nvenc ]]; then echo 'No capable devices found' >&2; exit 1; fi";
    let one = hardware_ffmpeg(folder.path(), &["h264_vaapi", NVENC], broken);
    let found = choose(&one, "auto").unwrap();
    assert_eq!(found.encoder, H264Encoder::Vaapi);
    assert_eq!(found.trials.len(), 3, "{found:?}");
    assert_eq!(found.trials[1].outcome, Outcome::NotBuiltIn, "VideoToolbox");
    let (failed, reason) = found.failures().next().unwrap();
    assert!(failed == H264Encoder::Nvenc && reason.starts_with("No capable devices found"), "{reason}");
}

#[test]
fn hardware_that_fails_or_encodes_incorrectly_is_not_used() {
    let change =
        |options: &str| format!("exec \"$FFMPEG\" \"${{ARGS[@]:0:${{#ARGS[@]}}-1}}\" {options} \"${{@: -1}}\"");
    for (lines, expected) in [
        ("echo 'Cannot load libcuda.so.1' >&2; exit 1".to_owned(), "Cannot load libcuda.so.1 (it needs an NVIDIA card"),
        ("head -c 3000000 >/dev/null; kill -KILL $$".to_owned(), "without a message"),
        (format!("({}); cat >/dev/null; exit", change("-frames:v 20")), "its video has 20 of 36 frames"),
        (change("-profile:v main"), "its profile is 77, not 100 (High)"),
        (change("-pix_fmt yuv422p -profile:v high422"), "its profile is 122"),
        (change("-bf 2"), "presented in another order"),
        (change("-g 12"), "its key frames are [0, 12, 24, 30]"),
        (change("-movflags -faststart"), "its index comes after its frames"),
        (change("-colorspace bt470bg -color_primaries bt470bg -color_trc gamma28"), "is not yuv420p(tv, bt709"),
        (change("-vf format=yuv420p,negate"), "its video differs from the input (PSNR"),
        (change("-crf 45"), "its video differs from the input (PSNR"),
        ("if [[ -z $SIZE ]]; then echo 'QVBR is not supported' >&2; exit 1; fi".to_owned(), "QVBR is not supported"),
        (
            "if [[ -z $SIZE ]]; then ARGS=(\"${ARGS[@]//expr:not(mod(n,30))/0.5}\"); fi".to_owned(),
            "its variants for streaming lack a required property: group of pictures 0 has 15 frames, not 30",
        ),
    ] {
        let reason = reason(&lines);
        assert!(reason.contains(expected), "{reason}");
    }
}

#[test]
fn hardware_that_hangs_is_not_used() {
    let begin = Instant::now();
    let reason = reason("exec sleep 100");
    assert_eq!(reason, "it took longer than 10 seconds");
    assert!(begin.elapsed() < Duration::from_secs(30), "{:?}", begin.elapsed());
}

#[test]
fn requested_hardware_that_does_not_work_is_an_error() {
    let folder = tempfile::tempdir().unwrap();
    let ffmpeg = hardware_ffmpeg(folder.path(), &[NVENC], "echo 'No capable devices found' >&2; exit 1");
    let error = choose(&ffmpeg, NVENC).unwrap_err().to_string();
    assert!(error.starts_with("h264_nvenc cannot be used on this machine: No capable devices found"), "{error}");
    let error = choose(&ffmpeg, "h264_vaapi").unwrap_err().to_string();
    assert!(error.contains("this ffmpeg was built without it"), "{error}");
    for choice in ["auto", NVENC] {
        let error = choose(Path::new("/nowhere/ffmpeg"), choice).unwrap_err();
        assert!(matches!(error, MediaError::FfmpegMissing { .. }), "{error}");
    }
}

#[test]
fn libx264_is_the_default_and_is_not_tested() {
    let nowhere = Path::new("/nowhere/ffmpeg");
    let found = choose_encoder(nowhere, EncoderChoice::default(), &AtomicBool::new(false)).unwrap();
    assert_eq!((found.encoder, found.trials.len()), (H264Encoder::Libx264, 0));
}

#[test]
fn cancellation_ends_a_test() {
    let folder = tempfile::tempdir().unwrap();
    let ffmpeg = hardware_ffmpeg(folder.path(), &[NVENC], "exec sleep 100");
    let (stop, begin) = (AtomicBool::new(false), Instant::now());
    let error = std::thread::scope(|scope| {
        scope.spawn(|| {
            std::thread::sleep(Duration::from_millis(300));
            stop.store(true, Ordering::Relaxed);
        });
        choose_encoder(&ffmpeg, EncoderChoice::Auto, &stop).unwrap_err()
    });
    assert!(matches!(error, MediaError::Stopped), "{error}");
    assert!(begin.elapsed() < Duration::from_secs(8), "{:?}", begin.elapsed());
}

#[test]
fn ffmpeg_accepts_the_options_of_its_hardware_encoders() {
    // ffmpeg parses the options before it opens a device. Therefore it reports an error in the options even if the
    // device is missing.
    let found = choose(plinth_testkit::ffmpeg(), "auto").unwrap();
    for (encoder, reason) in found.failures() {
        let is_option = ["Unrecognized", "Undefined constant", "Error setting option", "not found", "Invalid argument"];
        assert!(!is_option.iter().any(|option| reason.contains(option)), "{encoder}: {reason}");
    }
}

#[test]
fn a_device_lost_during_encoding_is_reported_as_a_hardware_failure() {
    for (lines, expected) in [
        ("head -c 5000000 >/dev/null; echo 'device lost' >&2; exit 1", "h264_nvenc failed: encoding"),
        ("cat >/dev/null; echo 'device lost' >&2; exit 1", "device lost"),
        ("ARGS=(\"${ARGS[@]/#high/main}\")", "its profile is 77"),
    ] {
        let (folder, aside) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let ffmpeg = hardware_ffmpeg(aside.path(), &[NVENC], lines);
        let error = write(plan_with(folder.path(), &ffmpeg, H264Encoder::Nvenc, 40), |i| ball(SIZE, i, [9; 3]));
        let error = error.unwrap_err();
        assert!(matches!(error, MediaError::Hardware { encoder: H264Encoder::Nvenc, .. }), "{error}");
        assert!(error.to_string().contains(expected), "{error}");
        assert_eq!(names(folder.path()), [""; 0], "no files remain");
        // After a hardware encoder failed, the same plan succeeds with libx264.
        write(plan_with(folder.path(), &ffmpeg, H264Encoder::Libx264, 40), |i| ball(SIZE, i, [9; 3])).unwrap();
        assert_h264(&folder.path().join("out.mp4"), SIZE, 40);
    }
}

#[test]
fn packaging_continues_with_libx264_if_the_device_is_lost() {
    for lines in ["sleep 0.2; echo 'device lost' >&2; exit 1", "ARGS=(\"${ARGS[@]//expr:not(mod(n,30))/0.5}\")"] {
        let (folder, aside) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let ffmpeg = hardware_ffmpeg(aside.path(), &[NVENC], lines);
        write(plan_with(folder.path(), plinth_testkit::ffmpeg(), H264Encoder::Libx264, 40), |i| ball(SIZE, i, [9; 3]))
            .unwrap();
        let of = |encoder, name: &str| {
            let (source, out_dir) = (folder.path().join("out.mp4"), folder.path().join(name));
            let plan = HlsPlan { ffmpeg: ffmpeg.clone(), encoder, source, out_dir };
            package(&plan, &AtomicBool::new(false)).unwrap()
        };
        let (lost, usual) = (of(H264Encoder::Nvenc, "lost"), of(H264Encoder::Libx264, "usual"));
        assert!(lost.hardware_failure.is_some_and(|failure| failure.starts_with("h264_nvenc failed: ")));
        assert_eq!(usual.hardware_failure, None);
        assert_eq!(lost.files, usual.files);
        for name in &usual.files {
            let read = |home: &str| std::fs::read(folder.path().join(home).join(name)).unwrap();
            assert!(read("lost") == read("usual"), "{name}");
        }
        assert_eq!(names(&folder.path().join("lost")), names(&folder.path().join("usual")), "no other files remain");
    }
}
