//! The composer: `#import path`, `#ifdef NAME`, `#ifndef NAME`, `#else`, `#endif`, and places for generated text
//! (`//{name}`). Each file is imported once; conditions stand on lines of their own.

use std::collections::BTreeSet;

use crate::RenderError;

/// Every shader file, by the path that imports name.
const FILES: &[(&str, &str)] = &[
    ("types/frame.wgsl", include_str!("../../shaders/types/frame.wgsl")),
    ("types/material.wgsl", include_str!("../../shaders/types/material.wgsl")),
    ("types/surface_io.wgsl", include_str!("../../shaders/types/surface_io.wgsl")),
    ("lib/color.wgsl", include_str!("../../shaders/lib/color.wgsl")),
    ("lib/brdf.wgsl", include_str!("../../shaders/lib/brdf.wgsl")),
    ("lib/iridescence.wgsl", include_str!("../../shaders/lib/iridescence.wgsl")),
    ("lib/ibl.wgsl", include_str!("../../shaders/lib/ibl.wgsl")),
    ("lib/shadow.wgsl", include_str!("../../shaders/lib/shadow.wgsl")),
    ("lib/layers.wgsl", include_str!("../../shaders/lib/layers.wgsl")),
    ("lib/direct_light.wgsl", include_str!("../../shaders/lib/direct_light.wgsl")),
    ("lib/transmission.wgsl", include_str!("../../shaders/lib/transmission.wgsl")),
    ("pass/depth.wgsl", include_str!("../../shaders/pass/depth.wgsl")),
    ("pass/surface.wgsl", include_str!("../../shaders/pass/surface.wgsl")),
    ("pass/floor_shadow.wgsl", include_str!("../../shaders/pass/floor_shadow.wgsl")),
    ("pass/floor.wgsl", include_str!("../../shaders/pass/floor.wgsl")),
    ("pass/behind.wgsl", include_str!("../../shaders/pass/behind.wgsl")),
    ("pass/composite.wgsl", include_str!("../../shaders/pass/composite.wgsl")),
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
