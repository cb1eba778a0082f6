//! `Content-Disposition` headers for file names that users chose.

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};

/// Characters to percent-encode: all characters except `attr-char` of RFC 8187, section 3.2.1.
const PLAIN: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'!')
    .remove(b'#')
    .remove(b'$')
    .remove(b'&')
    .remove(b'+')
    .remove(b'-')
    .remove(b'.')
    .remove(b'^')
    .remove(b'_')
    .remove(b'`')
    .remove(b'|')
    .remove(b'~');

/// Returns the header value that makes clients save a response under the given name (RFC 6266). Contains an ASCII
/// version of the name for old clients.
pub fn attachment(name: &str) -> String {
    let is_kept = |c: char| c.is_ascii_graphic() && !matches!(c, '"' | '\\' | '%' | ';' | '/') || c == ' ';
    let ascii: String = name.chars().map(|c| if is_kept(c) { c } else { '_' }).collect();
    if ascii == name {
        return format!("attachment; filename=\"{name}\"");
    }
    format!("attachment; filename=\"{ascii}\"; filename*=UTF-8''{}", utf8_percent_encode(name, PLAIN))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn non_ascii_names_get_an_ascii_fallback() {
        assert_eq!(attachment("red chair.glb"), "attachment; filename=\"red chair.glb\"");
        assert_eq!(attachment("stühle.glb"), "attachment; filename=\"st_hle.glb\"; filename*=UTF-8''st%C3%BChle.glb");
    }

    proptest! {
        #[test]
        fn names_cannot_inject_parameters_or_header_lines(name in "\\PC{0,40}|[\"\\\\;\r\n\0]{0,10}") {
            let header = attachment(&name);
            prop_assert!(header.bytes().all(|b| (0x20..0x7f).contains(&b)));
            prop_assert_eq!(header.matches('"').count(), 2);
            prop_assert!(header.matches(';').count() <= 2);
        }
    }
}
