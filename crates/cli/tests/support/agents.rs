//! Settings with which agents of other projects ask a model on this machine.

use serde_json::{Value, json};

use super::Session;

impl Session {
    /// Has `OpenCode` ask the model at this address. `more` is added to its settings.
    pub(crate) fn configure_opencode(&self, base_url: &str, more: &Value) {
        let provider = json!({
            "npm": "@ai-sdk/openai-compatible", "name": "here", "models": { "scripted": { "name": "scripted" } },
            "options": { "baseURL": base_url, "apiKey": "none" },
        });
        let mut settings = json!({
            "model": "here/scripted", "small_model": "here/scripted", "provider": { "here": provider },
        });
        settings.as_object_mut().unwrap().extend(more.as_object().cloned().unwrap_or_default());
        self.write("home/.config/opencode/opencode.json", settings.to_string());
    }

    /// Has Codex ask the model at this address, with the key in `OPENAI_API_KEY`. `more` is added to its settings.
    pub(crate) fn configure_codex(&self, base_url: &str, more: &str) {
        let settings = format!(
            "model = \"gpt-6.1-sol\"\nmodel_provider = \"here\"\n[model_providers.here]\nname = \"here\"\n\
             base_url = \"{base_url}\"\nwire_api = \"responses\"\nenv_key = \"OPENAI_API_KEY\"\n{more}"
        );
        self.write("home/.codex/config.toml", settings);
    }
}
