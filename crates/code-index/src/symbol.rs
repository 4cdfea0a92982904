//! Definitions: functions, types, modules, constants, and where they are.

/// What a definition defines.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum SymbolKind {
    /// A function, method or constructor.
    Function,
    /// A class, struct, enum, interface, trait or alias.
    Type,
    /// A module or namespace.
    Module,
    /// A constant, or a variable that more than one function can see.
    Constant,
    /// A macro.
    Macro,
    /// A block for a type that is defined elsewhere (`impl Type`). It names what is in it, and defines nothing
    /// itself.
    Scope,
}

impl SymbolKind {
    /// The kind in words for people.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Function => "function",
            Self::Type => "type",
            Self::Module => "module",
            Self::Constant => "constant",
            Self::Macro => "macro",
            Self::Scope => "scope",
        }
    }

    /// The number of the kind in the index on disk.
    #[cfg(feature = "sqlite")]
    pub(crate) const fn number(self) -> u32 {
        match self {
            Self::Scope => 0,
            Self::Function => 1,
            Self::Type => 2,
            Self::Module => 3,
            Self::Constant => 4,
            Self::Macro => 5,
        }
    }

    /// The kind with this number; for an unknown number a scope, which defines nothing.
    #[cfg(feature = "sqlite")]
    pub(crate) fn from_number(number: u32) -> Self {
        let kinds = [Self::Function, Self::Type, Self::Module, Self::Constant, Self::Macro];
        kinds.into_iter().find(|kind| kind.number() == number).unwrap_or(Self::Scope)
    }
}

/// A definition in a file.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Symbol {
    /// The name as it is written.
    pub name: String,
    /// What it defines.
    pub kind: SymbolKind,
    /// Its first line, from 1.
    pub first: u32,
    /// Its last line.
    pub last: u32,
}

impl Symbol {
    /// Whether its name is defined there.
    pub fn defines(&self) -> bool {
        self.kind != SymbolKind::Scope
    }
}

/// A longer name is not a name.
const LONGEST_NAME: usize = 200;

pub(crate) fn is_name(name: &str) -> bool {
    !name.is_empty() && name.len() <= LONGEST_NAME && !name.contains(char::is_whitespace)
}

/// Words before the name of a definition, and what they define.
const KEYWORDS: [(&str, SymbolKind); 30] = [
    ("fn", SymbolKind::Function),
    ("fun", SymbolKind::Function),
    ("func", SymbolKind::Function),
    ("function", SymbolKind::Function),
    ("def", SymbolKind::Function),
    ("defp", SymbolKind::Function),
    ("sub", SymbolKind::Function),
    ("proc", SymbolKind::Function),
    ("rpc", SymbolKind::Function),
    ("class", SymbolKind::Type),
    ("struct", SymbolKind::Type),
    ("enum", SymbolKind::Type),
    ("union", SymbolKind::Type),
    ("trait", SymbolKind::Type),
    ("interface", SymbolKind::Type),
    ("protocol", SymbolKind::Type),
    ("record", SymbolKind::Type),
    ("object", SymbolKind::Type),
    ("type", SymbolKind::Type),
    ("typedef", SymbolKind::Type),
    ("message", SymbolKind::Type),
    ("service", SymbolKind::Type),
    ("contract", SymbolKind::Type),
    ("extension", SymbolKind::Scope),
    ("impl", SymbolKind::Scope),
    ("module", SymbolKind::Module),
    ("defmodule", SymbolKind::Module),
    ("namespace", SymbolKind::Module),
    ("macro", SymbolKind::Macro),
    ("defmacro", SymbolKind::Macro),
];

/// Words that may come before a keyword.
const MODIFIERS: [&str; 32] = [
    "abstract",
    "async",
    "case",
    "const",
    "data",
    "declare",
    "default",
    "export",
    "extern",
    "external",
    "final",
    "fileprivate",
    "implicit",
    "inline",
    "internal",
    "lazy",
    "local",
    "open",
    "operator",
    "override",
    "partial",
    "private",
    "protected",
    "pub",
    "public",
    "readonly",
    "sealed",
    "static",
    "suspend",
    "unsafe",
    "virtual",
    "indirect",
];

/// Definitions in a text without a grammar, judging by its lines: a keyword followed by a name. Each reaches to the
/// last line that stands further to the right, and to what closes it.
pub(crate) fn by_lines(text: &str) -> Vec<Symbol> {
    let mut found: Vec<Symbol> = Vec::new();
    // The definitions whose end is not known yet, the innermost last: the place in the list, the column.
    let mut open: Vec<(usize, usize)> = Vec::new();
    for (line, number) in text.lines().zip(1..) {
        let rest = line.trim();
        if rest.is_empty() {
            continue;
        }
        let column = line.len() - line.trim_start().len();
        let closes = rest.starts_with(['}', ')', ']', '{']) || rest == "end" || rest.starts_with("end ");
        // `) {` only ends what the definition takes.
        let ends = !rest.ends_with(['{', '(', '[', ':', '=', ',']) && !rest.ends_with("->");
        while let Some((at, of)) = open.last().copied().filter(|(_, of)| column <= *of) {
            let closes = closes && column == of;
            if closes {
                found[at].last = number;
            }
            if closes && !ends {
                break;
            }
            open.pop();
        }
        for (at, _) in &open {
            found[*at].last = number;
        }
        if let Some((name, kind)) = definition(line) {
            open.push((found.len(), column));
            found.push(Symbol { name: name.to_owned(), kind, first: number, last: number });
        }
    }
    found
}

/// The name in the head of a definition, as somebody may paste one: `pub fn name(x: u8) -> u8 {`. In "class of errors"
/// there is none.
pub(crate) fn head(text: &str) -> Option<&str> {
    let (name, _) = definition(text)?;
    let after = &text[name.as_ptr() as usize - text.as_ptr() as usize + name.len()..];
    after.trim_start().starts_with(['(', '<', '{', ':', '=']).then_some(name)
}

fn definition(line: &str) -> Option<(&str, SymbolKind)> {
    let mut words = line.split_whitespace();
    for _ in 0..6 {
        let word = words.next()?;
        // `pub(crate)`
        let word = word.split_once('(').map_or(word, |(word, _)| word);
        if let Some((_, kind)) = KEYWORDS.iter().find(|(keyword, _)| *keyword == word) {
            let mut name = words.next()?;
            if name == "class" || name == "struct" {
                name = words.next()?;
            }
            let is_part = |sign: char| sign.is_alphanumeric() || matches!(sign, '_' | '$' | '.');
            let end = name.find(|sign| !is_part(sign)).unwrap_or(name.len());
            // `Module.function`, `self.name`
            let name = name[..end].rsplit('.').find(|name| !name.is_empty())?;
            let starts = name.starts_with(|sign: char| sign.is_alphabetic() || matches!(sign, '_' | '$'));
            return (starts && is_name(name)).then_some((name, *kind));
        }
        if !MODIFIERS.contains(&word) {
            return None;
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_that_look_like_definitions_are_found() {
        let cases = [
            ("fun main(args: Array<String>) {", Some(("main", SymbolKind::Function))),
            ("  private suspend fun load() = 1", Some(("load", SymbolKind::Function))),
            ("public final class User: Codable {", Some(("User", SymbolKind::Type))),
            ("enum class Color { RED }", Some(("Color", SymbolKind::Type))),
            ("pub(crate) fn of<T>(x: T)", Some(("of", SymbolKind::Function))),
            ("local function M.setup(opts)", Some(("setup", SymbolKind::Function))),
            ("defmodule App.Router do", Some(("Router", SymbolKind::Module))),
            ("message SearchRequest {", Some(("SearchRequest", SymbolKind::Type))),
            ("return function", None),
            ("the function is called", None),
            ("// class of errors", None),
            ("class", None),
            ("fn 1x()", None),
            ("", None),
        ];
        for (line, expected) in cases {
            assert_eq!(definition(line), expected, "{line}");
        }
    }

    /// Without a grammar the columns of the lines tell where a definition ends.
    #[test]
    fn a_definition_reaches_to_what_closes_it() {
        type Case = (&'static str, &'static [(&'static str, u32, u32)]);
        let cases: [Case; 5] = [
            ("fun a() {\n}\n\nfun b() {}\n", &[("a", 1, 2), ("b", 4, 4)]),
            (
                "class A\n{\n  fun b(\n    x: Int\n  ) {\n    x\n  }\n}\nval c = 1\n",
                &[("A", 1, 8), ("b", 3, 7)],
            ),
            (
                "class A\n  def b\n    1\n  end\n\n  def c\n  end\nend\nd\n",
                &[("A", 1, 8), ("b", 2, 4), ("c", 6, 7)],
            ),
            ("def a(x):\n    x\n\n    y\n\nb = a(1)\n", &[("a", 1, 4)]),
            ("fun a() = 1\nfun b() = 2\n", &[("a", 1, 1), ("b", 2, 2)]),
        ];
        for (text, expected) in cases {
            let found = by_lines(text);
            let places: Vec<_> = found.iter().map(|it| (it.name.as_str(), it.first, it.last)).collect();
            assert_eq!(places, expected, "{text}");
        }
    }
}
