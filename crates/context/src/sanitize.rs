use std::fmt::Write as _;

/// A project's text as both a model and the user should see it: without control characters except tab and line end,
/// with `\n` as line end, and with characters that hide or reorder text written as their numbers, because a file
/// could use them to tell a model what its reader does not see.
pub(crate) fn sanitize(text: &str) -> String {
    let mut cleaned = String::with_capacity(text.len());
    for sign in text.trim_start_matches('\u{feff}').replace("\r\n", "\n").chars() {
        match sign {
            '\n' | '\t' => cleaned.push(sign),
            '\r' => cleaned.push('\n'),
            _ if is_deceptive(sign) => {
                let _ = write!(cleaned, "<U+{:04X}>", u32::from(sign));
            }
            _ if sign.is_control() => {}
            _ => cleaned.push(sign),
        }
    }
    cleaned
}

/// As [`sanitize`], in one line of at most `longest` characters.
pub(crate) fn sanitize_line(text: &str, longest: usize) -> String {
    let line = sanitize(text).replace(['\n', '\t'], " ");
    match line.char_indices().nth(longest) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line,
    }
}

/// The beginning of a text with at most this many bytes, without cutting a character in two.
pub(crate) fn truncate(text: &str, most: usize) -> &str {
    let ends = (0..=most.min(text.len())).rev();
    ends.filter(|end| text.is_char_boundary(*end)).map(|end| &text[..end]).next().unwrap_or_default()
}

/// Whether a character hides or reorders text: marks of direction, characters without width (except joiners within
/// emoji), fillers that look like a space or like nothing, and the tags and selectors that can encode a whole
/// invisible text (except the two that choose how an emoji looks).
fn is_deceptive(sign: char) -> bool {
    matches!(sign,
        '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}'
        | '\u{180b}'..='\u{180f}' | '\u{200b}' | '\u{200c}' | '\u{200e}' | '\u{200f}'
        | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{2800}' | '\u{3164}' | '\u{fe00}'..='\u{fe0d}'
        | '\u{feff}' | '\u{ffa0}' | '\u{fff0}'..='\u{fffb}' | '\u{1bca0}'..='\u{1bca3}'
        | '\u{1d173}'..='\u{1d17a}' | '\u{e0000}'..='\u{e0fff}')
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Characters that a reader would not see, or that change how a terminal shows the text, are replaced or removed.
    #[test]
    fn what_a_reader_would_not_see_is_made_visible() {
        let cases = [
            ("a\u{202e}b", "a<U+202E>b"),
            ("\u{feff}a\r\nb\rc", "a\nb\nc"),
            ("\u{1b}[31mred\u{7}\0", "[31mred"),
            ("x\u{e0041}", "x<U+E0041>"),
            ("run\u{3164}it\u{2800}now\u{fe01}", "run<U+3164>it<U+2800>now<U+FE01>"),
            ("☀\u{fe0f}", "☀\u{fe0f}"),
            ("für 日本 👩\u{200d}💻", "für 日本 👩\u{200d}💻"),
        ];
        for (text, expected) in cases {
            assert_eq!(sanitize(text), expected);
        }
        assert_eq!(sanitize_line("ab\ncd", 4), "ab c…");
        assert_eq!(["", "a", "aü", "aüb"].map(|text| truncate(text, 2)), ["", "a", "a", "a"]);
    }
}
