//! Decodes skins.

use glam::Mat4;

use crate::accessor::Reader;
use crate::error::{ModelError, Result};
use crate::model::Skin;
use crate::source::Source;

/// Decodes all skins. The indices of their joints still refer to nodes of the document, not of the model.
pub(crate) fn skins(source: &Source<'_>) -> Result<Vec<Skin>> {
    source
        .root
        .skins
        .iter()
        .enumerate()
        .map(|(i, skin)| {
            let location = format!("skins[{i}]");
            if let Some(joint) = skin.joints.iter().find(|j| **j >= source.root.nodes.len()) {
                return Err(ModelError::invalid(location, format!("joint node {joint} does not exist")));
            }
            let inverse_bind = match skin.inverse_bind_matrices {
                None => vec![Mat4::IDENTITY; skin.joints.len()],
                Some(accessor) => {
                    let reader = Reader::open(source, accessor)?;
                    reader.vectors::<16>()?.iter().map(Mat4::from_cols_array).collect()
                }
            };
            if inverse_bind.len() < skin.joints.len() {
                let (count, needed) = (inverse_bind.len(), skin.joints.len());
                return Err(ModelError::invalid(
                    location,
                    format!("there are {count} inverse bind matrices for {needed} joints"),
                ));
            }
            let inverse_bind = inverse_bind.into_iter().take(skin.joints.len()).collect();
            Ok(Skin { joints: skin.joints.clone(), inverse_bind })
        })
        .collect()
}
