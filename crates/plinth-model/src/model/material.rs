//! Materials, including the parameters of material extensions.

use super::texture::TextureRef;

/// How the alpha of a material is used.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum AlphaMode {
    /// Alpha is ignored, and the surface is opaque.
    #[default]
    Opaque,
    /// The surface is opaque where alpha is at least `cutoff`, and invisible elsewhere.
    Mask {
        /// The alpha threshold.
        cutoff: f32,
    },
    /// Alpha is the opacity of the surface.
    Blend,
}

/// A material in the metallic-roughness model, with all supported extensions. The values of a texture are multiplied by
/// the corresponding factor.
#[derive(Clone, Debug, PartialEq)]
pub struct Material {
    /// The name by which the setting `materialEdits` refers to the material.
    pub name: String,
    /// Base colour and alpha, both linear.
    pub base_color: [f32; 4],
    /// Texture with the sRGB-encoded base colour and linear alpha.
    pub base_color_texture: Option<TextureRef>,
    /// Metalness: 0 for dielectrics, 1 for metals.
    pub metallic: f32,
    /// Roughness as stored in the file. The parameter α of the GGX distribution is its square.
    pub perceptual_roughness: f32,
    /// Linear texture with the roughness in the green channel and the metalness in the blue channel.
    pub metallic_roughness_texture: Option<TextureRef>,
    /// Linear texture with tangent-space normals.
    pub normal_texture: Option<TextureRef>,
    /// Factor for the x and y components of the normal map.
    pub normal_scale: f32,
    /// Linear texture with the ambient occlusion in the red channel.
    pub occlusion_texture: Option<TextureRef>,
    /// Strength of the occlusion map.
    pub occlusion_strength: f32,
    /// Linear emitted colour, already multiplied by the factor of KHR_materials_emissive_strength.
    pub emissive: [f32; 3],
    /// Texture with the sRGB-encoded emitted colour.
    pub emissive_texture: Option<TextureRef>,
    /// How the alpha of the base colour is used.
    pub alpha_mode: AlphaMode,
    /// Whether back faces are drawn. Their normals are flipped for shading.
    pub double_sided: bool,
    /// KHR_materials_unlit: whether the surface shows its base colour without any shading.
    pub unlit: bool,
    /// Index of refraction from KHR_materials_ior. The default is 1.5. The value 0 stands for an infinite index.
    pub ior: f32,
    /// Strength of the specular reflection from KHR_materials_specular.
    pub specular: f32,
    /// Linear texture with the strength of the specular reflection in the alpha channel.
    pub specular_texture: Option<TextureRef>,
    /// Linear colour of the specular reflection of dielectrics at normal incidence.
    pub specular_color: [f32; 3],
    /// Texture with the sRGB-encoded colour of the specular reflection of dielectrics.
    pub specular_color_texture: Option<TextureRef>,
    /// Parameters of KHR_materials_clearcoat; `None` without this extension.
    pub clearcoat: Option<Clearcoat>,
    /// Parameters of KHR_materials_sheen; `None` without this extension.
    pub sheen: Option<Sheen>,
    /// Parameters of KHR_materials_transmission; `None` without this extension.
    pub transmission: Option<Transmission>,
    /// Parameters of KHR_materials_volume; `None` without this extension.
    pub volume: Option<Volume>,
    /// KHR_materials_dispersion: 20 / Abbe number. The value 0 disables dispersion.
    pub dispersion: f32,
    /// Parameters of KHR_materials_iridescence; `None` without this extension.
    pub iridescence: Option<Iridescence>,
    /// Parameters of KHR_materials_anisotropy; `None` without this extension.
    pub anisotropy: Option<Anisotropy>,
    /// Parameters of KHR_materials_diffuse_transmission; `None` without this extension.
    pub diffuse_transmission: Option<DiffuseTransmission>,
    /// Factor for the light from the environment. It is always 1 after loading; settings can change it later.
    pub environment_strength: f32,
    /// Whether the surface lies on another surface, like a sticker. Such a surface casts no shadow and writes no depth.
    /// The value is always false after loading.
    pub overlay: bool,
}

impl Default for Material {
    fn default() -> Self {
        Self {
            name: String::new(),
            base_color: [1.0; 4],
            base_color_texture: None,
            metallic: 1.0,
            perceptual_roughness: 1.0,
            metallic_roughness_texture: None,
            normal_texture: None,
            normal_scale: 1.0,
            occlusion_texture: None,
            occlusion_strength: 1.0,
            emissive: [0.0; 3],
            emissive_texture: None,
            alpha_mode: AlphaMode::Opaque,
            double_sided: false,
            unlit: false,
            ior: 1.5,
            specular: 1.0,
            specular_texture: None,
            specular_color: [1.0; 3],
            specular_color_texture: None,
            clearcoat: None,
            sheen: None,
            transmission: None,
            volume: None,
            dispersion: 0.0,
            iridescence: None,
            anisotropy: None,
            diffuse_transmission: None,
            environment_strength: 1.0,
            overlay: false,
        }
    }
}

/// KHR_materials_clearcoat: a transparent coat over the surface.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Clearcoat {
    /// Strength of the coat.
    pub factor: f32,
    /// Linear texture with the strength in the red channel.
    pub texture: Option<TextureRef>,
    /// Perceptual roughness of the coat.
    pub roughness: f32,
    /// Linear texture with the roughness in the green channel.
    pub roughness_texture: Option<TextureRef>,
    /// Normal map of the coat. Without this map, the coat uses the geometric normals.
    pub normal_texture: Option<TextureRef>,
    /// Factor for the x and y components of the coat's normal map.
    pub normal_scale: f32,
}

impl Default for Clearcoat {
    fn default() -> Self {
        Self {
            factor: 0.0,
            texture: None,
            roughness: 0.0,
            roughness_texture: None,
            normal_texture: None,
            normal_scale: 1.0,
        }
    }
}

/// KHR_materials_sheen: the reflection of fabric fibres.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Sheen {
    /// Linear colour of the sheen.
    pub color: [f32; 3],
    /// Texture with the sRGB-encoded colour of the sheen.
    pub color_texture: Option<TextureRef>,
    /// Perceptual roughness of the sheen.
    pub roughness: f32,
    /// Linear texture with the roughness in the alpha channel.
    pub roughness_texture: Option<TextureRef>,
}

/// KHR_materials_transmission: the surface transmits light like glass.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Transmission {
    /// Fraction of the light that is transmitted.
    pub factor: f32,
    /// Linear texture with the transmitted fraction in the red channel.
    pub texture: Option<TextureRef>,
}

/// KHR_materials_volume: the medium below the surface.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Volume {
    /// Thickness of the volume in object space. The value 0 means that the surface has no volume.
    pub thickness: f32,
    /// Linear texture with the thickness in the green channel.
    pub thickness_texture: Option<TextureRef>,
    /// Distance in world space after which white light has the colour `attenuation_color`. If it is infinite, the
    /// medium does not attenuate light.
    pub attenuation_distance: f32,
    /// Linear colour that white light has after travelling `attenuation_distance`.
    pub attenuation_color: [f32; 3],
}

impl Default for Volume {
    fn default() -> Self {
        Self {
            thickness: 0.0,
            thickness_texture: None,
            attenuation_distance: f32::INFINITY,
            attenuation_color: [1.0; 3],
        }
    }
}

/// KHR_materials_iridescence: a thin film over the surface.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Iridescence {
    /// Strength of the iridescence.
    pub factor: f32,
    /// Linear texture with the strength in the red channel.
    pub texture: Option<TextureRef>,
    /// Index of refraction of the film.
    pub ior: f32,
    /// Film thickness in nanometres where the texture is 0.
    pub thickness_min: f32,
    /// Film thickness in nanometres where the texture is 1, or everywhere if there is no texture.
    pub thickness_max: f32,
    /// Linear texture with the film thickness in the green channel.
    pub thickness_texture: Option<TextureRef>,
}

impl Default for Iridescence {
    fn default() -> Self {
        Self {
            factor: 0.0,
            texture: None,
            ior: 1.3,
            thickness_min: 100.0,
            thickness_max: 400.0,
            thickness_texture: None,
        }
    }
}

/// KHR_materials_anisotropy: the reflection is stretched in one direction.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Anisotropy {
    /// Strength of the anisotropy, from 0 to 1.
    pub strength: f32,
    /// Rotation of the stretched direction in radians, counter-clockwise from the tangent.
    pub rotation: f32,
    /// Linear texture with the direction in the red and green channels and the strength in the blue channel.
    pub texture: Option<TextureRef>,
}

/// KHR_materials_diffuse_transmission: light passes through the surface and is scattered, as in leaves or paper.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DiffuseTransmission {
    /// Fraction of the diffuse light that is transmitted.
    pub factor: f32,
    /// Linear texture with the transmitted fraction in the alpha channel.
    pub texture: Option<TextureRef>,
    /// Linear colour of the transmitted light.
    pub color: [f32; 3],
    /// Texture with the sRGB-encoded colour of the transmitted light.
    pub color_texture: Option<TextureRef>,
}

impl Default for DiffuseTransmission {
    fn default() -> Self {
        Self { factor: 0.0, texture: None, color: [1.0; 3], color_texture: None }
    }
}
