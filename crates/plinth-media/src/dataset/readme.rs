//! Writes `README.txt`, which explains the conventions of a dataset on one page.

use super::writer::DatasetPlan;

/// Returns the text of `README.txt` for a dataset.
pub(crate) fn text(plan: &DatasetPlan) -> String {
    let c = &plan.cameras;
    let splits = if plan.splits {
        "transforms_{train,val,test}.json\n                    the cameras for training, testing (every 8th) and validation (every 8th)\n"
    } else {
        ""
    };
    format!(
        include_str!("readme.txt"),
        version = plan.about.version,
        views = c.world_from_camera.len(),
        width = c.width,
        height = c.height,
        coverage = plan.about.coverage,
        near = c.depth_near,
        far = c.depth_far,
        splits = splits,
    )
}
