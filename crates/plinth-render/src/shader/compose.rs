//! The preprocessor of shaders, which supports `#import path`, `#include path`, `#ifdef NAME`, `#ifndef NAME`, `#else`,
//! `#endif`, and placeholders for generated text (`//{name}`). A file is imported only once; each `#include` inserts
//! its text again. Each directive is on a line of its own. Lines that contain only a comment are left out, because later
//! steps would read them again for each variant.

use std::collections::BTreeSet;

use super::material_source::uv_row_count;
use super::variants::{is_declared, text_of};
use crate::RenderError;

/// Embeds shader files under their import paths.
macro_rules! files {
    ($($path:literal)*) => {
        &[$(($path, include_str!(concat!("../../shaders/", $path)))),*]
    };
}

/// All files that shaders can import.
const FILES: &[(&str, &str)] = files! {
    "lib/attributes.wgsl"
    "lib/brdf.wgsl"
    "lib/color.wgsl"
    "lib/corners.wgsl"
    "lib/direct_light.wgsl"
    "lib/dither.wgsl"
    "lib/filter.wgsl"
    "lib/edge_runs.wgsl"
    "lib/edge_tiles.wgsl"
    "lib/full_screen.wgsl"
    "lib/gathered_light.wgsl"
    "lib/grown.wgsl"
    "lib/halve.wgsl"
    "lib/ibl.wgsl"
    "lib/iridescence.wgsl"
    "lib/layers.wgsl"
    "lib/light_samples.wgsl"
    "lib/octahedral.wgsl"
    "lib/self_reflection.wgsl"
    "lib/relief.wgsl"
    "lib/samples.wgsl"
    "lib/shadow.wgsl"
    "lib/sheen.wgsl"
    "lib/sprite.wgsl"
    "lib/surface.wgsl"
    "lib/surfaces.wgsl"
    "lib/transmission.wgsl"
    "lib/triangle.wgsl"
    "lib/unit.wgsl"
    "types/floor.wgsl"
    "types/frame.wgsl"
    "types/lens.wgsl"
    "types/material.wgsl"
    "types/pool.wgsl"
    "types/posed.wgsl"
    "types/surface_attributes.wgsl"
    "types/surface_io.wgsl"
    "types/surface_point.wgsl"
    "types/visibility.wgsl"
};

/// Composes the source of a shader: imports files, evaluates conditions, and inserts generated text. `generated`
/// contains pairs of a placeholder's name and its text.
/// Errors: if `variants.rs` does not declare the variant, a file does not exist, or an `#ifdef` has no `#endif`.
pub(crate) fn compose(
    path: &str,
    defines: &BTreeSet<String>,
    generated: &[(&str, &str)],
) -> Result<String, RenderError> {
    if !is_declared(path, defines) {
        let message = format!("shader/variants.rs does not declare the variant {defines:?}");
        return Err(RenderError::Shader { name: path.to_owned(), message });
    }
    let uv_row_count = uv_row_count();
    let generated = [generated, &[("uv_row_count", uv_row_count.as_str())]].concat();
    let mut composer = Composer { defines, generated: &generated, imported: BTreeSet::new(), out: String::new() };
    composer.import(path)?;
    Ok(composer.out)
}

struct Composer<'a> {
    defines: &'a BTreeSet<String>,
    generated: &'a [(&'a str, &'a str)],
    imported: BTreeSet<String>,
    out: String,
}

impl Composer<'_> {
    fn import(&mut self, path: &str) -> Result<(), RenderError> {
        if self.imported.insert(path.to_owned()) { self.include(path) } else { Ok(()) }
    }

    fn include(&mut self, path: &str) -> Result<(), RenderError> {
        let fault = |message: String| RenderError::Shader { name: path.to_owned(), message };
        let text = FILES
            .iter()
            .find(|(name, _)| *name == path)
            .map(|(_, text)| *text)
            .or_else(|| text_of(path))
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
                self.import(import.trim())?;
            } else if let Some(include) = word.strip_prefix("#include ") {
                self.include(include.trim())?;
            } else if let Some(name) = word.strip_prefix("//{").and_then(|rest| rest.strip_suffix('}')) {
                let (_, text) = self
                    .generated
                    .iter()
                    .find(|(known, _)| *known == name)
                    .ok_or_else(|| fault(format!("there is no generated text for '{name}'")))?;
                self.out.push_str(text);
            } else if !word.starts_with("//") {
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
    use crate::gpu_types;
    use crate::shader::ShaderTarget;
    use crate::shader::material_source::{Footprint, SlotUse, declarations, define};
    use crate::shader::variants::{PASSES, SURFACES};
    use plinth_model::TextureSlot;
    use wgpu::naga;

    /// Returns the module for a device without special properties. Also validates the module for other devices.
    fn validate(path: &str, defines: &BTreeSet<String>, textures: &str) -> naga::Module {
        let source = compose(path, defines, &[("material textures", textures)]).unwrap();
        let [module, ..] =
            [(false, None), (true, None), (true, Some(31)), (true, Some(16))].map(|(has_int64, flat_outputs)| {
                let source = ShaderTarget { has_int64, flat_outputs }.adapt(&source);
                let module = naga::front::wgsl::parse_str(&source)
                    .unwrap_or_else(|e| panic!("{path} {defines:?}: {}", e.emit_to_string(&source)));
                naga::valid::Validator::new(naga::valid::ValidationFlags::all(), naga::valid::Capabilities::all())
                    .validate(&module)
                    .unwrap_or_else(|e| panic!("{path} {defines:?}: {e:?}"));
                module
            });
        module
    }

    /// The test composes every way of drawing a surface with each material feature alone, and with all features
    /// together.
    #[test]
    fn every_surface_variant_is_valid() {
        // The defines in `ways` depend on the way of drawing or on the textures. All other defines are material
        // features.
        let ways =
            ["BLEND", "DISPLAY", "EMITS", "LINES", "LIT", "MATERIAL_SET", "SPRITE", "TANGENT", "UNLIT", "UV", "UV1"];
        let all = SURFACES.iter().flat_map(|surface| surface.features).filter(|word| !ways.contains(word));
        let features: BTreeSet<&str> = all.copied().collect();
        let all_slots: Vec<SlotUse> = TextureSlot::ALL
            .into_iter()
            .map(|slot| SlotUse { slot, second_uv: slot == TextureSlot::Occlusion, transformed: true })
            .collect();
        let mut sets: Vec<Vec<&str>> = features.iter().map(|f| vec![*f]).collect();
        sets.push(vec!["TRANSMISSION", "DISPERSION"]);
        sets.push(features.iter().copied().collect());
        sets.push(Vec::new());
        for set in sets {
            for (output, class) in [("DISPLAY", ""), ("DISPLAY", "BLEND"), ("", "BLEND"), ("", "")] {
                for slots in [all_slots.as_slice(), &[]] {
                    if slots.is_empty() && set.contains(&"OCCLUSION_PACKED") {
                        continue;
                    }
                    let mut defines: BTreeSet<String> = slots.iter().map(|used| define(used.slot)).collect();
                    defines.extend(
                        set.iter().chain(&["LIT", output, class]).filter(|d| !d.is_empty()).map(|d| (*d).to_owned()),
                    );
                    if !slots.is_empty() || set.contains(&"ANISOTROPY") {
                        defines.extend(["TANGENT", "UV", "UV1"].map(str::to_owned));
                    }
                    let textures = |footprint| declarations(slots, &[TextureSlot::BaseColor], footprint);
                    validate("pass/transparent.wgsl", &defines, &textures(Footprint::Neighbors));
                    if class.is_empty() {
                        validate("pass/shade.wgsl", &defines, &textures(Footprint::Steps));
                        defines.insert("MATERIAL_SET".to_owned());
                        validate("pass/shade.wgsl", &defines, &textures(Footprint::Steps));
                    }
                }
            }
        }
    }

    #[test]
    fn every_variant_of_every_pass_is_valid() {
        let textures = declarations(&[], &[TextureSlot::BaseColor], Footprint::Neighbors);
        for pass in PASSES {
            for defines in pass.variants() {
                validate(pass.path, &defines, &textures);
            }
        }
    }

    /// A uniform that only an unused function reads would be handed to the fragment stage for nothing.
    #[test]
    fn passes_hand_on_only_the_uniforms_of_the_frame_that_their_fragment_stage_reads() {
        let textures = declarations(&[], &[TextureSlot::BaseColor], Footprint::Neighbors);
        let target = ShaderTarget { has_int64: true, flat_outputs: Some(31) };
        let mut read = 0;
        let variants = PASSES.iter().flat_map(|pass| pass.variants().into_iter().map(move |set| (pass.path, set)));
        for (path, defines) in variants {
            let source = target.adapt(&compose(path, &defines, &[("material textures", &textures)]).unwrap());
            let module = naga::front::wgsl::parse_str(&source).unwrap();
            let info =
                naga::valid::Validator::new(naga::valid::ValidationFlags::all(), naga::valid::Capabilities::all())
                    .validate(&module)
                    .unwrap();
            let Some(stage) = module.entry_points.iter().position(|entry| entry.name == "fs") else { continue };
            for (handle, variable) in module.global_variables.iter() {
                let Some(name) = variable.name.as_deref().filter(|name| name.starts_with("flat_frame_")) else {
                    continue;
                };
                let is_read = info.get_entry_point(stage)[handle].contains(naga::valid::GlobalUse::READ);
                assert!(is_read, "{path} {defines:?}: {name}");
                read += 1;
            }
        }
        assert!(read > 0);
    }

    #[test]
    fn composing_an_undeclared_variant_is_an_error() {
        let of = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect();
        for (path, words) in [
            ("pass/depth.wgsl", &["CUTS"][..]),
            ("pass/bloom.wgsl", &[]),
            ("pass/bloom.wgsl", &["BRIGHT", "HALVE"]),
            ("pass/transparent.wgsl", &["LIT", "GLITTER"]),
            ("pass/transparent.wgsl", &["LIT", "EMITS"]),
            ("lib/color.wgsl", &[]),
        ] {
            assert!(compose(path, &of(words), &[("material textures", "")]).is_err(), "{path} {words:?}");
        }
    }

    #[test]
    fn every_file_is_embedded_and_used() {
        let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("shaders");
        let on_disk: BTreeSet<String> = ["lib", "pass", "types"]
            .into_iter()
            .flat_map(|part| {
                let entries = std::fs::read_dir(folder.join(part)).unwrap();
                entries.map(move |entry| format!("{part}/{}", entry.unwrap().file_name().to_str().unwrap()))
            })
            .collect();
        let passes = PASSES.iter().map(|pass| (pass.path, pass.text));
        let surfaces = SURFACES.iter().map(|surface| (surface.path, surface.text));
        let all: Vec<(&str, &str)> = FILES.iter().copied().chain(passes).chain(surfaces).collect();
        assert_eq!(on_disk, all.iter().map(|(path, _)| (*path).to_owned()).collect());
        for (path, _) in FILES {
            let is_used = ["#import", "#include"].iter().any(|directive| {
                let line = format!("{directive} {path}");
                all.iter().any(|(_, text)| text.lines().any(|l| l.trim() == line))
            });
            assert!(is_used, "no shader imports or includes {path}");
        }
    }

    #[test]
    fn every_look_of_points_and_lines_is_valid() {
        let textures = declarations(&[], &[TextureSlot::BaseColor], Footprint::Steps);
        for lines in [&[][..], &["LINES"]] {
            for look in [&["LIT"][..], &["UNLIT", "DISPLAY"], &["UNLIT", "EMITS"], &["LIT", "VERTEX_COLOR", "UV"]] {
                let defines = [&["SPRITE"], lines, look].concat().into_iter().map(str::to_owned).collect();
                validate("pass/shade.wgsl", &defines, &textures);
            }
        }
    }

    #[test]
    fn uniforms_have_the_same_members_in_rust_and_wgsl() {
        let textures = declarations(&[], &[TextureSlot::BaseColor], Footprint::Neighbors);
        let (last, own) = gpu_types::Pool::MEMBERS.split_last().unwrap();
        let sprites = gpu_types::SpriteLook::MEMBERS.iter().map(|(member, offset)| {
            let member = if *member == "radius" { "sprite_radius" } else { *member };
            (member, last.1 + offset)
        });
        let pool: Vec<_> = own.iter().copied().chain(sprites).collect();
        macro_rules! counterpart {
            ($name:ident) => {
                (stringify!($name), size_of::<gpu_types::$name>(), gpu_types::$name::MEMBERS)
            };
        }
        for (path, features, (name, size, members)) in [
            ("pass/depth.wgsl", &["ALPHA_TEST"][..], counterpart!(Frame)),
            ("pass/depth.wgsl", &["ALPHA_TEST"], counterpart!(Material)),
            ("pass/depth.wgsl", &["ALPHA_TEST"], counterpart!(PunctualLight)),
            ("pass/floor.wgsl", &[], counterpart!(Floor)),
            ("pass/depth_of_field.wgsl", &["SHRINK"], counterpart!(Lens)),
            ("pass/reflection.wgsl", &[], counterpart!(Reflection)),
            ("pass/surroundings.wgsl", &[], counterpart!(Surroundings)),
            ("pass/pose.wgsl", &["VERTICES"], counterpart!(PoseCounts)),
            ("pass/pose.wgsl", &["VERTICES"], counterpart!(RestVertex)),
            ("pass/pose.wgsl", &["VERTICES"], counterpart!(PosedPiece)),
            ("pass/mix_light.wgsl", &[], counterpart!(LightMix)),
            ("pass/sort_triangles.wgsl", &["APART"], counterpart!(SortedTriangles)),
            ("pass/sort_triangles.wgsl", &["APART"], counterpart!(SortingStep)),
            ("pass/sprite.wgsl", &["NUMBERED"], ("Pool", size_of::<gpu_types::Pool>(), &pool)),
        ] {
            let module = validate(path, &features.iter().map(|word| (*word).to_owned()).collect(), &textures);
            let mut layouter = naga::proc::Layouter::default();
            layouter.update(module.to_ctx()).unwrap();
            let (handle, shader) = module.types.iter().find(|(_, t)| t.name.as_deref() == Some(name)).unwrap();
            assert_eq!(layouter[handle].size as usize, size, "{name}");
            let naga::TypeInner::Struct { members: in_shader, .. } = &shader.inner else { panic!("{name}") };
            let in_shader = in_shader.iter().map(|m| (m.name.as_deref().unwrap(), m.offset as usize));
            let is_used = |(member, _): &(&str, usize)| !member.starts_with("unused");
            let in_shader: Vec<_> = in_shader.filter(is_used).collect();
            assert_eq!(in_shader, members.iter().copied().filter(is_used).collect::<Vec<_>>(), "{name}");
        }
    }

    #[test]
    fn composing_a_missing_file_is_an_error() {
        assert!(compose("pass/nothing.wgsl", &BTreeSet::new(), &[]).is_err());
    }
}
