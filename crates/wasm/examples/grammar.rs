//! The grammar of bash and its parser alone, as a module: how much of the package they are (`cargo xtask wasm`).

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
