//! Finds settings that have no effect in combination with the other settings.

use super::frames::is_default;
use super::groups::{Dataset, Effect, Output, Path, RenderSettings};

/// Camera settings that have an effect with some camera motions only. A test of `plinth-scene` compares the list with
/// the motions.
const OF_SOME_MOTIONS: [(&str, &[Effect]); 7] = [
    ("easing", &[Effect::Turntable, Effect::HeroSpin, Effect::Showcase, Effect::ZoomOrbit, Effect::Reveal]),
    ("sweepAngle", &[Effect::Turntable, Effect::HeroSpin, Effect::ZoomOrbit, Effect::Reveal]),
    ("easeOutRatio", &[Effect::HeroSpin]),
    ("amplitude", &[Effect::Showcase]),
    ("zoomStart", &[Effect::ZoomOrbit]),
    ("zoomEnd", &[Effect::ZoomOrbit]),
    ("scaleFrom", &[Effect::Reveal]),
];
/// Path settings that have an effect together with `keyframes`. They say when the camera moves, but not where it is.
const OF_KEYFRAMES: [&str; 4] = ["easeInSeconds", "easeOutSeconds", "kfSegmentDuration", "loop"];
/// Camera settings that have no effect if the path contains camera poses.
const OF_FITTED_CAMERA: [&str; 2] = ["rotateY", "zoom"];
/// Settings that have no effect while another setting has its default. Each entry consists of the other setting, what its
/// default means, and the settings without effect.
const OF_OTHERS: [(&str, &str, &[&str]); 9] = [
    ("animation", "there is no animation", &["animationSpeed"]),
    ("bgImageId", "there is no bgImageId", &["bgAlign"]),
    ("envMode", "envMode is lighting", &["envOpacity", "envBlur", "envScale"]),
    ("envTint", "there is no envTint", &["envTintStrength"]),
    ("reflector", "reflector is false", &["reflectorMix", "reflectorFade", "reflectorDepthBlur"]),
    ("bloomEnabled", "bloomEnabled is false", &["bloomStrength"]),
    ("dofEnabled", "dofEnabled is false", &["dofStrength"]),
    ("n8aoEnabled", "n8aoEnabled is false", &["n8aoIntensity"]),
    ("swayEnabled", "swayEnabled is false", &["swayIntensity"]),
];
/// Settings that have no effect if `shadows` is false.
const OF_SHADOWS: [&str; 3] = ["shadowMode", "shadowDarkness", "shadowSoftness"];
/// Settings that have no effect on a dataset whose cameras are given.
const OF_SPREAD_CAMERAS: [&str; 3] = ["rotateY", "zoom", "coverage"];

impl RenderSettings {
    /// Returns a warning for each setting that differs from its default but has no effect on the video, because of the camera
    /// motion or because another setting turns it off.
    pub fn unused(&self) -> Vec<String> {
        if self.video().output == Output::Dataset {
            return Vec::new();
        }
        let mut warnings = self.unused_of_camera();
        for (_other, reason, keys) in OF_OTHERS.into_iter().filter(|(other, ..)| !self.changes(other)) {
            let keys = keys.iter().filter(|key| self.changes(key));
            warnings.extend(keys.map(|key| format!("{key}: no effect, because {reason}")));
        }
        if !self.shadow().enabled {
            let keys = OF_SHADOWS.into_iter().filter(|key| self.changes(key));
            warnings.extend(keys.map(|key| format!("{key}: no effect, because shadows is false")));
        }
        let of_datasets = Dataset::FIELDS.iter().map(|field| field.key).filter(|key| self.changes(key));
        warnings.extend(of_datasets.map(|key| format!("{key}: no effect, because output is video, not dataset")));
        warnings
    }

    /// Returns a warning for each camera setting that differs from its default but has no effect with the camera motion
    /// of the video.
    fn unused_of_camera(&self) -> Vec<String> {
        let mut warnings = Vec::new();
        let effect = self.camera().effect;
        for (key, motions) in OF_SOME_MOTIONS {
            if !motions.contains(&effect) && self.changes(key) {
                let motions: Vec<&str> = motions.iter().map(|motion| motion.as_str()).collect();
                let motions = motions.join(" or ");
                warnings.push(format!("{key}: no effect, because effect is {}, not {motions}", effect.as_str()));
            }
        }
        if self.camera().makes_whole_turns() && self.changes("easing") {
            warnings.push("easing: no effect, because a turntable of whole turns has a constant speed".to_owned());
        }
        warnings.extend(self.unused_of_path());
        warnings
    }

    /// Returns a warning for each setting that differs from its default but has no effect with the camera path, or because
    /// the video has none.
    fn unused_of_path(&self) -> Vec<String> {
        let mut warnings = Vec::new();
        let effect = self.camera().effect;
        let has_keyframes = !self.path().keyframes.is_empty();
        let mut of_places = Path::FIELDS.iter().filter(|field| !OF_KEYFRAMES.contains(&field.key));
        if effect == Effect::Keyframes && !of_places.any(|field| self.changes(field.key)) {
            let lacking = "there are no keyframes, and no settings such as endAngle";
            warnings.push(format!("effect: the camera does not move, because {lacking}"));
        }
        for key in Path::FIELDS.iter().map(|field| field.key).filter(|key| self.changes(key)) {
            if effect != Effect::Keyframes {
                warnings.push(format!("{key}: no effect, because effect is {}, not keyframes", effect.as_str()));
            } else if has_keyframes && key != "keyframes" && !OF_KEYFRAMES.contains(&key) {
                warnings.push(format!("{key}: no effect, because keyframes say where the camera is"));
            } else if !has_keyframes && key == "kfSegmentDuration" {
                warnings.push(format!("{key}: no effect, because there are no keyframes"));
            }
        }
        let pose = if has_keyframes { "keyframes say" } else { "camera says" };
        let has_pose = effect == Effect::Keyframes && (has_keyframes || self.path().camera.is_some());
        for key in OF_FITTED_CAMERA.into_iter().filter(|key| has_pose && self.changes(key)) {
            warnings.push(format!("{key}: no effect, because {pose} where the camera is"));
        }
        warnings
    }

    /// Returns a warning for each setting that differs from its default but has no effect on a dataset whose cameras are
    /// given. `width` and `height` are the size of its views in pixels. If `datasetQuality` selects this size, it is not
    /// named, because the cameras may have taken their size from it.
    pub fn unused_with_given_cameras(&self, (width, height): (u32, u32)) -> Vec<String> {
        let places = OF_SPREAD_CAMERAS.into_iter().filter(|key| self.changes(key));
        let mut warnings: Vec<String> =
            places.map(|key| format!("{key}: no effect, because the cameras of the dataset are given")).collect();
        let side = self.dataset().quality.side();
        if (width, height) != (side, side) && self.changes("datasetQuality") {
            let size = format!("{width}×{height} pixels");
            warnings.push(format!("datasetQuality: no effect, because the given cameras have views of {size}"));
        }
        warnings
    }

    fn changes(&self, key: &str) -> bool {
        self.sent.get(key).is_some_and(|value| !is_default(key, value))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::settings::{ParseOptions, field};

    fn unused(settings: &Value) -> Vec<String> {
        RenderSettings::from_json(settings, ParseOptions::default()).unwrap().unused()
    }

    #[test]
    fn settings_of_other_motions_are_named() {
        let pose = json!({"pose": {"position": [0, 1, 4], "lookAt": [0, 0, 0], "fov": 35}});
        let camera = json!({"target": [0, 0, 0], "radius": 4, "theta": 0, "phi": 75, "fov": 35});
        for (settings, warnings) in [
            (json!({"amplitude": 30}), vec!["amplitude: no effect, because effect is turntable, not showcase"]),
            (
                json!({"effect": "showcase", "sweepAngle": 90}),
                vec![
                    "sweepAngle: no effect, because effect is showcase, not turntable or hero-spin or zoom-orbit or reveal",
                ],
            ),
            (
                json!({"easing": false, "sweepAngle": 720}),
                vec!["easing: no effect, because a turntable of whole turns has a constant speed"],
            ),
            (json!({"keyframes": [pose]}), vec!["keyframes: no effect, because effect is turntable, not keyframes"]),
            (
                json!({"effect": "keyframes", "keyframes": [pose], "startAngle": 20, "zoom": 2, "loop": true}),
                vec![
                    "startAngle: no effect, because keyframes say where the camera is",
                    "zoom: no effect, because keyframes say where the camera is",
                ],
            ),
            (
                json!({"effect": "keyframes", "camera": camera, "rotateY": 90}),
                vec!["rotateY: no effect, because camera says where the camera is"],
            ),
        ] {
            assert_eq!(unused(&settings), warnings, "{settings}");
        }
    }

    #[test]
    fn a_path_without_places_is_named() {
        let still =
            "effect: the camera does not move, because there are no keyframes, and no settings such as endAngle";
        let segments = "kfSegmentDuration: no effect, because there are no keyframes";
        for (settings, warnings) in [
            (json!({"effect": "keyframes"}), vec![still]),
            (json!({"effect": "keyframes", "easeInSeconds": 1, "loop": true, "zoom": 2}), vec![still]),
            (json!({"effect": "keyframes", "kfSegmentDuration": 3}), vec![still, segments]),
            (json!({"effect": "keyframes", "endTilt": 30, "kfSegmentDuration": 3}), vec![segments]),
        ] {
            assert_eq!(unused(&settings), warnings, "{settings}");
        }
    }

    #[test]
    fn settings_that_another_setting_turns_off_are_named() {
        for (settings, warnings) in [
            (json!({"bloomStrength": 1}), vec!["bloomStrength: no effect, because bloomEnabled is false"]),
            (json!({"envBlur": 0.4, "envMode": "lighting"}), vec!["envBlur: no effect, because envMode is lighting"]),
            (
                json!({"reflector": false, "reflectorMix": 0.9, "reflectorFade": 2}),
                vec![
                    "reflectorMix: no effect, because reflector is false",
                    "reflectorFade: no effect, because reflector is false",
                ],
            ),
            (json!({"animationSpeed": 2}), vec!["animationSpeed: no effect, because there is no animation"]),
            (json!({"shadows": false, "shadowMode": "flat"}), vec!["shadowMode: no effect, because shadows is false"]),
            (
                json!({"coverage": "sphere", "datasetQuality": "196x1024"}),
                vec![
                    "datasetQuality: no effect, because output is video, not dataset",
                    "coverage: no effect, because output is video, not dataset",
                ],
            ),
        ] {
            assert_eq!(unused(&settings), warnings, "{settings}");
        }
        for settings in [
            json!({"bloomEnabled": true, "bloomStrength": 1, "animation": "*", "animationSpeed": 2}),
            json!({"envMode": "floating", "envBlur": 0.4, "envTint": "#ff0000", "envTintStrength": 0.5}),
            json!({"bloomStrength": 0.5, "shadowMode": "flat", "shadows": true}),
            json!({"output": "dataset", "coverage": "sphere", "bloomStrength": 1}),
        ] {
            assert_eq!(unused(&settings), Vec::<String>::new(), "{settings}");
        }
    }

    #[test]
    fn settings_that_are_used_or_have_their_default_are_not_named() {
        for settings in [
            json!({}),
            json!({"amplitude": 60, "effect": "reveal", "scaleFrom": 0.5}),
            json!({"effect": "showcase", "amplitude": 30, "zoom": 2, "rotateY": 90}),
            json!({"effect": "keyframes", "endAngle": 90, "zoom": 2, "rotateY": 90, "startFov": 20, "loop": true}),
            json!({"effect": "keyframes", "startAngle": 30}),
            json!({"loop": false, "kfSegmentDuration": 2}),
            json!({"easing": false, "sweepAngle": 90}),
        ] {
            assert_eq!(unused(&settings), Vec::<String>::new(), "{settings}");
        }
    }

    #[test]
    fn settings_of_spread_cameras_are_named_if_the_cameras_are_given() {
        let with_views = |settings: &Value, size: (u32, u32)| {
            RenderSettings::from_json(settings, ParseOptions::default()).unwrap().unused_with_given_cameras(size)
        };
        let changed = json!({"output": "dataset", "rotateY": 90, "zoom": 2, "coverage": "sphere",
            "datasetQuality": "196x1024", "panX": 30});
        let places = ["rotateY", "zoom", "coverage"]
            .map(|key| format!("{key}: no effect, because the cameras of the dataset are given"));
        assert_eq!(with_views(&changed, (1024, 1024)), places);
        let size = "datasetQuality: no effect, because the given cameras have views of 1024×768 pixels".to_owned();
        assert_eq!(with_views(&changed, (1024, 768)), [places.as_slice(), &[size]].concat());
        let defaults = json!({"output": "dataset", "rotateY": 0, "zoom": 1.0, "coverage": "hemisphere"});
        assert_eq!(with_views(&defaults, (64, 64)), Vec::<String>::new());
    }

    #[test]
    fn the_named_settings_exist() {
        let of_motions = OF_SOME_MOTIONS.iter().map(|(key, _)| key);
        let of_others = OF_OTHERS.iter().flat_map(|(other, _reason, keys)| keys.iter().chain([other]));
        let of_cameras = of_motions.chain(&OF_KEYFRAMES).chain(&OF_FITTED_CAMERA).chain(&OF_SPREAD_CAMERAS);
        for key in of_cameras.chain(of_others).chain(&OF_SHADOWS) {
            assert!(field(key).is_some(), "{key}");
        }
    }
}
