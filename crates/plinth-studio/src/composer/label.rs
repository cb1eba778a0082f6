//! Builds the labels of settings from their names in the API.

/// Words in the names of settings, with the text that replaces them in labels. A word with an empty text is left out.
const WORDS: [(&str, &str); 12] = [
    ("bg", "background"),
    ("env", "environment"),
    ("n8ao", "ambient occlusion"),
    ("dof", "depth of field"),
    ("kf", "keyframe"),
    ("fov", "field of view"),
    ("id", ""),
    ("enabled", ""),
    ("x", "X"),
    ("y", "Y"),
    ("z", "Z"),
    ("ior", "IOR"),
];

/// Returns the label of a setting: `bgColor` becomes `Background color`.
pub(super) fn label(key: &str) -> String {
    let mut words: Vec<String> = vec![String::new()];
    for c in key.chars() {
        if c.is_uppercase() {
            words.push(String::new());
        }
        if let Some(word) = words.last_mut() {
            word.extend(c.to_lowercase());
        }
    }
    let spelled = |word: String| {
        let known = WORDS.iter().find(|(short, _)| *short == word);
        known.map_or(word, |(_, long)| (*long).to_owned())
    };
    capitalized(&words.into_iter().map(spelled).filter(|word| !word.is_empty()).collect::<Vec<_>>().join(" "))
}

/// Returns the setting that an error message is about. The messages begin with the name of the setting.
pub(crate) fn setting_of(message: &str) -> Option<&'static str> {
    let name = message.split(|c: char| !c.is_ascii_alphanumeric()).next()?;
    plinth_spec::settings::field(name).map(|field| field.key)
}

/// Replaces the name of a setting at the beginning of an error message with its label.
pub(crate) fn with_label(message: &str) -> String {
    let rest = setting_of(message).and_then(|key| Some((key, message.strip_prefix(key)?)));
    rest.map_or_else(|| message.to_owned(), |(key, rest)| label(key) + rest)
}

/// Returns the label of a value that is a name: `hero-spin` becomes `Hero spin`. Values without letters, such as `16:9`,
/// stay unchanged.
pub(super) fn name_label(name: &str) -> String {
    capitalized(&name.replace('-', " "))
}

/// Makes the first letter of a text upper-case.
pub(super) fn capitalized(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map(char::to_uppercase).into_iter().flatten().chain(letters).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_name_the_setting_as_its_control_does() {
        assert_eq!(with_label("bgColor must be a colour"), "Background color must be a colour");
        assert_eq!(with_label("decals[0] needs a size"), "Decals[0] needs a size");
        assert_eq!(setting_of("decals[0] needs a size"), Some("decals"));
        assert_eq!(with_label("the balance is too low"), "the balance is too low");
    }

    #[test]
    fn names_become_words() {
        let labels =
            ["bgColor", "panX", "n8aoEnabled", "dofStrength", "envId", "kfSegmentDuration", "quality"].map(label);
        let expected = [
            "Background color",
            "Pan X",
            "Ambient occlusion",
            "Depth of field strength",
            "Environment",
            "Keyframe segment duration",
            "Quality",
        ];
        assert_eq!(labels, expected);
        assert_eq!(name_label("hero-spin"), "Hero spin");
    }
}
