use headstart_followup_state::{Suggestion, filter};
use serde::Serialize;
use wasm_bindgen::prelude::wasm_bindgen;

use crate::failure::json;

#[derive(Serialize)]
struct Answer {
    keep: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    suggestion: Option<Suggestion>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<&'static str>,
}

/// `{"keep": true, "suggestion"}` or `{"keep": false, "reason"}`.
#[wasm_bindgen(js_name = filterSuggestion)]
pub fn filter_suggestion(text: &str) -> String {
    json(&match filter(text) {
        Ok(suggestion) => Answer { keep: true, suggestion: Some(suggestion), reason: None },
        Err(reason) => Answer { keep: false, suggestion: None, reason: Some(reason.as_str()) },
    })
}
