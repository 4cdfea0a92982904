use std::borrow::Cow;
use std::cmp::Reverse;
use std::sync::OnceLock;

use regex_lite::{Captures, Regex};
use serde_json::{Map, Value};

use crate::{RecordedCall, RecordedSuggestion, RecordedTurn, Recording};

/// What stands in place of a secret.
const SCRUBBED: &str = "[scrubbed]";

/// Shorter values do not count as secrets, because they would occur in ordinary words.
const SHORTEST: usize = 8;

/// Removes secrets from text: those whose value the host knows, and what looks like one.
///
/// It recognises the keys of common services, private keys, signed tokens, the values of headers such as
/// `Authorization` and `Cookie`, passwords in URLs, and what is assigned to a variable or a field whose name says
/// key, token, secret or password. A value that the host knows is found as it is, and with percent and JSON escapes.
///
/// It does not find other secrets that look like plain words, or values that the model encodes differently or splits.
#[derive(Debug, Clone, Default)]
pub struct Scrubber {
    /// The longest first, so that of a value which contains another one nothing is left.
    values: Vec<String>,
}

impl Scrubber {
    /// Also removes these values. Those of fewer than eight bytes are ignored.
    pub fn with_values(values: impl IntoIterator<Item = String>) -> Self {
        let mut known = Vec::new();
        for value in values {
            let value = value.trim();
            if SHORTEST <= value.len() {
                let forms = [value.to_owned(), percent_encoded(value), json_escaped(value)];
                known.extend(forms.map(|form| (Reverse(form.len()), form)));
            }
        }
        known.sort_unstable();
        known.dedup();
        let values = known.into_iter().map(|(_, form)| form).collect();
        Self { values }
    }

    /// The text without secrets.
    pub fn text<'a>(&self, text: &'a str) -> Cow<'a, str> {
        let mut text = Cow::Borrowed(text);
        for value in &self.values {
            if text.contains(value.as_str()) {
                text = Cow::Owned(text.replace(value.as_str(), SCRUBBED));
            }
        }
        for shape in shapes() {
            let replaced = shape.pattern.replace_all(&text, |found: &Captures<'_>| shape.replacement(found));
            if let Cow::Owned(replaced) = replaced {
                text = Cow::Owned(replaced);
            }
        }
        text
    }

    /// The recording without secrets, in all its texts.
    pub fn recording(&self, recording: &Recording) -> Recording {
        let owned = |text: &str| self.text(text).into_owned();
        let call =
            |call: &RecordedCall| RecordedCall { name: owned(&call.name), args: self.object(&call.args) };
        Recording {
            turns: recording
                .turns
                .iter()
                .map(|turn| RecordedTurn {
                    text: owned(&turn.text),
                    tool_calls: turn.tool_calls.iter().map(call).collect(),
                    ..turn.clone()
                })
                .collect(),
            suggestions: recording
                .suggestions
                .iter()
                .map(|suggestion| RecordedSuggestion {
                    text: owned(&suggestion.text),
                    also: suggestion.also.iter().map(|wording| owned(wording)).collect(),
                    ..suggestion.clone()
                })
                .collect(),
        }
    }

    fn object(&self, fields: &Map<String, Value>) -> Map<String, Value> {
        let scrubbed = fields.iter().map(|(name, value)| {
            let value = match value {
                Value::String(text) if names_a_secret(name) && !text.is_empty() => SCRUBBED.into(),
                value => self.value(value),
            };
            (self.text(name).into_owned(), value)
        });
        scrubbed.collect()
    }

    /// A JSON value without secrets, in names and in texts.
    pub fn value(&self, value: &Value) -> Value {
        match value {
            Value::String(text) => self.text(text).into_owned().into(),
            Value::Array(items) => items.iter().map(|item| self.value(item)).collect(),
            Value::Object(fields) => Value::Object(self.object(fields)),
            other => other.clone(),
        }
    }
}

/// Whether a field of this name contains only a secret.
fn names_a_secret(name: &str) -> bool {
    let plain: String = name.chars().filter(char::is_ascii_alphanumeric).collect::<String>().to_lowercase();
    [
        "apikey",
        "xapikey",
        "xgoogapikey",
        "authorization",
        "password",
        "passwd",
        "secret",
        "clientsecret",
        "accesstoken",
        "authtoken",
        "refreshtoken",
        "privatekey",
        "secretkey",
        "cookie",
        "setcookie",
    ]
    .contains(&plain.as_str())
}

/// A pattern. What its group `secret` matches is removed, or the whole match if it has no such group.
struct Shape {
    pattern: Regex,
    /// Whether the match must contain a digit, which distinguishes it from words.
    needs_digit: bool,
}

/// The pattern and whether it needs a digit.
const SHAPES: [(&str, bool); 11] = [
    (
        r"-----BEGIN [A-Z0-9 ]*PRIVATE KEY( BLOCK)?-----[\s\S]*?(-----END [A-Z0-9 ]*PRIVATE KEY( BLOCK)?-----|$)",
        false,
    ),
    (r"\beyJ[A-Za-z0-9_-]{8,}\.eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]*", false),
    (r"\b(sk|pk|rk|xai|gsk|pplx)[-_][A-Za-z0-9_-]{16,}", true),
    (r"\b(AIza[A-Za-z0-9_-]{30,}|ya29\.[A-Za-z0-9_-]{20,}|(AKIA|ASIA)[A-Z0-9]{16})", false),
    (
        r"\b(gh[pousr]_|github_pat_|glpat-|npm_|hf_|r8_|dop_v1_|pypi-|xox[abeoprs]-|xapp-)[A-Za-z0-9_-]{10,}",
        true,
    ),
    (r"\bSG\.[A-Za-z0-9_-]{16,}\.[A-Za-z0-9_-]{16,}", false),
    // The header with a scheme; with any value that is not a word; the scheme alone.
    (
        r#"(?i)\b(proxy-)?authorization["']?\s*[:=]\s*["']?(bearer|basic|token|digest|apikey|negotiate)\s+(?<secret>[^\s"']{4,})"#,
        false,
    ),
    (
        r#"(?i)\b((proxy-)?authorization|[a-z-]*api-?key|x-[a-z-]*token|private-token)["']?\s*[:=]\s*["']?(?<secret>[A-Za-z0-9._~+/=-]{8,})"#,
        true,
    ),
    (r"(?i)\bbearer\s+(?<secret>[A-Za-z0-9._~+/=-]{8,})", true),
    (r#"(?i)\b(set-)?cookie["']?:\s*["']?(?<secret>[^\s"'=;]+=[^\r\n"']+)"#, false),
    (r"://[^/\s:@]*:(?<secret>[^/\s@]+)@", false),
];

/// Forms of assignment: in a query, to an environment variable, to a quoted field.
const ASSIGNED: [&str; 3] = [
    r#"(?i)[?&](key|api_?key|access_token|auth_token|token|sig|signature|client_secret|password)=(?<secret>[^&\s"'#]{8,})"#,
    r#"\b[A-Z][A-Z0-9_]*(KEY|TOKEN|SECRET|PASSWORD|PASSWD)\s*[=:]\s*["']?(?<secret>[^\s"']{8,})"#,
    r#"(?i)(api[_-]?key|secret(_?key)?|(access|auth|refresh)[_-]?token|password|passwd)\\?["']?\s*[:=]\s*\\?["'](?<secret>[^\s"'\\]{8,})"#,
];

fn shapes() -> &'static [Shape] {
    static SHAPES_READ: OnceLock<Vec<Shape>> = OnceLock::new();
    SHAPES_READ.get_or_init(|| {
        let assigned = ASSIGNED.iter().map(|pattern| (*pattern, true));
        let all = SHAPES.into_iter().chain(assigned);
        let shape = |(pattern, needs_digit)| Shape {
            pattern: Regex::new(pattern).expect("works because every pattern is tested"),
            needs_digit,
        };
        all.map(shape).collect()
    })
}

impl Shape {
    fn replacement(&self, found: &Captures<'_>) -> String {
        let whole = found.get(0).expect("works because group 0 is the match");
        let secret = found.name("secret").unwrap_or(whole);
        let text = secret.as_str();
        if text.contains(SCRUBBED) || (self.needs_digit && !text.bytes().any(|byte| byte.is_ascii_digit())) {
            return whole.as_str().to_owned();
        }
        let before = &whole.as_str()[..secret.start() - whole.start()];
        let after = &whole.as_str()[secret.end() - whole.start()..];
        format!("{before}{SCRUBBED}{after}")
    }
}

fn percent_encoded(text: &str) -> String {
    let encode = |byte: u8| match byte {
        b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => char::from(byte).to_string(),
        _ => format!("%{byte:02X}"),
    };
    text.bytes().map(encode).collect()
}

fn json_escaped(text: &str) -> String {
    let quoted = Value::from(text).to_string();
    quoted[1..quoted.len() - 1].to_owned()
}

#[cfg(test)]
mod tests;
