//! Classes of queued work. A worker pool claims some of these classes.

use std::fmt;
use std::str::FromStr;

use crate::named::named;
use crate::quality::Quality;
use crate::settings::{Output, RenderSettings};

named! {
    /// The class of a render in the queue. Videos have one class per quality. All datasets have the same class.
    WorkClass {
        /// Videos of the quality `share`, and free previews.
        Share = "share",
        /// Videos of the quality `standard`.
        Standard = "standard",
        /// Videos of the quality `4k`.
        FourK = "4k",
        /// Videos of the quality `pro`.
        Pro = "pro",
        /// Datasets of any quality.
        Dataset = "dataset",
    }
}

impl WorkClass {
    /// Returns the class of a render with these settings.
    pub fn of(settings: &RenderSettings) -> Self {
        let video = settings.video();
        match (video.output, video.quality) {
            (Output::Dataset, _) => Self::Dataset,
            (Output::Video, Quality::Share) => Self::Share,
            (Output::Video, Quality::Standard) => Self::Standard,
            (Output::Video, Quality::FourK) => Self::FourK,
            (Output::Video, Quality::Pro) => Self::Pro,
        }
    }
}

/// The classes of work that a worker takes. The default is all classes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Takes(Vec<WorkClass>);

impl Takes {
    /// Returns whether the worker takes work of this class. `None` is the class of renders that were created before
    /// classes were stored; every worker takes these renders.
    pub fn includes(&self, class: Option<WorkClass>) -> bool {
        class.is_none_or(|class| self.0.contains(&class))
    }
}

impl Default for Takes {
    fn default() -> Self {
        Self(WorkClass::ALL.to_vec())
    }
}

impl fmt::Display for Takes {
    /// Writes the names of the classes in the form in which they are parsed.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<&str> = self.0.iter().map(|class| class.as_str()).collect();
        f.write_str(&names.join(","))
    }
}

/// The error for a text that is not a list of classes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a list of classes of work must name at least one, and only known ones")]
pub struct NotTakes;

impl FromStr for Takes {
    type Err = NotTakes;

    /// Parses names separated by commas, such as `share,standard`.
    fn from_str(text: &str) -> Result<Self, NotTakes> {
        let names = text.split(',').map(str::trim);
        names.map(WorkClass::from_name).collect::<Option<Vec<_>>>().map(Self).ok_or(NotTakes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::settings::ParseOptions;

    #[test]
    fn every_quality_of_videos_is_a_class_and_datasets_are_one() {
        let class = |text: &str| WorkClass::of(&RenderSettings::from_text(text, ParseOptions::default()).unwrap());
        for quality in Quality::NAMES {
            assert_eq!(class(&format!(r#"{{"quality": "{quality}", "length": 1}}"#)).as_str(), *quality);
        }
        assert_eq!(class(r#"{"output": "dataset"}"#), WorkClass::Dataset);
        assert_eq!(WorkClass::NAMES.len(), Quality::NAMES.len() + 1);
    }

    #[test]
    fn lists_of_classes_are_parsed() {
        let takes: Takes = "share, 4k".parse().unwrap();
        assert!(
            takes.includes(Some(WorkClass::FourK)) && !takes.includes(Some(WorkClass::Pro)) && takes.includes(None)
        );
        assert_eq!(takes.to_string(), "share,4k");
        assert!(WorkClass::ALL.iter().all(|class| Takes::default().includes(Some(*class))));
        for wrong in ["", "share,", "Share", "8k"] {
            assert_eq!(wrong.parse::<Takes>(), Err(NotTakes), "{wrong}");
        }
    }
}
