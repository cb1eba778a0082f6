//! The composer: `#import path`, `#ifdef NAME`, `#ifndef NAME`, `#else`, `#endif`, and places for generated text
//! (`//{name}`). Each file is imported once; conditions stand on lines of their own.

use std::collections::BTreeSet;

use crate::RenderError;

/// Every shader file, by the path that imports name.
const FILES: &[(&str, &str)] = &[
    ("types/batch.wgsl", include_str!("../../shaders/types/batch.wgsl")),
    ("types/frame.wgsl", include_str!("../../shaders/types/frame.wgsl")),
    ("types/material.wgsl", include_str!("../../shaders/types/material.wgsl")),
    ("types/posed.wgsl", include_str!("../../shaders/types/posed.wgsl")),
    ("types/surface_io.wgsl", include_str!("../../shaders/types/surface_io.wgsl")),
    ("types/surface_point.wgsl", include_str!("../../shaders/types/surface_point.wgsl")),
    ("types/visibility.wgsl", include_str!("../../shaders/types/visibility.wgsl")),
    ("lib/color.wgsl", include_str!("../../shaders/lib/color.wgsl")),
    ("lib/brdf.wgsl", include_str!("../../shaders/lib/brdf.wgsl")),
    ("lib/iridescence.wgsl", include_str!("../../shaders/lib/iridescence.wgsl")),
    ("lib/gathered_light.wgsl", include_str!("../../shaders/lib/gathered_light.wgsl")),
    ("lib/ibl.wgsl", include_str!("../../shaders/lib/ibl.wgsl")),
    ("lib/shadow.wgsl", include_str!("../../shaders/lib/shadow.wgsl")),
    ("lib/layers.wgsl", include_str!("../../shaders/lib/layers.wgsl")),
    ("lib/direct_light.wgsl", include_str!("../../shaders/lib/direct_light.wgsl")),
    ("lib/neighbours.wgsl", include_str!("../../shaders/lib/neighbours.wgsl")),
    ("lib/relief.wgsl", include_str!("../../shaders/lib/relief.wgsl")),
    ("lib/sheen.wgsl", include_str!("../../shaders/lib/sheen.wgsl")),
    ("lib/attributes.wgsl", include_str!("../../shaders/lib/attributes.wgsl")),
    ("lib/sprite.wgsl", include_str!("../../shaders/lib/sprite.wgsl")),
    ("lib/triangle.wgsl", include_str!("../../shaders/lib/triangle.wgsl")),
    ("lib/transmission.wgsl", include_str!("../../shaders/lib/transmission.wgsl")),
    ("lib/full_screen.wgsl", include_str!("../../shaders/lib/full_screen.wgsl")),
    ("lib/samples.wgsl", include_str!("../../shaders/lib/samples.wgsl")),
    ("lib/surfaces.wgsl", include_str!("../../shaders/lib/surfaces.wgsl")),
    ("lib/surface.wgsl", include_str!("../../shaders/lib/surface.wgsl")),
    ("pass/depth.wgsl", include_str!("../../shaders/pass/depth.wgsl")),
    ("pass/visibility.wgsl", include_str!("../../shaders/pass/visibility.wgsl")),
    ("pass/sprite.wgsl", include_str!("../../shaders/pass/sprite.wgsl")),
    ("pass/classify.wgsl", include_str!("../../shaders/pass/classify.wgsl")),
    ("pass/shade.wgsl", include_str!("../../shaders/pass/shade.wgsl")),
    ("pass/spread.wgsl", include_str!("../../shaders/pass/spread.wgsl")),
    ("pass/layered.wgsl", include_str!("../../shaders/pass/layered.wgsl")),
    ("pass/floor_shadow.wgsl", include_str!("../../shaders/pass/floor_shadow.wgsl")),
    ("pass/floor.wgsl", include_str!("../../shaders/pass/floor.wgsl")),
    ("pass/behind.wgsl", include_str!("../../shaders/pass/behind.wgsl")),
    ("pass/far_side.wgsl", include_str!("../../shaders/pass/far_side.wgsl")),
    ("pass/geometry.wgsl", include_str!("../../shaders/pass/geometry.wgsl")),
    ("pass/picture.wgsl", include_str!("../../shaders/pass/picture.wgsl")),
    ("pass/surroundings.wgsl", include_str!("../../shaders/pass/surroundings.wgsl")),
    ("pass/composite.wgsl", include_str!("../../shaders/pass/composite.wgsl")),
    ("lib/filter.wgsl", include_str!("../../shaders/lib/filter.wgsl")),
    ("lib/dither.wgsl", include_str!("../../shaders/lib/dither.wgsl")),
    ("lib/halve.wgsl", include_str!("../../shaders/lib/halve.wgsl")),
    ("types/floor.wgsl", include_str!("../../shaders/types/floor.wgsl")),
    ("pass/accumulate.wgsl", include_str!("../../shaders/pass/accumulate.wgsl")),
    ("pass/halve.wgsl", include_str!("../../shaders/pass/halve.wgsl")),
    ("pass/reflection.wgsl", include_str!("../../shaders/pass/reflection.wgsl")),
    ("types/lens.wgsl", include_str!("../../shaders/types/lens.wgsl")),
    ("pass/bloom.wgsl", include_str!("../../shaders/pass/bloom.wgsl")),
    ("pass/dof.wgsl", include_str!("../../shaders/pass/dof.wgsl")),
    ("pass/develop.wgsl", include_str!("../../shaders/pass/develop.wgsl")),
];

/// Puts a pass together: imports in, conditions decided, generated text (`name`, text) in its place.
pub(crate) fn compose(
    path: &str,
    defines: &BTreeSet<String>,
    generated: &[(&str, &str)],
) -> Result<String, RenderError> {
    let mut composer = Composer { defines, generated, seen: BTreeSet::new(), out: String::new() };
    composer.file(path)?;
    Ok(composer.out)
}

struct Composer<'a> {
    defines: &'a BTreeSet<String>,
    generated: &'a [(&'a str, &'a str)],
    seen: BTreeSet<String>,
    out: String,
}

impl Composer<'_> {
    fn file(&mut self, path: &str) -> Result<(), RenderError> {
        if !self.seen.insert(path.to_owned()) {
            return Ok(());
        }
        let fault = |words: String| RenderError::Shader { name: path.to_owned(), words };
        let text = FILES
            .iter()
            .find(|(name, _)| *name == path)
            .map(|(_, text)| *text)
            .ok_or_else(|| fault("no such file".to_owned()))?;
        let mut branches: Vec<bool> = Vec::new();
        for line in text.lines() {
            let word = line.trim();
            if let Some(name) = word.strip_prefix("#ifdef ") {
                branches.push(self.defines.contains(name.trim()));
            } else if let Some(name) = word.strip_prefix("#ifndef ") {
                branches.push(!self.defines.contains(name.trim()));
            } else if word == "#else" {
                let top = branches.last_mut().ok_or_else(|| fault("#else without #ifdef".to_owned()))?;
                *top = !*top;
            } else if word == "#endif" {
                branches.pop().ok_or_else(|| fault("#endif without #ifdef".to_owned()))?;
            } else if branches.contains(&false) {
            } else if let Some(import) = word.strip_prefix("#import ") {
                self.file(import.trim())?;
            } else if let Some(name) = word.strip_prefix("//{").and_then(|rest| rest.strip_suffix('}')) {
                let (_, text) = self
                    .generated
                    .iter()
                    .find(|(known, _)| *known == name)
                    .ok_or_else(|| fault(format!("nothing generated for '{name}'")))?;
                self.out.push_str(text);
            } else {
                self.out.push_str(line);
                self.out.push('\n');
            }
        }
        if branches.is_empty() { Ok(()) } else { Err(fault("#ifdef without #endif".to_owned())) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::shader::material_source::{Footprint, Slot, SlotUse, declarations, define};
    use wgpu::naga;

    fn validate(path: &str, defines: &BTreeSet<String>, textures: &str) -> naga::Module {
        let source = compose(path, defines, &[("material textures", textures)]).unwrap();
        let module = naga::front::wgsl::parse_str(&source)
            .unwrap_or_else(|e| panic!("{path} {defines:?}: {}", e.emit_to_string(&source)));
        naga::valid::Validator::new(naga::valid::ValidationFlags::all(), naga::valid::Capabilities::all())
            .validate(&module)
            .unwrap_or_else(|e| panic!("{path} {defines:?}: {e:?}"));
        module
    }

    /// Every material feature alone and all together, in every way a surface is drawn.
    #[test]
    fn every_surface_variant_is_valid() {
        let features = [
            "CLEARCOAT",
            "SHEEN",
            "IRIDESCENCE",
            "ANISOTROPY",
            "DIFFUSE_TRANSMISSION",
            "TRANSMISSION",
            "VERTEX_COLOR",
            "ENVIRONMENT_STRENGTH",
        ];
        let all_slots: Vec<SlotUse> = Slot::ALL
            .into_iter()
            .map(|slot| SlotUse { slot, second_uv: slot == Slot::Occlusion, transformed: true })
            .collect();
        let mut sets: Vec<Vec<&str>> = features.iter().map(|f| vec![*f]).collect();
        sets.push(vec!["TRANSMISSION", "DISPERSION"]);
        sets.push(features.to_vec());
        sets.push(Vec::new());
        for set in sets {
            for (output, class) in [("DISPLAY", ""), ("DISPLAY", "BLEND"), ("", "BLEND"), ("", "")] {
                for slots in [all_slots.as_slice(), &[]] {
                    let mut defines: BTreeSet<String> = slots.iter().map(|used| define(used.slot)).collect();
                    defines.extend(set.iter().chain(&["LIT", output, class]).map(|d| (*d).to_owned()));
                    if !slots.is_empty() || set.contains(&"ANISOTROPY") {
                        defines.extend(["TANGENT", "UV", "UV1"].map(str::to_owned));
                    }
                    let textures = |footprint| declarations(slots, &[Slot::BaseColor], footprint);
                    validate("pass/layered.wgsl", &defines, &textures(Footprint::Neighbors));
                    if class.is_empty() && !set.contains(&"TRANSMISSION") {
                        validate("pass/shade.wgsl", &defines, &textures(Footprint::Steps));
                    }
                }
            }
        }
    }

    #[test]
    fn every_other_pass_is_valid() {
        let textures = declarations(&[], &[Slot::BaseColor], Footprint::Neighbors);
        for (path, defines) in [
            ("pass/depth.wgsl", vec![]),
            ("pass/depth.wgsl", vec!["CUT"]),
            ("pass/floor.wgsl", vec![]),
            ("pass/floor_shadow.wgsl", vec![]),
            ("pass/floor_shadow.wgsl", vec!["FLAT"]),
            ("pass/floor_shadow.wgsl", vec!["ACCUMULATED"]),
            ("pass/accumulate.wgsl", vec![]),
            ("pass/halve.wgsl", vec![]),
            ("pass/halve.wgsl", vec!["FIRST"]),
            ("pass/reflection.wgsl", vec![]),
            ("pass/reflection.wgsl", vec!["CATCH"]),
            ("pass/reflection.wgsl", vec!["CATCH", "MULTISAMPLED"]),
            ("pass/behind.wgsl", vec!["SURFACES"]),
            ("pass/behind.wgsl", vec!["SURFACES", "MULTISAMPLED"]),
            ("pass/behind.wgsl", vec!["SAMPLES_DRAWN"]),
            ("pass/behind.wgsl", vec!["SAMPLES_DRAWN", "MULTISAMPLED"]),
            ("pass/far_side.wgsl", vec!["FACING"]),
            ("pass/geometry.wgsl", vec!["FACING"]),
            ("pass/geometry.wgsl", vec!["FACING", "CUT"]),
            ("pass/geometry.wgsl", vec!["FACING", "EXACT"]),
            ("pass/geometry.wgsl", vec!["FACING", "EXACT", "CUT"]),
            ("pass/visibility.wgsl", vec!["NUMBERED"]),
            ("pass/visibility.wgsl", vec!["NUMBERED", "CUT"]),
            ("pass/classify.wgsl", vec![]),
            ("pass/classify.wgsl", vec!["MULTISAMPLED"]),
            ("pass/classify.wgsl", vec!["MULTISAMPLED", "EDGE_PIXELS"]),
            ("pass/classify.wgsl", vec!["ONE_SURFACE"]),
            ("pass/classify.wgsl", vec!["ONE_SURFACE", "MARK"]),
            ("pass/spread.wgsl", vec![]),
            ("pass/spread.wgsl", vec!["MULTISAMPLED"]),
            ("pass/bloom.wgsl", vec!["BRIGHT"]),
            ("pass/bloom.wgsl", vec!["HALVE"]),
            ("pass/bloom.wgsl", vec!["WIDEN"]),
            ("pass/dof.wgsl", vec!["SHRINK"]),
            ("pass/dof.wgsl", vec![]),
            ("pass/develop.wgsl", vec![]),
            ("pass/develop.wgsl", vec!["FILTERED", "SEPIA", "VIGNETTE"]),
            ("pass/develop.wgsl", vec!["FILTERED", "BW"]),
            ("pass/develop.wgsl", vec!["FILTERED", "VIVID"]),
            ("pass/develop.wgsl", vec!["FILTERED", "WARM"]),
            ("pass/develop.wgsl", vec!["FILTERED", "COOL"]),
            ("pass/develop.wgsl", vec!["FILTERED", "FADED"]),
            ("pass/develop.wgsl", vec!["FILTERED", "NOIR"]),
            ("pass/develop.wgsl", vec!["GRAIN", "GLOW"]),
            ("pass/develop.wgsl", vec!["GEOMETRY", "TOON"]),
            ("pass/develop.wgsl", vec!["GEOMETRY", "FOCUS", "GLOW", "TOON"]),
            ("pass/picture.wgsl", vec![]),
            ("pass/surroundings.wgsl", vec![]),
            ("pass/composite.wgsl", vec![]),
            ("pass/composite.wgsl", vec!["RADIANCE"]),
            ("pass/composite.wgsl", vec!["RADIANCE", "GLOW"]),
            ("pass/composite.wgsl", vec!["LAYERED"]),
            ("pass/composite.wgsl", vec!["LAYERED", "RADIANCE"]),
            ("pass/composite.wgsl", vec!["LAYERED", "RADIANCE", "MULTISAMPLED"]),
        ] {
            validate(path, &defines.into_iter().map(str::to_owned).collect(), &textures);
        }
    }

    #[test]
    fn every_variant_of_points_and_lines_is_valid() {
        let textures = |footprint| declarations(&[], &[Slot::BaseColor], footprint);
        for lines in [&[][..], &["LINES"]] {
            for pass in ["NUMBERED", "FACING", "CAST"] {
                for cut in [&[][..], &["CUT"], &["CUT", "BLEND"]] {
                    let defines = [&[pass], lines, cut].concat().into_iter().map(str::to_owned).collect();
                    validate("pass/sprite.wgsl", &defines, &textures(Footprint::Neighbors));
                }
            }
            for look in [&["LIT"][..], &["UNLIT", "DISPLAY"], &["UNLIT", "EMITS"], &["LIT", "VERTEX_COLOR", "UV"]] {
                let defines = [&["SPRITE"], lines, look].concat().into_iter().map(str::to_owned).collect();
                validate("pass/shade.wgsl", &defines, &textures(Footprint::Steps));
            }
        }
    }

    #[test]
    fn uniforms_have_the_size_of_their_twins() {
        let module = validate(
            "pass/depth.wgsl",
            &BTreeSet::from(["CUT".to_owned()]),
            &declarations(&[], &[Slot::BaseColor], Footprint::Neighbors),
        );
        let mut layouter = naga::proc::Layouter::default();
        layouter.update(module.to_ctx()).unwrap();
        for (name, size) in [
            ("Frame", size_of::<crate::gpu_types::Frame>()),
            ("Material", size_of::<crate::gpu_types::Material>()),
            ("PunctualLight", size_of::<crate::gpu_types::PunctualLight>()),
        ] {
            let (handle, _) = module.types.iter().find(|(_, t)| t.name.as_deref() == Some(name)).unwrap();
            assert_eq!(layouter[handle].size as usize, size, "{name}");
        }
    }

    #[test]
    fn what_does_not_exist_is_refused() {
        assert!(compose("pass/nothing.wgsl", &BTreeSet::new(), &[]).is_err());
    }
}
