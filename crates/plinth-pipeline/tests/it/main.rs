//! Tests of complete jobs, through the API that workers use.
#![expect(clippy::unwrap_used, clippy::panic, reason = "tests")]

mod dataset;
mod preview;
mod preview_questions;
mod shapes;
mod warm;

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use plinth_pipeline::{Job, JobError, Stage, failure_code, run};
use plinth_spec::quality::Codec;
use plinth_spec::settings::{Output, ParseOptions};
use plinth_spec::{FailureCode, OutputFile, RenderSettings};

/// Returns a job of three frames that writes all kinds of outputs of a video to a folder.
fn job(folder: &Path) -> Job {
    let settings = serde_json::json!({"quality": "share", "length": 0.1});
    let outputs =
        OutputFile::all_of(Output::Video).map(|file| (file, folder.join(file.file_name(Codec::H264)))).collect();
    let model = std::fs::read(concat!(env!("CARGO_MANIFEST_DIR"), "/../../fixtures/models/flight_helmet.glb")).unwrap();
    let settings = RenderSettings::from_json(&settings, ParseOptions::default()).unwrap();
    Job { ffmpeg: plinth_testkit::ffmpeg().to_owned(), ..Job::new(model, settings, outputs) }
}

fn files(folder: &Path) -> usize {
    std::fs::read_dir(folder).unwrap().count()
}

#[test]
fn a_job_passes_its_stages_in_order_and_counts_every_frame() {
    let folder = tempfile::tempdir().unwrap();
    let mut told = Vec::new();
    let manifest = run(&job(folder.path()), &mut |p| told.push((p.stage, p.frame)), &AtomicBool::new(false)).unwrap();
    let rendering = (0..=3).map(|frame| (Stage::Rendering, frame));
    let expected: Vec<_> = [(Stage::Loading, 0), (Stage::Preparing, 0)]
        .into_iter()
        .chain(rendering)
        .chain([(Stage::Finishing, 3)])
        .collect();
    assert_eq!(told, expected);
    assert_eq!((manifest.frames, manifest.files.len(), files(folder.path())), (3, 5, 5));
    assert!(manifest.frame_hash.is_none());
}

#[test]
fn an_opaque_surface_looks_the_same_if_its_material_is_blended() {
    let drawn = |alpha_mode: &str| {
        let folder = tempfile::tempdir().unwrap();
        let edit = serde_json::json!({"alphaMode": alpha_mode});
        let settings = serde_json::json!({
            "quality": "share", "length": 0.1, "materialEdits": {"RubberWoodMat": edit, "LeatherPartsMat": edit},
        });
        let settings = RenderSettings::from_json(&settings, ParseOptions::default()).unwrap();
        let poster = OutputFile::Poster;
        let outputs = [(poster, folder.path().join(poster.file_name(Codec::H264)))].into();
        let job = Job { settings, outputs, hash_frames: true, ..job(folder.path()) };
        let manifest = run(&job, &mut |_| {}, &AtomicBool::new(false)).unwrap();
        assert_eq!(manifest.warnings, Vec::<String>::new());
        manifest.frame_hash.unwrap()
    };
    assert_eq!(drawn("OPAQUE"), drawn("BLEND"));
}

#[test]
fn a_draft_has_different_light() {
    let drawn = |draft: bool| {
        let folder = tempfile::tempdir().unwrap();
        let poster = OutputFile::Poster;
        let outputs = [(poster, folder.path().join(poster.file_name(Codec::H264)))].into();
        let job = Job { draft, outputs, hash_frames: true, ..job(folder.path()) };
        run(&job, &mut |_| {}, &AtomicBool::new(false)).unwrap().frame_hash.unwrap()
    };
    assert_ne!(drawn(true), drawn(false));
}

#[test]
fn a_job_cancelled_at_any_stage_leaves_no_files() {
    for moment in [(Stage::Loading, 0), (Stage::Preparing, 0), (Stage::Rendering, 0), (Stage::Rendering, 2)] {
        let folder = tempfile::tempdir().unwrap();
        let cancel = AtomicBool::new(false);
        let mut watch = |p: plinth_pipeline::Progress| {
            cancel.fetch_or((p.stage, p.frame) == moment, Ordering::Relaxed);
        };
        let error = run(&job(folder.path()), &mut watch, &cancel).unwrap_err();
        assert!(matches!(error, JobError::Cancelled), "{moment:?}: {error}");
        assert_eq!(files(folder.path()), 0, "{moment:?}");
    }
}

#[test]
fn failures_have_different_codes_and_leave_no_files() {
    let fails = |change: &dyn Fn(&mut Job)| {
        let folder = tempfile::tempdir().unwrap();
        let mut job = job(folder.path());
        change(&mut job);
        let error = run(&job, &mut |_| {}, &AtomicBool::new(false)).unwrap_err();
        assert_eq!(files(folder.path()), 0, "{error}");
        (failure_code(&error), error.to_string())
    };
    let (code, message) = fails(&|job| job.model.truncate(1000));
    assert_eq!(code, FailureCode::RendererError, "{message}");
    let behind = |job: &mut Job, bytes: Option<&[u8]>| {
        let settings = serde_json::json!({"quality": "share", "length": 0.1, "bgImageId": "wall"});
        job.settings = RenderSettings::from_json(&settings, ParseOptions::default()).unwrap();
        job.assets.extend(bytes.map(|bytes| ("wall".to_owned(), bytes.to_vec())));
    };
    let (code, message) = fails(&|job| behind(job, None));
    assert_eq!(code, FailureCode::OverlayMissing, "{message}");
    let (code, message) = fails(&|job| behind(job, Some(b"no picture")));
    assert_eq!(code, FailureCode::OverlayDownloadFailed, "{message}");
    let (code, message) = fails(&|job| job.adapter = Some("no such card".to_owned()));
    assert_eq!(code, FailureCode::DisplayLost, "{message}");
    let (code, message) = fails(&|job| job.ffmpeg = PathBuf::from("/nowhere/ffmpeg"));
    assert_eq!(code, FailureCode::EncodeFailed, "{message}");
    let (code, message) = fails(&|job| drop(job.outputs.insert(OutputFile::Web, PathBuf::from("/nowhere/web.mp4"))));
    assert_eq!(code, FailureCode::EncodeFailed, "{message}");
}

#[test]
fn stills_need_no_ffmpeg() {
    let folder = tempfile::tempdir().unwrap();
    let mut job = job(folder.path());
    job.ffmpeg = PathBuf::from("/nowhere/ffmpeg");
    job.outputs.retain(|file, _path| file.is_still());
    let manifest = run(&job, &mut |_| {}, &AtomicBool::new(false)).unwrap();
    assert_eq!((manifest.frames, files(folder.path())), (1, 2));
}
