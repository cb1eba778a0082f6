//! Where each file of a set lies.

/// The pictures that each view has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Layer {
    /// RGB on white.
    Image,
    /// 8-bit depth between the set's limits.
    Depth,
    /// 16-bit depth between the set's limits.
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

    /// The file of a view. Masks have another stem than images: some trainers apply masks of the same stem by themselves.
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

/// Folders of a set.
pub(crate) const FOLDERS: [&str; 7] =
    ["images", "depth", "depth_16bit", "depth_metric", "normals", "masks", "sparse/0"];
/// Cameras for nerfstudio, instant-ngp, OpenSplat, Brush.
pub(crate) const TRANSFORMS: &str = "transforms.json";
/// Surface points. 3D Gaussian Splatting reads this name only with a lower-case d.
pub(crate) const POINTS: &str = "points3d.ply";
/// All views at a glance.
pub(crate) const OVERVIEW: &str = "overview.webp";
/// Conventions in words.
pub(crate) const README: &str = "README.txt";
/// Hashes of all files.
pub(crate) const MANIFEST: &str = "manifest.json";
