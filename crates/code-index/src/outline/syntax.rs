//! Costs and definitions from a syntax tree.

use std::ops::ControlFlow;

use tree_sitter::{Node, ParseOptions, ParseState, Parser, TreeCursor};

use super::{AFTER_BLANK, Lines, NEVER, Outline, blank_costs};
use crate::symbol::{Symbol, is_name};
use crate::{Language, SymbolKind};

/// The deepest tree that is walked. A deeper one was made on purpose, so the file is cut by its lines.
const MAX_DEPTH: usize = 400;
/// The parser reports progress after a fixed number of operations. It is stopped after this many reports plus one for
/// a number of bytes. A limit of time would depend on the machine.
const FREE_REPORTS: usize = 500;
const BYTES_A_REPORT: usize = 60;

/// The outline; `None` if there is no grammar, or the parser was stopped.
pub(super) fn outline(language: Language, lines: &Lines<'_>) -> Option<Outline> {
    let grammar = language.grammar()?;
    let mut parser = Parser::new();
    parser.set_language(&grammar).ok()?;
    let text = lines.text.as_bytes();
    let most = FREE_REPORTS + text.len() / BYTES_A_REPORT;
    let mut reports = 0;
    let mut watch = |_: &ParseState| {
        reports += 1;
        if most < reports { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    };
    let options = ParseOptions::new().progress_callback(&mut watch);
    let mut read = |at: usize, _| text.get(at..).unwrap_or_default();
    let tree = parser.parse_with_options(&mut read, None, Some(options))?;
    let costs = blank_costs(lines);
    let mut walk = Walk {
        text: lines.text,
        indents: indents(lines),
        after_blank: costs.iter().map(|cost| *cost == AFTER_BLANK).collect(),
        outline: Outline { costs, symbols: Vec::new() },
        too_deep: false,
    };
    walk.children(&mut tree.walk(), 1, Within::File);
    if walk.too_deep {
        return None;
    }
    let mut outline = walk.outline;
    outline.symbols.sort_by_key(|symbol| symbol.first);
    Some(outline)
}

/// The column of the first character of each line that is not blank.
fn indents(lines: &Lines<'_>) -> Vec<usize> {
    let indent = |number| lines.get(number).bytes().take_while(u8::is_ascii_whitespace).count();
    (0..lines.count()).map(indent).collect()
}

/// The innermost of what a node is in.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Within {
    File,
    /// A function without a name, which may hold a whole file.
    Closure,
    Function,
}

struct Walk<'a> {
    text: &'a str,
    indents: Vec<usize>,
    after_blank: Vec<bool>,
    outline: Outline,
    too_deep: bool,
}

impl Walk<'_> {
    /// Visits the children of the cursor's node. One cursor walks the whole tree, because asking a node for its
    /// previous sibling starts from its parent's first child each time.
    fn children(&mut self, cursor: &mut TreeCursor<'_>, depth: usize, within: Within) {
        if MAX_DEPTH < depth {
            self.too_deep = true;
            return;
        }
        if !cursor.goto_first_child() {
            return;
        }
        // The lines of comments and attributes directly before the next node.
        let mut leading: Option<(usize, usize)> = None;
        loop {
            let node = cursor.node();
            let (first, last) = rows(node);
            if node.is_named() {
                let starts_line = self.indents.get(first) == Some(&node.start_position().column);
                if starts_line {
                    let start = leading.filter(|(_, end)| first <= end + 1).map_or(first, |(start, _)| start);
                    self.rate(start, first, depth);
                    leading = is_leading(node.kind()).then_some((start, last));
                }
                let kind = definition(node, self.text);
                if let Some(kind) = kind
                    && let Some(name) = self.name(node, kind, within)
                {
                    let name = name.to_owned();
                    let line = |row: usize| u32::try_from(row + 1).unwrap_or(u32::MAX);
                    let symbol = |name, kind| Symbol { name, kind, first: line(first), last: line(last) };
                    self.outline.symbols.extend(self.owner(node).map(|it| symbol(it, SymbolKind::Scope)));
                    self.outline.symbols.push(symbol(name, kind));
                }
                if first < last || depth <= 2 {
                    let within = match kind {
                        Some(SymbolKind::Function) => Within::Function,
                        _ if within == Within::File && is_function(node) => Within::Closure,
                        _ => within,
                    };
                    self.children(cursor, depth + 1, within);
                }
            }
            if self.too_deep || !cursor.goto_next_sibling() {
                break;
            }
        }
        cursor.goto_parent();
    }

    /// Rates the cut before a node at this depth. The node starts in line `first`, and the comments that belong to it
    /// in line `start`.
    fn rate(&mut self, start: usize, first: usize, depth: usize) {
        let costs = &mut self.outline.costs;
        if costs.len() <= first {
            return;
        }
        for cost in &mut costs[start + 1..=first] {
            *cost = NEVER;
        }
        if costs[start] == NEVER {
            return;
        }
        let crowded = if self.after_blank[start] { 0 } else { 4 };
        let cost = u8::try_from((8 * depth).min(176)).unwrap_or(176) + crowded;
        costs[start] = costs[start].min(cost);
    }

    /// What a member that is assigned belongs to: `Tree` in `Tree.prototype.grow = function () {`.
    fn owner(&self, node: Node<'_>) -> Option<String> {
        let left = node.child_by_field_name("left").filter(|left| left.kind() == "member_expression")?;
        let mut object = left.child_by_field_name("object")?;
        if self.text.get(object.child_by_field_name("property").map_or(0..0, |it| it.byte_range()))
            == Some("prototype")
        {
            object = object.child_by_field_name("object")?;
        }
        let text = self.text.get(object.byte_range())?;
        let name = text.rsplit('.').next().filter(|_| !is_exports(text) && text != "this")?;
        is_name(name).then(|| name.to_owned())
    }

    fn name(&self, node: Node<'_>, kind: SymbolKind, within: Within) -> Option<&str> {
        let in_function = within == Within::Function;
        let named = match node.kind() {
            "impl_item" => node.child_by_field_name("type")?,
            "variable_declarator" | "const_spec" | "var_spec" | "const_item" | "static_item"
                if in_function =>
            {
                return None;
            }
            "assignment" => {
                let outside = !in_function && node.parent()?.parent()?.parent().is_none();
                node.child_by_field_name("left").filter(|left| outside && left.kind() == "identifier")?
            }
            "assignment_expression" => {
                let left = node.child_by_field_name("left")?;
                let exports = is_exports(self.text.get(left.child_by_field_name("object")?.byte_range())?);
                let counts = kind == SymbolKind::Function || exports && within == Within::File;
                // `module.exports = function name()` is known by the function's own name.
                let own = is_exports(self.text.get(left.byte_range())?);
                left.child_by_field_name("property").filter(|_| counts && !own)?
            }
            "pair" => node.child_by_field_name("key").filter(|_| within == Within::File)?,
            "function_expression" | "generator_function" => {
                // Of `res.type = function contentType` both are names.
                let (own, parent) = (node.child_by_field_name("name")?, node.parent()?);
                let kind = definition(parent, self.text).filter(|kind| *kind == SymbolKind::Function);
                let given = kind.and_then(|kind| self.name(parent, kind, within));
                Some(own).filter(|own| given != self.text.get(own.byte_range()))?
            }
            "struct_specifier" | "union_specifier" | "enum_specifier" | "class_specifier" => {
                node.child_by_field_name("body")?;
                node.child_by_field_name("name")?
            }
            _ => match node.child_by_field_name("name") {
                Some(name) => name,
                None => declared(node)?,
            },
        };
        let text = self.text.get(named.byte_range())?;
        let text = if kind == SymbolKind::Scope { text.split('<').next()? } else { text };
        let text = text.rsplit("::").next()?.trim_matches(['"', '\'', ' ', '&']);
        is_name(text).then_some(text)
    }
}

/// Whether a node of a script is a function as a value.
fn is_function(node: Node<'_>) -> bool {
    matches!(node.kind(), "function_expression" | "generator_function" | "arrow_function")
}

/// What an assignment, a variable or a part of an object is set to: in `a.b = a.c = …` that of the last.
fn value(node: Node<'_>) -> Option<Node<'_>> {
    let mut value = node.child_by_field_name("value").or_else(|| node.child_by_field_name("right"))?;
    for _ in 0..16 {
        match value.kind() {
            "assignment_expression" => value = value.child_by_field_name("right")?,
            _ => break,
        }
    }
    Some(value)
}

/// Whether a call takes another module in.
fn is_require(call: Node<'_>, text: &str) -> bool {
    let function = call.child_by_field_name("function");
    function.and_then(|it| text.get(it.byte_range())) == Some("require")
}

/// What leaves a module under a name of its own.
fn is_exports(text: &str) -> bool {
    matches!(text, "exports" | "module.exports")
}

/// The name in a declarator of C, which may be nested (a pointer to a function, an array).
fn declared(node: Node<'_>) -> Option<Node<'_>> {
    let mut at = node.child_by_field_name("declarator")?;
    for _ in 0..16 {
        match at.child_by_field_name("declarator") {
            Some(inner) => at = inner,
            None => break,
        }
    }
    at.kind().ends_with("identifier").then_some(at)
}

/// The first and the last row. A line end at the end does not begin another row.
fn rows(node: Node<'_>) -> (usize, usize) {
    let (start, end) = (node.start_position(), node.end_position());
    let last = if end.column == 0 { end.row.saturating_sub(1) } else { end.row };
    (start.row, last.max(start.row))
}

fn is_leading(kind: &str) -> bool {
    kind.ends_with("comment")
        || matches!(kind, "attribute_item" | "decorator" | "attribute_list" | "annotation")
}

/// What a node defines, in any of the grammars.
fn definition(node: Node<'_>, text: &str) -> Option<SymbolKind> {
    Some(match node.kind() {
        "variable_declarator" | "pair" if value(node).is_some_and(is_function) => SymbolKind::Function,
        // Of a script: `api.send = function () {`, `exports.limit = 3`.
        "assignment_expression" if node.child_by_field_name("left")?.kind() == "member_expression" => {
            let value = value(node)?;
            if is_function(value) {
                SymbolKind::Function
            } else if matches!(value.kind(), "identifier" | "member_expression") || is_require(value, text) {
                // What is defined elsewhere goes out under a name here.
                SymbolKind::Module
            } else {
                SymbolKind::Constant
            }
        }
        "function_item"
        | "function_signature_item"
        | "function_declaration"
        | "generator_function_declaration"
        | "function_signature"
        | "function_definition"
        | "method_declaration"
        | "method_definition"
        | "method_signature"
        | "abstract_method_signature"
        | "constructor_declaration"
        | "local_function_statement"
        | "function_expression"
        | "generator_function"
        | "method"
        | "singleton_method" => SymbolKind::Function,
        "struct_item"
        | "enum_item"
        | "union_item"
        | "type_item"
        | "trait_item"
        | "class_declaration"
        | "abstract_class_declaration"
        | "interface_declaration"
        | "type_alias_declaration"
        | "enum_declaration"
        | "record_declaration"
        | "struct_declaration"
        | "delegate_declaration"
        | "annotation_type_declaration"
        | "trait_declaration"
        | "class_definition"
        | "type_spec"
        | "type_alias"
        | "type_definition"
        | "struct_specifier"
        | "union_specifier"
        | "enum_specifier"
        | "class_specifier"
        | "alias_declaration"
        | "concept_definition"
        | "class" => SymbolKind::Type,
        "mod_item" | "module" | "internal_module" | "namespace_definition" | "namespace_declaration" => {
            SymbolKind::Module
        }
        "const_item"
        | "static_item"
        | "variable_declarator"
        | "const_spec"
        | "var_spec"
        | "const_element"
        | "assignment" => SymbolKind::Constant,
        "macro_definition" | "preproc_def" | "preproc_function_def" => SymbolKind::Macro,
        "impl_item" => SymbolKind::Scope,
        _ => return None,
    })
}
