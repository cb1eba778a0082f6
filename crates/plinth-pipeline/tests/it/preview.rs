//! Tests that a preview has the same pixels as a render with the same settings.

use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

use plinth_pipeline::child::{CacheFolder, ChildEvent, ChildTask, PreviewRequest, PreviewTask, run_child};
use plinth_pipeline::{Job, run};
use plinth_render::Cache;
use plinth_spec::preview::PreviewOptions;
use plinth_spec::settings::ParseOptions;
use plinth_spec::{OutputFile, RenderSettings};
use serde_json::{Value, json};

use super::job;

/// Length in pixels of the longer side of a frame of quality `share`.
const WHOLE: u32 = 960;

/// Settings of consecutive previews. They change the camera, the pose, the background, the light, the shadow and the
/// effects, and some change several of these at once.
fn looks() -> Vec<Value> {
    vec![
        json!({}),
        json!({"rotateY": 35}),
        json!({"zoom": 1.4, "bgColor": "#203040"}),
        json!({"aspect": "1:1", "vignette": 0.5}),
        json!({"effect": "reveal", "reflector": true}),
        json!({"effect": "hero-spin", "filter": "sepia"}),
        json!({"panX": 20, "tiltX": -10}),
        json!({"scaleX": 1.3, "translateY": 0.2}),
        json!({"bgGradient": {"stops": [{"color": "#ff8800"}, {"color": "#002244"}], "angle": 30}}),
        json!({"envRotation": 90, "envExposure": 1.5}),
        json!({"envMode": "floating", "envBlur": 0.4}),
        json!({"spotlightIntensity": 2, "keyLightColor": "#ffddaa"}),
        json!({"lightsIntensity": 0, "ambientIntensity": 3, "glossIntensity": 0.5}),
        json!({"shadows": false}),
        json!({"shadowMode": "accumulated", "shadowDarkness": 2}),
        json!({"shadowMode": "flat", "shadowSoftness": 0}),
        json!({"bloomEnabled": true, "bloomStrength": 1, "filter": "vivid"}),
        json!({"dofEnabled": true, "dofStrength": 0.6}),
        json!({"n8aoEnabled": true, "swayEnabled": true}),
        json!({"materialEdits": {"GlassPlasticMat": {"transmission": 1, "opacity": 1}}, "reflector": true}),
        json!({"materialEdits": {"RubberWoodMat": {"alphaMode": "BLEND"}}}),
    ]
}

/// Returns the settings of a short video. Some of the videos are so short that their triangles are not simplified.
fn settings(number: usize, look: &Value) -> Value {
    let mut settings = look.clone();
    settings["quality"] = json!("share");
    settings["length"] = json!(if number.is_multiple_of(4) { 0.2 } else { 0.05 });
    settings
}

/// Returns the poster of a video. `cache` must not be the cache of the previews, because the video would then reuse
/// their baked light.
fn poster_of_video(settings: &Value, folder: &Path, cache: &Cache) -> Vec<u8> {
    let outputs = [(OutputFile::FullPoster, "poster.png"), (OutputFile::Thumb, "thumb.mp4")];
    let outputs = outputs.map(|(file, name)| (file, folder.join(name))).into();
    let settings = RenderSettings::from_json(settings, ParseOptions::default()).unwrap();
    let job = Job { outputs, settings, cache: Some(cache.clone()), ..job(folder) };
    run(&job, &mut |_| {}, &AtomicBool::new(false)).unwrap();
    std::fs::read(folder.join("poster.png")).unwrap()
}

/// Returns the task of a preview process, which keeps the model loaded. The model file and the cache are in `folder`.
fn preview_task(folder: &Path) -> ChildTask {
    let model = folder.join("model.glb");
    std::fs::write(&model, job(folder).model).unwrap();
    ChildTask::Preview(PreviewTask {
        model,
        longest: WHOLE,
        adapter: None,
        ffmpeg: plinth_testkit::ffmpeg().to_owned(),
        cache: Some(CacheFolder { folder: folder.join("cache"), most_bytes: 1 << 30 }),
    })
}

/// Returns the request for the poster with the settings `look`.
fn request(number: usize, look: &Value, target: PathBuf) -> PreviewRequest {
    PreviewRequest {
        settings: settings(number, look),
        environment: None,
        images: [].into(),
        options: PreviewOptions { longest: WHOLE, ..PreviewOptions::default() },
        target,
    }
}

#[test]
fn full_previews_equal_posters_whatever_was_drawn_before() {
    let folder = tempfile::tempdir().unwrap();
    let looks = looks();
    assert_eq!(looks.len(), 21);
    let task = preview_task(folder.path());
    // Before each full-size preview, a draft is drawn, which is smaller and has less accurate light.
    let both = |(number, look): (usize, &Value)| {
        let whole = request(number, look, folder.path().join(format!("{number}.png")));
        let target = folder.path().join("draft.png");
        let options = PreviewOptions { longest: 320, is_draft: true, position: Some(0.5), ..PreviewOptions::default() };
        [PreviewRequest { options, target, ..whole.clone() }, whole]
    };
    let lines = looks.iter().enumerate().flat_map(both).map(|request| serde_json::to_string(&request).unwrap());
    let mut drawn = 0;
    let mut tell = |event| match event {
        ChildEvent::Previewed { .. } => drawn += 1,
        ChildEvent::PreviewReady => {}
        other => panic!("{other:?}"),
    };
    run_child(&task, &mut lines.collect::<Vec<_>>().into_iter(), &mut tell, &AtomicBool::new(false));
    assert_eq!(drawn, 42);
    let cache = Cache::open(folder.path().join("cache of renders"), 1 << 30).unwrap();
    for (number, look) in looks.iter().enumerate() {
        let seen = std::fs::read(folder.path().join(format!("{number}.png"))).unwrap();
        let place = tempfile::tempdir().unwrap();
        assert!(seen == poster_of_video(&settings(number, look), place.path(), &cache), "{look}");
    }
}

/// The posters of videos with alpha show the background with the post-processing effects.
#[test]
fn posters_of_videos_with_alpha_have_their_effects_on_the_background_too() {
    let folder = tempfile::tempdir().unwrap();
    let task = preview_task(folder.path());
    let look = |quality: &str, more: &Value| {
        let mut look = json!({
            "quality": quality, "length": 0.05, "shadows": false, "vignette": 0.8,
            "bgGradient": {"stops": [{"color": "#ff0000"}, {"color": "#00ff00"}], "angle": 90},
        });
        look.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        look
    };
    for more in [json!({"filter": "bw"}), json!({"filter": "grain"}), json!({})] {
        let pictures = ["share", "pro"].map(|quality| {
            let target = folder.path().join(format!("{quality}.png"));
            let settings = look(quality, &more);
            let options = PreviewOptions { longest: 320, ..PreviewOptions::default() };
            let request = PreviewRequest { settings, options, ..request(1, &json!({}), target.clone()) };
            let mut lines = vec![serde_json::to_string(&request).unwrap()].into_iter();
            run_child(&task, &mut lines, &mut |_event| {}, &AtomicBool::new(false));
            image::open(&target).unwrap().to_rgb8()
        });
        // The checked points are at the corners and near the middles of the sides, far from the model. With grain, the
        // tolerance is larger, because grain differs between frames and is not applied to static backgrounds.
        let most = if more["filter"] == "grain" { 40 } else { 3 };
        for (x, y) in [(0, 0), (319, 0), (0, 179), (319, 179), (3, 90), (316, 90)] {
            let [opaque, alpha] = [0, 1].map(|i| pictures[i].get_pixel(x, y).0);
            assert!(
                opaque.iter().zip(alpha).all(|(a, b)| a.abs_diff(b) <= most),
                "{more} {x} {y}: {opaque:?} {alpha:?}"
            );
        }
        assert_ne!(pictures[1].get_pixel(0, 90), pictures[1].get_pixel(0, 0), "the vignette darkens the corners");
    }
}

/// Draws drafts with these settings, one after another, in one process with an empty cache. Returns the last draft.
fn last_draft(looks: &[Value]) -> image::RgbImage {
    let drafts: Vec<(&Value, Option<&Path>)> = looks.iter().map(|look| (look, None)).collect();
    last_draft_with_images(&drafts)
}

/// Does the same as [`last_draft`], with the image `paint` in those requests that have a file for it.
fn last_draft_with_images(drafts: &[(&Value, Option<&Path>)]) -> image::RgbImage {
    let folder = tempfile::tempdir().unwrap();
    let task = preview_task(folder.path());
    let target = folder.path().join("draft.png");
    let options = PreviewOptions { longest: 320, is_draft: true, ..PreviewOptions::default() };
    let draft = |(look, image): &(&Value, Option<&Path>)| {
        let images = image.map(|file| ("paint".to_owned(), file.to_owned())).into_iter().collect();
        PreviewRequest { options, images, ..request(1, look, target.clone()) }
    };
    let lines: Vec<String> = drafts.iter().map(|one| serde_json::to_string(&draft(one)).unwrap()).collect();
    let mut drawn = 0;
    let mut tell = |event| drawn += usize::from(matches!(event, ChildEvent::Previewed { .. }));
    run_child(&task, &mut lines.into_iter(), &mut tell, &AtomicBool::new(false));
    assert_eq!(drawn, drafts.len());
    image::open(&target).unwrap().to_rgb8()
}

fn mean_difference(one: &image::RgbImage, other: &image::RgbImage) -> f64 {
    let differences = one.as_raw().iter().zip(other.as_raw()).map(|(a, b)| f64::from(a.abs_diff(*b)));
    differences.sum::<f64>() / one.as_raw().len() as f64
}

/// A draft shows its own settings, although it reuses the renderer, the geometry and the light of earlier drafts where
/// possible.
#[test]
fn drafts_show_their_settings_whatever_was_drawn_before() {
    let before = [json!({}), json!({"rotateY": 80}), json!({"envRotation": 120}), json!({"vignette": 0.4})];
    let last_before = last_draft(&before);
    for last in [
        json!({"rotateY": -40, "zoom": 1.3}),
        json!({"rotateY": -40, "effect": "reveal", "easing": false}),
        json!({"rotateY": -40, "reflector": true, "shadowMode": "accumulated"}),
        json!({"rotateY": -40, "materialEdits": {"GlassPlasticMat": {"color": "#ff0000"}}}),
        json!({"rotateY": -40, "materialEdits": {"GlassPlasticMat": {"transmission": 1, "opacity": 1}}}),
        json!({"rotateY": -40, "shadowSoftness": 0}),
        json!({"rotateY": -40, "vignette": 0.4}),
    ] {
        let fresh = last_draft(std::slice::from_ref(&last));
        let reused = last_draft(&[&before[..], std::slice::from_ref(&last)].concat());
        let mean = mean_difference(&fresh, &reused);
        // The differences are small: the light was baked for other cameras and with other random rays.
        assert!(mean < 0.5, "{last}: {mean}");
        assert!(last_before != reused, "{last}");
    }
}

/// Only the camera changes between the drafts, but the renderer of the first one has the texture.
#[test]
fn a_draft_lacks_a_texture_that_was_deleted_after_the_draft_before() {
    let folder = tempfile::tempdir().unwrap();
    let paint = folder.path().join("paint.png");
    image::RgbImage::from_pixel(8, 8, image::Rgb([255, 0, 255])).save(&paint).unwrap();
    let edit = json!({"mapAssetId": "paint"});
    let look = |degrees: u32| {
        let edits = json!({"LeatherPartsMat": edit, "RubberWoodMat": edit, "MetalPartsMat": edit});
        json!({"rotateY": degrees, "materialEdits": edits})
    };
    let (before, last) = (look(0), look(40));
    let whole = last_draft_with_images(&[(&before, Some(paint.as_path())), (&last, Some(paint.as_path()))]);
    let reduced = last_draft_with_images(&[(&before, Some(paint.as_path())), (&last, None)]);
    let fresh = last_draft(&[last]);
    assert!(mean_difference(&whole, &fresh) > 1.0, "the texture changes the picture");
    let mean = mean_difference(&reduced, &fresh);
    assert!(mean < 0.5, "{mean}");
}
