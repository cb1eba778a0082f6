//! The bar chart that shows the number of renders in each hour.

use plinth_service::admin::HourCount;

use crate::format::{DisplayTime, time_of_day};

/// Height of the chart, and width of the bar of one hour, in SVG units.
const CHART: (u64, usize) = (100, 20);

/// The bar of one hour.
pub(super) struct Bar {
    pub(super) x: usize,
    pub(super) title: String,
    pub(super) done_y: u64,
    pub(super) done_height: u64,
    pub(super) failed_y: u64,
    pub(super) failed_height: u64,
}

/// Returns the highest number of renders in one hour.
pub(super) fn most_in_hour(hours: &[HourCount]) -> u64 {
    hours.iter().map(|hour| hour.done + hour.failed).max().unwrap_or_default()
}

/// Returns one bar per hour, scaled to the height of the chart. The part for failed renders is above the part for
/// successful renders.
pub(super) fn bars(hours: &[HourCount]) -> Vec<Bar> {
    let (height, width) = CHART;
    let most = most_in_hour(hours).max(1);
    // A part with renders is at least one unit high, so that a single failure is visible.
    let scaled = |count: u64| if count == 0 { 0 } else { (count * height / most).max(1) };
    let bar = |(number, hour): (usize, &HourCount)| {
        let (done, failed) = (scaled(hour.done), scaled(hour.failed));
        Bar {
            x: number * width,
            title: format!(
                "{} to {}: {} done, {} failed",
                DisplayTime::of(hour.begin).people,
                time_of_day(hour.begin + 3_600_000),
                hour.done,
                hour.failed
            ),
            done_y: height.saturating_sub(done),
            done_height: done,
            failed_y: height.saturating_sub(done + failed),
            failed_height: failed,
        }
    };
    hours.iter().enumerate().map(bar).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_single_failure_is_visible_beside_many_renders() {
        let hour = |done, failed| HourCount { begin: 0, done, failed };
        let bars = bars(&[hour(10_000, 0), hour(0, 1), hour(0, 0)]);
        let heights: Vec<_> = bars.iter().map(|bar| (bar.x, bar.done_height, bar.failed_height)).collect();
        assert_eq!(heights, [(0, 100, 0), (20, 0, 1), (40, 0, 0)]);
        assert_eq!((bars[0].done_y, bars[1].failed_y, bars[2].done_y), (0, 99, 100));
    }
}
