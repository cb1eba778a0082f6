use serde_json::json;

use super::*;
use crate::settings::{EnvironmentMode, Field, Shape, schema};
use crate::wire::Alignment;

#[expect(clippy::needless_pass_by_value, reason = "tests pass literals")]
fn parse(value: Value) -> Result<RenderSettings> {
    RenderSettings::from_json(&value, ParseOptions::default())
}

fn with(key: &str, value: Value) -> Result<RenderSettings> {
    let mut members = Map::new();
    members.insert(key.to_owned(), value);
    parse(Value::Object(members))
}

#[test]
fn every_default_is_valid_and_has_the_type_of_its_setting() {
    for field in fields() {
        if let Some(default) = field.default {
            with(field.key, default.json()).unwrap_or_else(|e| panic!("{}: {e}", field.key));
        }
    }
    RenderSettings::default();
}

#[test]
fn every_number_is_checked_against_its_range_and_the_error_names_field_value_and_range() {
    for Field { key, shape, .. } in fields() {
        let (Shape::Number { min, max } | Shape::NonZero { min, max }) = shape else { continue };
        with(key, json!(min)).unwrap();
        with(key, json!(max)).unwrap();
        for beyond in [min - 0.001, max + 0.001] {
            let error = with(key, json!(beyond)).unwrap_err();
            assert_eq!(error.kind, SettingsErrorKind::InvalidSettings);
            let message = error.to_string();
            assert!(message.contains(key) && message.contains(&max.to_string()), "{message}");
            assert!(message.contains(&beyond.to_string()), "{message}");
        }
        assert!(with(key, json!("1")).is_err(), "{key} accepts a string instead of a number");
        assert!(with(key, json!(true)).is_err(), "{key} accepts a boolean instead of a number");
    }
}

#[test]
fn scales_may_be_negative_but_not_0() {
    for key in ["scaleX", "scaleY", "scaleZ"] {
        for good in [0.01, -0.01, 20.0, -20.0] {
            with(key, json!(good)).unwrap();
        }
        for bad in [0.0, 0.009, -20.5] {
            with(key, json!(bad)).unwrap_err();
        }
    }
}

#[test]
fn choices_flags_and_colours_reject_other_values() {
    for Field { key, shape, .. } in fields() {
        match shape {
            Shape::Choice { names, legacy } => {
                for name in names.iter().chain(legacy.iter().map(|(old, _)| old)) {
                    with(key, json!(name)).unwrap();
                }
                with(key, json!("nonsense")).unwrap_err();
            }
            Shape::Flag => {
                with(key, json!(false)).unwrap();
                with(key, json!("true")).unwrap_err();
            }
            Shape::Color => {
                with(key, json!("#A1b2C3")).unwrap();
                for bad in ["A1b2C3", "#fff", "#12345g", "#1234567"] {
                    with(key, json!(bad)).unwrap_err();
                }
            }
            _ => {}
        }
    }
}

#[test]
fn descriptions_contain_the_actual_limits() {
    use crate::limits;
    use crate::settings::Effect;
    let sweeps = [Effect::Turntable, Effect::HeroSpin, Effect::Reveal].map(Effect::sweep_deg);
    let names = |key: &str, numbers: &[f64]| {
        let description = field(key).unwrap().description;
        let words: Vec<&str> = description.split(|c: char| !c.is_ascii_digit()).collect();
        for number in numbers {
            assert!(
                words.contains(&number.to_string().as_str()),
                "the description of {key} lacks {number}: {description}"
            );
        }
    };
    names("sweepAngle", &sweeps);
    names("length", &[limits::VIDEO_LENGTH_SECS, limits::PRO_LENGTH_SECS]);
    let Shape::List { min, max, .. } = field("keyframes").unwrap().shape else { panic!("not a list") };
    names("keyframes", &[min, max].map(|n| f64::from(u32::try_from(n).unwrap())));
    names("bgGradient", &[f64::from(u32::try_from(limits::GRADIENT_STOPS).unwrap())]);
}

#[test]
fn every_choice_gives_a_different_value() {
    for Field { key, shape, .. } in fields() {
        let Shape::Choice { names, .. } = shape else { continue };
        let read: std::collections::BTreeSet<String> = names
            .iter()
            .map(|name| {
                let read = with(key, json!(name)).unwrap();
                let groups = (read.video(), read.camera(), read.background(), read.environment());
                format!("{groups:?} {:?} {:?} {:?}", read.shadow(), read.post(), read.dataset())
            })
            .collect();
        assert_eq!(read.len(), names.len(), "{key}");
    }
}

#[test]
fn every_part_of_every_shape_is_converted_to_its_type() {
    for field in fields() {
        let value = sample(&field.shape);
        with(field.key, value.clone()).unwrap_or_else(|e| panic!("{} {value}: {e}", field.key));
    }
}

/// Returns a JSON value that matches `shape` and contains all optional members.
fn sample(shape: &Shape) -> Value {
    match shape {
        Shape::Number { max, .. } | Shape::NonZero { max, .. } | Shape::Positive { max } | Shape::Scale { max, .. } => {
            json!(max)
        }
        Shape::Length => json!(2.5),
        Shape::Flag => json!(true),
        Shape::Color => json!("#102030"),
        Shape::Text { .. } => json!("a"),
        Shape::Texts { .. } => json!(["a", "b"]),
        Shape::Choice { names, .. } | Shape::ChoiceOrFlag { names } => json!(names[names.len() - 1]),
        Shape::List { of, min, .. } => json!(vec![sample(of); (*min).max(2)]),
        Shape::Object(members) => members.iter().map(|m| (m.key.to_owned(), sample(&m.shape))).collect(),
        Shape::Map { of, .. } => json!({"a": sample(of), "b": sample(of)}),
    }
}

#[test]
fn the_easing_of_a_keyframe_is_a_name_or_a_flag() {
    let easing = |value: Value| {
        let pose = json!({"position": [0, 0, 4], "lookAt": [0, 0, 0], "fov": 30});
        let keyframes = json!([{"pose": pose, "easing": value}]);
        Ok::<_, SettingsError>(with("keyframes", keyframes)?.path().keyframes[0].easing())
    };
    assert_eq!(easing(json!(true)).unwrap(), easing(json!("ease-in-out")).unwrap());
    assert_eq!(easing(json!(false)).unwrap(), easing(json!("linear")).unwrap());
    assert_ne!(easing(json!(true)).unwrap(), easing(json!(false)).unwrap());
    for bad in [json!("true"), json!(1), json!("nonsense")] {
        let error = easing(bad).unwrap_err().to_string();
        assert!(error.contains("keyframes[0].easing") && error.contains("ease-in-out, true, false"), "{error}");
    }
}

#[test]
fn lengths_outside_of_the_tier_are_invalid_length() {
    for (quality, max) in [("standard", 120.0), ("pro", 60.0)] {
        parse(json!({"quality": quality, "length": max})).unwrap();
        for bad in [0.0, -1.0, max + 0.5] {
            let error = parse(json!({"quality": quality, "length": bad})).unwrap_err();
            assert_eq!(error.kind, SettingsErrorKind::InvalidLength);
        }
    }
    let options = ParseOptions { uncapped_length: true };
    RenderSettings::from_json(&json!({"length": 999}), options).unwrap();
}

#[test]
fn the_error_for_an_unknown_key_suggests_the_nearest_one() {
    let error = with("bgcolour", json!("#ffffff")).unwrap_err().to_string();
    assert!(error.contains("bgcolour") && error.contains("bgColor"), "{error}");
}

#[test]
fn server_stamps_cannot_be_sent() {
    for key in ["preview", "thumbOnly"] {
        with(key, json!(true)).unwrap_err();
    }
}

#[test]
fn settings_returned_by_the_server_can_be_parsed() {
    let mut echoed = parse(json!({"effect": "reveal", "zoom": 1.5})).unwrap().echoed();
    echoed["preview"] = json!(true);
    let read = RenderSettings::from_echoed(&echoed).unwrap();
    assert_eq!(read.echoed(), json!({"effect": "reveal", "zoom": 1.5}));
    RenderSettings::from_echoed(&json!({"length": 1000})).unwrap();
    RenderSettings::from_echoed(&json!({"effect": "nonsense"})).unwrap_err();
}

#[test]
fn aliases_are_resolved_in_what_is_echoed() {
    let settings = parse(json!({"videoLength": 3, "effect": "dataset", "bgAlign": "top-right"})).unwrap();
    assert_eq!(settings.echoed(), json!({"length": 3, "output": "dataset", "bgAlign": "right"}));
    assert_eq!(settings.video().output, Output::Dataset);
}

#[test]
fn numbers_are_echoed_as_they_were_sent() {
    // A parser that rounds twice returns a neighbouring number for each of these.
    let sent = r#"{"panX":0.9659258262890683,"rotateY":94.95886283158103}"#;
    let settings = RenderSettings::from_text(sent, ParseOptions::default()).unwrap();
    assert_eq!(settings.canonical(), sent);
}

#[test]
fn a_dataset_effect_and_a_video_output_contradict_each_other() {
    let error = parse(json!({"effect": "dataset", "output": "video"})).unwrap_err();
    assert_eq!((error.kind, error.field.as_str()), (SettingsErrorKind::InvalidSettings, "effect"));
    parse(json!({"effect": "dataset", "output": 7})).unwrap_err();
    parse(json!({"effect": "dataset", "output": "dataset"})).unwrap();
    parse(json!({"effect": "turntable", "output": "dataset"})).unwrap();
}

#[test]
fn equal_settings_have_equal_canonical_texts_whatever_their_order() {
    let a = RenderSettings::from_text(r#"{"zoom": 1.5, "aspect": "1:1"}"#, ParseOptions::default()).unwrap();
    let b = RenderSettings::from_text(r#"{"aspect":"1:1","zoom":1.5}"#, ParseOptions::default()).unwrap();
    assert_eq!(a.canonical(), b.canonical());
}

#[test]
fn unset_sweeps_follow_the_effect() {
    for (effect, sweep) in [("turntable", 360.0), ("hero-spin", 540.0), ("reveal", 180.0)] {
        let settings = parse(json!({"effect": effect})).unwrap();
        assert!((settings.camera().sweep_deg() - sweep).abs() < 1e-9, "{effect}");
    }
}

#[test]
fn keyframes_need_complete_poses() {
    let pose = json!({"position": [0, 0, 3], "lookAt": [0, 0, 0], "fov": 35});
    let settings = parse(json!({"effect": "keyframes", "keyframes": [{"pose": pose, "dwell": 1.5}]})).unwrap();
    assert!((settings.path().keyframes[0].dwell_secs() - 1.5).abs() < 1e-9);
    let error = parse(json!({"keyframes": [{"pose": {"position": [0, 0, 3], "fov": 35}}]})).unwrap_err();
    assert!(error.to_string().contains("keyframes[0].pose needs 'lookAt'"), "{error}");
    parse(json!({"keyframes": []})).unwrap_err();
    parse(json!({"keyframes": vec![json!({"pose": pose}); 65]})).unwrap_err();
    parse(json!({"keyframes": vec![json!({"pose": pose}); 64]})).unwrap();
}

#[test]
fn the_limits_of_material_edits_and_decals_are_checked() {
    parse(json!({"materialEdits": {"Wood": {"roughness": 0.4, "color": "#112233"}}})).unwrap();
    parse(json!({"materialEdits": {"Wood": {"roughnes": 0.4}}})).unwrap_err();
    let many: Map<String, Value> = (0..257).map(|i| (format!("m{i}"), json!({}))).collect();
    parse(json!({"materialEdits": many})).unwrap_err();
    let long = "x".repeat(33 * 1024);
    let mut large = Map::new();
    large.insert(long, json!({}));
    parse(json!({"materialEdits": large})).unwrap_err();
    let decal =
        json!({"id": "a", "imageAssetId": "b", "position": [0,0,0], "normal": [0,0,1], "euler": [0,0,0], "size": 1});
    parse(json!({"decals": vec![decal.clone(); 64]})).unwrap();
    parse(json!({"decals": vec![decal; 65]})).unwrap_err();
}

#[test]
fn settings_are_converted_to_their_types() {
    use crate::settings::{AlphaChoice, Faces, Gradient, GradientStop};
    let settings = parse(json!({
        "materialEdits": {"Wood": {
            "color": "#112233", "alphaMode": "MASK", "side": "back", "wireframe": true, "iridescenceIOR": 1.7,
            "textureMaps": {"map": false}, "mapAssetId": "oak",
        }},
        "bgGradient": {"stops": [{"color": "#000000"}, {"color": "#ff0000"}], "angle": 45},
        "bgImageId": "wall", "bgAlign": "bottom", "envMode": "grounded", "envBlur": 0.25,
        "decals": [{"id": "a", "imageAssetId": "b", "position": [1, 2, 3], "normal": [0, 0, 1], "euler": [0, 0, 0.5],
            "size": 0.4, "placementScale": [1, -2, 1]}],
    }))
    .unwrap();
    let edit = &settings.material_edits()["Wood"];
    assert_eq!(
        (edit.color, edit.alpha_mode, edit.faces),
        (Some([17, 34, 51]), Some(AlphaChoice::Mask), Some(Faces::Back))
    );
    assert_eq!((edit.wireframe, edit.iridescence_ior, edit.roughness), (Some(true), Some(1.7), None));
    assert_eq!((edit.texture_maps["map"], edit.map_asset_id.as_deref()), (false, Some("oak")));
    let look = settings.background();
    let stops = [[0; 3], [255, 0, 0]].map(|color| GradientStop { color });
    assert_eq!(look.gradient, Some(Gradient { stops: stops.to_vec(), angle_deg: 45.0 }));
    assert_eq!((look.image.as_deref(), look.align), (Some("wall"), Alignment::Center));
    assert_eq!(settings.environment().mode, EnvironmentMode::Grounded);
    let decal = &settings.decals()[0];
    assert_eq!((decal.position, decal.placement_scale, decal.aspect), ([1.0, 2.0, 3.0], Some([1.0, -2.0, 1.0]), None));
}

#[test]
fn every_field_of_an_edit_and_a_decal_is_validated() {
    let edit = |fields: Value| parse(json!({"materialEdits": {"Wood": fields}}));
    for wrong in [
        json!({"color": "red"}),
        json!({"roughness": 1.1}),
        json!({"emissiveIntensity": -1}),
        json!({"alphaMode": "mask"}),
        json!({"side": 2}),
        json!({"wireframe": 1}),
        json!({"ior": 0.9}),
        json!({"textureMaps": {"map": "no"}}),
        json!({"mapAssetId": 7}),
    ] {
        let error = edit(wrong.clone()).unwrap_err().to_string();
        assert!(error.contains("materialEdits.Wood."), "{wrong}: {error}");
    }
    let decal = |key: &str, value: Value| {
        let mut decal = json!({"id": "a", "imageAssetId": "b", "position": [0, 0, 0], "normal": [0, 0, 1], "euler": [0, 0, 0], "size": 1});
        decal[key] = value;
        parse(json!({"decals": [decal]}))
    };
    decal("imageAspect", json!(100)).unwrap();
    for (key, wrong) in [
        ("size", json!(0)),
        ("imageAspect", json!(0)),
        ("imageAspect", json!(101)),
        ("placementScale", json!([1, 0, 1])),
        ("position", json!([0, 0])),
        ("colour", json!("#ffffff")),
    ] {
        assert!(decal(key, wrong.clone()).is_err(), "{key} {wrong}");
    }
    for wrong in [
        json!({"stops": [{"color": "#000000"}], "angle": 0}),
        json!({"stops": [{"color": "#000000"}, {"color": "#ffffff"}], "angle": 360}),
    ] {
        parse(json!({"bgGradient": wrong})).unwrap_err();
    }
}

#[test]
fn the_schema_is_as_strict_as_validation_for_nested_fields() {
    let schema = schema();
    let of = |pointer: &str| schema.pointer(&format!("/properties/{pointer}")).unwrap_or_else(|| panic!("{pointer}"));
    let pose = of("keyframes/items/properties/pose");
    assert_eq!(pose["required"], json!(["position", "lookAt", "fov"]));
    assert_eq!(pose["properties"]["fov"], json!({"type": "number", "minimum": 1.0, "maximum": 170.0}));
    assert_eq!(of("materialEdits/maxProperties"), 256);
    for object in [
        "bgGradient",
        "bgGradient/properties/stops/items",
        "camera",
        "decals/items",
        "keyframes/items",
        "keyframes/items/properties/pose",
        "materialEdits/additionalProperties",
    ] {
        assert_eq!(of(object)["additionalProperties"], false, "{object}");
    }
}

#[test]
fn the_schema_has_every_field_with_its_description() {
    let schema = schema();
    for field in fields() {
        assert!(!field.description.is_empty(), "{}", field.key);
        assert_eq!(schema["properties"][field.key]["description"], field.description, "{}", field.key);
    }
}
