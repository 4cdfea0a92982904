//! The core and the index in memory as one module (`cargo xtask wasm`). It shows how much the index adds to the size.

#![allow(
    unreachable_pub,
    missing_docs,
    reason = "wasm-bindgen exports public items only, and nobody uses this module"
)]

use std::sync::Arc;

use headstart_code_index::{Budget, ContentFields, MemoryIndex, Query, View, Weights, search};
use headstart_overlay_fs::WorkspacePath;
use headstart_wasm as _;
use wasm_bindgen::prelude::wasm_bindgen;

#[wasm_bindgen]
#[derive(Default)]
pub struct Index(MemoryIndex);

#[wasm_bindgen]
impl Index {
    #[wasm_bindgen(constructor)]
    pub fn new() -> Self {
        Self::default()
    }

    pub fn put(&mut self, path: &str, bytes: &[u8]) -> bool {
        let Ok(path) = WorkspacePath::parse(path) else { return false };
        let content = Arc::new(ContentFields::of(&path, bytes));
        self.0.put(path, content);
        true
    }

    pub fn remove(&mut self, path: &str) -> bool {
        WorkspacePath::parse(path).is_ok_and(|path| {
            self.0.remove(&path);
            true
        })
    }

    pub fn search(&self, text: &str) -> Option<String> {
        let view = View::new(&self.0, []);
        let query = Query::parse(text, |path| view.has(path));
        let hits = search(&view, &query, Budget::default(), &[], &Weights::for_view(&view)).ok()?;
        Some(hits.iter().map(|hit| hit.path.to_string() + "\n").collect())
    }
}
