//! Collects the images of a converted model. Most image files are copied. Alpha maps and bump maps are converted,
//! because glTF stores alpha in the base colour texture and uses normal maps.

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

/// Maximum side length of generated images in pixels. The sides of a larger image are halved until neither is longer
/// than this.
const MAX_GENERATED_SIDE: u32 = 4096;
/// Maximum number of pixels of all generated images together. This suffices for eight images of the largest size.
const MAX_GENERATED_PIXELS: u64 = 1 << 27;
/// Height difference between black and white in a bump map, relative to the width of the image. The MTL format does not
/// define this scale.
const BUMP_HEIGHT: f32 = 0.01;

/// An encoded PNG or JPEG image.
#[derive(Clone, Debug)]
pub(super) struct Picture {
    /// Name of the file that it was made from.
    pub(super) name: Rc<str>,
    pub(super) mime: &'static str,
    pub(super) bytes: Rc<Vec<u8>>,
}

/// The alpha mode that a material needs for the alpha channel of an image.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Coverage {
    /// Every texel is either opaque or invisible.
    Mask,
    /// Some texels are partly transparent.
    Blend,
}

/// A normal map: the index of its image, and the factor for the x and y components of the normals.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct NormalMap {
    pub(super) picture: usize,
    pub(super) scale: f32,
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum ImageSource {
    File(String),
    WithAlpha(Option<String>, String),
}

/// All images of the model. Each image is created only once.
pub(super) struct Pictures<'a, 'z> {
    list: Vec<Picture>,
    archive: &'a mut Archive<'z>,
    limits: &'a Limits,
    warnings: &'a mut Warnings,
    by_source: BTreeMap<ImageSource, Option<usize>>,
    /// Normal maps. The key consists of the file name, the bits of the bump height, and whether the MTL file declares
    /// the image as a normal map.
    normals: BTreeMap<(String, u32, bool), Option<NormalMap>>,
    coverage: BTreeMap<usize, Coverage>,
    files: BTreeMap<String, Option<Picture>>,
    decoded_pixels: u64,
}

type Result<T> = std::result::Result<T, ImportError>;

fn texture_error(name: &str, problem: impl Into<String>) -> ImportError {
    ImportError::Texture { name: crate::source::shortened(name), problem: problem.into() }
}

impl<'a, 'z> Pictures<'a, 'z> {
    pub(super) fn new(archive: &'a mut Archive<'z>, limits: &'a Limits, warnings: &'a mut Warnings) -> Self {
        Self {
            list: Vec::new(),
            archive,
            limits,
            warnings,
            by_source: BTreeMap::new(),
            normals: BTreeMap::new(),
            coverage: BTreeMap::new(),
            files: BTreeMap::new(),
            decoded_pixels: 0,
        }
    }

    /// Removes and returns all images, so that the caller can free each image after writing it.
    pub(super) fn take(&mut self) -> Vec<Picture> {
        self.files.clear();
        std::mem::take(&mut self.list)
    }

    /// Returns `map` if the format of its file is supported.
    pub(super) fn supported<'m>(&mut self, map: Option<&'m TextureUse>) -> Result<Option<&'m TextureUse>> {
        match map {
            Some(map) => Ok(self.read(&map.name)?.is_some().then_some(map)),
            None => Ok(None),
        }
    }

    /// Adds an image file unchanged, and returns its index. Returns `None` if the format of the file is not supported.
    pub(super) fn file(&mut self, map: &TextureUse) -> Result<Option<usize>> {
        self.once(ImageSource::File(map.name.clone()), |this| this.read(&map.name))
    }

    /// Combines the colours of one image file with the alpha of another file, and returns the index of the result.
    /// Without a colour file, the colour is white. The alpha is taken from the alpha channel of the other file or, if
    /// it has no alpha channel, from its brightness. Returns `None` if an image cannot be used, or if both files are the
    /// same file and it is opaque, which is how some exporters refer to the alpha channel that an image may have.
    pub(super) fn with_alpha(
        &mut self,
        color: Option<&TextureUse>,
        alpha: &TextureUse,
    ) -> Result<Option<(usize, Coverage)>> {
        let source = ImageSource::WithAlpha(color.map(|map| map.name.clone()), alpha.name.clone());
        let picture = self.once(source, |this| {
            let Some(cover) = this.pixels(&alpha.name)? else { return Ok(None) };
            if color.is_some_and(|map| map.name == alpha.name) && !has_alpha(&cover) {
                return Ok(None);
            }
            let mut image = match color {
                None => Image { pixels: vec![255; cover.pixels.len()].into(), ..cover.clone() },
                Some(map) => {
                    let Some(image) = this.pixels(&map.name)? else { return Ok(None) };
                    image
                }
            };
            set_alpha(&mut image, &cover);
            let is_partial = |p: &[u8]| (16..240).contains(&p[3]);
            let coverage = if image.pixels.chunks_exact(4).any(is_partial) { Coverage::Blend } else { Coverage::Mask };
            this.coverage.insert(this.list.len(), coverage);
            png(&image, image::ExtendedColorType::Rgba8, &alpha.name).map(Some)
        })?;
        Ok(picture.and_then(|picture| Some((picture, *self.coverage.get(&picture)?))))
    }

    /// Returns a normal map, which is created only once for each image, bump height and kind of map. Returns `None` if
    /// the image cannot be used.
    pub(super) fn normals(&mut self, map: &TextureUse, is_normal_map: bool) -> Result<Option<NormalMap>> {
        let key = (map.name.clone(), map.bump.to_bits(), is_normal_map);
        if let Some(known) = self.normals.get(&key) {
            return Ok(*known);
        }
        let made = self.make_normals(map, is_normal_map)?;
        self.normals.insert(key, made);
        Ok(made)
    }

    /// Adds a normal map. A grey image is a height map, from which normals are computed. Any other image is used as the
    /// normal map.
    fn make_normals(&mut self, map: &TextureUse, is_normal_map: bool) -> Result<Option<NormalMap>> {
        if !is_normal_map {
            // Without its pixels, a height map cannot be told from a normal map.
            let Some(image) = self.pixels(&map.name)? else { return Ok(None) };
            if is_grey(&image) {
                let normals = normals_from_heights(&image, map.bump * BUMP_HEIGHT);
                self.list.push(png(&normals, image::ExtendedColorType::Rgb8, &map.name)?);
                return Ok(Some(NormalMap { picture: self.list.len() - 1, scale: 1.0 }));
            }
        }
        Ok(self.file(map)?.map(|picture| NormalMap { picture, scale: map.bump }))
    }

    fn once(
        &mut self,
        source: ImageSource,
        make: impl FnOnce(&mut Self) -> Result<Option<Picture>>,
    ) -> Result<Option<usize>> {
        if let Some(known) = self.by_source.get(&source) {
            return Ok(*known);
        }
        let picture = make(self)?.map(|picture| {
            self.list.push(picture);
            self.list.len() - 1
        });
        self.by_source.insert(source, picture);
        Ok(picture)
    }

    /// Returns the type and the bytes of an image file. If the format is not supported, adds a warning and returns
    /// `None`.
    /// Errors: if a PNG or JPEG file is invalid or too large.
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
                None => self.warnings.add(&format!("the texture '{name}' is neither PNG nor JPEG and is ignored")),
            }
            self.files
                .insert(name.to_owned(), mime.map(|mime| Picture { name: name.into(), mime, bytes: Rc::new(bytes) }));
        }
        Ok(self.files.get(name).cloned().flatten())
    }

    /// Decodes an image file. Returns `None` if its format is not supported or too many pixels have already been
    /// decoded.
    fn pixels(&mut self, name: &str) -> Result<Option<Image>> {
        let Some(Picture { bytes, .. }) = self.read(name)? else { return Ok(None) };
        let mut scratch = Vec::new();
        let raster = raster(&bytes, *self.limits, &mut scratch).map_err(|problem| texture_error(name, problem))?;
        self.decoded_pixels += u64::from(raster.width) * u64::from(raster.height);
        if self.decoded_pixels > MAX_GENERATED_PIXELS {
            self.warnings.add(&format!("the texture '{name}' is ignored: there are too many alpha and bump maps"));
            return Ok(None);
        }
        Ok(Some(raster.into_image(MAX_GENERATED_SIDE)))
    }
}

fn check_size(name: &str, bytes: &[u8], limits: &Limits) -> Result<()> {
    let reader = image::ImageReader::new(Cursor::new(bytes)).with_guessed_format();
    let size = reader.map_err(|e| texture_error(name, e.to_string()))?.into_dimensions();
    let (width, height) = size.map_err(|e| texture_error(name, e.to_string()))?;
    if width == 0 || height == 0 || u64::from(width.max(height)) > limits.image_side {
        return Err(texture_error(name, format!("its size of {width}×{height} is not accepted")));
    }
    Ok(())
}

fn png(image: &Image, color: image::ExtendedColorType, name: &str) -> Result<Picture> {
    let mut bytes = Vec::new();
    PngEncoder::new(&mut bytes)
        .write_image(&image.pixels, image.width, image.height, color)
        .map_err(|e| texture_error(name, e.to_string()))?;
    Ok(Picture { name: name.into(), mime: "image/png", bytes: Rc::new(bytes) })
}

/// Returns whether any texel is not opaque.
fn has_alpha(image: &Image) -> bool {
    image.pixels.chunks_exact(4).any(|p| p[3] != 255)
}

/// Sets the alpha of an image to the alpha channel of `cover` or, if `cover` has no alpha channel, to its brightness.
fn set_alpha(image: &mut Image, cover: &Image) {
    let has_alpha = has_alpha(cover);
    let (width, height) = (image.width as usize, image.height as usize);
    let (columns, rows) = (cover.width as usize, cover.height as usize);
    for (i, p) in image.pixels.chunks_exact_mut(4).enumerate() {
        let (x, y) = ((i % width) * columns / width, (i / width) * rows / height);
        let c = &cover.pixels[(y * columns + x) * 4..][..4];
        // Luminance weights of Rec. 709, in units of 1/256.
        let brightness = (u32::from(c[0]) * 54 + u32::from(c[1]) * 183 + u32::from(c[2]) * 19) / 256;
        p[3] = if has_alpha { c[3] } else { brightness as u8 };
    }
}

/// Returns whether nearly all texels are grey, as in a height map. A normal map is mostly blue.
fn is_grey(image: &Image) -> bool {
    let colored = |p: &&[u8]| p[0].abs_diff(p[1]).max(p[1].abs_diff(p[2])) > 12;
    let count = image.pixels.chunks_exact(4).filter(colored).count();
    count * 20 <= image.pixels.len() / 4
}

/// Computes RGB-encoded normals from a height map that repeats at its borders. The x component of a normal points to
/// the right, and y points up. `height` is the height difference between black and white, relative to the width of the
/// image.
fn normals_from_heights(image: &Image, height: f32) -> Image {
    let (columns, rows) = (image.width as usize, image.height as usize);
    let at = |x: usize, y: usize| f32::from(image.pixels[((y % rows) * columns + x % columns) * 4]) / 255.0;
    // The slope is computed from the two neighbours of a texel, which are two texels apart.
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
    Image { pixels: pixels.into(), ..image.clone() }
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use zip::write::{SimpleFileOptions, ZipWriter};

    use super::*;

    #[test]
    fn a_height_map_beyond_the_limit_is_not_used_as_a_normal_map() {
        let grey = Image { width: 1, height: 1, pixels: vec![128; 3].into(), ..Image::default() };
        let mut writer = ZipWriter::new(Cursor::new(Vec::new()));
        writer.start_file("t.png", SimpleFileOptions::default()).unwrap();
        writer.write_all(&png(&grey, image::ExtendedColorType::Rgb8, "t.png").unwrap().bytes).unwrap();
        let bytes = writer.finish().unwrap().into_inner();
        let mut archive = Archive::open(&bytes, 1 << 20).unwrap();
        let (limits, mut warnings) = (Limits::default(), Warnings::default());
        let mut pictures = Pictures::new(&mut archive, &limits, &mut warnings);
        pictures.decoded_pixels = MAX_GENERATED_PIXELS;
        let map = TextureUse { name: "t.png".to_owned(), scale: [1.0; 2], offset: [0.0; 2], clamp: false, bump: 1.0 };
        for _ in 0..2 {
            assert_eq!(pictures.normals(&map, false).unwrap(), None);
        }
        assert!(pictures.normals(&map, true).unwrap().is_some());
        let warning = "the texture 't.png' is ignored: there are too many alpha and bump maps";
        assert_eq!(warnings.into_list(), [warning]);
    }
}
