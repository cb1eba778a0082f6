//! Collects warnings without duplicates. Only a limited number of warnings is stored.

/// Maximum number of warnings that are stored.
const MAX_WARNINGS: usize = 50;

/// Warnings about a model that is being loaded.
#[derive(Debug, Default)]
pub(crate) struct Warnings {
    list: Vec<String>,
    omitted: usize,
}

impl Warnings {
    /// Adds a warning unless it is a duplicate. If the maximum number is already stored, the warning is only counted.
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

    /// Returns the warnings. If warnings were omitted, the last entry contains their number.
    pub(crate) fn into_list(self) -> Vec<String> {
        let omitted = (self.omitted > 0).then(|| format!("and {} more warnings", self.omitted));
        self.list.into_iter().chain(omitted).collect()
    }
}
