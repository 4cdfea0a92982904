//! Properties that every wire format must have.

mod requests;
mod shared;
mod streams;

use crate::{KeyRequirement, Provider};

/// One provider of each format and dialect.
pub(super) fn providers() -> Vec<Provider> {
    let gateway = Provider::compatible("compatible", "http://localhost:8000/v1");
    vec![
        Provider::anthropic(),
        Provider::gemini(),
        Provider::openai(),
        Provider::responses(),
        Provider::dashscope(),
        Provider::ollama(),
        gateway,
    ]
}

#[test]
fn presets_know_their_names_and_say_no_more_than_them() {
    for provider in providers() {
        assert_eq!(
            Provider::preset(&provider.name),
            Some(provider.clone()).filter(|p| p.name != "compatible")
        );
        let elsewhere = provider.clone().with_base_url("http://127.0.0.1:9/x");
        assert_eq!(elsewhere.label(), format!("{} at http://127.0.0.1:9/x", provider.name));
        assert_eq!((elsewhere.key, &elsewhere.wire), (KeyRequirement::Optional, &provider.wire));
        if provider.name != "compatible" {
            assert_eq!(provider.label(), provider.name);
        }
    }
}
