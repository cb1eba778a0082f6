//! Paths of the files that describe a dataset. The paths of its images are in `DatasetLayer`.

/// Folder of the files for COLMAP.
pub(crate) const COLMAP: &str = "sparse/0";
/// File with the cameras for nerfstudio, instant-ngp, OpenSplat and Brush.
pub(crate) const TRANSFORMS: &str = "transforms.json";
/// File with surface points. The name is spelled with a lower-case `d`, because 3D Gaussian Splatting only finds this
/// spelling.
pub(crate) const POINTS: &str = "points3d.ply";
/// Image that shows all views.
pub(crate) const OVERVIEW: &str = "overview.webp";
/// Text file that explains the conventions of the dataset.
pub(crate) const README: &str = "README.txt";
/// File with metadata of the dataset and the hashes of all other files.
pub(crate) const MANIFEST: &str = "manifest.json";
