//! The syntaxes of languages, and the styles of their scopes.

use std::sync::LazyLock;

use syntect::parsing::{ParseState, Scope, ScopeStack, SyntaxReference, SyntaxSet};

use super::super::row::{CodePart, Span, Style};

/// The syntaxes, which are loaded when code is shown for the first time.
static SYNTAXES: LazyLock<SyntaxSet> = LazyLock::new(two_face::syntax::extra_newlines);

/// Names of languages that models write, besides those that the syntaxes have.
const ALIASES: [(&str, &str); 13] = [
    ("c#", "cs"),
    ("console", "sh"),
    ("csharp", "cs"),
    ("golang", "go"),
    ("json5", "json"),
    ("jsonc", "json"),
    ("jsx", "js"),
    ("node", "js"),
    ("patch", "diff"),
    ("postgresql", "sql"),
    ("python3", "py"),
    ("shell", "sh"),
    ("vue", "html"),
];

/// The styles of scopes. The innermost scope that is listed decides. Scopes that begin embedded code are plain.
static STYLES: LazyLock<Vec<(Scope, Style)>> = LazyLock::new(|| {
    [
        ("comment", Style::Code(CodePart::Comment)),
        ("meta.interpolation", Style::Plain),
        ("source", Style::Plain),
        ("string", Style::Code(CodePart::String)),
        ("keyword.operator", Style::Plain),
        ("keyword", Style::Code(CodePart::Keyword)),
        ("storage", Style::Code(CodePart::Keyword)),
        ("variable.language", Style::Code(CodePart::Keyword)),
        ("entity.name.tag", Style::Code(CodePart::Keyword)),
        ("constant", Style::Code(CodePart::Constant)),
        ("entity.name.function", Style::Code(CodePart::Function)),
        ("support.function", Style::Code(CodePart::Function)),
        ("support.macro", Style::Code(CodePart::Function)),
        ("variable.function", Style::Code(CodePart::Function)),
        ("entity.name", Style::Code(CodePart::Type)),
        ("entity.other", Style::Code(CodePart::Type)),
        ("support.type", Style::Code(CodePart::Type)),
        ("support.class", Style::Code(CodePart::Type)),
        ("markup.inserted", Style::Added),
        ("markup.deleted", Style::Removed),
        ("markup.heading", Style::Strong),
    ]
    .into_iter()
    .map(|(name, style)| (Scope::new(name).expect("works because the name has few parts"), style))
    .collect()
});

/// The state of a parser within a piece of code.
#[derive(Debug, Clone)]
pub(super) struct HighlightState {
    parser: ParseState,
    scopes: ScopeStack,
}

impl HighlightState {
    /// Finds a syntax by the name of its language, or by an extension of its files.
    pub(super) fn of_language(name: &str) -> Option<Self> {
        if name.is_empty() {
            return None;
        }
        let alias = || ALIASES.iter().find(|(alias, _)| alias.eq_ignore_ascii_case(name));
        let found = SYNTAXES.find_syntax_by_token(name);
        found.or_else(|| SYNTAXES.find_syntax_by_token(alias()?.1)).map(Self::of)
    }

    /// Finds a syntax by the name of a file, or by its extension.
    pub(super) fn of_file(name: &str) -> Option<Self> {
        let end = || name.rsplit_once('.').map(|(_, end)| end);
        let found = SYNTAXES.find_syntax_by_extension(name);
        found.or_else(|| SYNTAXES.find_syntax_by_extension(end()?)).map(Self::of)
    }

    /// The names of all syntaxes.
    #[cfg(test)]
    pub(super) fn languages() -> impl Iterator<Item = &'static str> {
        SYNTAXES.syntaxes().iter().map(|syntax| syntax.name.as_str())
    }

    fn of(syntax: &SyntaxReference) -> Self {
        Self { parser: ParseState::new(syntax), scopes: ScopeStack::new() }
    }

    /// The parts of a line; `None` if the syntax cannot read it.
    pub(super) fn parts(&mut self, line: &str) -> Option<Vec<Span>> {
        let changes = self.parser.parse_line(&format!("{line}\n"), &SYNTAXES).ok()?;
        let mut parts: Vec<Span> = Vec::new();
        let mut from = 0;
        for (place, change) in changes {
            let place = place.min(line.len());
            push(&mut parts, line.get(from..place)?, self.style());
            from = place;
            self.scopes.apply(&change).ok()?;
        }
        push(&mut parts, line.get(from..)?, self.style());
        Some(parts)
    }

    fn style(&self) -> Style {
        let inner = self.scopes.as_slice().iter().rev();
        let found = |scope: &Scope| STYLES.iter().find(|(known, _)| known.is_prefix_of(*scope));
        inner.map(found).find_map(|found| found.map(|(_, style)| *style)).unwrap_or(Style::Plain)
    }
}

fn push(parts: &mut Vec<Span>, text: &str, style: Style) {
    match parts.last_mut() {
        _ if text.is_empty() => {}
        Some(last) if last.style == style => last.text.push_str(text),
        _ => parts.push(Span::new(text, style)),
    }
}
