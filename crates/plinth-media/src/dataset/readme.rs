//! `README.txt`: every convention of a set, in a page.

use super::writer::DatasetPlan;

/// The text for a set.
pub(crate) fn text(plan: &DatasetPlan) -> String {
    let c = &plan.cameras;
    let splits = if plan.splits {
        "transforms_{train,val,test}.json\n                    the cameras in three files: every 8th view tests, every 8th validates\n"
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
