//! Settings of materials and decals.

use std::collections::BTreeMap;

use super::RenderSettings;
use super::decals::Decal;
use super::material_edits::MaterialEdit;
use super::video::Output;
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
    /// Settings of materials and decals.
    #[non_exhaustive]
    Surface {
        material_edits: BTreeMap<String, MaterialEdit> = "materialEdits", MATERIAL_EDITS, "Edits of materials, by material name.";
        decals: Vec<Decal> = "decals", DECALS, "Images projected onto the model.";
    }
}

impl RenderSettings {
    /// Returns the material edits by material name.
    pub const fn material_edits(&self) -> &BTreeMap<String, MaterialEdit> {
        &self.surface().material_edits
    }

    /// Returns the images that are projected onto the model.
    pub fn decals(&self) -> &[Decal] {
        &self.surface().decals
    }

    /// Returns the IDs of the overlays in use: first the overlay of the background, then the overlays of the decals.
    /// Datasets have no background.
    pub fn overlay_ids(&self) -> impl Iterator<Item = &String> {
        let has_background = self.video().output == Output::Video;
        let background = self.background().image.iter().filter(move |_image| has_background);
        background.chain(self.decals().iter().map(|decal| &decal.image))
    }
}
