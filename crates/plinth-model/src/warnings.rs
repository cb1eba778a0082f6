//! Collects warning messages without duplicates, up to a maximum number.

/// Maximum number of stored messages.
const MAX_WARNINGS: usize = 50;

/// The warnings of one load.
#[derive(Debug, Default)]
pub(crate) struct Warnings {
    list: Vec<String>,
    omitted: usize,
}

impl Warnings {
    /// Adds a message, unless it is a duplicate. Beyond the maximum, messages are only counted.
    pub(crate) fn add(&mut self, warning: &str) {
        let warning: String = warning.chars().take(300).collect();
        if self.list.contains(&warning) {
            return;
        }
        if self.list.len() < MAX_WARNINGS {
            self.list.push(warning);
        } else {
            self.omitted += 1;
        }
    }

    /// Returns the messages, and at the end the number of omitted ones.
    pub(crate) fn into_list(self) -> Vec<String> {
        let omitted = (self.omitted > 0).then(|| format!("and {} more warnings", self.omitted));
        self.list.into_iter().chain(omitted).collect()
    }
}
