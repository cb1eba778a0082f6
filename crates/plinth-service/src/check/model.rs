//! Checks model files with the same reader that the renderer uses.

use std::fs::File;
use std::io::{Read as _, Write as _};

use crate::models::ModelContents;
use plinth_model::obj_zip::{self, ImportError};
use plinth_model::{Inventory, LoadOptions, inspect};
use plinth_spec::limits;
use plinth_spec::wire::Animation;
use serde::{Deserialize, Serialize};

// The model reader does not know the limits of the service.
const _: () = assert!(obj_zip::UNPACKED_BYTES == limits::ZIP_UNPACKED_BYTES, "one limit for unpacked archives");

/// Result of checking a model file. A checker process prints it as JSON.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum FileReport {
    Model {
        animations: Vec<Animation>,
        /// Mesh names in the form that render settings use.
        mesh_names: Vec<String>,
        material_names: Vec<String>,
        /// The other contents of the model.
        contents: Box<ModelContents>,
    },
    /// The file is not a model.
    Rejected {
        /// HTTP status of the response.
        status: u16,
        /// Reason, for the caller.
        message: String,
    },
}

/// Checks a model file. With `to`, the file is a ZIP with an OBJ model, which is converted to a GLB and written to
/// `to`.
/// Errors: a file cannot be read or written.
pub fn check_file(mut file: File, to: Option<File>) -> std::io::Result<FileReport> {
    let mut bytes = Vec::new();
    file.read_to_end(&mut bytes)?;
    let options = LoadOptions::default();
    let mut warnings = Vec::new();
    if let Some(mut to) = to {
        match obj_zip::glb_from_zip(&bytes, &options.limits) {
            Ok(converted) => (bytes, warnings) = (converted.glb, converted.warnings),
            Err(error) => return Ok(rejected_zip(&error)),
        }
        to.write_all(&bytes)?;
    }
    Ok(match inspect(&bytes, &options) {
        Ok(mut inventory) => {
            inventory.warnings.splice(0..0, warnings);
            let contents = Box::new(ModelContents::of(&inventory));
            let Inventory { animations, mesh_names, material_names, .. } = inventory;
            let animations = animations.into_iter().map(|clip| Animation {
                name: clip.name,
                duration: f64::from(clip.duration),
                channels: clip.channels as u64,
            });
            FileReport::Model { animations: animations.collect(), mesh_names, material_names, contents }
        }
        Err(error) => FileReport::Rejected { status: 422, message: error.to_string() },
    })
}

fn rejected_zip(error: &ImportError) -> FileReport {
    let status = if matches!(error, ImportError::TooLarge { .. }) { 400 } else { 422 };
    FileReport::Rejected { status, message: error.to_string() }
}
