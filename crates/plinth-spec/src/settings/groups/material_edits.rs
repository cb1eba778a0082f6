//! `materialEdits`: changes to materials, which are selected by name.

use std::collections::BTreeMap;

use super::decals::ANY_TEXT;
use crate::named::named;
use crate::settings::declare::objects;
use crate::settings::field::{Field, choice, color, number, share};
use crate::settings::shape::Shape;

named! {
    /// The use of the alpha channel.
    AlphaChoice {
        /// Alpha is ignored.
        Opaque = "OPAQUE",
        /// A point is invisible if its alpha is below a cutoff, and opaque otherwise.
        Mask = "MASK",
        /// Alpha is the opacity of a point.
        Blend = "BLEND",
    }
}

named! {
    /// The visible faces of a surface.
    Faces {
        /// Front faces.
        Front = "front",
        /// Back faces. They are shaded like front faces.
        Back = "back",
        /// Front and back faces.
        Double = "double",
    }
}

const FLAG: Field = Field::of(Shape::Flag);
/// Whether each texture map is used. Only the maximum size of `materialEdits` limits the number of entries.
const TEXTURE_MAPS: Field =
    Field::of(Shape::Map { of: &Shape::Flag, max: crate::limits::MATERIAL_EDITS_BYTES, max_bytes: None });

objects! {
    /// Changes to one material. Colours are sRGB. `None` keeps the value of the model.
    #[derive(Default)]
    #[non_exhaustive]
    MaterialEdit {
        color: Option<[u8; 3]> = "color", color();
        roughness: Option<f64> = "roughness", share();
        metalness: Option<f64> = "metalness", share();
        opacity: Option<f64> = "opacity", share();
        alpha_mode: Option<AlphaChoice> = "alphaMode", choice::<AlphaChoice>();
        emissive: Option<[u8; 3]> = "emissive", color();
        emissive_intensity: Option<f64> = "emissiveIntensity", number(0.0, 100.0);
        occlusion_strength: Option<f64> = "aoMapIntensity", share();
        environment_strength: Option<f64> = "envMapIntensity", number(0.0, 16.0);
        faces: Option<Faces> = "side", choice::<Faces>();
        flat_shading: Option<bool> = "flatShading", FLAG;
        wireframe: Option<bool> = "wireframe", FLAG;
        normal_scale: Option<f64> = "normalScale", number(-10.0, 10.0);
        bump_scale: Option<f64> = "bumpScale", number(-10.0, 10.0);
        displacement_scale: Option<f64> = "displacementScale", number(-10.0, 10.0);
        transmission: Option<f64> = "transmission", share();
        clearcoat: Option<f64> = "clearcoat", share();
        clearcoat_roughness: Option<f64> = "clearcoatRoughness", share();
        sheen: Option<f64> = "sheen", share();
        sheen_roughness: Option<f64> = "sheenRoughness", share();
        sheen_color: Option<[u8; 3]> = "sheenColor", color();
        iridescence: Option<f64> = "iridescence", share();
        iridescence_ior: Option<f64> = "iridescenceIOR", number(1.0, 2.5);
        specular: Option<f64> = "specularIntensity", share();
        specular_color: Option<[u8; 3]> = "specularColor", color();
        thickness: Option<f64> = "thickness", number(0.0, 100.0);
        ior: Option<f64> = "ior", number(1.0, 2.5);
        attenuation_color: Option<[u8; 3]> = "attenuationColor", color();
        /// Whether each texture map is used. The keys are the maps' names in three.js.
        texture_maps: BTreeMap<String, bool> = "textureMaps", TEXTURE_MAPS;
        map_asset_id: Option<String> = "mapAssetId", ANY_TEXT;
    }
}

/// Returns the descriptions of all fields of a material edit.
pub fn material_edit_fields() -> &'static [Field] {
    MaterialEdit::FIELDS
}
