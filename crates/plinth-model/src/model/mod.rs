//! The decoded model: the data that a renderer needs, in a form that does not depend on the encoding of the file.
//!
//! The conventions are those of glTF 2.0: +Y is up, coordinates are right-handed and in metres, front faces are
//! counter-clockwise, colour factors are linear, and v points down in texture coordinates. All indices have been
//! checked against the lists that they refer to.

mod animation;
mod light;
mod material;
mod mesh;
mod node;
mod pixels;
mod texture;

use std::collections::BTreeSet;
use std::sync::Arc;

use rayon::prelude::*;

pub use animation::{Animation, Channel, Interpolation, Property, Skin};
pub use light::{Light, LightKind};
pub use material::{
    AlphaMode, Anisotropy, Clearcoat, DiffuseTransmission, Iridescence, Material, Sheen, Transmission, Volume,
};
pub use mesh::{Mesh, MorphTarget, Primitive, Topology};
pub use node::{Node, Transform, Trs};
pub use pixels::{ImageFacts, KnownImages, Pixels};
pub use texture::{Image, Sampler, Texture, TextureRef, Wrap};

/// A decoded model.
#[derive(Clone, Debug, Default)]
pub struct Model {
    /// The nodes of the default scene. Parents precede their children.
    pub nodes: Vec<Node>,
    /// Meshes. Nodes refer to them by index.
    pub meshes: Vec<Mesh>,
    /// Materials. When a file has been loaded, the last material is the default material of glTF, for primitives without
    /// a material.
    pub materials: Vec<Material>,
    /// Textures. A texture is an image with a sampler. Materials refer to textures by index.
    pub textures: Vec<Texture>,
    /// Images, which copies of the model share. Textures refer to them by index.
    pub images: Vec<Arc<Image>>,
    /// Skins. Nodes refer to them by index.
    pub skins: Vec<Skin>,
    /// Animation clips.
    pub animations: Vec<Animation>,
    /// Lights of KHR_lights_punctual. Nodes refer to them by index.
    pub lights: Vec<Light>,
    /// Messages for the user about data in the file that was ignored or repaired.
    pub warnings: Vec<String>,
}

impl Model {
    /// Decodes images at the same time, unless they are decoded already.
    pub fn decode_images(&self, indices: impl IntoIterator<Item = usize>) {
        let images: BTreeSet<usize> = indices.into_iter().collect();
        images.into_par_iter().filter_map(|index| self.images.get(index)).for_each(|image| image.pixels.decode());
    }

    /// Returns the number of bytes that all images and vertex attributes take in memory after all pixels were read.
    pub fn content_bytes(&self) -> usize {
        let pixels: usize = self.images.iter().map(|image| image.content_bytes()).sum();
        let attributes: usize =
            self.meshes.iter().flat_map(|mesh| &mesh.primitives).map(Primitive::content_bytes).sum();
        pixels + attributes
    }
}
