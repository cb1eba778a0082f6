//! The layers of a dataset. Each view has one image per layer.

use crate::named::named;

named! {
    /// A layer of a dataset. Its name is also the name of the folder that contains its images.
    DatasetLayer {
        /// Colour, composited over white.
        Image = "images",
        /// 8-bit depth between the near and far limits of the dataset.
        Depth = "depth",
        /// 16-bit depth between the near and far limits of the dataset.
        Depth16 = "depth_16bit",
        /// 16-bit depth in thousandths of a unit.
        DepthMetric = "depth_metric",
        /// World-space normals.
        Normal = "normals",
        /// The fraction of each pixel that the model covers.
        Mask = "masks",
    }
}

impl DatasetLayer {
    /// Returns the file name of a view's image without its folder. Masks and colour images have different file names,
    /// because some training programs automatically apply a mask with the same name as an image.
    pub fn file_name(self, view: usize) -> String {
        let prefix = if self == Self::Mask { "mask_" } else { "" };
        format!("{prefix}{view:04}.png")
    }

    /// Returns the path of a view's image inside the dataset.
    pub fn path(self, view: usize) -> String {
        format!("{}/{}", self.as_str(), self.file_name(view))
    }

    /// Returns a description of what the images show.
    pub const fn description(self) -> &'static str {
        match self {
            Self::Image => "colour, on white",
            Self::Depth => "depth between near and far, 8 bits",
            Self::Depth16 => "depth between near and far, 16 bits",
            Self::DepthMetric => "depth in thousandths of a unit, 16 bits",
            Self::Normal => "normals in world space",
            Self::Mask => "coverage by the model",
        }
    }

    /// Returns the heading of this layer's panel in the overview image. Returns `None` if the overview image has no
    /// panel for the layer.
    pub const fn panel_heading(self) -> Option<&'static str> {
        match self {
            Self::Image => Some("images"),
            Self::Depth => Some("depth: closer is darker"),
            Self::Normal => Some("normals: +X red, +Y green, +Z blue"),
            Self::Mask => Some("masks: the model is white"),
            Self::Depth16 | Self::DepthMetric => None,
        }
    }

    /// Returns the entry for this layer in the viewer of the web UI. Returns `None` if the viewer does not show the
    /// layer: of the depth layers, it only shows the 16-bit images.
    pub const fn viewed(self) -> Option<ViewedLayer> {
        let (label, panel) = match self {
            Self::Image => ("Colour", self),
            Self::Depth16 => ("Depth", Self::Depth),
            Self::Normal => ("Normals", self),
            Self::Mask => ("Mask", self),
            Self::Depth | Self::DepthMetric => return None,
        };
        Some(ViewedLayer { id: self, label, panel })
    }
}

/// A layer that the viewer of the web UI offers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
pub struct ViewedLayer {
    /// The layer.
    pub id: DatasetLayer,
    /// The label of the layer in the viewer.
    pub label: &'static str,
    /// The layer whose panel in the overview image shows the same content.
    pub panel: DatasetLayer,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_paths_of_images_stay() {
        let paths: Vec<_> = DatasetLayer::ALL.iter().map(|layer| layer.path(7)).collect();
        let expected = [
            "images/0007.png",
            "depth/0007.png",
            "depth_16bit/0007.png",
            "depth_metric/0007.png",
            "normals/0007.png",
            "masks/mask_0007.png",
        ];
        assert_eq!(paths, expected);
    }

    #[test]
    fn the_overview_has_a_panel_for_each_layer_of_the_viewer() {
        for layer in DatasetLayer::ALL.iter().filter_map(|layer| layer.viewed()) {
            assert!(layer.panel.panel_heading().is_some(), "{layer:?}");
        }
    }
}
