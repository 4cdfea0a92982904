//! Cuts a text into chunks that cover all of it.

use crate::outline::{Lines, NEVER, Outline};

/// The largest chunk, in characters that are not blank.
const MOST: usize = 1_200;
/// The smallest chunk, unless the text ends.
const LEAST: usize = MOST * 3 / 10;
/// The most chunks of one text. The last one takes the rest.
pub(crate) const MOST_CHUNKS: usize = 4_095;

/// The first and the last line of each chunk, counted from 0. Every line that is not blank is in exactly one chunk,
/// and a chunk neither starts nor ends with a blank line.
pub(crate) fn cut(lines: &Lines<'_>, outline: &Outline) -> Vec<(usize, usize)> {
    let sizes: Vec<usize> = (0..lines.count()).map(|line| size(lines.get(line))).collect();
    let mut chunks = Vec::new();
    let mut start = 0;
    while start < sizes.len() {
        if sizes[start] == 0 {
            start += 1;
            continue;
        }
        let end =
            if chunks.len() + 1 < MOST_CHUNKS { end(&sizes, &outline.costs, start) } else { sizes.len() };
        let last = (start..end).rev().find(|line| 0 < sizes[*line]).unwrap_or(start);
        chunks.push((start, last));
        start = end;
    }
    chunks
}

/// The line before which the chunk ends that starts at `start`.
fn end(sizes: &[usize], costs: &[u8], start: usize) -> usize {
    let mut total = 0;
    let mut best: Option<(usize, u8)> = None;
    for line in start..sizes.len() {
        let cost = costs[line];
        if start < line && cost != NEVER && LEAST <= total && best.is_none_or(|(_, least)| cost <= least) {
            best = Some((line, cost));
        }
        total += sizes[line];
        if MOST < total && start < line {
            return best.map_or(line, |(line, _)| line);
        }
    }
    sizes.len()
}

/// The number of characters that are not blank.
fn size(line: &str) -> usize {
    line.bytes().filter(|byte| !byte.is_ascii_whitespace() && (byte & 0xc0) != 0x80).count()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::Language;

    fn chunks(language: Language, text: &str) -> Vec<(usize, usize)> {
        let lines = Lines::of(text);
        cut(&lines, &Outline::of(language, &lines))
    }

    /// Blank lines at the ends of a text belong to no chunk, and a text without words has none.
    #[test]
    fn a_short_text_is_one_chunk_without_its_blank_ends() {
        assert_eq!(chunks(Language::Rust, "\n\nfn a() {}\n\n"), [(2, 2)]);
        assert_eq!(chunks(Language::Text, ""), []);
        assert_eq!(chunks(Language::Text, "\n \n\t\n"), []);
        assert_eq!(chunks(Language::Text, "a"), [(0, 0)]);
    }

    /// A line that is longer than a chunk may be is a chunk by itself, so that the lines around it are still found.
    #[test]
    fn a_line_that_is_too_long_is_a_chunk() {
        let text = format!("a\n{}\nb\n", "x".repeat(5_000));
        assert_eq!(chunks(Language::Text, &text), [(0, 0), (1, 1), (2, 2)]);
    }

    #[test]
    fn a_text_is_cut_at_its_headings() {
        let part = |title: &str| format!("# {title}\n\n{}\n", "some words in a line\n".repeat(60));
        let text = [part("One"), part("Two"), part("Three")].concat();
        let starts: Vec<_> = chunks(Language::Markdown, &text).iter().map(|chunk| chunk.0).collect();
        assert_eq!(starts, [0, 63, 126]);
    }

    /// A chunk begins with the comment of its definition, so that both are found together.
    #[cfg(feature = "grammars")]
    #[test]
    fn code_is_cut_between_its_definitions_and_comments_stay_with_them() {
        let function = |name: &str| {
            format!(
                "/// Says it.\n#[must_use]\npub fn {name}() {{\n{}}}\n\n",
                "    let some = words;\n".repeat(60)
            )
        };
        let text = [function("one"), function("two"), function("three")].concat();
        let found = chunks(Language::Rust, &text);
        let lines: Vec<&str> = text.lines().collect();
        for (start, _) in &found {
            assert_eq!(lines[*start], "/// Says it.", "{found:?}");
        }
        assert_eq!(found.len(), 3);
    }

    /// However long a text is, it has at most `MOST_CHUNKS` chunks. The last one reaches to the end of the text.
    #[test]
    fn there_are_not_too_many() {
        let text = "x".repeat(400) + "\n";
        let text = text.repeat(20_000);
        let found = chunks(Language::Text, &text);
        assert_eq!(found.len(), MOST_CHUNKS);
        assert_eq!(found.last().map(|chunk| chunk.1), Some(19_999));
    }

    proptest! {
        /// For every text: each line with words is in exactly one chunk, and chunks are in order.
        #[test]
        fn every_line_is_in_exactly_one(
            lines in proptest::collection::vec(prop_oneof![
                Just(String::new()), Just("  ".to_owned()), "[a-z(){};\"'#/*]{1,80}", "\\PC{0,60}",
                Just("fn a() {".to_owned()), Just("}".to_owned()), Just("x".repeat(700)),
            ], 0..120),
            language in prop_oneof![
                Just(Language::Rust), Just(Language::Python), Just(Language::TypeScript), Just(Language::Markdown),
                Just(Language::Text), Just(Language::C), Just(Language::OtherCode), Just(Language::Bash),
            ],
        ) {
            let text = lines.join("\n");
            let mut seen = vec![0; Lines::of(&text).count()];
            let mut before = None;
            for (first, last) in chunks(language, &text) {
                prop_assert!(before < Some(first) && first <= last);
                seen[first..=last].iter_mut().for_each(|count| *count += 1);
                before = Some(last);
            }
            for (number, count) in seen.into_iter().enumerate() {
                let blank = Lines::of(&text).get(number).trim_ascii().is_empty();
                prop_assert!(count <= 1 && (blank || count == 1), "line {} of {:?}", number, text);
            }
        }
    }
}
