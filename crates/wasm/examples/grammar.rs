//! Only the grammar of bash and its parser as a module (`cargo xtask wasm`). It shows their part of the package's size.

#![allow(
    unreachable_pub,
    missing_docs,
    reason = "wasm-bindgen exports public items only, and nobody uses this module"
)]

use tree_sitter::Parser;
use wasm_bindgen::prelude::wasm_bindgen;

#[wasm_bindgen]
pub fn parse(text: &str) -> Option<usize> {
    let mut parser = Parser::new();
    parser.set_language(&tree_sitter_bash::LANGUAGE.into()).ok()?;
    let tree = parser.parse(text, None)?;
    Some(tree.root_node().descendant_count())
}
