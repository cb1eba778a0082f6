//! Finds the entry points of a composed shader. Shaders of this crate have one entry point per stage, named `vs` and
//! `fs`.

/// An entry point of a shader.
pub(super) struct EntryPoint<'a> {
    /// The text of the shader before the entry point. `after` is the text after the entry point.
    pub(super) before: &'a str,
    pub(super) after: &'a str,
    pub(super) arguments: &'a str,
    pub(super) result: &'a str,
    /// The body without its braces.
    pub(super) body: &'a str,
}

impl<'a> EntryPoint<'a> {
    /// Finds the entry point whose text begins with `opening`.
    pub(super) fn find(source: &'a str, opening: &str) -> Option<Self> {
        let (before, rest) = source.split_once(opening)?;
        let (arguments, rest) = rest.split_once(") -> ")?;
        if arguments.contains('{') {
            return None;
        }
        let (result, rest) = rest.split_once(" {\n")?;
        let (body, after) = rest.split_once("\n}\n")?;
        Some(Self { before, after, arguments: arguments.trim().trim_end_matches(','), result, body })
    }

    /// Returns the names of the arguments.
    pub(super) fn names(&self) -> Vec<&'a str> {
        let before_types = self.arguments.split(": ").map(|part| part.rsplit([' ', '\n']).next().unwrap_or(part));
        let count = self.arguments.matches(": ").count();
        before_types.take(count).collect()
    }
}

/// Removes attributes such as `@location(0)`.
pub(super) fn without_attributes(text: &str) -> String {
    let mut parts = text.split('@');
    let plain = parts.next().unwrap_or_default().to_owned();
    parts.fold(plain, |plain, part| plain + part.split_once(") ").map_or(part, |(_, rest)| rest))
}
