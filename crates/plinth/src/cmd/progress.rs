//! Shows progress on stderr: as a bar on a terminal, otherwise as plain lines.

use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressStyle};
use plinth_pipeline::{Progress, Stage};

use crate::note::note;

/// Maximum time between two plain lines. A line is also printed whenever a further 10 % of the frames are drawn.
const LINE_EVERY: Duration = Duration::from_secs(30);
/// Refresh interval of the bar.
const TICK: Duration = Duration::from_millis(100);

/// State of the progress display.
pub(crate) struct Shown {
    bar: Option<ProgressBar>,
    quiet: bool,
    stage: Option<Stage>,
    tenth: u32,
    line: Instant,
}

impl Shown {
    pub(crate) fn new(quiet: bool) -> Self {
        let terminal = std::io::IsTerminal::is_terminal(&std::io::stderr());
        let bar = (terminal && !quiet).then(ProgressBar::new_spinner);
        if let Some(bar) = &bar {
            bar.enable_steady_tick(TICK);
        }
        Self { bar, quiet, stage: None, tenth: 0, line: Instant::now() }
    }

    /// Updates the display.
    pub(crate) fn tell(&mut self, progress: Progress) {
        let is_new_stage = self.stage.replace(progress.stage) != Some(progress.stage);
        let left = progress.left.map_or_else(String::new, |left| format!("{} left", clock(left)));
        match &self.bar {
            Some(bar) => {
                bar.set_length(progress.frames.into());
                bar.set_position(progress.frame.into());
                bar.set_prefix(left);
                if is_new_stage {
                    bar.set_message(progress.stage.as_str());
                    bar.set_style(style(progress.stage));
                }
            }
            None if !self.quiet => self.line(progress, is_new_stage, &left),
            None => {}
        }
    }

    fn line(&mut self, progress: Progress, is_new_stage: bool, left: &str) {
        let tenth = (progress.frame * 10).checked_div(progress.frames).unwrap_or(0);
        if !is_new_stage && tenth <= self.tenth && self.line.elapsed() < LINE_EVERY {
            return;
        }
        (self.tenth, self.line) = (tenth, Instant::now());
        let word = progress.stage.as_str();
        match progress.stage {
            Stage::Rendering => note!("{}", format!("{word} {}/{} {left}", progress.frame, progress.frames).trim()),
            _ => note!("{word}"),
        }
    }

    /// Removes the bar from the terminal.
    pub(crate) fn clear(&self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}

fn style(stage: Stage) -> ProgressStyle {
    let template = match stage {
        Stage::Rendering => "{msg:10} {wide_bar} {pos}/{len} {prefix}",
        _ => "{spinner} {msg} {elapsed}",
    };
    ProgressStyle::with_template(template).unwrap_or_else(|_invalid| ProgressStyle::default_bar())
}

/// Formats a duration as minutes and seconds, or as hours, minutes and seconds from one hour on.
fn clock(left: Duration) -> String {
    let secs = left.as_secs();
    let (hours, minutes, secs) = (secs / 3600, secs / 60 % 60, secs % 60);
    if hours > 0 { format!("{hours}:{minutes:02}:{secs:02}") } else { format!("{minutes}:{secs:02}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_left_is_read_like_a_clock() {
        assert_eq!(clock(Duration::from_secs(9)), "0:09");
        assert_eq!(clock(Duration::from_secs(754)), "12:34");
        assert_eq!(clock(Duration::from_secs(3723)), "1:02:03");
    }
}
