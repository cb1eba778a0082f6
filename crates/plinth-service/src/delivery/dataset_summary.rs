//! Facts about a dataset for its page in the web UI, from `manifest.json` and `transforms.json` in its archive.

use plinth_spec::OutputFile;
use serde::Deserialize;
use serde::de::DeserializeOwned;

use super::file::locate;
use crate::access::Caller;
use crate::error::{Result, ServiceError};
use crate::service::Service;

/// Maximum size in bytes of `manifest.json` and of `transforms.json`. In the largest dataset, each has less than 1 MB.
const ABOUT_BYTES: u64 = 8 << 20;
/// Maximum number of folders that a manifest may list. Datasets have eight folders.
const MAX_FOLDERS: usize = 64;

/// Facts about a dataset.
#[derive(Clone, Debug, PartialEq)]
pub struct DatasetSummary {
    pub views: u64,
    /// Width of the images in pixels.
    pub width: u32,
    /// Height of the images in pixels.
    pub height: u32,
    /// The part of the sphere on which the cameras are.
    pub coverage: String,
    /// Horizontal angle of view in degrees.
    pub angle_degrees: f64,
    /// Focal length in pixels.
    pub focal_pixels: f64,
    /// Smallest depth of all views, in units of the dataset.
    pub depth_near: f64,
    /// Largest depth of all views, in units of the dataset.
    pub depth_far: f64,
    /// Length of a unit of the dataset in units of the model's file.
    pub model_units_per_unit: f64,
    /// Version of the program that made the dataset.
    pub version: String,
    /// Graphics adapter that drew the views.
    pub adapter: String,
    /// Warnings about the model and the settings.
    pub warnings: Vec<String>,
    /// The folders, in the order of the archive.
    pub folders: Vec<DatasetFolder>,
}

/// A folder of a dataset.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DatasetFolder {
    /// Path; empty for files that are in no folder.
    pub name: String,
    pub files: u64,
    /// Size of all files in bytes.
    pub bytes: u64,
}

/// The members of `manifest.json` that are used in a [`DatasetSummary`].
#[derive(Deserialize)]
struct Manifest {
    version: String,
    adapter: String,
    coverage: String,
    #[serde(default)]
    warnings: Vec<String>,
    views: u64,
    width: u32,
    height: u32,
    files: Vec<ListedFile>,
}

#[derive(Deserialize)]
struct ListedFile {
    path: String,
    bytes: u64,
}

/// The members of `transforms.json` that are used in a [`DatasetSummary`].
#[derive(Deserialize)]
struct Transforms {
    camera_angle_x: f64,
    fl_x: f64,
    depth_near: f64,
    depth_far: f64,
    model_from_scene: [[f64; 4]; 4],
}

impl Service {
    /// Returns the facts about a finished dataset; `None` if the render is no finished dataset.
    /// Errors: the archive of the dataset is damaged.
    pub async fn dataset_summary(&self, caller: &Caller, id: &str) -> Result<Option<DatasetSummary>> {
        let render = self.render_row(caller, id).await?;
        if locate(&render, OutputFile::Dataset)?.is_none() {
            return Ok(None);
        }
        let manifest = self.open_dataset_file(&render, "manifest.json").await?.read_all(ABOUT_BYTES).await?;
        let transforms = self.open_dataset_file(&render, "transforms.json").await?.read_all(ABOUT_BYTES).await?;
        summary(parsed(&manifest)?, &parsed(&transforms)?).map(Some)
    }
}

fn parsed<T: DeserializeOwned>(json: &[u8]) -> Result<T> {
    serde_json::from_slice(json).map_err(ServiceError::internal)
}

fn summary(manifest: Manifest, transforms: &Transforms) -> Result<DatasetSummary> {
    Ok(DatasetSummary {
        views: manifest.views,
        width: manifest.width,
        height: manifest.height,
        coverage: manifest.coverage,
        angle_degrees: transforms.camera_angle_x.to_degrees(),
        focal_pixels: transforms.fl_x,
        depth_near: transforms.depth_near,
        depth_far: transforms.depth_far,
        model_units_per_unit: scale(&transforms.model_from_scene),
        version: manifest.version,
        adapter: manifest.adapter,
        warnings: manifest.warnings,
        folders: folders(&manifest.files)?,
    })
}

/// Returns the factor by which a transform scales lengths: the cube root of the determinant of its 3×3 part.
fn scale(m: &[[f64; 4]; 4]) -> f64 {
    let minor = |a: usize, b: usize| m[1][a] * m[2][b] - m[1][b] * m[2][a];
    (m[0][0] * minor(1, 2) - m[0][1] * minor(0, 2) + m[0][2] * minor(0, 1)).abs().cbrt()
}

fn folders(files: &[ListedFile]) -> Result<Vec<DatasetFolder>> {
    let mut folders: Vec<DatasetFolder> = Vec::new();
    for file in files {
        let name = file.path.rsplit_once('/').map_or("", |(folder, _name)| folder);
        if let Some(folder) = folders.iter_mut().find(|folder| folder.name == name) {
            folder.files += 1;
            folder.bytes = folder.bytes.saturating_add(file.bytes);
            continue;
        }
        if folders.len() == MAX_FOLDERS {
            return Err(ServiceError::internal("the manifest of the dataset lists too many folders"));
        }
        folders.push(DatasetFolder { name: name.to_owned(), files: 1, bytes: file.bytes });
    }
    Ok(folders)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_counted_by_folder() {
        let listed = |(path, bytes): (&str, u64)| ListedFile { path: path.to_owned(), bytes };
        let files =
            [("README.txt", 5), ("sparse/0/a.txt", 1), ("images/0000.png", 7), ("images/0001.png", 8), ("x", 2)];
        let found = folders(&files.map(listed)).unwrap();
        let found: Vec<_> = found.iter().map(|folder| (folder.name.as_str(), folder.files, folder.bytes)).collect();
        assert_eq!(found, [("", 2, 7), ("sparse/0", 1, 1), ("images", 2, 15)]);
        let many: Vec<_> = (0..100).map(|i| ListedFile { path: format!("{i}/x"), bytes: 1 }).collect();
        assert!(folders(&many).is_err());
    }

    #[test]
    fn the_scale_of_a_transform_does_not_depend_on_its_rotation() {
        let turned = [[0.0, -2.5, 0.0, 9.0], [2.5, 0.0, 0.0, 9.0], [0.0, 0.0, 2.5, 9.0], [0.0, 0.0, 0.0, 1.0]];
        assert!((scale(&turned) - 2.5).abs() < 1e-12);
    }
}
