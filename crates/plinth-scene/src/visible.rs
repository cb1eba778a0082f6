//! The part of a model that the frames show.

use plinth_model::Model;

/// The nodes and the clip of a model that the frames show.
#[derive(Clone, Copy)]
pub(crate) struct Visible<'a> {
    /// Whether each node is hidden.
    pub(crate) hidden: &'a [bool],
    /// Index of the clip that is played.
    pub(crate) clip: Option<usize>,
}

impl Visible<'_> {
    /// Returns for each mesh how often it is drawn, including instances.
    pub(crate) fn draw_counts(self, model: &Model) -> Vec<usize> {
        let mut counts = vec![0; model.meshes.len()];
        for (node, _) in model.nodes.iter().zip(self.hidden).filter(|(_, hidden)| !**hidden) {
            if let Some(mesh) = node.mesh
                && let Some(count) = counts.get_mut(mesh)
            {
                *count += node.instances.len().max(1);
            }
        }
        counts
    }
}
