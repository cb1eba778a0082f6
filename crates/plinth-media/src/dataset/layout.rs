//! Paths of the files of a dataset.

/// Images of each view.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Layer {
    /// RGB on white.
    Image,
    /// 8-bit depth relative to the dataset's limits.
    Depth,
    /// 16-bit depth relative to the dataset's limits.
    Depth16,
    /// 16-bit depth in thousandths of a unit.
    DepthMetric,
    /// World-space normals.
    Normal,
    /// Coverage.
    Mask,
}

impl Layer {
    pub(crate) const ALL: [Self; 6] =
        [Self::Image, Self::Depth, Self::Depth16, Self::DepthMetric, Self::Normal, Self::Mask];

    /// Returns the path of an image. Masks have another file name than images, because some trainers apply masks of the
    /// same name automatically.
    pub(crate) fn path(self, view: usize) -> String {
        match self {
            Self::Image => format!("images/{view:04}.png"),
            Self::Depth => format!("depth/{view:04}.png"),
            Self::Depth16 => format!("depth_16bit/{view:04}.png"),
            Self::DepthMetric => format!("depth_metric/{view:04}.png"),
            Self::Normal => format!("normals/{view:04}.png"),
            Self::Mask => format!("masks/mask_{view:04}.png"),
        }
    }
}

/// Folders of a dataset.
pub(crate) const FOLDERS: [&str; 7] =
    ["images", "depth", "depth_16bit", "depth_metric", "normals", "masks", "sparse/0"];
/// Cameras for nerfstudio, instant-ngp, OpenSplat, Brush.
pub(crate) const TRANSFORMS: &str = "transforms.json";
/// Surface points. 3D Gaussian Splatting reads this name only with a lower-case d.
pub(crate) const POINTS: &str = "points3d.ply";
/// All views in one image.
pub(crate) const OVERVIEW: &str = "overview.webp";
/// Text file that explains the conventions.
pub(crate) const README: &str = "README.txt";
/// Hashes of all files.
pub(crate) const MANIFEST: &str = "manifest.json";
