//! The pictures of a converted model: files as they are, and what glTF wants put together differently.

use std::collections::BTreeMap;
use std::io::Cursor;
use std::rc::Rc;

use image::ImageEncoder as _;
use image::codecs::png::PngEncoder;

use super::ImportError;
use super::archive::Archive;
use super::texture::TextureUse;
use crate::decode::image::{Kind, kind, raster};
use crate::limits::Limits;
use crate::model::Image;
use crate::warnings::Warnings;

/// Pictures that are put together are halved until no side is longer.
const MAX_MADE_SIDE: u32 = 4096;
/// Pixels of all pictures that are put together: eight of the largest.
const MAX_MADE_PIXELS: u64 = 1 << 27;
/// Height of bumps, black to white, in widths of the picture: MTL leaves it open.
const BUMP_HEIGHT: f32 = 0.01;

/// An encoded picture.
#[derive(Clone, Debug)]
pub(super) struct Picture {
    pub(super) mime: &'static str,
    pub(super) bytes: Rc<Vec<u8>>,
}

/// How a colour picture with alpha is drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Coverage {
    /// Every texel is there or not.
    Mask,
    /// Some are half there.
    Blend,
}

/// What a bump map turned out to be.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct NormalMap {
    pub(super) picture: usize,
    pub(super) scale: f32,
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Made {
    File(String),
    WithAlpha(Option<String>, String),
}

/// Pictures by what they are made of; each is made once.
pub(super) struct Pictures<'a, 'z> {
    list: Vec<Picture>,
    archive: &'a mut Archive<'z>,
    limits: &'a Limits,
    warnings: &'a mut Warnings,
    known: BTreeMap<Made, Option<usize>>,
    /// By name, bits of the bump height, and whether it is said to be a normal map.
    normals: BTreeMap<(String, u32, bool), Option<NormalMap>>,
    coverage: BTreeMap<usize, Coverage>,
    files: BTreeMap<String, Option<Picture>>,
    made_pixels: u64,
}

type Result<T> = std::result::Result<T, ImportError>;

fn fault(name: &str, problem: impl Into<String>) -> ImportError {
    ImportError::Texture { name: crate::source::shortened(name), problem: problem.into() }
}

impl<'a, 'z> Pictures<'a, 'z> {
    pub(super) fn new(archive: &'a mut Archive<'z>, limits: &'a Limits, warnings: &'a mut Warnings) -> Self {
        Self {
            list: Vec::new(),
            archive,
            limits,
            warnings,
            known: BTreeMap::new(),
            normals: BTreeMap::new(),
            coverage: BTreeMap::new(),
            files: BTreeMap::new(),
            made_pixels: 0,
        }
    }

    /// Gives away what was made, so that each can go once it is written.
    pub(super) fn take(&mut self) -> Vec<Picture> {
        self.files.clear();
        std::mem::take(&mut self.list)
    }

    /// A file as it is; `None` where its format is not read.
    pub(super) fn file(&mut self, map: &TextureUse) -> Result<Option<usize>> {
        self.once(Made::File(map.name.clone()), |this| this.read(&map.name))
    }

    /// A colour file, or white, with the alpha that another file holds: in its alpha channel, or else as its brightness.
    pub(super) fn with_alpha(
        &mut self,
        color: Option<&TextureUse>,
        alpha: &TextureUse,
    ) -> Result<Option<(usize, Coverage)>> {
        let made = Made::WithAlpha(color.map(|map| map.name.clone()), alpha.name.clone());
        let picture = self.once(made, |this| {
            let Some(cover) = this.pixels(&alpha.name)? else { return Ok(None) };
            let mut image = match color {
                None => Image { pixels: vec![255; cover.pixels.len()], ..cover.clone() },
                Some(map) => {
                    let Some(image) = this.pixels(&map.name)? else { return Ok(None) };
                    image
                }
            };
            set_alpha(&mut image, &cover);
            let half = |p: &[u8]| (16..240).contains(&p[3]);
            let coverage = if image.pixels.chunks_exact(4).any(half) { Coverage::Blend } else { Coverage::Mask };
            this.coverage.insert(this.list.len(), coverage);
            png(&image, image::ExtendedColorType::Rgba8, &alpha.name).map(Some)
        })?;
        Ok(picture.and_then(|picture| Some((picture, *self.coverage.get(&picture)?))))
    }

    /// A normal map: the file itself, or what its heights make where it is grey.
    pub(super) fn normals(&mut self, map: &TextureUse, is_normal_map: bool) -> Result<Option<NormalMap>> {
        let key = (map.name.clone(), map.bump.to_bits(), is_normal_map);
        if let Some(known) = self.normals.get(&key) {
            return Ok(*known);
        }
        let heights = if is_normal_map { None } else { self.pixels(&map.name)?.filter(is_grey) };
        let made = if let Some(heights) = heights {
            let normals = normals_from_heights(&heights, map.bump * BUMP_HEIGHT);
            self.list.push(png(&normals, image::ExtendedColorType::Rgb8, &map.name)?);
            Some(NormalMap { picture: self.list.len() - 1, scale: 1.0 })
        } else {
            self.file(map)?.map(|picture| NormalMap { picture, scale: map.bump })
        };
        self.normals.insert(key, made);
        Ok(made)
    }

    fn once(&mut self, made: Made, make: impl FnOnce(&mut Self) -> Result<Option<Picture>>) -> Result<Option<usize>> {
        if let Some(known) = self.known.get(&made) {
            return Ok(*known);
        }
        let picture = make(self)?.map(|picture| {
            self.list.push(picture);
            self.list.len() - 1
        });
        self.known.insert(made, picture);
        Ok(picture)
    }

    /// A file's type and bytes; a warning where its format is not read.
    /// Errors: a PNG or JPEG that is broken or too large.
    fn read(&mut self, name: &str) -> Result<Option<Picture>> {
        if !self.files.contains_key(name) {
            let bytes = self.archive.read(name)?;
            let mime = match kind(&bytes) {
                Some(Kind::Png) => Some("image/png"),
                Some(Kind::Jpeg) => Some("image/jpeg"),
                _ => None,
            };
            match mime {
                Some(_) => check_size(name, &bytes, self.limits)?,
                None => self.warnings.add(&format!("the texture '{name}' is neither PNG nor JPEG and is left out")),
            }
            self.files.insert(name.to_owned(), mime.map(|mime| Picture { mime, bytes: Rc::new(bytes) }));
        }
        Ok(self.files.get(name).cloned().flatten())
    }

    /// A file decoded; `None` where its format is not read or too much was decoded before.
    fn pixels(&mut self, name: &str) -> Result<Option<Image>> {
        let Some(Picture { bytes, .. }) = self.read(name)? else { return Ok(None) };
        let raster = raster(&bytes, *self.limits).map_err(|problem| fault(name, problem))?;
        self.made_pixels += u64::from(raster.width) * u64::from(raster.height);
        if self.made_pixels > MAX_MADE_PIXELS {
            self.warnings.add(&format!("the texture '{name}' is left out: there are too many alpha and bump maps"));
            return Ok(None);
        }
        Ok(Some(raster.into_image(MAX_MADE_SIDE)))
    }
}

fn check_size(name: &str, bytes: &[u8], limits: &Limits) -> Result<()> {
    let reader = image::ImageReader::new(Cursor::new(bytes)).with_guessed_format();
    let size = reader.map_err(|e| fault(name, e.to_string()))?.into_dimensions();
    let (width, height) = size.map_err(|e| fault(name, e.to_string()))?;
    if width == 0 || height == 0 || u64::from(width.max(height)) > limits.image_side {
        return Err(fault(name, format!("its size of {width}×{height} is not accepted")));
    }
    Ok(())
}

fn png(image: &Image, color: image::ExtendedColorType, name: &str) -> Result<Picture> {
    let mut bytes = Vec::new();
    PngEncoder::new(&mut bytes)
        .write_image(&image.pixels, image.width, image.height, color)
        .map_err(|e| fault(name, e.to_string()))?;
    Ok(Picture { mime: "image/png", bytes: Rc::new(bytes) })
}

/// Multiplies a picture's alpha by another's alpha channel, or by its brightness where it has none.
fn set_alpha(image: &mut Image, cover: &Image) {
    let has_alpha = cover.pixels.chunks_exact(4).any(|p| p[3] != 255);
    let (width, height) = (image.width as usize, image.height as usize);
    let (columns, rows) = (cover.width as usize, cover.height as usize);
    for (i, p) in image.pixels.chunks_exact_mut(4).enumerate() {
        let (x, y) = ((i % width) * columns / width, (i / width) * rows / height);
        let c = &cover.pixels[(y * columns + x) * 4..][..4];
        // Rec. 709 weights, in 1/256.
        let brightness = (u32::from(c[0]) * 54 + u32::from(c[1]) * 183 + u32::from(c[2]) * 19) / 256;
        p[3] = if has_alpha { c[3] } else { brightness as u8 };
    }
}

/// Nearly all texels are grey, as heights are; a flat normal map is blue.
fn is_grey(image: &Image) -> bool {
    let colored = |p: &&[u8]| p[0].abs_diff(p[1]).max(p[1].abs_diff(p[2])) > 12;
    let count = image.pixels.chunks_exact(4).filter(colored).count();
    count * 20 <= image.pixels.len() / 4
}

/// RGB normals of a height field that repeats; x to the right, y up. `height` is in widths of the picture.
fn normals_from_heights(image: &Image, height: f32) -> Image {
    let (columns, rows) = (image.width as usize, image.height as usize);
    let at = |x: usize, y: usize| f32::from(image.pixels[((y % rows) * columns + x % columns) * 4]) / 255.0;
    // Central differences over two texels.
    let steepness = height * image.width as f32 / 2.0;
    let mut pixels = Vec::with_capacity(columns * rows * 3);
    for y in 0..rows {
        for x in 0..columns {
            let to_right = at(x + 1, y) - at(x + columns - 1, y);
            let to_top = at(x, y + rows - 1) - at(x, y + 1);
            let n = glam::Vec3::new(-to_right * steepness, -to_top * steepness, 1.0).normalize();
            pixels.extend(n.to_array().map(|c| ((c * 0.5 + 0.5) * 255.0).round() as u8));
        }
    }
    Image { pixels, ..image.clone() }
}
