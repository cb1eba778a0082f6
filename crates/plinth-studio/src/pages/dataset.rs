//! The facts about a dataset that the page of its render shows.

use plinth_service::Service;
use plinth_service::access::Caller;
use plinth_service::delivery::{DatasetFolder, DatasetSummary};
use plinth_spec::DatasetLayer;
use serde_json::json;

use crate::format::{self, sentence};

/// The facts about a dataset, formatted for the page.
pub(super) struct DatasetFacts {
    /// Names and values of single facts.
    pub(super) facts: Vec<(&'static str, String)>,
    pub(super) folders: Vec<FolderRow>,
    /// The layers that the viewer offers, as JSON.
    pub(super) layers: String,
    /// Warnings about the model and the settings.
    pub(super) warnings: Vec<String>,
}

/// A folder of the dataset.
pub(super) struct FolderRow {
    pub(super) name: String,
    /// Label that describes the files.
    pub(super) label: &'static str,
    pub(super) files: u64,
    pub(super) size: String,
}

impl DatasetFacts {
    /// Reads the facts about a finished dataset. Returns `None` if its archive cannot be read; the reason is logged.
    pub(super) async fn read(service: &Service, caller: &Caller, id: &str) -> Option<Self> {
        match service.dataset_summary(caller, id).await {
            Ok(summary) => summary.map(Self::of),
            Err(error) => {
                error.log();
                None
            }
        }
    }

    fn of(about: DatasetSummary) -> Self {
        let DatasetSummary { width, height, depth_near, depth_far, model_units_per_unit, .. } = about;
        let facts = vec![
            ("Views", about.views.to_string()),
            ("Size of the images", format!("{width}×{height} pixels")),
            ("Cameras", coverage(&about.coverage).to_owned()),
            ("Angle of view", format!("{:.1}° ({:.1} pixels focal length)", about.angle_degrees, about.focal_pixels)),
            ("Depth", format!("{depth_near:.3} to {depth_far:.3} units")),
            ("One unit", format!("{} units of the model’s file", significant(model_units_per_unit))),
            ("Made by", format!("Plinth {}", about.version)),
            ("Adapter", about.adapter),
        ];
        Self {
            facts,
            layers: viewed_layers(),
            folders: about.folders.into_iter().map(FolderRow::of).collect(),
            warnings: about.warnings.iter().map(|warning| sentence(warning)).collect(),
        }
    }
}

impl FolderRow {
    fn of(DatasetFolder { name, files, bytes }: DatasetFolder) -> Self {
        let label = match name.as_str() {
            "" => "descriptions, cameras, points",
            "sparse/0" => "cameras and points for COLMAP",
            folder => DatasetLayer::from_name(folder).map_or("", DatasetLayer::description),
        };
        Self { name, label, files, size: format::size(bytes) }
    }
}

fn viewed_layers() -> String {
    let layers: Vec<_> = DatasetLayer::ALL.iter().filter_map(|layer| layer.viewed()).collect();
    json!(layers).to_string()
}

fn coverage(name: &str) -> &str {
    match name {
        "hemisphere" => "on a hemisphere, from above the horizon",
        "sphere" => "on a whole sphere",
        "given" => "given",
        other => other,
    }
}

/// Formats a number with four significant digits, but at most twelve digits after the decimal point.
fn significant(value: f64) -> String {
    let (mut digits, mut scaled) = (0, value);
    while scaled > 0.0 && scaled < 1000.0 && digits < 12 {
        scaled *= 10.0;
        digits += 1;
    }
    format!("{value:.digits$}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_four_significant_digits() {
        let shown = [0.0, 0.000_123_456, 0.5, 2.25, 1234.56, 98_765.4].map(significant);
        assert_eq!(shown, ["0", "0.0001235", "0.5000", "2.250", "1235", "98765"]);
    }
}
