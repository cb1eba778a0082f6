//! Tests of materials and their extensions.

use plinth_model::{AlphaMode, Material, TextureRef, Wrap};
use serde_json::{Value, json};

use crate::glb::{Glb, assert_near};
use crate::images::png;

/// Loads a file that contains this material and three textures, and returns the loaded material.
fn material(json: Value) -> Material {
    with_material(json).load().materials.swap_remove(0)
}

fn with_material(json: Value) -> Glb {
    let mut glb = Glb::textured();
    for grey in [50, 100, 150] {
        glb.image("image/png", &png(1, 1, &[grey, grey, grey, 255]));
    }
    *glb.material() = json;
    glb
}

fn extension(name: &str, json: Value) -> Material {
    let mut extensions = serde_json::Map::new();
    extensions.insert(name.to_owned(), json);
    material(json!({"extensions": extensions}))
}

const fn plain(texture: usize) -> TextureRef {
    TextureRef { texture, uv_set: 0, transform: None }
}

#[test]
fn metallic_roughness_factors_and_textures_are_read() {
    let m = material(json!({
        "name": "red metal", "doubleSided": true, "emissiveFactor": [0.1, 0.2, 0.3],
        "pbrMetallicRoughness": {
            "baseColorFactor": [1, 0, 0, 0.5], "metallicFactor": 0.25, "roughnessFactor": 0.75,
            "baseColorTexture": {"index": 0}, "metallicRoughnessTexture": {"index": 1},
        },
        "normalTexture": {"index": 2, "scale": 0.5}, "occlusionTexture": {"index": 1, "strength": 0.25},
        "emissiveTexture": {"index": 0, "texCoord": 1},
    }));
    assert_eq!((m.name.as_str(), m.base_color, m.double_sided), ("red metal", [1.0, 0.0, 0.0, 0.5], true));
    assert_eq!((m.metallic, m.perceptual_roughness, m.emissive), (0.25, 0.75, [0.1, 0.2, 0.3]));
    assert_eq!((m.base_color_texture, m.metallic_roughness_texture), (Some(plain(0)), Some(plain(1))));
    assert_eq!((m.normal_texture, m.normal_scale), (Some(plain(2)), 0.5));
    assert_eq!((m.occlusion_texture, m.occlusion_strength), (Some(plain(1)), 0.25));
    assert_eq!(m.emissive_texture.unwrap().uv_set, 1);
}

#[test]
fn an_empty_material_has_the_gltf_defaults() {
    assert_eq!(material(json!({})), Material { name: "material_0".into(), ..Material::default() });
}

#[test]
fn alpha_modes_are_read_and_the_default_cutoff_is_one_half() {
    assert_eq!(material(json!({"alphaMode": "OPAQUE"})).alpha_mode, AlphaMode::Opaque);
    assert_eq!(material(json!({"alphaMode": "BLEND"})).alpha_mode, AlphaMode::Blend);
    assert_eq!(material(json!({"alphaMode": "MASK"})).alpha_mode, AlphaMode::Mask { cutoff: 0.5 });
    let quarter = material(json!({"alphaMode": "MASK", "alphaCutoff": 0.25}));
    assert_eq!(quarter.alpha_mode, AlphaMode::Mask { cutoff: 0.25 });
}

#[test]
fn factors_are_clamped_and_non_finite_ones_are_rejected() {
    let m = material(json!({"pbrMetallicRoughness": {"metallicFactor": 3, "roughnessFactor": -1}}));
    assert_eq!((m.metallic, m.perceptual_roughness), (1.0, 0.0));
    let infinite = json!({"pbrMetallicRoughness": {"baseColorFactor": [1e39, 0, 0, 1]}});
    assert!(with_material(infinite).load_error().contains("materials[0]: a factor is not finite"));
}

#[test]
fn khr_materials_unlit() {
    assert!(extension("KHR_materials_unlit", json!({})).unlit);
    assert!(!material(json!({})).unlit);
}

#[test]
fn khr_materials_emissive_strength() {
    let m = material(json!({
        "emissiveFactor": [1, 0.5, 0],
        "extensions": {"KHR_materials_emissive_strength": {"emissiveStrength": 4}},
    }));
    assert_eq!(m.emissive, [4.0, 2.0, 0.0]);
}

#[test]
fn khr_materials_ior_and_dispersion() {
    assert_eq!(extension("KHR_materials_ior", json!({"ior": 1.33})).ior, 1.33);
    assert_eq!(extension("KHR_materials_ior", json!({})).ior, 1.5);
    assert_eq!(extension("KHR_materials_dispersion", json!({"dispersion": 0.1})).dispersion, 0.1);
}

#[test]
fn khr_materials_specular() {
    let m = extension(
        "KHR_materials_specular",
        json!({"specularFactor": 0.5, "specularTexture": {"index": 0}, "specularColorFactor": [1, 0.5, 0], "specularColorTexture": {"index": 1}}),
    );
    assert_eq!((m.specular, m.specular_color), (0.5, [1.0, 0.5, 0.0]));
    assert_eq!((m.specular_texture, m.specular_color_texture), (Some(plain(0)), Some(plain(1))));
}

#[test]
fn khr_materials_clearcoat() {
    let c = extension(
        "KHR_materials_clearcoat",
        json!({
            "clearcoatFactor": 0.9, "clearcoatTexture": {"index": 0},
            "clearcoatRoughnessFactor": 0.3, "clearcoatRoughnessTexture": {"index": 1},
            "clearcoatNormalTexture": {"index": 2, "scale": 2},
        }),
    )
    .clearcoat
    .unwrap();
    assert_eq!((c.factor, c.roughness, c.normal_scale), (0.9, 0.3, 2.0));
    assert_eq!((c.texture, c.roughness_texture, c.normal_texture), (Some(plain(0)), Some(plain(1)), Some(plain(2))));
}

#[test]
fn khr_materials_sheen() {
    let s = extension(
        "KHR_materials_sheen",
        json!({
            "sheenColorFactor": [0.1, 0.2, 0.3], "sheenColorTexture": {"index": 0},
            "sheenRoughnessFactor": 0.4, "sheenRoughnessTexture": {"index": 1},
        }),
    )
    .sheen
    .unwrap();
    assert_eq!((s.color, s.roughness), ([0.1, 0.2, 0.3], 0.4));
    assert_eq!((s.color_texture, s.roughness_texture), (Some(plain(0)), Some(plain(1))));
}

#[test]
fn khr_materials_transmission_and_volume() {
    let m = material(json!({"extensions": {
        "KHR_materials_transmission": {"transmissionFactor": 0.8, "transmissionTexture": {"index": 0}},
        "KHR_materials_volume": {
            "thicknessFactor": 2, "thicknessTexture": {"index": 1},
            "attenuationDistance": 3, "attenuationColor": [0.9, 0.8, 0.7],
        },
    }}));
    let (t, v) = (m.transmission.unwrap(), m.volume.unwrap());
    assert_eq!((t.factor, t.texture), (0.8, Some(plain(0))));
    assert_eq!((v.thickness, v.thickness_texture), (2.0, Some(plain(1))));
    assert_eq!((v.attenuation_distance, v.attenuation_color), (3.0, [0.9, 0.8, 0.7]));
    let open = extension("KHR_materials_volume", json!({})).volume.unwrap();
    assert!(open.attenuation_distance.is_infinite());
    let volume =
        json!({"extensions": {"KHR_materials_volume": {"thicknessFactor": 1.0, "attenuationDistance": 1e300}}});
    let model = with_material(volume).load();
    assert!(model.materials[0].volume.unwrap().attenuation_distance.is_infinite());
    assert_eq!(model.warnings, [""; 0]);
}

#[test]
fn khr_materials_iridescence() {
    let i = extension(
        "KHR_materials_iridescence",
        json!({
            "iridescenceFactor": 0.7, "iridescenceTexture": {"index": 0}, "iridescenceIor": 1.8,
            "iridescenceThicknessMinimum": 200, "iridescenceThicknessMaximum": 500, "iridescenceThicknessTexture": {"index": 1},
        }),
    )
    .iridescence
    .unwrap();
    assert_eq!((i.factor, i.ior, i.thickness_min, i.thickness_max), (0.7, 1.8, 200.0, 500.0));
    assert_eq!((i.texture, i.thickness_texture), (Some(plain(0)), Some(plain(1))));
    let defaults = extension("KHR_materials_iridescence", json!({})).iridescence.unwrap();
    assert_eq!((defaults.ior, defaults.thickness_min, defaults.thickness_max), (1.3, 100.0, 400.0));
}

#[test]
fn khr_materials_anisotropy() {
    let a = extension(
        "KHR_materials_anisotropy",
        json!({"anisotropyStrength": 0.6, "anisotropyRotation": 1.5, "anisotropyTexture": {"index": 2}}),
    )
    .anisotropy
    .unwrap();
    assert_eq!((a.strength, a.rotation, a.texture), (0.6, 1.5, Some(plain(2))));
}

#[test]
fn khr_materials_diffuse_transmission() {
    let d = extension(
        "KHR_materials_diffuse_transmission",
        json!({
            "diffuseTransmissionFactor": 0.5, "diffuseTransmissionTexture": {"index": 0},
            "diffuseTransmissionColorFactor": [1, 0.5, 0], "diffuseTransmissionColorTexture": {"index": 1},
        }),
    )
    .diffuse_transmission
    .unwrap();
    assert_eq!((d.factor, d.color), (0.5, [1.0, 0.5, 0.0]));
    assert_eq!((d.texture, d.color_texture), (Some(plain(0)), Some(plain(1))));
}

#[test]
fn khr_texture_transform_applies_scale_then_rotation_then_offset() {
    let m = material(json!({"pbrMetallicRoughness": {"baseColorTexture": {
        "index": 0, "texCoord": 0,
        "extensions": {"KHR_texture_transform": {
            "offset": [0.25, 0.5], "rotation": std::f32::consts::FRAC_PI_2, "scale": [2, 3], "texCoord": 1,
        }},
    }}}));
    let reference = m.base_color_texture.unwrap();
    assert_eq!(reference.uv_set, 1);
    let [a, b, c, d, e, f] = reference.transform.unwrap();
    // The transform is a rotation by 90°: u' = 3 v + 0.25, v' = -2 u + 0.5.
    assert_near(&[a, b, c, d, e, f], &[0.0, 3.0, 0.25, -2.0, 0.0, 0.5]);
    let infinite = json!({"pbrMetallicRoughness": {"baseColorTexture": {
        "index": 0, "extensions": {"KHR_texture_transform": {"scale": [1e39, 1]}},
    }}});
    assert!(with_material(infinite).load_error().contains("a texture transform is not finite"));
}

#[test]
fn specular_glossiness_factors_become_metallic_roughness() {
    let name = "KHR_materials_pbrSpecularGlossiness";
    let plastic = extension(
        name,
        json!({"diffuseFactor": [0.5, 0.25, 0, 1], "specularFactor": [0.04, 0.04, 0.04], "glossinessFactor": 0.3}),
    );
    assert_near(&[plastic.metallic, plastic.perceptual_roughness], &[0.0, 0.7]);
    assert_near(&plastic.base_color, &[0.5, 0.25, 0.0, 1.0]);
    let gold =
        extension(name, json!({"diffuseFactor": [0, 0, 0, 1], "specularFactor": [1, 0.8, 0.3], "glossinessFactor": 1}));
    assert_near(&[gold.metallic, gold.perceptual_roughness], &[1.0, 0.0]);
    assert_near(&gold.base_color, &[1.0, 0.8, 0.3, 1.0]);
}

#[test]
fn specular_glossiness_textures_are_converted_once_for_equal_materials() {
    let old =
        json!({"extensions": {"KHR_materials_pbrSpecularGlossiness": {"specularGlossinessTexture": {"index": 0}}}});
    let mut glb = with_material(old.clone());
    // The specular colour is white. The alpha channel contains the glossiness 0.2.
    let view = glb.view(&png(1, 1, &[255, 255, 255, 51]));
    glb.json["images"][0]["bufferView"] = view.into();
    glb.push("materials", old);
    glb.json["meshes"][0]["primitives"]
        .as_array_mut()
        .unwrap()
        .push(json!({"attributes": {"POSITION": 0, "TEXCOORD_0": 1}, "material": 1}));
    let model = glb.load();
    let [first, second] = [0, 1].map(|m: usize| model.materials[m].metallic_roughness_texture.unwrap().texture);
    assert_eq!(model.textures[first].image, model.textures[second].image);
    assert_eq!(model.images[model.textures[first].image].pixels.to_vec(), [255, 204, 255, 255]);
    assert_eq!((model.materials[0].metallic, model.materials[0].perceptual_roughness), (1.0, 1.0));
}

#[test]
fn specular_glossiness_metals_get_their_specular_colour() {
    // The first texel is gold: its diffuse colour is black, and its specular reflection is coloured. The second texel
    // is red plastic: its diffuse colour is red, and its reflectance is 4 %. The values 0.8, 0.3 and 0.04 are encoded
    // as sRGB.
    let (strong, weak, plain) = (231, 149, 56);
    let diffuse = png(2, 1, &[0, 0, 0, 255, 255, 0, 0, 128]);
    let gloss = png(2, 1, &[255, strong, weak, 255, plain, plain, plain, 102]);
    let mut glb = with_material(json!({"extensions": {"KHR_materials_pbrSpecularGlossiness": {
        "diffuseTexture": {"index": 0}, "specularGlossinessTexture": {"index": 1},
    }}}));
    for (i, bytes) in [diffuse, gloss].iter().enumerate() {
        let view = glb.view(bytes);
        glb.json["images"][i]["bufferView"] = view.into();
    }
    let model = glb.load();
    let material = &model.materials[0];
    let texels = |r: Option<TextureRef>| model.images[model.textures[r.unwrap().texture].image].pixels.to_vec();
    let (base, rough) = (texels(material.base_color_texture), texels(material.metallic_roughness_texture));
    let near = |a: &[u8], b: [u8; 4]| a.iter().zip(b).all(|(a, b)| a.abs_diff(b) <= 3);
    assert!(near(&base[..4], [255, strong, weak, 255]), "gold: {base:?}");
    assert!(near(&rough[..4], [255, 0, 255, 255]), "a mirror of metal: {rough:?}");
    assert!(near(&base[4..], [255, 0, 0, 128]), "red: {base:?}");
    assert!(near(&rough[4..], [255, 153, 0, 255]), "plastic: {rough:?}");
    assert_eq!((material.base_color, material.metallic, material.perceptual_roughness), ([1.0; 4], 1.0, 1.0));
}

#[test]
fn a_specular_glossiness_material_keeps_its_diffuse_colour_if_the_other_texture_cannot_be_used() {
    for with_texture in [false, true] {
        let mut spec_gloss = json!({"diffuseFactor": [0.5, 0.25, 0, 1], "specularGlossinessTexture": {"index": 1}});
        if with_texture {
            spec_gloss["diffuseTexture"] = json!({"index": 0});
        }
        let mut glb = with_material(json!({"extensions": {"KHR_materials_pbrSpecularGlossiness": spec_gloss}}));
        let view = glb.view(b"DDS ");
        glb.json["images"][1]["bufferView"] = view.into();
        let material = glb.load().materials.swap_remove(0);
        let factors = (material.base_color, material.metallic, material.perceptual_roughness);
        assert_eq!(factors, ([0.5, 0.25, 0.0, 1.0], 0.0, 1.0));
        let textures = (material.base_color_texture, material.metallic_roughness_texture);
        assert_eq!(textures, (with_texture.then_some(plain(0)), None));
    }
}

#[test]
fn material_variants_are_ignored() {
    let mut glb = with_material(json!({"name": "default"}));
    glb.push("materials", json!({"name": "other"}));
    glb.json["extensionsRequired"] = json!(["KHR_materials_variants"]);
    glb.json["extensions"]["KHR_materials_variants"] = json!({"variants": [{"name": "night"}]});
    glb.primitive()["extensions"]["KHR_materials_variants"] = json!({"mappings": [{"material": 1, "variants": [0]}]});
    assert_eq!(glb.loaded().material, 0);
}

#[test]
fn samplers_are_read_and_textures_without_an_image_are_white() {
    let mut glb = with_material(json!({"pbrMetallicRoughness": {"baseColorTexture": {"index": 0}}}));
    glb.push("samplers", json!({"wrapS": 33071, "wrapT": 33648, "magFilter": 9728, "minFilter": 9729}));
    glb.json["textures"][0]["sampler"] = 0.into();
    let sampler = glb.load().textures[0].sampler;
    assert_eq!(
        (sampler.wrap_u, sampler.wrap_v, sampler.mag_nearest, sampler.min_nearest),
        (Wrap::Clamp, Wrap::Mirror, true, false)
    );
    glb.json["textures"][0] = json!({});
    let model = glb.load();
    assert_eq!(model.images[model.textures[0].image].pixels.to_vec(), [255; 4]);
}

#[test]
fn maps_of_directions_without_an_image_are_dropped_with_a_warning() {
    let mut glb = with_material(json!({
        "name": "oak",
        "normalTexture": {"index": 0},
        "occlusionTexture": {"index": 0},
        "extensions": {
            "KHR_materials_clearcoat": {"clearcoatFactor": 1, "clearcoatNormalTexture": {"index": 0}},
            "KHR_materials_anisotropy": {"anisotropyStrength": 1, "anisotropyTexture": {"index": 0}},
        },
    }));
    let maps = |glb: &Glb| {
        let model = glb.load();
        let material = model.materials[0].clone();
        let maps = [
            material.normal_texture,
            material.clearcoat.unwrap().normal_texture,
            material.anisotropy.unwrap().texture,
            material.occlusion_texture,
        ];
        (maps.map(|map| map.is_some()), model.warnings)
    };
    assert_eq!(maps(&glb), ([true; 4], vec![]));
    glb.json["textures"][0] = json!({"sampler": 0});
    glb.push("samplers", json!({}));
    let (found, warnings) = maps(&glb);
    assert_eq!(found, [false, false, false, true]);
    for slot in ["normal", "clearcoat_normal", "anisotropy"] {
        let expected = format!("oak: the {slot} texture has no image, so it has no effect");
        assert!(warnings.contains(&expected), "{warnings:?}");
    }
}

/// Builds a triangle with four texture coordinate sets. In set k, the coordinates of the first corner are (k, 0).
fn with_four_sets(material: Value) -> Glb {
    let mut glb = with_material(material);
    for set in 0..4_u8 {
        glb.attribute(&format!("TEXCOORD_{set}"), &[[f32::from(set), 0.0], [1.0, 0.0], [0.0, 1.0]]);
    }
    glb
}

#[test]
fn textures_use_higher_coordinate_sets() {
    let model = with_four_sets(json!({
        "pbrMetallicRoughness": {"baseColorTexture": {"index": 0, "texCoord": 3}},
        "occlusionTexture": {"index": 0, "texCoord": 2},
        "extensions": {"KHR_materials_sheen": {"sheenColorTexture": {"index": 0, "texCoord": 3}}},
    }))
    .load();
    let (m, p) = (&model.materials[0], &model.meshes[0].primitives[0]);
    let sets = [m.base_color_texture, m.occlusion_texture, m.sheen.unwrap().color_texture].map(|t| t.unwrap().uv_set);
    assert_eq!(sets, [1, 0, 1]);
    assert_eq!((p.uvs[0][0], p.uvs[1][0]), ([2.0, 0.0], [3.0, 0.0]));
    assert!(model.warnings.is_empty(), "{:?}", model.warnings);
}

#[test]
fn a_third_coordinate_set_that_is_an_affine_copy_becomes_a_texture_transform() {
    let half = json!({"KHR_texture_transform": {"scale": [0.5, 0.5], "offset": [0.25, 0]}});
    let mut glb = with_material(json!({
        "pbrMetallicRoughness": {"baseColorTexture": {"index": 0, "texCoord": 0}},
        "occlusionTexture": {"index": 0, "texCoord": 1},
        "emissiveTexture": {"index": 0, "texCoord": 2, "extensions": half},
    }));
    let uvs: [[f32; 2]; 3] = [[0.0, 0.0], [1.0, 0.0], [0.25, 0.5]];
    glb.attribute("TEXCOORD_0", &uvs);
    glb.attribute("TEXCOORD_1", &[[0.0_f32, 0.0]; 3]);
    // The texture coordinates are rotated by 90° and translated, so (u, v) becomes (v + 0.5, 2 − u).
    glb.attribute("TEXCOORD_2", &uvs.map(|[u, v]| [v + 0.5, 2.0 - u]));
    let model = glb.load();
    let glow = model.materials[0].emissive_texture.unwrap();
    assert_eq!(glow.uv_set, 0);
    // The material's own texture transform scales by one half and moves by one quarter.
    assert_near(&glow.transform.unwrap(), &[0.0, 0.5, 0.5, -0.5, 0.0, 1.0]);
    assert_eq!(model.meshes[0].primitives[0].uvs.len(), 1);
    assert!(model.warnings.is_empty(), "{:?}", model.warnings);
}

#[test]
fn an_independent_third_coordinate_set_causes_a_warning() {
    let mut glb = with_material(json!({
        "name": "many",
        "pbrMetallicRoughness": {"baseColorTexture": {"index": 0, "texCoord": 0}},
        "occlusionTexture": {"index": 0, "texCoord": 1},
        "emissiveTexture": {"index": 0, "texCoord": 2},
    }));
    glb.attribute("TEXCOORD_0", &[[0.0_f32, 0.0]; 3]);
    glb.attribute("TEXCOORD_1", &[[0.0_f32, 0.0], [1.0, 1.0], [0.5, 0.5]]);
    glb.attribute("TEXCOORD_2", &[[0.0_f32, 0.0], [1.0, 0.0], [0.25, 0.5]]);
    let model = glb.load();
    let m = &model.materials[0];
    let sets = [m.base_color_texture, m.occlusion_texture, m.emissive_texture].map(|t| t.unwrap().uv_set);
    assert_eq!(sets, [0, 1, 0]);
    assert!(
        model.warnings[0].contains("material 'many': its textures use 3 texture coordinate sets"),
        "{:?}",
        model.warnings
    );
}
