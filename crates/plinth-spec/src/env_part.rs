//! The parts of an environment. Each part is a form field when an environment is uploaded, and an object in the store.

use crate::named::named;

named! {
    /// A part of an environment. Its name is also the name of the form field.
    EnvPart {
        /// The base image for SDR displays.
        Sdr = "sdr",
        /// The gain map, which extends the base image to HDR.
        GainMap = "gainmap",
        /// The metadata of the gain map.
        Metadata = "metadata",
        /// A thumbnail of the environment.
        Thumb = "thumb",
    }
}

impl EnvPart {
    /// Returns the parts that every environment has. A render needs exactly these parts.
    pub fn required() -> impl Iterator<Item = Self> {
        Self::ALL.iter().copied().filter(|part| *part != Self::Thumb)
    }

    /// Returns whether the part is a JSON file. All other parts are WebP images.
    pub const fn is_json(self) -> bool {
        matches!(self, Self::Metadata)
    }

    /// Returns the file name of the part.
    pub fn file_name(self) -> String {
        format!("{}.{}", self.as_str(), if self.is_json() { "json" } else { "webp" })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_names_of_stored_objects_stay() {
        let names: Vec<_> = EnvPart::ALL.iter().map(|part| part.file_name()).collect();
        assert_eq!(names, ["sdr.webp", "gainmap.webp", "metadata.json", "thumb.webp"]);
    }

    #[test]
    fn an_environment_may_lack_only_its_thumbnail() {
        assert!(EnvPart::required().eq([EnvPart::Sdr, EnvPart::GainMap, EnvPart::Metadata]));
    }
}
