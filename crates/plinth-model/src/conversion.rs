//! Says how models in other formats become files that are accepted.

/// How a glTF model with separate files becomes a GLB.
pub(crate) const PACK_GLTF: &str = "pack it with its buffers and textures into one .glb (binary glTF), for example \
                                    with `gltf-transform copy model.gltf model.glb` of glTF Transform";

/// Returns what to do with a model whose file has this extension, in lower case, which is not accepted. `accepts_zip` says
/// whether a .zip with an OBJ is accepted beside .glb files.
pub fn conversion_advice(extension: &str, accepts_zip: bool) -> &'static str {
    match extension {
        "gltf" => PACK_GLTF,
        "obj" | "mtl" if accepts_zip => "put the OBJ, its MTL and its textures into one .zip",
        _ => "export the model as .glb (binary glTF)",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_advice_depends_on_the_format() {
        assert!(conversion_advice("gltf", true).contains("gltf-transform copy"));
        assert!(conversion_advice("obj", true).contains(".zip"));
        for (extension, accepts_zip) in [("obj", false), ("zip", false), ("fbx", true), ("", true)] {
            assert_eq!(conversion_advice(extension, accepts_zip), "export the model as .glb (binary glTF)");
        }
    }
}
