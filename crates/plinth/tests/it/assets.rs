//! Tests of the image flags of `plinth render`.

use crate::{Place, plinth, text};

/// Writes an image whose left and right halves have one colour each.
fn halves(place: &Place, name: &str, left: [u8; 3], right: [u8; 3]) -> String {
    let picture = image::RgbImage::from_fn(320, 180, |x, _| image::Rgb(if x < 160 { left } else { right }));
    picture.save(place.file(name)).unwrap();
    place.file(name)
}

fn still(place: &Place, more: &[&str]) -> image::RgbImage {
    let (model, out) = (place.file("cube.glb"), place.file("out.png"));
    let mut args = vec!["render", &model, "-o", &out, "--quality", "share", "--length", "0.1", "--shadows", "false"];
    args.extend(more);
    let done = plinth(&args);
    assert!(done.status.success(), "{}", text(&done.stderr));
    image::open(&out).unwrap().into_rgb8()
}

#[test]
fn a_background_image_is_behind_the_model_and_overrides_colour_and_gradient() {
    let place = Place::new();
    let wall = halves(&place, "wall.png", [200, 30, 40], [10, 60, 220]);
    let gradient = r##"{"bgColor": "#00ff00", "bgGradient": {"stops": [{"color": "#00ff00"}, {"color": "#ffff00"}], "angle": 0}}"##;
    let picture = still(&place, &["--bg-image", &wall, "--settings", gradient]);
    assert_eq!((picture.get_pixel(5, 5).0, picture.get_pixel(954, 530).0), ([200, 30, 40], [10, 60, 220]));
    let picture = still(&place, &["--bg-image", &wall, "--aspect", "1:1", "--bg-align", "right"]);
    assert_eq!(picture.get_pixel(535, 5).0, [10, 60, 220]);
    let picture = still(&place, &["--settings", gradient]);
    assert_eq!((picture.get_pixel(480, 539).0, picture.get_pixel(480, 0).0), ([0, 255, 0], [255, 255, 0]));
}

#[test]
fn a_decal_is_on_the_model_where_the_flag_says() {
    let place = Place::new();
    let logo = halves(&place, "logo.png", [255, 0, 255], [255, 0, 255]);
    let magenta =
        |picture: &image::RgbImage| picture.pixels().filter(|p| p.0[0] > 90 && p.0[2] > 90 && p.0[1] < 40).count();
    assert_eq!(magenta(&still(&place, &[])), 0);
    let front = format!("{logo}@0,0,1,0.8");
    assert!(magenta(&still(&place, &["--decal", &front])) > 1000);
    let back = format!("{logo}@0,0,-1,0.8,180");
    assert_eq!(magenta(&still(&place, &["--decal", &back])), 0, "decals on back faces are not visible");
}

#[test]
fn an_image_without_a_file_is_a_usage_error_and_an_invalid_file_is_named() {
    let place = Place::new();
    let (model, out) = (place.file("cube.glb"), place.file("out.png"));
    let rejected = |more: &[&str]| {
        let mut args = vec!["render", &model, "-o", &out];
        args.extend(more);
        let done = plinth(&args);
        (done.status.code(), text(&done.stderr))
    };
    let (code, message) = rejected(&["--settings", r#"{"bgImageId": "wall"}"#]);
    assert!(code == Some(2) && message.contains("--asset wall=FILE"), "{message}");
    let (code, message) = rejected(&["--env-id", "garden"]);
    assert!(code == Some(2) && message.contains("--env"), "{message}");
    for wrong in ["logo.png", "logo.png@1,2", "@1,2,3,4", "logo.png@1,2,x,4"] {
        let (code, message) = rejected(&["--decal", wrong]);
        assert!(code == Some(2) && message.contains("FILE@X,Y,Z,SIZE"), "{message}");
    }
    let gif = place.file("wall.gif");
    std::fs::write(&gif, "GIF89a").unwrap();
    let (code, message) = rejected(&["--bg-image", &gif]);
    assert!(
        code == Some(1) && message.contains("not a PNG, JPEG or WebP") && !message.contains("cube.glb"),
        "{message}"
    );
    assert!(message.contains(&format!("plinth: {gif}: ")), "{message}");
    let unused = format!("wall={gif}");
    let done = plinth(&["render", &model, "-o", &out, "--quality", "share", "-q", "--asset", &unused]);
    assert_eq!(text(&done.stderr), format!("plinth: warning: the settings do not use the image 'wall' ({gif})\n"));
    assert_eq!(done.status.code(), Some(0));
    let (code, message) = rejected(&["--bg-image", "nowhere.png"]);
    assert!(code == Some(1) && message.contains("nowhere.png cannot be read"), "{message}");
}
