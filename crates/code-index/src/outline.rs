//! Where a text is best cut, and what it defines.

#[cfg(feature = "grammars")]
mod syntax;

use crate::symbol::{self, Symbol};
use crate::{Language, SymbolKind};

/// The cost of a cut before an ordinary line.
const ANYWHERE: u8 = 240;
/// The cost of a cut after a blank line.
const AFTER_BLANK: u8 = 200;
/// The cost of a cut before a line that belongs to the comment or attribute above it, where it is cut only if there
/// is no other place.
pub(crate) const NEVER: u8 = 255;

/// The lines of a text.
pub(crate) struct Lines<'a> {
    pub(crate) text: &'a str,
    /// The offset at which each line starts, and that of the end.
    starts: Vec<usize>,
}

impl<'a> Lines<'a> {
    pub(crate) fn of(text: &'a str) -> Self {
        let mut starts = vec![0];
        starts.extend(text.match_indices('\n').map(|(at, _)| at + 1));
        if starts.last() != Some(&text.len()) {
            starts.push(text.len());
        }
        Self { text, starts }
    }

    pub(crate) fn count(&self) -> usize {
        self.starts.len() - 1
    }

    /// A line with its line end. `number` counts from 0.
    pub(crate) fn get(&self, number: usize) -> &'a str {
        &self.text[self.starts[number]..self.starts[number + 1]]
    }

    /// The text from line `first` up to line `end`, which is not included.
    pub(crate) fn range(&self, first: usize, end: usize) -> &'a str {
        &self.text[self.starts[first]..self.starts[end]]
    }
}

/// The structure of a text.
pub(crate) struct Outline {
    /// For each line the cost of a cut before it; 0 is the best place.
    pub(crate) costs: Vec<u8>,
    /// The definitions, sorted by their first line.
    pub(crate) symbols: Vec<Symbol>,
}

impl Outline {
    pub(crate) fn of(language: Language, lines: &Lines<'_>) -> Self {
        #[cfg(feature = "grammars")]
        if let Some(outline) = syntax::outline(language, lines) {
            return outline;
        }
        Self::by_lines(language, lines)
    }

    fn by_lines(language: Language, lines: &Lines<'_>) -> Self {
        let symbols = if language.is_code() { symbol::by_lines(lines.text) } else { Vec::new() };
        Self::of_symbols(language, lines, symbols)
    }

    /// The outline with definitions that came from elsewhere, in any order.
    pub(crate) fn with_definitions(language: Language, lines: &Lines<'_>, found: Vec<Symbol>) -> Self {
        let count = u32::try_from(lines.count()).unwrap_or(u32::MAX);
        let mut symbols = found;
        symbols.retain_mut(|symbol| {
            symbol.last = symbol.last.clamp(symbol.first, count.max(symbol.first));
            symbol::is_name(&symbol.name) && (1..=count).contains(&symbol.first)
        });
        symbols.sort_by_key(|symbol| (symbol.first, std::cmp::Reverse(symbol.last)));
        Self::of_symbols(language, lines, symbols)
    }

    fn of_symbols(language: Language, lines: &Lines<'_>, symbols: Vec<Symbol>) -> Self {
        let mut costs = blank_costs(lines);
        for (number, cost) in costs.iter_mut().enumerate() {
            let line = lines.get(number);
            if is_ruler(line) {
                *cost = 20;
            } else if language == Language::Markdown
                && let Some(level) = heading(line)
            {
                *cost = 10 + level;
            }
        }
        for symbol in &symbols {
            let mut line = symbol.first as usize - 1;
            let indent = lines.get(line).bytes().take_while(u8::is_ascii_whitespace).count();
            // Comments and attributes above a definition belong to it.
            while 0 < line && is_comment(lines.get(line - 1)) {
                costs[line] = NEVER;
                line -= 1;
            }
            let indent = u8::try_from(indent.min(100)).unwrap_or(100);
            costs[line] = if symbol.kind == SymbolKind::Function { 30 } else { 25 } + indent;
        }
        Self { costs, symbols }
    }
}

/// The costs of cuts judging by blank lines alone.
fn blank_costs(lines: &Lines<'_>) -> Vec<u8> {
    let blank = |number: usize| lines.get(number).trim_ascii().is_empty();
    let mut before = true;
    let costs = (0..lines.count()).map(|number| {
        let cost = if before { AFTER_BLANK } else { ANYWHERE };
        before = blank(number);
        cost
    });
    costs.collect()
}

/// Whether a line divides a file into sections: `//-----`, `/* Section */`, `# ====`.
fn is_ruler(line: &str) -> bool {
    let line = line.trim();
    let rest = line.trim_start_matches(['/', '#', '*', ' ']);
    if rest.len() == line.len() {
        return false;
    }
    let ruled = ["-----", "=====", "*****", "#####"].iter().any(|ruler| rest.starts_with(ruler));
    ruled || ["Section", "SECTION", "Part", "MARK:"].iter().any(|word| rest.starts_with(word))
}

/// Whether a line is a comment or an attribute.
pub(crate) fn is_comment(line: &str) -> bool {
    let line = line.trim_start();
    ["//", "#", "--", "/*", "*", ";", "@", "%"].iter().any(|start| line.starts_with(start))
}

/// The level of a Markdown or `AsciiDoc` heading.
fn heading(line: &str) -> Option<u8> {
    let sign = line.bytes().next().filter(|sign| matches!(sign, b'#' | b'='))?;
    let level = line.bytes().take_while(|byte| *byte == sign).count();
    let follows = line.as_bytes().get(level).is_some_and(|byte| *byte == b' ');
    (follows && level <= 6).then(|| u8::try_from(level).unwrap_or(6))
}
