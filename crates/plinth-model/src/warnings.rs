//! What was missing or left out, each once and not without end.

/// Most that are told.
const MOST: usize = 50;

/// Sentences for the caller.
#[derive(Debug, Default)]
pub(crate) struct Warnings {
    list: Vec<String>,
    more: usize,
}

impl Warnings {
    /// Adds one that is not there yet.
    pub(crate) fn add(&mut self, warning: &str) {
        let warning: String = warning.chars().take(300).collect();
        if self.list.contains(&warning) {
            return;
        }
        if self.list.len() < MOST {
            self.list.push(warning);
        } else {
            self.more += 1;
        }
    }

    /// All, and how many more there would be.
    pub(crate) fn into_list(self) -> Vec<String> {
        let more = (self.more > 0).then(|| format!("and {} more of the kind", self.more));
        self.list.into_iter().chain(more).collect()
    }
}
