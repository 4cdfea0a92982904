use serde_json::json;
use wasm_bindgen::prelude::wasm_bindgen;

/// `{"keep": true, "suggestion"}` or `{"keep": false, "reason"}`.
#[wasm_bindgen(js_name = filterSuggestion)]
pub fn filter_suggestion(text: &str) -> String {
    let answer = match headstart_followup_state::filter(text) {
        Ok(suggestion) => json!({ "keep": true, "suggestion": suggestion.as_str() }),
        Err(reason) => json!({ "keep": false, "reason": reason.as_str() }),
    };
    answer.to_string()
}
