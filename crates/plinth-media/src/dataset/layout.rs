//! Paths of the files of a dataset.

/// The kinds of images of each view.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Layer {
    /// Colour image, composited on white.
    Image,
    /// 8-bit depth between the near and far limits of the dataset.
    Depth,
    /// 16-bit depth between the near and far limits of the dataset.
    Depth16,
    /// 16-bit depth in thousandths of a unit.
    DepthMetric,
    /// World-space normals.
    Normal,
    /// Mask: the fraction of each pixel that the model covers.
    Mask,
}

impl Layer {
    pub(crate) const ALL: [Self; 6] =
        [Self::Image, Self::Depth, Self::Depth16, Self::DepthMetric, Self::Normal, Self::Mask];

    /// Returns the path of an image inside the dataset. Masks and colour images have different file names, because some
    /// trainers automatically apply a mask with the same name.
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

pub(crate) const FOLDERS: [&str; 7] =
    ["images", "depth", "depth_16bit", "depth_metric", "normals", "masks", "sparse/0"];
/// File with the cameras for nerfstudio, instant-ngp, OpenSplat and Brush.
pub(crate) const TRANSFORMS: &str = "transforms.json";
/// File with surface points. 3D Gaussian Splatting only finds it if the `d` is lower-case.
pub(crate) const POINTS: &str = "points3d.ply";
/// Image that shows all views.
pub(crate) const OVERVIEW: &str = "overview.webp";
/// Text file that explains the conventions of the dataset.
pub(crate) const README: &str = "README.txt";
/// File with metadata of the dataset and the hashes of all other files.
pub(crate) const MANIFEST: &str = "manifest.json";
