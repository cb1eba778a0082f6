//! Tests that rendered materials follow the rules of glTF 2.0 and its extensions.

use std::collections::BTreeMap;

use plinth_model::{AlphaMode, Clearcoat, Iridescence, Material, Primitive, Sheen, Transmission, Volume};
use plinth_scene::EnvironmentMap;
use serde_json::json;

use crate::models::{model, picture, scene, scene_with, square, straight_on};

const SIDE: u32 = 64;

fn middle(picture: &[[u8; 3]]) -> [u8; 3] {
    picture[(SIDE / 2 * SIDE + SIDE / 2) as usize]
}

fn unlit(base_color: [f32; 4]) -> Material {
    Material { base_color, unlit: true, ..Material::default() }
}

fn glass(thickness: f32) -> Material {
    Material {
        transmission: Some(Transmission { factor: 1.0, ..Transmission::default() }),
        volume: Some(Volume {
            thickness,
            attenuation_color: [0.2, 0.8, 0.2],
            attenuation_distance: 0.5,
            ..Volume::default()
        }),
        perceptual_roughness: 0.0,
        metallic: 0.0,
        ..Material::default()
    }
}

/// Returns the colour in the middle of a surface that is in front of a red square.
fn before_red(surface: (Primitive, Material, [f32; 3], f32)) -> [u8; 3] {
    let red = (square(), unlit([1.0, 0.0, 0.0, 1.0]), [0.0; 3], 1.0);
    middle(&picture(&scene(model(vec![red, surface]), &straight_on()), SIDE))
}

/// glTF 2.0, 3.9.4: a surface is opaque where its alpha is at least the cutoff.
#[test]
fn alpha_that_equals_the_cutoff_is_opaque() {
    for (alpha, cutoff, expected) in
        [(0.5, 0.5, [0, 255, 0]), (1.0, 1.0, [0, 255, 0]), (0.5, 0.5001, [255, 0, 0]), (0.0, 0.0, [0, 255, 0])]
    {
        let green = Material { alpha_mode: AlphaMode::Mask { cutoff }, ..unlit([0.0, 1.0, 0.0, alpha]) };
        assert_eq!(before_red((square(), green, [0.0, 0.0, 0.2], 0.5)), expected, "{alpha} {cutoff}");
    }
}

#[test]
fn transmissive_surfaces_are_masked() {
    for thickness in [0.0, 0.5] {
        let with_alpha = |alpha: f32| Material {
            alpha_mode: AlphaMode::Mask { cutoff: 0.5 },
            base_color: [0.0, 0.0, 1.0, alpha],
            ..glass(thickness)
        };
        let seen = |alpha: f32| before_red((square(), with_alpha(alpha), [0.0, 0.0, 0.2], 0.5));
        assert_eq!(seen(0.4), [255, 0, 0], "{thickness}");
        assert!(seen(0.6)[0] < 128, "{thickness}");
    }
}

/// In KHR_materials_volume, the thickness is given in mesh space, and the attenuation distance is given in world space.
#[test]
fn the_thickness_of_a_volume_scales_with_its_node() {
    let mut large = square();
    large.positions.iter_mut().flatten().for_each(|c| *c *= 100.0);
    let seen = |p: Primitive, thickness: f32, scale: f32| before_red((p, glass(thickness), [0.0, 0.0, 0.2], scale));
    let (unscaled, scaled) = (seen(square(), 0.4, 0.5), seen(large, 40.0, 0.005));
    assert!(unscaled.iter().zip(scaled).all(|(a, b)| a.abs_diff(b) <= 1), "{unscaled:?} {scaled:?}");
    let thicker = seen(square(), 1.6, 0.5);
    assert!(thicker[0] + 20 < unscaled[0], "the thickness has no effect: {thicker:?} {unscaled:?}");
}

/// In KHR_materials_volume, a volume absorbs all light of a colour whose attenuation is 0, however thin the volume is. What
/// is left is the light that the pane reflects.
#[test]
fn an_attenuation_colour_of_0_absorbs_all_light() {
    let seen = |red: f32, base: f32| {
        let volume = Volume {
            thickness: 0.1,
            attenuation_color: [red, 1.0, 1.0],
            attenuation_distance: 100.0,
            ..Volume::default()
        };
        let pane = Material { base_color: [base, 1.0, 1.0, 1.0], volume: Some(volume), ior: 1.0, ..glass(0.1) };
        before_red((square(), pane, [0.0, 0.0, 0.2], 0.5))[0]
    };
    let (clear, absorbing, tinted) = (seen(1.0, 1.0), seen(0.0, 1.0), seen(1.0, 0.0));
    assert!(clear > 200 && absorbing < 50 && absorbing.abs_diff(tinted) <= 1, "{clear} {absorbing} {tinted}");
}

/// In KHR_materials_clearcoat, the coat also reflects light from the layers below it, so it darkens the emission of
/// surfaces that are seen at a grazing angle.
#[test]
fn a_coat_darkens_the_emission_below_it() {
    let tilted = turned(80.0);
    let night = EnvironmentMap { width: 64, height: 32, pixels: vec![[0.0; 3]; 64 * 32] };
    let seen = |factor: f32| {
        let material = Material {
            base_color: [0.0, 0.0, 0.0, 1.0],
            metallic: 0.0,
            emissive: [0.4; 3],
            double_sided: true,
            clearcoat: Some(Clearcoat { factor, ..Clearcoat::default() }),
            ..Material::default()
        };
        let model = model(vec![(tilted.clone(), material, [0.0; 3], 1.0)]);
        let mut settings = straight_on();
        settings["glossIntensity"] = json!(0);
        middle(&picture(&scene_with(model, &settings, night.clone(), &BTreeMap::new()), SIDE))[0]
    };
    let (bare, coated) = (seen(0.0), seen(1.0));
    assert!(bare > 100 && coated + 20 < bare, "{bare} {coated}");
}

/// The coat and the sheen reflect light, so that less of the backdrop is seen through glass below them. At night, they
/// reflect nothing towards the camera.
#[test]
fn a_coat_and_a_sheen_darken_the_backdrop_behind_glass() {
    let night = EnvironmentMap { width: 64, height: 32, pixels: vec![[0.0; 3]; 64 * 32] };
    let seen = |clearcoat: Option<Clearcoat>, sheen: Option<Sheen>| {
        let pane = Material { ior: 1.0, specular: 0.0, double_sided: true, clearcoat, sheen, ..glass(0.0) };
        let model = model(vec![(turned(80.0), pane, [0.0; 3], 1.0)]);
        let mut settings = straight_on();
        settings["bgColor"] = json!("#ffffff");
        middle(&picture(&scene_with(model, &settings, night.clone(), &BTreeMap::new()), SIDE))[1]
    };
    let bare = seen(None, None);
    let coated = seen(Some(Clearcoat { factor: 1.0, ..Clearcoat::default() }), None);
    let fuzzy = seen(None, Some(Sheen { color: [1.0; 3], roughness: 0.5, ..Sheen::default() }));
    assert!(bare > 245 && coated + 20 < bare && fuzzy + 20 < bare, "{bare} {coated} {fuzzy}");
    assert!(coated > 100 && fuzzy > 100, "{coated} {fuzzy}");
}

/// In KHR_materials_specular, the light that is not reflected specularly has no colour: it is what the most reflected
/// colour leaves. A mirror that reflects only red has no cyan body.
#[test]
fn a_coloured_reflection_does_not_give_the_complementary_colour_to_the_light_below() {
    let seen = |specular_color: [f32; 3]| {
        let mirror =
            Material { ior: 0.0, specular_color, metallic: 0.0, perceptual_roughness: 0.0, ..Material::default() };
        middle(&picture(&scene(model(vec![(square(), mirror, [0.0; 3], 1.0)]), &straight_on()), SIDE))
    };
    let [r, g, b] = seen([1.0, 0.0, 0.0]);
    assert!(r > 200 && g < 60 && b < 60, "{r} {g} {b}");
    let white_body = seen([0.0; 3]);
    assert!(white_body.iter().all(|c| *c > 200), "{white_body:?}");
}

/// Returns a square that is turned about the y axis, so that its normal and the view direction form this angle.
fn turned(degrees: f32) -> Primitive {
    let mut square = square();
    let (sin, cos) = degrees.to_radians().sin_cos();
    for vector in square.positions.iter_mut().chain(&mut square.normals) {
        *vector = [cos * vector[0] + sin * vector[2], vector[1], cos * vector[2] - sin * vector[0]];
    }
    square
}

/// Without interference, which vanishes in thick films, a film reflects the sum of all reflections between its two sides:
/// r₁ + (1 − r₁)² r₂ / (1 − r₁ r₂) (KHR_materials_iridescence, with the Fresnel reflectances r₁ and r₂ by Schlick). A base
/// whose specular weight is 0 reflects as little as air.
#[test]
fn a_thick_film_reflects_at_any_angle_what_its_two_sides_reflect() {
    let smooth = |material: Material| Material { perceptual_roughness: 0.0, double_sided: true, ..material };
    let seen = |part: Primitive, material: Material| {
        middle(&picture(&scene(model(vec![(part, smooth(material), [0.0; 3], 1.0)]), &straight_on()), SIDE))[1]
    };
    let bases = |angle: f32| [(angle, 1.0, 1.5_f32), (angle, 0.0, 1.0)];
    for (angle, specular, base_ior) in [0.0, 50.0, 70.0, 80.0].into_iter().flat_map(bases) {
        let coated = Material { specular, ..thick_film() };
        let schlick = |f0: f32, cosine: f32| f0 + (1.0 - f0) * (1.0 - cosine).powi(5);
        let outside = angle.to_radians().cos();
        let inside = (1.0 - angle.to_radians().sin().powi(2) / 1.3_f32.powi(2)).sqrt();
        let first = schlick((0.3_f32 / 2.3).powi(2), outside);
        let second = schlick(((base_ior - 1.3) / (base_ior + 1.3)).powi(2), inside);
        let expected = first + (1.0 - first).powi(2) * second / (1.0 - first * second);
        // At normal incidence, a metal reflects its colour.
        let metal = Material { base_color: [expected, expected, expected, 1.0], ..Material::default() };
        let (film, metal) = (seen(turned(angle), coated), seen(square(), metal));
        assert!(film.abs_diff(metal) <= 3, "specular {specular} at {angle}°: {film}, not {metal}");
    }
}

/// Returns a film without interference on a black base.
fn thick_film() -> Material {
    let film = Iridescence { factor: 1.0, ior: 1.3, thickness_max: 1e5, ..Iridescence::default() };
    Material { base_color: [0.0, 0.0, 0.0, 1.0], metallic: 0.0, iridescence: Some(film), ..Material::default() }
}

/// A lamp beside the camera is reflected by those parts of a rough surface that face both. They reflect as at normal
/// incidence, however grazing the view of the surface is: much less than a white metal, if the film's base is black.
#[test]
fn a_film_seen_at_a_grazing_angle_reflects_little_of_a_lamp_beside_the_camera() {
    let night = EnvironmentMap { width: 64, height: 32, pixels: vec![[0.0; 3]; 64 * 32] };
    let seen = |material: Material| {
        let rough = Material { perceptual_roughness: 1.0, double_sided: true, ..material };
        let mut settings = straight_on();
        settings["spotlightIntensity"] = json!(1);
        // The camera is on the line from the key light to the model. The cosine between it and the normal is 0.1.
        settings["keyframes"][0]["pose"] = json!({"position": [-0.847, 1.54, 0.955], "lookAt": [0, 0, 0], "fov": 40});
        let model = model(vec![(turned(39.0), rough, [0.0; 3], 1.0)]);
        u32::from(middle(&picture(&scene_with(model, &settings, night.clone(), &BTreeMap::new()), SIDE))[1])
    };
    let metal = seen(Material { base_color: [1.0; 4], metallic: 1.0, ..Material::default() });
    assert!(metal > 60, "{metal}");
    for specular in [1.0, 0.0] {
        let film = seen(Material { specular, ..thick_film() });
        assert!(4 * film < metal, "specular {specular}: {film}, and {metal} of a white metal");
    }
}

/// `glossIntensity` scales what surfaces reflect, and not what is seen through them.
#[test]
fn the_intensity_of_reflections_does_not_change_what_is_seen_through_frosted_glass() {
    let seen = |gloss: f32| {
        let frosted = Material { perceptual_roughness: 0.6, volume: None, ..glass(0.0) };
        let mut settings = straight_on();
        settings["glossIntensity"] = json!(gloss);
        middle(&picture(&scene(model(vec![(square(), frosted, [0.0; 3], 1.0)]), &settings), SIDE))[0]
    };
    let (with, without) = (seen(1.0), seen(0.0));
    assert!(without > 230 && without <= with, "{with} {without}");
}

/// Returns the linear value of an sRGB-encoded byte.
fn linear(byte: u8) -> f32 {
    let encoded = f32::from(byte) / 255.0;
    if encoded <= 0.040_45 { encoded / 12.92 } else { ((encoded + 0.055) / 1.055).powf(2.4) }
}

/// The model has more materials than fit into one bind group. One material is on surfaces at opposite corners of the
/// model.
#[test]
fn each_of_many_materials_has_its_own_color() {
    let side = 320;
    let color = |number: u8| [3 * number, 255 - 3 * number, 100];
    let unlit_in = |rgb: [u8; 3]| {
        let [r, g, b] = rgb.map(linear);
        unlit([r, g, b, 1.0])
    };
    let place = |number: u8| [0.2 * f32::from(number % 10) - 0.9, 0.2 * f32::from(number / 10) - 0.6, 0.0];
    let mut parts: Vec<_> = (0..70).map(|i| (square(), unlit_in(color(i)), place(i), 0.08)).collect();
    let corners = [[-0.95, 0.95, 0.0], [0.95, -0.95, 0.0]];
    let mut scattered = Primitive::default();
    for corner in corners {
        let first = scattered.positions.len() as u32;
        scattered.positions.extend(square().positions.iter().map(|p| [0, 1, 2].map(|k| corner[k] + 0.05 * p[k])));
        scattered.normals.extend(square().normals);
        scattered.indices.extend(square().indices.iter().map(|i| first + i));
    }
    parts.push((scattered, unlit_in([9, 9, 200]), [0.0; 3], 1.0));
    let picture = picture(&scene(model(parts), &straight_on()), side);
    let scale = 1.0 / (4.0 * 20_f32.to_radians().tan());
    let at = |[x, y, _]: [f32; 3]| {
        let pixel = |place: f32| ((place * scale * 0.5 + 0.5) * side as f32) as u32;
        picture[(pixel(-y) * side + pixel(x)) as usize]
    };
    let squares = (0..70).map(|i| (place(i), color(i))).chain(corners.map(|corner| (corner, [9, 9, 200])));
    for (place, expected) in squares {
        let shown = at(place);
        assert!(shown.iter().zip(expected).all(|(a, b)| a.abs_diff(b) <= 1), "{place:?}: {shown:?}, not {expected:?}");
    }
}
