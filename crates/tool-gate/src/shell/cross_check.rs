//! Reads the same text a second time by other means, mostly with tree-sitter's grammar, and compares.
//!
//! Our own reader decides what a text means. It is small and refuses what it does not know, but it may be wrong where
//! it believes to know. So a text on which the widely used grammar disagrees with it is a boundary. A [plain] text
//! needs no grammar.

mod plain;

use std::cell::Cell;
use std::ops::ControlFlow;

use tree_sitter::{Node, ParseOptions, ParseState, Parser, Tree};

use super::Span;
use super::read::Reading;

/// How often the parser may report progress before it is stopped. It reports after a fixed number of operations.
///
/// One report stands for about 20 µs of work, or 40 bytes of a text.
const MAX_PROGRESS: usize = 256;
/// The size in bytes of the pieces in which the parser gets the text. Counting pieces reveals a parser that reads the
/// same bytes again and again.
const CHUNK: usize = 512;
/// How often the parser may ask for a piece: a fixed number for any text, and this often for each piece of it.
const MAX_READS: (usize, usize) = (64, 8);

/// Named kinds of nodes for which our reader has a counterpart.
const KINDS: [&str; 51] = [
    "program",
    "command",
    "command_name",
    "word",
    "string",
    "string_content",
    "raw_string",
    "ansi_c_string",
    "translated_string",
    "concatenation",
    "number",
    "simple_expansion",
    "expansion",
    "variable_name",
    "special_variable_name",
    "variable_assignment",
    "variable_assignments",
    "array",
    "subscript",
    "command_substitution",
    "process_substitution",
    "arithmetic_expansion",
    "list",
    "pipeline",
    "redirected_statement",
    "file_redirect",
    "herestring_redirect",
    "heredoc_redirect",
    "heredoc_start",
    "heredoc_body",
    "heredoc_content",
    "heredoc_end",
    "file_descriptor",
    "negated_command",
    "subshell",
    "compound_statement",
    "if_statement",
    "elif_clause",
    "else_clause",
    "for_statement",
    "while_statement",
    "do_group",
    "case_statement",
    "case_item",
    "test_command",
    "test_operator",
    "unary_expression",
    "binary_expression",
    "postfix_expression",
    "parenthesized_expression",
    "comment",
];
const MORE_KINDS: [&str; 7] = [
    "c_style_for_statement",
    "regex",
    "ternary_expression",
    "extglob_pattern",
    "brace_expression",
    "declaration_command",
    "unset_command",
];

/// Keywords and operators for which our reader has a counterpart. Other anonymous nodes must be bare punctuation.
const WORDS: [&str; 20] = [
    "if", "then", "elif", "else", "fi", "for", "in", "do", "done", "while", "until", "case", "esac", "Q",
    "U", "u", "L", "``", "export", "unset",
];

/// What the second reading says of a text with an error in it.
const FINDS_ERROR: &str = "the second reading of the command finds an error";

/// What a kind of node means to the comparison.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// Our reader has no counterpart.
    Unknown,
    /// Our reader has a counterpart, which is not counted.
    Known,
    /// The node starts a command.
    Command,
    Redirect,
    Substitution,
}

impl Kind {
    fn of(name: &str, is_named: bool) -> Self {
        let known = if is_named {
            KINDS.contains(&name) || MORE_KINDS.contains(&name)
        } else {
            WORDS.contains(&name) || !name.bytes().any(|byte| byte.is_ascii_alphanumeric())
        };
        match name {
            _ if !known => Self::Unknown,
            "command_name" | "test_command" | "declaration_command" | "unset_command" => Self::Command,
            "file_redirect" | "heredoc_redirect" | "herestring_redirect" => Self::Redirect,
            "command_substitution" | "process_substitution" => Self::Substitution,
            _ => Self::Known,
        }
    }
}

/// The parser, kept between texts.
#[derive(Default)]
pub(crate) struct CrossCheck {
    parser: Option<Parser>,
    /// The kinds of nodes, by the numbers that the grammar gives them.
    kinds: Vec<Kind>,
}

/// Why the second reading does not confirm the first, and where.
#[derive(Debug)]
pub(crate) struct Disagreement {
    pub(crate) detail: &'static str,
    pub(crate) span: Span,
    /// Whether a limit was the reason, and not the text.
    pub(crate) limit: bool,
}

impl Disagreement {
    fn new(detail: &'static str, span: Span) -> Self {
        Self { detail, span, limit: false }
    }
}

impl CrossCheck {
    /// Checks that the second reading of `text` finds no error, and sees the same commands, redirections and
    /// substitutions.
    pub(crate) fn agrees(&mut self, text: &str, reading: &Reading) -> Result<(), Disagreement> {
        let seen = match plain::read(text) {
            Some(seen) => seen,
            None => self.read(text)?,
        };
        let ours = sorted(reading.command_starts.clone());
        if ours != seen.command_starts {
            let differs = ours.iter().zip(&seen.command_starts).find(|(ours, seen)| ours != seen);
            let start = match differs {
                Some((ours, seen)) => *ours.min(seen),
                None => ours.iter().chain(&seen.command_starts).copied().max().unwrap_or_default(),
            };
            let detail = "the second reading of the command finds other commands";
            return Err(Disagreement::new(detail, (start, text.len())));
        }
        if seen.redirects != reading.redirect_count || seen.substitutions != reading.substitution_count {
            let detail = "the second reading of the command finds other redirections or substitutions";
            return Err(Disagreement::new(detail, (0, text.len())));
        }
        Ok(())
    }

    /// What the grammar sees in `text`.
    fn read(&mut self, text: &str) -> Result<Seen, Disagreement> {
        let tree = self.parse(text)?;
        let root = tree.root_node();
        if root.has_error() {
            return Err(Disagreement::new(FINDS_ERROR, first_error(root)));
        }
        let mut seen = Seen::default();
        self.visit(root, text.as_bytes(), &mut seen)?;
        seen.command_starts = sorted(seen.command_starts);
        Ok(seen)
    }

    fn parse(&mut self, text: &str) -> Result<Tree, Disagreement> {
        let whole = (0, text.len());
        let stopped = || Disagreement {
            limit: true,
            ..Disagreement::new("the second reading of the command takes too long", whole)
        };
        if self.parser.is_none() {
            let language = tree_sitter_bash::LANGUAGE.into();
            let mut parser = Parser::new();
            let misfit = |_| Disagreement::new("the second reader does not fit its grammar", whole);
            parser.set_language(&language).map_err(misfit)?;
            let kind = |id: u16| {
                let name = language.node_kind_for_id(id).unwrap_or_default();
                Kind::of(name, language.node_kind_is_named(id))
            };
            let count = u16::try_from(language.node_kind_count()).unwrap_or(u16::MAX);
            self.kinds = (0..count).map(kind).collect();
            self.parser = Some(parser);
        }
        let parser = self.parser.as_mut().ok_or_else(stopped)?;
        let bytes = text.as_bytes();
        let (most_reads, reads) = (MAX_READS.0 + MAX_READS.1 * (bytes.len() / CHUNK), Cell::new(0_usize));
        let exhausted = || most_reads < reads.get();
        let (mut progress, mut lost) = (0_usize, false);
        let mut watch = |state: &ParseState| {
            progress += 1;
            // Once the text has an error, the parser tries every repair for a tree that nobody looks at, so it is
            // stopped.
            lost = state.has_error();
            let stop = lost || MAX_PROGRESS < progress || exhausted();
            if stop { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        };
        let options = ParseOptions::new().progress_callback(&mut watch);
        let mut read = |at: usize, _| {
            reads.set(reads.get() + 1);
            // An empty piece tells the parser that the text has ended, which stops every scan.
            if exhausted() { &[] } else { bytes.get(at..bytes.len().min(at + CHUNK)).unwrap_or_default() }
        };
        let tree = parser.parse_with_options(&mut read, None, Some(options)).filter(|_| !exhausted());
        if tree.is_none() {
            // Whatever a stopped parse left behind must not influence the next one.
            parser.reset();
        }
        tree.ok_or_else(|| if lost { Disagreement::new(FINDS_ERROR, whole) } else { stopped() })
    }

    /// Walks every node without recursion, in the order of the text.
    fn visit(&self, root: Node<'_>, text: &[u8], seen: &mut Seen) -> Result<(), Disagreement> {
        let left_out = |span| Disagreement::new("the second reading of the command leaves text out", span);
        let mut cursor = root.walk();
        let mut covered = 0_usize;
        loop {
            let node = cursor.node();
            if node.is_missing() || node.is_error() {
                return Err(Disagreement::new(FINDS_ERROR, (node.start_byte(), node.end_byte())));
            }
            match self.kinds.get(usize::from(node.kind_id())).copied().unwrap_or(Kind::Unknown) {
                Kind::Unknown => {
                    let detail = "the second reading of the command finds a construct nobody vouches for";
                    return Err(Disagreement::new(detail, (node.start_byte(), node.end_byte())));
                }
                Kind::Known => {}
                Kind::Command => seen.command_starts.push(node.start_byte()),
                Kind::Redirect => seen.redirects += 1,
                Kind::Substitution => seen.substitutions += 1,
            }
            if cursor.goto_first_child() {
                continue;
            }
            // At a leaf: the text between it and the leaf before belongs to no node, so it must be blank.
            let (start, end) = (node.start_byte(), node.end_byte());
            if covered < start && !is_blank(&text[covered..start]) && !within_text(node) {
                return Err(left_out((covered, start)));
            }
            covered = covered.max(end);
            loop {
                if cursor.goto_next_sibling() {
                    break;
                }
                if !cursor.goto_parent() {
                    let rest = text.get(covered..).unwrap_or_default();
                    return if is_blank(rest) { Ok(()) } else { Err(left_out((covered, text.len()))) };
                }
            }
        }
    }
}

/// What a second reading sees, to be compared with the first.
#[derive(Debug, Default, PartialEq, Eq)]
struct Seen {
    /// The offsets at which commands start, in order.
    command_starts: Vec<usize>,
    redirects: usize,
    substitutions: usize,
}

fn sorted(mut starts: Vec<usize>) -> Vec<usize> {
    starts.sort_unstable();
    starts
}

/// The place of the first node that is an error or is missing.
fn first_error(root: Node<'_>) -> Span {
    let mut node = root;
    loop {
        let mut cursor = node.walk();
        let inner = node.children(&mut cursor).find(|child| child.has_error() || child.is_missing());
        match inner {
            Some(inner) if !node.is_error() => node = inner,
            _ => return (node.start_byte(), node.end_byte()),
        }
    }
}

/// Whether a node lies in a string or a here-document's body, where text between expansions has no node of its own.
fn within_text(node: Node<'_>) -> bool {
    let mut part = node;
    while let Some(parent) = part.parent() {
        if matches!(parent.kind(), "string" | "heredoc_body") {
            return true;
        }
        // Only the first leaf of an expansion is preceded by text of the string.
        if parent.start_byte() != node.start_byte() {
            return false;
        }
        part = parent;
    }
    false
}

fn is_blank(bytes: &[u8]) -> bool {
    let mut rest = bytes;
    loop {
        rest = match rest {
            [] => return true,
            [b' ' | b'\t' | b'\n', after @ ..] | [b'\\', b'\n', after @ ..] => after,
            _ => return false,
        };
    }
}

/// Checks that our reader, the reader of plain texts and the grammar agree on a plain text. With several lines the
/// grammar is sometimes wrong: in `a|b|c`, a newline and `d||e` it sees three commands, where bash runs five.
#[cfg(any(test, feature = "fuzzing"))]
pub(crate) fn check_plain(text: &str, reading: &Reading) {
    let Some(plain) = plain::read(text) else { return };
    let ours = Seen {
        command_starts: sorted(reading.command_starts.clone()),
        redirects: reading.redirect_count,
        substitutions: reading.substitution_count,
    };
    assert_eq!(plain, ours, "{text:?}");
    if let (false, Ok(seen)) = (text.trim().contains('\n'), CrossCheck::default().read(text)) {
        assert_eq!(plain, seen, "{text:?}");
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::shell::read::read;

    fn agrees(text: &str) -> bool {
        let reading = read(text).expect("a text that our reader understands");
        CrossCheck::default().agrees(text, &reading).is_ok()
    }

    #[test]
    fn both_readers_see_the_same_commands() {
        for text in [
            "ls",
            "ls -la | head >/dev/null",
            "for f in a; do cat \"$f\"; done",
            "cat <<A\n$x\nA",
            "a=1 ls; [ -f x ]",
            "cat <<A\nb $x c ${y} d $(ls) e\nA",
            "export LANG=C; unset x",
            "time (ls; pwd)",
        ] {
            assert!(agrees(text), "{text}");
        }
    }

    #[test]
    fn a_command_redirection_or_substitution_that_only_one_sees_is_doubt() {
        let text = "ls >/dev/null; cat $(pwd)";
        let check = |change: fn(&mut Reading)| {
            let mut reading = read(text).expect("a text that our reader understands");
            change(&mut reading);
            CrossCheck::default().agrees(text, &reading)
        };
        assert!(check(|_| {}).is_ok());
        assert!(check(|reading| reading.command_starts.truncate(1)).is_err());
        assert!(check(|reading| reading.command_starts[0] += 1).is_err());
        assert!(check(|reading| reading.redirect_count = 0).is_err());
        assert!(check(|reading| reading.substitution_count = 0).is_err());
    }

    #[test]
    fn an_error_in_the_tree_or_a_kind_nobody_vouches_for_is_doubt() {
        let reading = read("ls").expect("a text that our reader understands");
        for text in ["ls (", "ls; }", "function f { ls; }", "declare a", "select x in a; do ls; done"] {
            assert!(CrossCheck::default().agrees(text, &reading).is_err(), "{text}");
        }
        // After a stopped or failed parse the next text must be read as usual.
        let mut cross_check = CrossCheck::default();
        assert!(cross_check.agrees("ls (", &reading).is_err());
        assert!(cross_check.agrees("ls", &reading).is_ok());
    }
}
