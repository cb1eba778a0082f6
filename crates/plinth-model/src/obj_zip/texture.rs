//! Parses the texture statements of MTL files, which consist of options and a file name.

use super::archive::Archive;
use super::text;

/// Maximum number of words at which a file name with spaces may begin.
const MAX_WORDS: usize = 64;

/// A texture file, and the options with which it is used.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct TextureUse {
    /// Name of the archive entry.
    pub(super) name: String,
    /// Option `-s`: scale of u and v.
    pub(super) scale: [f32; 2],
    /// Option `-o`: offset that is added to u and v after scaling.
    pub(super) offset: [f32; 2],
    /// Option `-clamp on`: whether texture coordinates outside the image use the texels at its edge.
    pub(super) clamp: bool,
    /// Option `-bm`: factor for the heights of a bump map.
    pub(super) bump: f32,
}

impl TextureUse {
    /// Returns whether the texture coordinates are used without scale and offset.
    pub(super) fn is_plain(&self) -> bool {
        self.scale.iter().all(|s| (s - 1.0).abs() <= 0.0) && self.offset.iter().all(|o| o.abs() <= 0.0)
    }
}

/// The parsed options of a texture statement. Parsing stops at the first unknown option. `rest` is the text that was
/// not parsed.
struct Options<'a> {
    scale: [f32; 2],
    offset: [f32; 2],
    clamp: bool,
    bump: f32,
    rest: &'a str,
}

/// Parses the arguments of a texture statement.
/// Errors: the file name if the archive does not contain the file.
pub(super) fn texture_use(archive: &Archive<'_>, referrer: &str, arguments: &str) -> Result<TextureUse, String> {
    let Options { scale, offset, clamp, bump, rest } = options(arguments);
    // The file name may contain spaces and may follow unknown options. Therefore each remaining word is tried as the
    // first word of the file name.
    let mut tail = rest;
    for _ in 0..MAX_WORDS {
        if let Some(name) = archive.find(referrer, tail) {
            return Ok(TextureUse { name, scale, offset, clamp, bump });
        }
        match tail.split_once(char::is_whitespace) {
            Some((_, rest)) => tail = rest.trim_start(),
            None => break,
        }
    }
    Err(text::unquoted(rest).to_owned())
}

fn options(arguments: &str) -> Options<'_> {
    let mut out = Options { scale: [1.0; 2], offset: [0.0; 2], clamp: false, bump: 1.0, rest: arguments.trim() };
    while let Some((word, after)) = out.rest.split_once(char::is_whitespace) {
        let mut after = after.trim_start();
        match word.to_ascii_lowercase().as_str() {
            "-s" => out.scale = pair(&mut after, 3, out.scale, 1.0),
            "-o" => out.offset = pair(&mut after, 3, out.offset, 0.0),
            "-t" => drop(numbers(&mut after, 3)),
            "-mm" => drop(numbers(&mut after, 2)),
            "-bm" => out.bump = numbers(&mut after, 1).first().copied().unwrap_or(out.bump),
            "-boost" | "-texres" => drop(numbers(&mut after, 1)),
            "-clamp" => out.clamp = first_word(&mut after).eq_ignore_ascii_case("on"),
            "-blendu" | "-blendv" | "-cc" | "-imfchan" | "-type" => {
                first_word(&mut after);
            }
            _ => break,
        }
        out.rest = after;
    }
    out
}

fn first_word<'a>(text: &mut &'a str) -> &'a str {
    let (word, rest) = text.split_once(char::is_whitespace).unwrap_or((text, ""));
    *text = rest.trim_start();
    word
}

/// Parses up to `max` numbers. Stops at the first word that is not a number. The last word is not parsed, because it
/// must be the file name.
fn numbers(text: &mut &str, max: usize) -> Vec<f32> {
    let mut out = Vec::new();
    while out.len() < max
        && let Some((word, rest)) = text.split_once(char::is_whitespace)
        && let Some(number) = word.parse::<f32>().ok().filter(|n| n.is_finite())
    {
        out.push(number);
        *text = rest.trim_start();
    }
    out
}

fn pair(text: &mut &str, max: usize, default: [f32; 2], default_v: f32) -> [f32; 2] {
    match numbers(text, max).as_slice() {
        [] => default,
        [u] => [*u, default_v],
        [u, v, ..] => [*u, *v],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_before_the_name_are_parsed() {
        let o = options("-s 2 3 1 -o 0.5 -mm 0 1 -blendu off -clamp on -BM 0.2  wood tile.png");
        assert_eq!((o.scale, o.offset, o.clamp, o.bump, o.rest), ([2.0, 3.0], [0.5, 0.0], true, 0.2, "wood tile.png"));
    }

    #[test]
    fn a_name_that_looks_like_a_number_or_option_is_a_name() {
        assert_eq!(options("-bm 1 2.png").rest, "2.png");
        assert_eq!(options("-o 1 1 7").rest, "7");
        assert_eq!(options("-s").rest, "-s");
    }
}
