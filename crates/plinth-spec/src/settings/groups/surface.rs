//! Changes of the model's surfaces.

use std::collections::BTreeMap;

use super::RenderSettings;
use super::decals::Decal;
use super::material_edits::MaterialEdit;
use crate::limits;
use crate::settings::declare::objects;
use crate::settings::field::Field;
use crate::settings::shape::Shape;

const MATERIAL_EDITS: Field = Field::of(Shape::Map {
    of: &Shape::Object(MaterialEdit::FIELDS),
    max: limits::MATERIAL_EDITS,
    max_bytes: Some(limits::MATERIAL_EDITS_BYTES),
});
const DECALS: Field = Field::of(Shape::List { of: &Shape::Object(Decal::FIELDS), min: 0, max: limits::DECALS });

objects! {
    /// Changes of the model's surfaces.
    #[non_exhaustive]
    Surface {
        material_edits: BTreeMap<String, MaterialEdit> = "materialEdits", MATERIAL_EDITS, "Changes of materials, by material name.";
        decals: Vec<Decal> = "decals", DECALS, "Images stuck onto the model.";
    }
}

impl RenderSettings {
    /// Changes of materials, by material name.
    pub const fn material_edits(&self) -> &BTreeMap<String, MaterialEdit> {
        &self.surface().material_edits
    }

    /// Images stuck onto the model.
    pub fn decals(&self) -> &[Decal] {
        &self.surface().decals
    }

    /// The overlays that the background and the decals name, in this order.
    pub fn overlay_ids(&self) -> impl Iterator<Item = &String> {
        self.background().image.iter().chain(self.decals().iter().map(|decal| &decal.image))
    }
}
