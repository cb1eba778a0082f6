//! Every shader with the features that it may be compiled with. Nothing else can be composed, and the tests compile all of
//! it: a variant that only some model or setting asks for cannot be broken unseen.

use std::collections::BTreeSet;

use super::material_source::{Slot, define};

/// A shader of a pass.
pub(crate) struct PassShader {
    /// Its file.
    pub(crate) path: &'static str,
    /// One alternative of each list is chosen: features with spaces between them, or none.
    choices: &'static [&'static [&'static str]],
}

/// A shader that computes the colour of a material's surface.
pub(crate) struct SurfaceShader {
    /// Its file.
    pub(crate) path: &'static str,
    /// Features of which any may be missing, besides those of the material's textures.
    pub(crate) features: &'static [&'static str],
}

const SAMPLED: &[&str] = &["", "MULTISAMPLED"];
const CUT: &[&str] = &["", "CUT"];

/// The shaders of passes that read no material, or no more than the alpha of one.
pub(crate) const PASSES: &[PassShader] = &[
    PassShader { path: "pass/accumulate.wgsl", choices: &[] },
    PassShader { path: "pass/behind.wgsl", choices: &[&["SURFACES", "SAMPLES_DRAWN"], SAMPLED] },
    PassShader { path: "pass/bloom.wgsl", choices: &[&["BRIGHT", "HALVE", "WIDEN", "SHOWN"]] },
    PassShader {
        path: "pass/classify.wgsl",
        choices: &[&["", "MULTISAMPLED", "MULTISAMPLED EDGE_PIXELS", "ONE_SURFACE", "ONE_SURFACE MARK"]],
    },
    PassShader {
        path: "pass/composite.wgsl",
        choices: &[&["", "LAYERED"], SAMPLED, &["", "RADIANCE", "RADIANCE GLOW"]],
    },
    PassShader { path: "pass/depth.wgsl", choices: &[CUT] },
    PassShader {
        path: "pass/develop.wgsl",
        choices: &[
            &[
                "",
                "GRAIN",
                "SEPIA FILTERED TONED",
                "BW FILTERED TONED",
                "VIVID FILTERED TONED",
                "WARM FILTERED TONED",
                "COOL FILTERED TONED",
                "FADED FILTERED TONED",
                "NOIR FILTERED TONED",
            ],
            &["", "VIGNETTE TONED"],
            &["", "GLOW"],
            &["", "GEOMETRY", "GEOMETRY FOCUS", "GEOMETRY TOON TONED", "GEOMETRY FOCUS TOON TONED"],
        ],
    },
    PassShader { path: "pass/dof.wgsl", choices: &[&["SHRINK", "GATHER", "SMOOTH"]] },
    PassShader { path: "pass/far_side.wgsl", choices: &[&["FACING"]] },
    PassShader { path: "pass/floor.wgsl", choices: &[] },
    PassShader { path: "pass/floor_shadow.wgsl", choices: &[&["", "FLAT", "ACCUMULATED"]] },
    PassShader { path: "pass/geometry.wgsl", choices: &[&["FACING", "FACING EXACT"], CUT] },
    PassShader { path: "pass/halve.wgsl", choices: &[&["", "FIRST"]] },
    PassShader { path: "pass/picture.wgsl", choices: &[] },
    PassShader { path: "pass/reflection.wgsl", choices: &[&["", "CATCH", "CATCH MULTISAMPLED"]] },
    PassShader { path: "pass/spread.wgsl", choices: &[SAMPLED] },
    PassShader {
        path: "pass/sprite.wgsl",
        choices: &[&["NUMBERED", "FACING", "CAST"], &["", "LINES"], &["", "CUT", "CUT BLEND"]],
    },
    PassShader { path: "pass/surroundings.wgsl", choices: &[] },
    PassShader { path: "pass/visibility.wgsl", choices: &[&["NUMBERED"], CUT] },
];

/// The shaders of surfaces.
pub(crate) const SURFACES: &[SurfaceShader] = &[
    SurfaceShader {
        path: "pass/layered.wgsl",
        features: &[
            "ANISOTROPY",
            "BLEND",
            "CLEARCOAT",
            "DIFFUSE_TRANSMISSION",
            "DISPERSION",
            "DISPLAY",
            "ENVIRONMENT_STRENGTH",
            "IRIDESCENCE",
            "LIT",
            "OCCLUSION_PACKED",
            "SHEEN",
            "TANGENT",
            "TRANSMISSION",
            "UNLIT",
            "UV",
            "UV1",
            "VERTEX_COLOR",
        ],
    },
    SurfaceShader {
        path: "pass/shade.wgsl",
        features: &[
            "ANISOTROPY",
            "BLEND",
            "CLEARCOAT",
            "DIFFUSE_TRANSMISSION",
            "DISPLAY",
            "EMITS",
            "ENVIRONMENT_STRENGTH",
            "IRIDESCENCE",
            "LINES",
            "LIT",
            "OCCLUSION_PACKED",
            "SHEEN",
            "SPRITE",
            "TANGENT",
            "UNLIT",
            "UV",
            "UV1",
            "VERTEX_COLOR",
        ],
    },
];

impl PassShader {
    /// All sets of features that it may be compiled with.
    pub(crate) fn variants(&self) -> Vec<BTreeSet<String>> {
        self.choices.iter().fold(vec![BTreeSet::new()], |known, choice| {
            let with = |set: &BTreeSet<String>, words: &str| -> BTreeSet<String> {
                set.iter().cloned().chain(words.split_whitespace().map(str::to_owned)).collect()
            };
            known.iter().flat_map(|set| choice.iter().map(move |words| with(set, words))).collect()
        })
    }
}

/// Whether a shader may be compiled with these features.
pub(super) fn is_declared(path: &str, defines: &BTreeSet<String>) -> bool {
    if let Some(surface) = SURFACES.iter().find(|surface| surface.path == path) {
        let of_texture = |word: &String| Slot::ALL.into_iter().any(|slot| define(slot) == *word);
        return defines.iter().all(|word| surface.features.contains(&word.as_str()) || of_texture(word));
    }
    PASSES.iter().any(|pass| pass.path == path && pass.variants().contains(defines))
}
