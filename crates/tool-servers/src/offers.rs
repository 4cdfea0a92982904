//! What servers offer besides tools: resources, which a prompt may mention, and prompts, which a user may ask for.

mod requests;

use rmcp::model::{JsonObject, Prompt, Resource};
use serde_json::Value;

use crate::untrusted::clean;

/// The most resources of one server that are listed. One that is not listed can still be named.
const MAX_RESOURCES: usize = 1_000;
/// The most prompts of one server that are listed.
const MAX_PROMPTS: usize = 100;
/// The most bytes of an address that is listed.
const MAX_URI: usize = 1_024;
/// The most bytes of the name of a prompt or an argument.
const MAX_NAME: usize = 64;
/// The most arguments of a prompt.
const MAX_ARGUMENTS: usize = 16;
/// The most characters of a description.
const MAX_WORDS: usize = 80;

/// A resource of a server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListedResource {
    /// The server.
    pub server: String,
    /// Its address at the server.
    pub uri: String,
    /// The server's description in a few words, cleaned.
    pub words: String,
}

/// A prompt of a server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListedPrompt {
    /// The server.
    pub server: String,
    /// Its name: letters, digits, `-` and `_`.
    pub name: String,
    /// The server's description in a few words, cleaned.
    pub words: String,
    /// Its arguments, in order.
    pub arguments: Vec<PromptArgument>,
}

/// An argument of a prompt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PromptArgument {
    /// Its name: letters, digits, `-` and `_`.
    pub name: String,
    /// Whether it must be given.
    pub required: bool,
}

/// What one server offers.
pub(crate) struct Offers {
    resources: Vec<ListedResource>,
    prompts: Vec<ListedPrompt>,
}

impl Offers {
    /// Lists what can be shown and named. An address or a name with invisible characters is left out.
    pub(crate) fn of(server: &str, resources: Vec<Resource>, prompts: Vec<Prompt>) -> Self {
        let resources = resources.into_iter().filter(|resource| {
            let uri = &resource.uri;
            !uri.is_empty()
                && uri.len() <= MAX_URI
                && clean(uri, MAX_URI) == *uri
                && !uri.contains(['\n', '\t', '"'])
        });
        let resources = resources.take(MAX_RESOURCES).map(|resource| ListedResource {
            server: server.to_owned(),
            words: few_words(&resource.title.or(resource.description).unwrap_or(resource.name)),
            uri: resource.uri,
        });
        let prompts = prompts.into_iter().filter_map(|prompt| ListedPrompt::of(server, prompt));
        Self { resources: resources.collect(), prompts: prompts.take(MAX_PROMPTS).collect() }
    }
}

impl ListedPrompt {
    fn of(server: &str, prompt: Prompt) -> Option<Self> {
        let arguments = prompt.arguments.unwrap_or_default();
        let arguments: Vec<_> = arguments
            .into_iter()
            .map(|argument| PromptArgument { name: argument.name, required: argument.required == Some(true) })
            .collect();
        let is_named = is_plain(&prompt.name) && arguments.iter().all(|argument| is_plain(&argument.name));
        (is_named && arguments.len() <= MAX_ARGUMENTS).then(|| Self {
            server: server.to_owned(),
            name: prompt.name,
            words: few_words(&prompt.description.or(prompt.title).unwrap_or_default()),
            arguments,
        })
    }

    /// How to ask for it: `/docs:review FILE [focus]`.
    pub fn usage(&self) -> String {
        let arguments = self.arguments.iter().map(|PromptArgument { name, required }| {
            if *required {
                format!(" {}", name.to_uppercase())
            } else {
                format!(" [{}]", name.to_uppercase())
            }
        });
        format!("/{}:{}{}", self.server, self.name, arguments.collect::<String>())
    }

    /// Reads the arguments behind the name: words and `"several words"` in the order of the arguments, or
    /// `name=word`. The last argument gets the whole rest.
    fn read(&self, written: &str) -> Result<JsonObject, String> {
        let mut args = JsonObject::new();
        let mut rest = written.trim();
        while !rest.is_empty() {
            let named = rest
                .split_once('=')
                .filter(|(name, _)| self.arguments.iter().any(|known| known.name == *name));
            let left: Vec<_> =
                self.arguments.iter().filter(|known| !args.contains_key(&known.name)).collect();
            let (name, is_last) = match (named, left.first()) {
                (Some((name, behind)), _) => {
                    rest = behind;
                    (name.to_owned(), false)
                }
                (None, Some(next)) => (next.name.clone(), left.len() == 1),
                (None, None) => {
                    return Err(format!("{rest:?} is one argument too many; it is {}", self.usage()));
                }
            };
            let (word, behind) = match rest.strip_prefix('"').and_then(|rest| rest.split_once('"')) {
                Some((word, behind)) if !is_last || behind.trim().is_empty() => (word, behind),
                _ if is_last => (rest, ""),
                _ => rest.split_once(char::is_whitespace).unwrap_or((rest, "")),
            };
            args.insert(name, Value::from(word));
            rest = behind.trim_start();
        }
        match self.arguments.iter().find(|known| known.required && !args.contains_key(&known.name)) {
            Some(missing) => Err(format!("it needs {}; it is {}", missing.name, self.usage())),
            None => Ok(args),
        }
    }
}

fn is_plain(name: &str) -> bool {
    let plain = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    !name.is_empty() && name.len() <= MAX_NAME && name.chars().all(plain)
}

fn few_words(text: &str) -> String {
    let text = clean(text, 4 * MAX_WORDS).split_whitespace().collect::<Vec<_>>().join(" ");
    match text.char_indices().nth(MAX_WORDS) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn prompt(arguments: &[(&str, bool)]) -> ListedPrompt {
        let arguments = arguments
            .iter()
            .map(|(name, required)| PromptArgument { name: (*name).to_owned(), required: *required });
        ListedPrompt {
            server: "s".to_owned(),
            name: "p".to_owned(),
            words: String::new(),
            arguments: arguments.collect(),
        }
    }

    #[test]
    fn what_is_written_behind_a_prompt_is_its_arguments() {
        let two = prompt(&[("file", true), ("focus", false)]);
        assert_eq!(two.usage(), "/s:p FILE [FOCUS]");
        for (written, expected) in [
            ("a.rs", json!({ "file": "a.rs" })),
            ("  a.rs  speed and size ", json!({ "file": "a.rs", "focus": "speed and size" })),
            ("\"my notes\" \"all of it\"", json!({ "file": "my notes", "focus": "all of it" })),
            ("a.rs \"one\" and more", json!({ "file": "a.rs", "focus": "\"one\" and more" })),
            ("focus=speed a.rs", json!({ "focus": "speed", "file": "a.rs" })),
            ("a=b", json!({ "file": "a=b" })),
        ] {
            assert_eq!(two.read(written).map(Value::Object), Ok(expected), "{written}");
        }
        assert_eq!(two.read(" "), Err("it needs file; it is /s:p FILE [FOCUS]".to_owned()));
        let none = prompt(&[]);
        assert_eq!(none.read(""), Ok(JsonObject::new()));
        assert_eq!(none.read("x y"), Err("\"x y\" is one argument too many; it is /s:p".to_owned()));
    }
}
