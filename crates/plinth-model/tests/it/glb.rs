//! Builds small GLB files for tests.

use plinth_model::{Limits, LoadOptions, Model, ModelError, Primitive, load_glb};
use serde_json::{Value, json};

/// A type of accessor components.
pub(crate) trait Component: Copy {
    const CODE: u32;
    fn write(self, out: &mut Vec<u8>);
}

macro_rules! components {
    ($($kind:ty = $code:literal),*) => {$(
        impl Component for $kind {
            const CODE: u32 = $code;
            fn write(self, out: &mut Vec<u8>) {
                out.extend(self.to_le_bytes());
            }
        }
    )*};
}

components!(i8 = 5120, u8 = 5121, i16 = 5122, u16 = 5123, u32 = 5125, f32 = 5126);

/// Returns the bytes of the values, without padding between them.
pub(crate) fn packed<T: Component, const N: usize>(values: &[[T; N]]) -> Vec<u8> {
    let mut bytes = Vec::new();
    values.iter().flatten().for_each(|v| v.write(&mut bytes));
    bytes
}

/// A glTF document and its binary chunk.
#[derive(Clone)]
pub(crate) struct Glb {
    pub(crate) json: Value,
    pub(crate) bin: Vec<u8>,
}

pub(crate) const CORNERS: [[f32; 3]; 3] = [[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]];
pub(crate) const UVS: [[f32; 2]; 3] = [[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]];

impl Glb {
    /// Creates a document without nodes and meshes.
    pub(crate) fn empty() -> Self {
        Self {
            json: json!({"asset": {"version": "2.0"}, "buffers": [{"byteLength": 0}], "scenes": [{"nodes": []}]}),
            bin: Vec::new(),
        }
    }

    /// Creates a document with one node and one mesh, which is a triangle without indices and normals.
    pub(crate) fn triangle() -> Self {
        Self::mesh(&CORNERS)
    }

    /// Creates a document with one node, one mesh and one primitive. The primitive has only positions.
    pub(crate) fn mesh(positions: &[[f32; 3]]) -> Self {
        let mut glb = Self::empty();
        let position = glb.accessor(positions);
        glb.push("meshes", json!({"primitives": [{"attributes": {"POSITION": position}}]}));
        glb.push("nodes", json!({"mesh": 0}));
        glb.json["scenes"][0]["nodes"] = json!([0]);
        glb
    }

    /// Creates a triangle with texture coordinates and a material. Texture 0 is the base colour texture.
    pub(crate) fn textured() -> Self {
        let mut glb = Self::triangle();
        glb.attribute("TEXCOORD_0", &UVS);
        glb.push("materials", json!({"pbrMetallicRoughness": {"baseColorTexture": {"index": 0}}}));
        glb.primitive()["material"] = 0.into();
        glb
    }

    /// Appends an item to a list of the document and returns its index.
    pub(crate) fn push(&mut self, list: &str, item: Value) -> usize {
        if self.json[list].is_null() {
            self.json[list] = json!([]);
        }
        let items = self.json[list].as_array_mut().unwrap();
        items.push(item);
        items.len() - 1
    }

    /// Appends a buffer view with these bytes and returns its index.
    pub(crate) fn view(&mut self, bytes: &[u8]) -> usize {
        self.bin.resize(self.bin.len().next_multiple_of(4), 0);
        let view = json!({"buffer": 0, "byteOffset": self.bin.len(), "byteLength": bytes.len()});
        self.bin.extend(bytes);
        self.push("bufferViews", view)
    }

    /// Appends an accessor with these values and returns its index.
    pub(crate) fn accessor<T: Component, const N: usize>(&mut self, values: &[[T; N]]) -> usize {
        let view = self.view(&packed(values));
        let kind = kind_of(N);
        self.push(
            "accessors",
            json!({"bufferView": view, "componentType": T::CODE, "count": values.len(), "type": kind}),
        )
    }

    /// Appends a normalised accessor with these integers and returns its index.
    pub(crate) fn normalized<T: Component, const N: usize>(&mut self, values: &[[T; N]]) -> usize {
        let accessor = self.accessor(values);
        self.json["accessors"][accessor]["normalized"] = true.into();
        accessor
    }

    /// Adds an attribute to the first primitive.
    pub(crate) fn attribute<T: Component, const N: usize>(&mut self, name: &str, values: &[[T; N]]) {
        let accessor = self.accessor(values);
        self.primitive()["attributes"][name] = accessor.into();
    }

    /// Adds indices to the first primitive.
    pub(crate) fn indices<T: Component>(&mut self, values: &[T]) {
        let values: Vec<[T; 1]> = values.iter().map(|v| [*v]).collect();
        let accessor = self.accessor(&values);
        self.primitive()["indices"] = accessor.into();
    }

    /// Appends an image and a texture, which get the same index. Returns this index.
    pub(crate) fn image(&mut self, mime: &str, bytes: &[u8]) -> usize {
        let view = self.view(bytes);
        let image = self.push("images", json!({"bufferView": view, "mimeType": mime}));
        self.push("textures", json!({"source": image}))
    }

    pub(crate) fn primitive(&mut self) -> &mut Value {
        &mut self.json["meshes"][0]["primitives"][0]
    }

    pub(crate) fn node(&mut self) -> &mut Value {
        &mut self.json["nodes"][0]
    }

    pub(crate) fn material(&mut self) -> &mut Value {
        &mut self.json["materials"][0]
    }

    /// Returns the bytes of the GLB file.
    pub(crate) fn bytes(&self) -> Vec<u8> {
        let mut json = self.json.clone();
        if json["buffers"][0]["byteLength"] == 0 {
            json["buffers"][0]["byteLength"] = self.bin.len().into();
        }
        file(json.to_string().as_bytes(), &self.bin)
    }

    pub(crate) fn load_with(&self, options: &LoadOptions) -> Result<Model, ModelError> {
        load_glb(&self.bytes(), options)
    }

    pub(crate) fn load_within(&self, limits: Limits) -> Result<Model, ModelError> {
        self.load_with(&LoadOptions { limits, ..LoadOptions::default() })
    }

    pub(crate) fn load(&self) -> Model {
        self.load_with(&LoadOptions::default()).unwrap()
    }

    /// Loads the model and returns its first primitive.
    pub(crate) fn loaded(&self) -> Primitive {
        self.load().meshes.swap_remove(0).primitives.swap_remove(0)
    }

    /// Loads the model and returns the error message. Loading must fail.
    #[track_caller]
    pub(crate) fn load_error(&self) -> String {
        self.load_with(&LoadOptions::default()).unwrap_err().to_string()
    }
}

fn kind_of(components: usize) -> &'static str {
    match components {
        1 => "SCALAR",
        2 => "VEC2",
        3 => "VEC3",
        4 => "VEC4",
        16 => "MAT4",
        other => panic!("there is no accessor type with {other} components"),
    }
}

/// Builds a GLB file from its chunks.
pub(crate) fn file(json: &[u8], bin: &[u8]) -> Vec<u8> {
    let mut out = b"glTF\x02\0\0\0\0\0\0\0".to_vec();
    for (kind, data, filler) in [(b"JSON", json, b' '), (b"BIN\0", bin, 0)] {
        out.extend((data.len().next_multiple_of(4) as u32).to_le_bytes());
        out.extend(kind);
        out.extend(data);
        out.resize(out.len().next_multiple_of(4), filler);
    }
    let length = out.len() as u32;
    out[8..12].copy_from_slice(&length.to_le_bytes());
    out
}

/// Asserts that the differences between two lists of numbers are small.
#[track_caller]
pub(crate) fn assert_near(found: &[f32], expected: &[f32]) {
    let near = found.len() == expected.len() && found.iter().zip(expected).all(|(f, e)| (f - e).abs() < 1e-5);
    assert!(near, "{found:?} is not {expected:?}");
}
