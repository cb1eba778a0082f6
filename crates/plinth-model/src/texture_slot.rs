//! The textures that a material can have. Each is declared once with its name, its encoding and its field in the
//! material.

use crate::model::{Material, TextureRef};

/// The meaning of the texels of a texture.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum TextureEncoding {
    /// sRGB-encoded colour and linear alpha.
    Srgb,
    /// Linear values.
    Linear,
    /// Tangent-space unit vectors.
    Normal,
}

/// Evaluates to the texture reference in a field of a material, or in a field of one of its extensions.
macro_rules! reference {
    ($material:ident, $field:ident) => {
        $material.$field
    };
    ($material:ident, $extension:ident, $field:ident) => {
        $material.$extension.and_then(|extension| extension.$field)
    };
}

/// Like `reference!`, but evaluates to an optional mutable reference to the field.
macro_rules! reference_mut {
    ($material:ident, $field:ident) => {
        Some(&mut $material.$field)
    };
    ($material:ident, $extension:ident, $field:ident) => {
        $material.$extension.as_mut().map(|extension| &mut extension.$field)
    };
}

/// Declares the texture slots. Each line contains the name in Rust, the name in shaders, the names of the maps in
/// three.js, the encoding, and the field of the material or of its extension.
macro_rules! slots {
    ($($slot:ident = $name:literal, [$($map:literal),*], $encoding:ident, $($field:ident).+;)*) => {
        /// Every texture that a material can have.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[expect(missing_docs, reason = "named like the fields of the material")]
        pub enum TextureSlot {
            $($slot,)*
        }

        impl TextureSlot {
            /// All slots.
            pub const ALL: [Self; [$($name),*].len()] = [$(Self::$slot),*];

            /// Returns the lower-case name of the slot in shaders.
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$slot => $name,)*
                }
            }

            /// Returns the names of the three.js maps that use the texture. The metallic-roughness texture has two
            /// maps; they are listed in the order of their channels.
            pub const fn map_names(self) -> &'static [&'static str] {
                match self {
                    $(Self::$slot => &[$($map),*],)*
                }
            }

            /// Returns the meaning of the texels.
            pub const fn encoding(self) -> TextureEncoding {
                match self {
                    $(Self::$slot => TextureEncoding::$encoding,)*
                }
            }

            /// Returns the texture reference that the material has for this slot.
            pub fn of(self, material: &Material) -> Option<TextureRef> {
                match self {
                    $(Self::$slot => reference!(material, $($field),+),)*
                }
            }

            /// Returns the field that contains the texture reference. Returns `None` if the material lacks the
            /// extension to which the field belongs.
            pub fn of_mut(self, material: &mut Material) -> Option<&mut Option<TextureRef>> {
                match self {
                    $(Self::$slot => reference_mut!(material, $($field),+),)*
                }
            }
        }
    };
}

slots! {
    BaseColor = "base_color", ["map"], Srgb, base_color_texture;
    MetallicRoughness = "metallic_roughness", ["roughnessMap", "metalnessMap"], Linear, metallic_roughness_texture;
    Normal = "normal", ["normalMap"], Normal, normal_texture;
    Occlusion = "occlusion", ["aoMap"], Linear, occlusion_texture;
    Emissive = "emissive", ["emissiveMap"], Srgb, emissive_texture;
    Specular = "specular", ["specularIntensityMap"], Linear, specular_texture;
    SpecularColor = "specular_color", ["specularColorMap"], Srgb, specular_color_texture;
    Clearcoat = "clearcoat", ["clearcoatMap"], Linear, clearcoat.texture;
    ClearcoatRoughness = "clearcoat_roughness", ["clearcoatRoughnessMap"], Linear, clearcoat.roughness_texture;
    ClearcoatNormal = "clearcoat_normal", ["clearcoatNormalMap"], Normal, clearcoat.normal_texture;
    SheenColor = "sheen_color", ["sheenColorMap"], Srgb, sheen.color_texture;
    SheenRoughness = "sheen_roughness", ["sheenRoughnessMap"], Linear, sheen.roughness_texture;
    Transmission = "transmission", ["transmissionMap"], Linear, transmission.texture;
    Thickness = "thickness", ["thicknessMap"], Linear, volume.thickness_texture;
    Iridescence = "iridescence", ["iridescenceMap"], Linear, iridescence.texture;
    IridescenceThickness = "iridescence_thickness", ["iridescenceThicknessMap"], Linear, iridescence.thickness_texture;
    Anisotropy = "anisotropy", ["anisotropyMap"], Linear, anisotropy.texture;
    DiffuseTransmission = "diffuse_transmission", [], Linear, diffuse_transmission.texture;
    DiffuseTransmissionColor = "diffuse_transmission_color", [], Srgb, diffuse_transmission.color_texture;
}

/// Returns a material that has every extension with textures.
#[cfg(test)]
pub(crate) fn material_with_all_extensions() -> Material {
    Material {
        clearcoat: Some(crate::model::Clearcoat::default()),
        sheen: Some(crate::model::Sheen::default()),
        transmission: Some(crate::model::Transmission::default()),
        volume: Some(crate::model::Volume::default()),
        iridescence: Some(crate::model::Iridescence::default()),
        anisotropy: Some(crate::model::Anisotropy::default()),
        diffuse_transmission: Some(crate::model::DiffuseTransmission::default()),
        ..Material::default()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn each_slot_has_a_name_and_a_reference_of_its_own() {
        let mut material = material_with_all_extensions();
        for (texture, slot) in TextureSlot::ALL.into_iter().enumerate() {
            *slot.of_mut(&mut material).unwrap() = Some(TextureRef { texture, uv_set: 0, transform: None });
        }
        for (texture, slot) in TextureSlot::ALL.into_iter().enumerate() {
            assert_eq!(slot.of(&material).map(|reference| reference.texture), Some(texture), "{}", slot.name());
        }
        let names: BTreeSet<_> = TextureSlot::ALL.map(TextureSlot::name).into();
        assert_eq!(names.len(), TextureSlot::ALL.len());
    }
}
