//! The textures of a material, each declared once: name, encoding and where the material refers to it.

use crate::model::{Material, TextureRef};

/// What the texels of a texture mean.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum TextureEncoding {
    /// sRGB-encoded colour, linear alpha.
    Srgb,
    /// Linear values.
    Linear,
    /// Tangent-space unit vectors.
    Normal,
}

/// Evaluates to the reference in a field of a material, or in a field of one of its extensions.
macro_rules! reference {
    ($material:ident, $field:ident) => {
        $material.$field
    };
    ($material:ident, $extension:ident, $field:ident) => {
        $material.$extension.and_then(|extension| extension.$field)
    };
}

/// Like `reference!`, but evaluates to a mutable place.
macro_rules! reference_mut {
    ($material:ident, $field:ident) => {
        Some(&mut $material.$field)
    };
    ($material:ident, $extension:ident, $field:ident) => {
        $material.$extension.as_mut().map(|extension| &mut extension.$field)
    };
}

/// Declares the slots: name in Rust, name in shaders, encoding, and the field of the material or of its extension.
macro_rules! slots {
    ($($slot:ident = $name:literal, $encoding:ident, $($field:ident).+;)*) => {
        /// Every texture that a material can have.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[expect(missing_docs, reason = "named like the fields of the material")]
        pub enum TextureSlot {
            $($slot,)*
        }

        impl TextureSlot {
            /// All slots.
            pub const ALL: [Self; [$($name),*].len()] = [$(Self::$slot),*];

            /// Returns the name in shaders, lower case.
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$slot => $name,)*
                }
            }

            /// Returns what the texels mean.
            pub const fn encoding(self) -> TextureEncoding {
                match self {
                    $(Self::$slot => TextureEncoding::$encoding,)*
                }
            }

            /// Returns the material's reference for this slot.
            pub fn of(self, material: &Material) -> Option<TextureRef> {
                match self {
                    $(Self::$slot => reference!(material, $($field),+),)*
                }
            }

            /// Returns the place of the reference. `None` if the material lacks the extension that contains it.
            pub fn of_mut(self, material: &mut Material) -> Option<&mut Option<TextureRef>> {
                match self {
                    $(Self::$slot => reference_mut!(material, $($field),+),)*
                }
            }
        }
    };
}

slots! {
    BaseColor = "base_color", Srgb, base_color_texture;
    MetallicRoughness = "metallic_roughness", Linear, metallic_roughness_texture;
    Normal = "normal", Normal, normal_texture;
    Occlusion = "occlusion", Linear, occlusion_texture;
    Emissive = "emissive", Srgb, emissive_texture;
    Specular = "specular", Linear, specular_texture;
    SpecularColor = "specular_color", Srgb, specular_color_texture;
    Clearcoat = "clearcoat", Linear, clearcoat.texture;
    ClearcoatRoughness = "clearcoat_roughness", Linear, clearcoat.roughness_texture;
    ClearcoatNormal = "clearcoat_normal", Normal, clearcoat.normal_texture;
    SheenColor = "sheen_color", Srgb, sheen.color_texture;
    SheenRoughness = "sheen_roughness", Linear, sheen.roughness_texture;
    Transmission = "transmission", Linear, transmission.texture;
    Thickness = "thickness", Linear, volume.thickness_texture;
    Iridescence = "iridescence", Linear, iridescence.texture;
    IridescenceThickness = "iridescence_thickness", Linear, iridescence.thickness_texture;
    Anisotropy = "anisotropy", Linear, anisotropy.texture;
    DiffuseTransmission = "diffuse_transmission", Linear, diffuse_transmission.texture;
    DiffuseTransmissionColor = "diffuse_transmission_color", Srgb, diffuse_transmission.color_texture;
}

/// Returns a material with every extension that has textures.
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
