//! Classes of queued work. Each worker pool claims some of these classes.

use std::fmt;
use std::str::FromStr;

use crate::named::named;
use crate::quality::Quality;
use crate::settings::{Output, RenderSettings};

named! {
    /// The class of a render in the queue. There is one class of videos per quality, and one class for all datasets.
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
    /// Returns the class of a render that has these settings.
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

/// The work that a worker claims: classes of renders, and previews. By default, a worker claims all work.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Takes {
    classes: Vec<WorkClass>,
    previews: bool,
}

impl Takes {
    /// Name of previews in a list of work. Previews are not queued, so they have no [`WorkClass`].
    pub const PREVIEW: &str = "preview";

    /// Returns whether the worker claims renders of this class. `None` stands for renders that were created before
    /// classes were stored. Every worker that claims renders claims such renders.
    pub fn includes(&self, class: Option<WorkClass>) -> bool {
        class.map_or(!self.classes.is_empty(), |class| self.classes.contains(&class))
    }

    /// Returns whether the worker draws previews.
    pub const fn includes_previews(&self) -> bool {
        self.previews
    }
}

impl Default for Takes {
    fn default() -> Self {
        Self { classes: WorkClass::ALL.to_vec(), previews: true }
    }
}

impl fmt::Display for Takes {
    /// Writes the names of the work, separated by commas and in the order of their declaration.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let classes = WorkClass::ALL.iter().filter(|class| self.includes(Some(**class))).map(|class| class.as_str());
        let names: Vec<&str> = classes.chain(self.previews.then_some(Self::PREVIEW)).collect();
        f.write_str(&names.join(","))
    }
}

/// The error for a text that is not a valid list of work.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a list of work must name at least one class of renders or 'preview', and only known ones")]
pub struct NotTakes;

impl FromStr for Takes {
    type Err = NotTakes;

    /// Parses names separated by commas, such as `share,standard,preview`.
    fn from_str(text: &str) -> Result<Self, NotTakes> {
        let mut takes = Self { classes: Vec::new(), previews: false };
        for name in text.split(',').map(str::trim) {
            match WorkClass::from_name(name) {
                Some(class) => takes.classes.push(class),
                None if name == Self::PREVIEW => takes.previews = true,
                None => return Err(NotTakes),
            }
        }
        Ok(takes)
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
        assert!(!takes.includes_previews());
        assert!(WorkClass::ALL.iter().all(|class| Takes::default().includes(Some(*class))));
        assert_eq!(Takes::default().to_string(), "share,standard,4k,pro,dataset,preview");
        assert_eq!(Takes::default().to_string().parse(), Ok(Takes::default()));
        let only: Takes = "preview".parse().unwrap();
        assert!(only.includes_previews() && !only.includes(None), "a worker that takes no renders at all");
        for wrong in ["", "share,", "Share", "8k", "previews"] {
            assert_eq!(wrong.parse::<Takes>(), Err(NotTakes), "{wrong}");
        }
    }
}
