//! Pictures of what each setting does, from the gallery in `docs/gallery`. Pages load a picture only when the user
//! opens it.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use serde::Deserialize;
use serde_json::Value;

/// Rows of the gallery, which describe its pictures.
const ROWS: &str = include_str!("../../../scripts/gallery/rows.json");

/// Builds the list of pictures. In an invocation, the name of a model is followed by the settings whose pictures show
/// this model.
macro_rules! pictures {
    ($($model:literal: $($key:literal)*;)*) => {
        &[$($((
            concat!("setting-", $key, ".webp"),
            include_bytes!(concat!("../../../docs/gallery/", $key, "-", $model, ".webp")).as_slice(),
        ),)*)*]
    };
}

/// File name and content of each picture. The file name is `setting-`, the name of the setting, and `.webp`.
pub(crate) const ALL: &[(&str, &[u8])] = pictures! {
    "flight_helmet":
        "quality" "aspect" "effect" "sweepAngle" "easeOutRatio" "amplitude" "zoomStart" "zoomEnd" "scaleFrom"
        "easing" "rotateY" "zoom" "keyframes" "camera" "startAngle" "endAngle" "startTilt" "endTilt" "startZoom"
        "endZoom" "startFov" "endFov" "easeInSeconds" "easeOutSeconds" "kfSegmentDuration" "loop" "panX" "tiltX"
        "rollZ" "scaleX" "scaleY" "scaleZ" "translateX" "translateY" "translateZ" "hiddenMeshNames" "bgColor"
        "bgImageId" "bgAlign" "bgGradient" "vignette" "envId" "envRotation" "envExposure" "envMode" "envOpacity"
        "envBlur" "envScale" "envTint" "envTintStrength" "spotlightIntensity" "lightsIntensity" "ambientIntensity"
        "glossIntensity" "keyLightColor" "fillLightColor" "shadows" "shadowMode" "shadowDarkness" "shadowSoftness"
        "reflector" "reflectorMix" "reflectorFade" "reflectorDepthBlur" "filter" "bloomEnabled" "bloomStrength"
        "dofEnabled" "dofStrength" "n8aoEnabled" "n8aoIntensity" "swayEnabled" "swayIntensity";
    "still_life": "output" "animation" "animationSpeed" "datasetQuality" "coverage";
};

/// A picture that shows the effect of a setting.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SettingPicture {
    pub(crate) file: &'static str,
    /// Lists the values that the picture shows, and tells in which order it shows them.
    pub(crate) caption: String,
}

/// A row of the gallery.
#[derive(Deserialize)]
struct Row {
    key: String,
    labels: Option<Vec<String>>,
    #[serde(default)]
    values: Vec<Value>,
    /// Whether the picture shows one row of frames for each value, from top to bottom. Otherwise it shows one frame for
    /// each value, from left to right.
    #[serde(default)]
    film: bool,
}

/// Captions by setting. If a setting has several rows, its picture shows the first row.
static CAPTIONS: LazyLock<BTreeMap<String, String>> = LazyLock::new(|| {
    let rows: Vec<Row> = serde_json::from_str(ROWS).unwrap_or_default();
    rows.into_iter().rev().map(|row| (row.key.clone(), row.caption())).collect()
});

impl Row {
    fn caption(self) -> String {
        let text = |value: Value| match value {
            Value::String(text) => text,
            Value::Null => "unset".to_owned(),
            other => other.to_string(),
        };
        let labels = self.labels.unwrap_or_else(|| self.values.into_iter().map(text).collect());
        let order = if self.film { "From top to bottom" } else { "From left to right" };
        format!("{order}: {}", labels.join(", "))
    }
}

/// Returns the picture of a setting; `None` if no picture can show its effect.
pub(crate) fn picture_of(setting: &str) -> Option<SettingPicture> {
    let is_own =
        |file: &str| file.strip_prefix("setting-").and_then(|rest| rest.strip_suffix(".webp")) == Some(setting);
    let (file, _) = ALL.iter().find(|(file, _)| is_own(file))?;
    Some(SettingPicture { file, caption: CAPTIONS.get(setting).cloned().unwrap_or_default() })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Settings that affect no picture, or whose effect needs several pictures.
    const WITHOUT: [&str; 4] = ["length", "strictCredits", "materialEdits", "decals"];

    #[test]
    fn every_setting_has_a_picture_with_a_caption() {
        for field in plinth_spec::settings::fields() {
            let picture = picture_of(field.key);
            assert_eq!(picture.is_none(), WITHOUT.contains(&field.key), "{}", field.key);
            assert!(picture.is_none_or(|picture| picture.caption.len() > 20), "{}", field.key);
        }
        assert_eq!(picture_of("zoom").unwrap().caption, "From left to right: 0.6, 1, 2");
    }

    #[test]
    fn the_pictures_are_a_small_part_of_the_program() {
        let bytes: usize = ALL.iter().map(|(_file, content)| content.len()).sum();
        assert!(bytes < 800_000, "{bytes} bytes");
    }
}
