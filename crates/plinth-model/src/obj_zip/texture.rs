//! Texture statements of an MTL: options, then a file name.

use super::archive::Archive;

/// Most words that are tried as the start of a name with spaces.
const MAX_WORDS: usize = 64;

/// Where and how a texture is read.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct TextureUse {
    /// Name of the entry.
    pub(super) name: String,
    /// `-s`: repeats in u and v.
    pub(super) scale: [f32; 2],
    /// `-o`: added to u and v afterwards.
    pub(super) offset: [f32; 2],
    /// `-clamp on`: the edge goes on outside of the picture.
    pub(super) clamp: bool,
    /// `-bm`: height of bumps.
    pub(super) bump: f32,
}

impl TextureUse {
    /// Texture coordinates are used as they are.
    pub(super) fn is_plain(&self) -> bool {
        self.scale.iter().all(|s| (s - 1.0).abs() <= 0.0) && self.offset.iter().all(|o| o.abs() <= 0.0)
    }
}

/// What the options of a statement say; unknown ones end the list.
struct Options<'a> {
    scale: [f32; 2],
    offset: [f32; 2],
    clamp: bool,
    bump: f32,
    rest: &'a str,
}

/// Reads a statement's arguments. Errors: the name that is not in the archive.
pub(super) fn texture_use(archive: &Archive<'_>, beside: &str, arguments: &str) -> Result<TextureUse, String> {
    let Options { scale, offset, clamp, bump, rest } = options(arguments);
    // A name may hold spaces, and what stands before it may be an option that is not known.
    let mut tail = rest;
    for _ in 0..MAX_WORDS {
        if let Some(name) = archive.find(beside, tail) {
            return Ok(TextureUse { name, scale, offset, clamp, bump });
        }
        match tail.split_once(char::is_whitespace) {
            Some((_, rest)) => tail = rest.trim_start(),
            None => break,
        }
    }
    Err(rest.to_owned())
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

/// Up to `most` numbers; a word that is none stays, and so does the last word, which is the file's name.
fn numbers(text: &mut &str, most: usize) -> Vec<f32> {
    let mut out = Vec::new();
    while out.len() < most
        && let Some((word, rest)) = text.split_once(char::is_whitespace)
        && let Some(number) = word.parse::<f32>().ok().filter(|n| n.is_finite())
    {
        out.push(number);
        *text = rest.trim_start();
    }
    out
}

fn pair(text: &mut &str, most: usize, unset: [f32; 2], second: f32) -> [f32; 2] {
    match numbers(text, most).as_slice() {
        [] => unset,
        [u] => [*u, second],
        [u, v, ..] => [*u, *v],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_stand_before_the_name_and_take_as_many_words_as_they_need() {
        let o = options("-s 2 3 1 -o 0.5 -mm 0 1 -blendu off -clamp on -BM 0.2  wood tile.png");
        assert_eq!((o.scale, o.offset, o.clamp, o.bump, o.rest), ([2.0, 3.0], [0.5, 0.0], true, 0.2, "wood tile.png"));
    }

    #[test]
    fn a_name_that_is_a_number_is_no_option() {
        assert_eq!(options("-bm 1 2.png").rest, "2.png");
        assert_eq!(options("-o 1 1 7").rest, "7");
        assert_eq!(options("-s").rest, "-s");
    }
}
