//! Tests of the answers of a preview process to questions about a frame, such as which surfaces a pixel shows.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::atomic::AtomicBool;

use plinth_pipeline::child::{ChildEvent, ChildTask, PreviewRequest, PreviewTask, run_child};
use plinth_spec::preview::{PreviewAnswer, PreviewOptions, PreviewQuestion, SurfacesAtPoint};
use serde_json::{Value, json};

use super::{job, shapes};

const WIDTH: u32 = 320;
const HEIGHT: u32 = 180;

fn request(folder: &Path, settings: &Value, question: Option<PreviewQuestion>, name: &str) -> PreviewRequest {
    PreviewRequest {
        settings: settings.clone(),
        environment: None,
        images: [].into(),
        options: PreviewOptions { longest: WIDTH, is_draft: true, position: Some(0.0), watermark: false, question },
        target: folder.join(name),
    }
}

/// Sends requests to a preview, and returns its events after the model has been loaded.
fn responses(folder: &Path, model: &[u8], requests: &[PreviewRequest]) -> Vec<ChildEvent> {
    let file = folder.join("model.glb");
    std::fs::write(&file, model).unwrap();
    let task = ChildTask::Preview(PreviewTask {
        model: file,
        longest: WIDTH,
        adapter: None,
        ffmpeg: plinth_testkit::ffmpeg().to_owned(),
        cache: None,
    });
    let lines: Vec<String> = requests.iter().map(|request| serde_json::to_string(request).unwrap()).collect();
    let mut events = Vec::new();
    run_child(&task, &mut lines.into_iter(), &mut |event| events.push(event), &AtomicBool::new(false));
    assert!(matches!(events.remove(0), ChildEvent::PreviewReady));
    events
}

fn surfaces(event: &ChildEvent) -> &SurfacesAtPoint {
    let ChildEvent::PreviewAnswered { answer } = event else { panic!("{event:?}") };
    assert!(answer.answers(PreviewQuestion::Surfaces { x: 0.0, y: 0.0 }));
    let PreviewAnswer::Surfaces(found) = answer.as_ref() else { panic!("{answer:?}") };
    found
}

/// Returns the pixels of a coarse grid, each with the question which surfaces are at its centre.
fn grid() -> Vec<((u32, u32), PreviewQuestion)> {
    let pixels = (0..9).flat_map(|row| (0..12).map(move |column| (13 + 26 * column, 9 + 20 * row)));
    let share = |pixel: u32, size: u32| (f64::from(pixel) + 0.5) / f64::from(size);
    let asked = |(x, y)| ((x, y), PreviewQuestion::Surfaces { x: share(x, WIDTH), y: share(y, HEIGHT) });
    pixels.map(asked).collect()
}

/// Returns whether a pixel is clearly magenta.
fn glows(picture: &image::RgbImage, (x, y): (u32, u32)) -> bool {
    let [red, green, blue] = picture.get_pixel(x, y).0;
    red.min(blue) > green.saturating_add(40)
}

#[test]
fn an_edit_of_the_material_of_an_answer_changes_the_pixels_of_this_material() {
    let plain = json!({"quality": "share", "length": 0.1, "shadows": false, "bgColor": "#00ff00"});
    for look in [json!({"rotateY": 140}), json!({"panX": 30, "scaleX": -1.4, "zoom": 1.4})] {
        let mut settings = plain.clone();
        settings.as_object_mut().unwrap().extend(look.as_object().unwrap().clone());
        let folder = tempfile::tempdir().unwrap();
        let place = folder.path();
        let model = job(place).model;
        let asked = grid().into_iter().map(|(_, question)| request(place, &settings, Some(question), "unused.png"));
        let asked: Vec<_> = asked.chain([request(place, &settings, None, "plain.png")]).collect();
        let answers = responses(place, &model, &asked);
        assert!(!place.join("unused.png").exists(), "a question draws nothing");
        let seen: Vec<Vec<&str>> = answers[..asked.len() - 1]
            .iter()
            .map(|event| surfaces(event).surfaces.iter().map(|surface| surface.material.as_deref().unwrap()).collect())
            .collect();
        let drawn = image::open(place.join("plain.png")).unwrap().to_rgb8();
        let background = grid()
            .iter()
            .zip(&seen)
            .filter(|(_, surfaces)| surfaces.is_empty())
            .map(|(asked, _)| asked.0)
            .collect::<Vec<_>>();
        let other = background.iter().filter(|(x, y)| drawn.get_pixel(*x, *y).0 != [0, 255, 0]).count();
        assert!(background.len() > 30 && other * 20 < background.len(), "{look}: {other} of {}", background.len());
        let materials: BTreeSet<&str> = seen.iter().filter_map(|surfaces| surfaces.first().copied()).collect();
        assert!(materials.len() >= 3, "{look}: {materials:?}");
        // Only three materials are tested, because each needs a bake.
        let materials: Vec<&str> = materials.into_iter().take(3).collect();
        let glowing = |material: &&str| {
            let mut settings = settings.clone();
            settings["materialEdits"] = json!({*material: {"color": "#000000", "emissive": "#ff00ff", "emissiveIntensity": 1, "textureMaps": {"emissiveMap": false}}});
            request(place, &settings, None, &format!("{material}.png"))
        };
        let _drawn = responses(place, &model, &materials.iter().map(glowing).collect::<Vec<_>>());
        let (mut counts, mut wrong) = ([0, 0], [0, 0]);
        for material in materials {
            let picture = image::open(place.join(format!("{material}.png"))).unwrap().to_rgb8();
            for ((pixel, _), surfaces) in grid().into_iter().zip(&seen) {
                // Surfaces behind glass glow through the glass to different degrees, so only the first surface is
                // compared.
                if surfaces.first() == Some(&material) {
                    counts[0] += 1;
                    wrong[0] += usize::from(!glows(&picture, pixel));
                } else if !surfaces.contains(&material) {
                    counts[1] += 1;
                    wrong[1] += usize::from(glows(&picture, pixel));
                }
            }
        }
        // A few pixels may be wrong, because a pixel at an edge shows several surfaces, and a glowing surface lights
        // its surroundings.
        assert!(wrong[0] * 10 <= counts[0] && wrong[1] * 20 <= counts[1], "{look}: {wrong:?} of {counts:?}");
    }
}

#[test]
fn a_dataset_has_its_cameras_around_the_model() {
    let folder = tempfile::tempdir().unwrap();
    let settings = json!({"output": "dataset", "datasetQuality": "100x800", "coverage": "hemisphere"});
    let asked = [request(folder.path(), &settings, Some(PreviewQuestion::DatasetCameras), "unused.png")];
    let events = responses(folder.path(), &shapes::cuboid(), &asked);
    let ChildEvent::PreviewAnswered { answer } = &events[0] else { panic!("{events:?}") };
    assert!(answer.answers(PreviewQuestion::DatasetCameras));
    let PreviewAnswer::DatasetCameras(cameras) = answer.as_ref() else { panic!("{answer:?}") };
    assert_eq!(cameras.positions.len(), 100);
    let length = |p: &[f64; 3]| p.iter().map(|c| c * c).sum::<f64>().sqrt();
    let radius = length(&cameras.positions[0]);
    assert!(cameras.positions.iter().all(|p| (length(p) - radius).abs() < 1e-9 && p[1] > 0.0), "{cameras:?}");
    // The first camera is higher than all others.
    assert!(cameras.positions[0][1] > 0.99 * radius);
    assert!((cameras.fov - 39.6).abs() < 0.01);
    assert_eq!(
        cameras.bounds.map(|corner| corner.map(|c| (c * 100.0).round() / 100.0)),
        [[-1.0, -0.75, -0.5], [1.0, 0.75, 0.5]]
    );
}
