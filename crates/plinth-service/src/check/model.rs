//! Reading a file as a renderer will, and telling what is in it.

use std::fs::File;
use std::io::{Read as _, Write as _};

use plinth_model::obj_zip::{self, ImportError};
use plinth_model::{Inventory, LoadOptions, inspect};
use plinth_spec::wire::Animation;
use serde::{Deserialize, Serialize};

/// What a file was found to be. One process may tell it to another.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum FileReport {
    /// A model.
    Model {
        /// Its clips.
        animations: Vec<Animation>,
        /// Names of its meshes, as a render knows them.
        mesh_names: Vec<String>,
        /// Names of its materials.
        material_names: Vec<String>,
    },
    /// Not a model.
    Refused {
        /// The HTTP status of the answer.
        status: u16,
        /// Why.
        message: String,
    },
}

/// Reads a GLB; or a ZIP with an OBJ, which becomes a GLB in the file `to`.
/// Errors: a file that cannot be read or written.
pub fn check_file(mut file: File, to: Option<File>) -> std::io::Result<FileReport> {
    let mut bytes = Vec::new();
    file.read_to_end(&mut bytes)?;
    let options = LoadOptions::default();
    if let Some(mut to) = to {
        match obj_zip::glb_from_zip(&bytes, &options.limits) {
            Ok(converted) => bytes = converted.glb,
            Err(error) => return Ok(refused_zip(&error)),
        }
        to.write_all(&bytes)?;
    }
    Ok(match inspect(&bytes, &options) {
        Ok(Inventory { animations, mesh_names, material_names, .. }) => {
            let animations = animations.into_iter().map(|clip| Animation {
                name: clip.name,
                duration: f64::from(clip.duration),
                channels: clip.channels as u64,
            });
            FileReport::Model { animations: animations.collect(), mesh_names, material_names }
        }
        Err(error) => FileReport::Refused { status: 422, message: error.to_string() },
    })
}

fn refused_zip(error: &ImportError) -> FileReport {
    let status = if matches!(error, ImportError::TooLarge { .. }) { 400 } else { 422 };
    FileReport::Refused { status, message: error.to_string() }
}
