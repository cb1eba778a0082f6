//! Decodes text whose encoding is unknown, and splits it into logical lines.

use std::borrow::Cow;

/// Decodes text. The encoding is UTF-16 if there is a byte order mark of UTF-16, else UTF-8 if the text is valid UTF-8,
/// else Latin-1.
pub(super) fn decode(bytes: &[u8]) -> Cow<'_, str> {
    let wide = |bytes: &[u8], from: fn([u8; 2]) -> u16| {
        let units: Vec<u16> = bytes.as_chunks::<2>().0.iter().map(|b| from(*b)).collect();
        Cow::Owned(String::from_utf16_lossy(&units))
    };
    match bytes {
        [0xFF, 0xFE, rest @ ..] => wide(rest, u16::from_le_bytes),
        [0xFE, 0xFF, rest @ ..] => wide(rest, u16::from_be_bytes),
        [0xEF, 0xBB, 0xBF, rest @ ..] => decode_narrow(rest),
        _ => decode_narrow(bytes),
    }
}

fn decode_narrow(bytes: &[u8]) -> Cow<'_, str> {
    match std::str::from_utf8(bytes) {
        Ok(text) => Cow::Borrowed(text),
        Err(_not_utf8) => Cow::Owned(latin_1(bytes)),
    }
}

/// Decodes Latin-1, in which every sequence of bytes is a text and no two sequences are the same text.
pub(super) fn latin_1(bytes: &[u8]) -> String {
    bytes.iter().map(|b| char::from(*b)).collect()
}

/// Returns the lines with their numbers, starting at 1. A line that ends in a backslash is joined with the next line,
/// unless it is a comment, which may end in the path of a folder, or the backslash is part of a character. Lines end in LF or
/// CR LF, or in CR if there is no LF.
pub(super) fn logical_lines(text: &str) -> impl Iterator<Item = (usize, Cow<'_, str>)> {
    let line_end = if text.contains('\n') { '\n' } else { '\r' };
    let mut lines = text.split(line_end).map(|line| line.strip_suffix('\r').unwrap_or(line)).zip(1..);
    std::iter::from_fn(move || {
        let (first, number) = lines.next()?;
        let mut line = Cow::Borrowed(first);
        let is_comment = first.trim_start().starts_with('#');
        while !is_comment && is_continued(&line) {
            let joined = line.to_mut();
            joined.pop();
            joined.push(' ');
            joined.push_str(lines.next().map_or("", |(rest, _)| rest));
        }
        Some((number, line))
    })
}

/// Returns whether a line ends in a backslash that is not part of a character. In text that was decoded as Latin-1 but is
/// Shift-JIS, GBK or Big5, the second byte of a character may be that of a backslash; the first one is above 0x80.
fn is_continued(line: &str) -> bool {
    let before = line.strip_suffix('\\');
    before.is_some_and(|before| !before.ends_with(|c: char| ('\u{81}'..='\u{fe}').contains(&c)))
}

/// Splits a line into its first word and the rest, which is trimmed.
pub(super) fn keyword(line: &str) -> (&str, &str) {
    let (word, rest) = line.trim().split_once(char::is_whitespace).unwrap_or((line.trim(), ""));
    (word, rest.trim())
}

/// Removes the quotation marks around a file name.
pub(super) fn unquoted(name: &str) -> &str {
    let inner = name.trim().strip_prefix('"').and_then(|name| name.strip_suffix('"'));
    inner.unwrap_or(name)
}

/// Removes a trailing comment and trims the text.
pub(super) fn without_comment(text: &str) -> &str {
    text.split('#').next().unwrap_or_default().trim()
}
