//! What a provider says when it says no.

use std::time::Duration;

use serde_json::Value;

use crate::{ModelError, Provider};

/// Longer messages are cut: a provider that echoes the request would flood the terminal.
const MESSAGE_CHARS: usize = 300;

impl Provider {
    /// The error of a response with this status.
    pub(crate) fn error(&self, status: u16, retry_after: Option<Duration>, body: &str) -> ModelError {
        let provider = self.name.clone();
        match status {
            401 | 403 => ModelError::Unauthorized { provider, status, variable: self.key_variable.clone() },
            429 => ModelError::RateLimited { provider, retry_after },
            500.. => ModelError::Server { provider, status, message: said(body) },
            _ => ModelError::Rejected { provider, status, message: said(body) },
        }
    }

    /// The error in the middle of an answer that began well.
    pub(crate) fn error_in_stream(&self, error: &Value) -> ModelError {
        let code = ["status", "code", "status_code"].iter().find_map(|name| status(error.get(name)?));
        self.error(code.unwrap_or(500), None, &error.to_string())
    }

    pub(crate) fn malformed(&self, message: impl AsRef<str>) -> ModelError {
        ModelError::Malformed { provider: self.name.clone(), message: shorten(message.as_ref()) }
    }
}

fn status(code: &Value) -> Option<u16> {
    let number = match code {
        Value::Number(number) => number.as_u64()?,
        Value::String(text) => match text.as_str() {
            "rate_limit_exceeded" | "insufficient_quota" | "Throttling" => 429,
            "invalid_api_key" | "InvalidApiKey" => 401,
            text => text.parse().ok()?,
        },
        _ => return None,
    };
    u16::try_from(number).ok().filter(|status| (400..600).contains(status))
}

/// The provider's own words in the body of an error.
fn said(body: &str) -> String {
    let json: Option<Value> = serde_json::from_str(body).ok();
    let message = json.as_ref().and_then(|json| {
        let places =
            [json.pointer("/error/message"), json.get("message"), json.get("error"), json.get("detail")];
        places.into_iter().flatten().find_map(Value::as_str)
    });
    let message = shorten(message.unwrap_or(body));
    if message.is_empty() { "no further message".into() } else { message }
}

/// One line of at most some hundred characters, nothing in it that a terminal would act on.
pub(crate) fn shorten(text: &str) -> String {
    let mut words = text.split(|c: char| c.is_whitespace() || c.is_control()).filter(|word| !word.is_empty());
    let mut line = words.next().unwrap_or_default().to_owned();
    for word in words {
        if MESSAGE_CHARS < line.len() {
            break;
        }
        line.push(' ');
        line.push_str(word);
    }
    match line.char_indices().nth(MESSAGE_CHARS) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_providers_words_are_found_wherever_they_are() {
        let cases = [
            (r#"{"error":{"message":"bad\nmodel","type":"x"}}"#, "bad model"),
            (r#"{"error":"model not found"}"#, "model not found"),
            (r#"{"object":"error","message":"too long"}"#, "too long"),
            (r#"{"detail":"Not Found"}"#, "Not Found"),
            ("<html>\u{1b}[31mBad Gateway</html>", "<html> [31mBad Gateway</html>"),
            ("", "no further message"),
        ];
        for (body, expected) in cases {
            assert_eq!(said(body), expected);
        }
        assert_eq!(shorten(&"語".repeat(1_000)).chars().count(), MESSAGE_CHARS + 1);
    }

    #[test]
    fn errors_within_a_stream_have_their_kind() {
        let provider = Provider::openai();
        let cases = [
            (
                json!({"message": "slow down", "code": "rate_limit_exceeded"}),
                "openai limits the rate of requests",
            ),
            (
                json!({"message": "no", "code": "401"}),
                "openai refused the key (401); set OPENAI_API_KEY to a valid key",
            ),
            (json!({"message": "too long", "code": 400}), "openai rejected the request (400): too long"),
            (json!({"message": "oops", "code": null}), "openai failed (500): oops"),
            (json!("overloaded"), "openai failed (500): \"overloaded\""),
        ];
        for (error, expected) in cases {
            assert_eq!(provider.error_in_stream(&error).to_string(), expected);
        }
    }
}
