use headstart_context::{MentionStart, mention_start as start_of};
use serde::Serialize;
use wasm_bindgen::prelude::wasm_bindgen;

use crate::failure::json;

#[derive(Serialize)]
struct MentionFields<'a> {
    /// In UTF-16 units, as JavaScript counts.
    at: usize,
    word: &'a str,
}

/// The mention at whose end a text stops, `{"at", "word"}`; nothing if there is none.
#[wasm_bindgen(js_name = mentionStart)]
pub fn mention_start(text: &str) -> Option<String> {
    let MentionStart { at, word } = start_of(text)?;
    Some(json(&MentionFields { at: text[..at].encode_utf16().count(), word }))
}
