//! The list of all shaders, and of the features with which each may be compiled. Other variants cannot be composed. The
//! tests compile all variants, including those that only few models or settings need.

use std::collections::BTreeSet;

use plinth_model::TextureSlot;

use super::material_source::define;

pub(crate) struct PassShader {
    /// Path of the shader's file.
    pub(crate) path: &'static str,
    pub(crate) text: &'static str,
    /// Lists of alternatives. A variant uses one alternative of each list. An alternative consists of features
    /// separated by spaces, and may be empty.
    choices: &'static [&'static [&'static str]],
}

/// A shader that computes the colour of a surface with a material.
pub(crate) struct SurfaceShader {
    /// Path of the shader's file.
    pub(crate) path: &'static str,
    pub(crate) text: &'static str,
    /// Optional features. The defines of texture slots are also allowed.
    pub(crate) features: &'static [&'static str],
}

/// Declares a pass by its name and its lists of alternatives.
macro_rules! pass {
    ($name:literal, $choices:expr) => {
        PassShader {
            path: concat!("pass/", $name, ".wgsl"),
            text: include_str!(concat!("../../shaders/pass/", $name, ".wgsl")),
            choices: $choices,
        }
    };
}

const SAMPLED: &[&str] = &["", "MULTISAMPLED"];
const ALPHA_TEST: &[&str] = &["", "ALPHA_TEST"];

/// The shaders of passes that read no material or only the alpha of a material.
pub(crate) const PASSES: &[PassShader] = &[
    pass!("accumulate", &[]),
    pass!("scene_color", &[&["SURFACES", "SAMPLES_DRAWN"], SAMPLED]),
    pass!("bloom", &[&["BRIGHT", "HALVE", "WIDEN", "DISPLAYED"]]),
    pass!(
        "classify",
        &[&[
            "",
            "MULTISAMPLED",
            "MULTISAMPLED AT_EDGES EDGE_PIXELS",
            "AT_EDGES ONE_SURFACE",
            "AT_EDGES ONE_SURFACE MARK"
        ]]
    ),
    pass!(
        "composite",
        &[&["", "TRANSPARENT"], SAMPLED, &["", "RADIANCE", "RADIANCE UNLIT", "RADIANCE GLOW", "RADIANCE UNLIT GLOW"]]
    ),
    pass!("depth", &[ALPHA_TEST]),
    pass!(
        "pixel_effects",
        &[
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
        ]
    ),
    pass!("depth_of_field", &[&["SHRINK", "WIDEST", "WIDEST AROUND", "GATHER", "SMOOTH"]]),
    pass!("empty", &[&["", "TRIANGLES", "COLORS"]]),
    pass!("back_faces", &[&["FACING"]]),
    pass!("floor", &[]),
    pass!("floor_shadow", &[&["", "FLAT", "ACCUMULATED"], &["", "PACKED_SHADOWS"]]),
    pass!("geometry", &[&["FACING", "NUMBERED EXACT"], ALPHA_TEST]),
    pass!("halve", &[&["", "FIRST"]]),
    pass!("mix_light", &[]),
    pass!("packed_shadow", &[]),
    pass!("picture", &[]),
    pass!("pose", &[&["VERTICES", "NUMBERED", "TRIANGLES"]]),
    pass!("reflection", &[&["", "CATCH", "CATCH MULTISAMPLED"]]),
    pass!("expand_samples", &[&["", "MULTISAMPLED", "MULTISAMPLED SECOND"], &["", "WHOLE"]]),
    pass!("sort_triangles", &[&["KEYS", "BLOCKS", "BLOCKS MERGE", "APART", "INDICES"]]),
    pass!("sprite", &[&["NUMBERED", "FACING", "CAST"], &["", "LINES"], &["", "ALPHA_TEST", "ALPHA_TEST BLEND"]]),
    pass!("surroundings", &[]),
    pass!("visibility", &[&["NUMBERED"], &["", "ALPHA_TEST", "ALPHA_TEST OPAQUE_TEXELS"]]),
];

/// The shaders that compute the colours of surfaces.
pub(crate) const SURFACES: &[SurfaceShader] = &[
    SurfaceShader {
        path: "pass/transparent.wgsl",
        text: include_str!("../../shaders/pass/transparent.wgsl"),
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
            "MASKED",
            "OCCLUSION_PACKED",
            "PACKED_SHADOWS",
            "POLISHED",
            "SHEEN",
            "TANGENT",
            "TINTED_SPECULAR",
            "TRANSMISSION",
            "UNLIT",
            "UV",
            "UV1",
            "VERTEX_COLOR",
        ],
    },
    SurfaceShader {
        path: "pass/shade.wgsl",
        text: include_str!("../../shaders/pass/shade.wgsl"),
        features: &[
            "ANISOTROPY",
            "BLEND",
            "CLEARCOAT",
            "DIFFUSE_TRANSMISSION",
            "DISPERSION",
            "DISPLAY",
            "EMITS",
            "ENVIRONMENT_STRENGTH",
            "IRIDESCENCE",
            "LINES",
            "LIT",
            "MASKED",
            "MATERIAL_SET",
            "OCCLUSION_PACKED",
            "PACKED_SHADOWS",
            "POLISHED",
            "SHEEN",
            "SPRITE",
            "TANGENT",
            "TINTED_SPECULAR",
            "TRANSMISSION",
            "UNLIT",
            "UV",
            "UV1",
            "VERTEX_COLOR",
        ],
    },
];

impl PassShader {
    /// Returns all sets of features with which the shader may be compiled.
    pub(crate) fn variants(&self) -> Vec<BTreeSet<String>> {
        self.choices.iter().fold(vec![BTreeSet::new()], |known, choice| {
            let with = |set: &BTreeSet<String>, words: &str| -> BTreeSet<String> {
                set.iter().cloned().chain(words.split_whitespace().map(str::to_owned)).collect()
            };
            known.iter().flat_map(|set| choice.iter().map(move |words| with(set, words))).collect()
        })
    }
}

/// Returns whether a shader may be compiled with these features.
pub(super) fn is_declared(path: &str, defines: &BTreeSet<String>) -> bool {
    if let Some(surface) = SURFACES.iter().find(|surface| surface.path == path) {
        let of_texture = |word: &String| TextureSlot::ALL.into_iter().any(|slot| define(slot) == *word);
        return defines.iter().all(|word| surface.features.contains(&word.as_str()) || of_texture(word));
    }
    PASSES.iter().any(|pass| pass.path == path && pass.variants().contains(defines))
}

/// Returns the source of a pass. Returns `None` if the pass does not exist.
pub(super) fn text_of(path: &str) -> Option<&'static str> {
    let passes = PASSES.iter().map(|pass| (pass.path, pass.text));
    let mut all = passes.chain(SURFACES.iter().map(|surface| (surface.path, surface.text)));
    all.find(|(known, _)| *known == path).map(|(_, text)| text)
}
