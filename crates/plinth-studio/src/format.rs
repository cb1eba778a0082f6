//! Formats values for display.

use jiff::Timestamp;
use plinth_spec::state::RenderStatus;
use plinth_spec::wire::Scope;

/// A point in time in two formats: one for the HTML attribute `datetime`, one for display.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct DisplayTime {
    pub(crate) machine: String,
    pub(crate) people: String,
}

impl DisplayTime {
    /// Formats a Unix time in milliseconds.
    pub(crate) fn of(ms: i64) -> Self {
        let at = Timestamp::from_millisecond(ms).unwrap_or(Timestamp::MAX);
        let form = |pattern| at.strftime(pattern).to_string();
        Self { machine: form("%Y-%m-%dT%H:%M:%SZ"), people: form("%-d %b %Y, %H:%M UTC") }
    }
}

/// Capitalises a message. Adds a full stop if the message ends without punctuation.
pub(crate) fn sentence(message: &str) -> String {
    let mut letters = message.chars();
    let first = letters.next().map(char::to_uppercase).into_iter().flatten();
    let text: String = first.chain(letters).collect();
    if text.ends_with(['.', '!', '?']) { text } else { text + "." }
}

/// Formats a file size in decimal units, such as `1.2 MB`.
pub(crate) fn size(bytes: u64) -> String {
    let units = [("GB", 1_000_000_000), ("MB", 1_000_000), ("kB", 1_000)];
    let unit = units.into_iter().find(|(_, unit)| bytes >= *unit);
    unit.map_or_else(|| format!("{bytes} bytes"), |(name, unit)| format!("{:.1} {name}", bytes as f64 / unit as f64))
}

/// Returns the label of a render status.
pub(crate) const fn status(status: RenderStatus) -> &'static str {
    match status {
        RenderStatus::Pending => "Waiting",
        RenderStatus::PosterProcessing => "Drawing",
        RenderStatus::PosterDone => "Interrupted, waiting",
        RenderStatus::VideoProcessing => "Making the video",
        RenderStatus::Done => "Done",
        RenderStatus::Error => "Failed",
        RenderStatus::Failed => "Ended",
    }
}

/// Joins the names of scopes with commas.
pub(crate) fn scopes(scopes: &[Scope]) -> String {
    scopes.iter().map(|scope| scope.as_str()).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_formatted_for_display() {
        let moment = DisplayTime::of(1_800_000_000_000);
        assert_eq!(
            (moment.machine.as_str(), moment.people.as_str()),
            ("2027-01-15T08:00:00Z", "15 Jan 2027, 08:00 UTC")
        );
        assert_eq!((size(999), size(1_250_000)), ("999 bytes".to_owned(), "1.2 MB".to_owned()));
        assert_eq!((sentence("état"), sentence("Why?"), sentence("")), ("État.".into(), "Why?".into(), ".".into()));
    }
}
