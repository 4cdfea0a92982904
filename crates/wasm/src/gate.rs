use headstart_tool_gate::{CallRef, Gate, GateContext};
use serde::Deserialize;
use serde_json::{Map, Value};
use wasm_bindgen::prelude::wasm_bindgen;

use crate::failure::{Failure, json};
use crate::input::parse;
use crate::rules::Rules;

/// A call as a model wrote it; what else it has (an id, a signature) does not matter here.
#[derive(Deserialize)]
struct Call {
    name: String,
    #[serde(default)]
    args: Map<String, Value>,
}

/// The verdict on a call, as JSON.
#[wasm_bindgen]
pub fn judge(call: &str, context: Option<String>) -> Result<String, Failure> {
    let Call { name, args } = parse("call", call)?;
    let context = context_of(context)?;
    Ok(json(&Gate::new().judge(CallRef { name: &name, args: &args }, &context)))
}

fn context_of(context: Option<String>) -> Result<GateContext, Failure> {
    match context {
        Some(context) => parse::<Rules>("context", &context)?.into_context(),
        None => Rules::default().into_context(),
    }
}

#[cfg(feature = "shell")]
mod command {
    use headstart_tool_gate::{Effect, EffectKind, Gate, Verdict};
    use serde::Serialize;
    use wasm_bindgen::prelude::wasm_bindgen;

    use super::context_of;
    use crate::failure::{Failure, json};

    #[derive(Serialize)]
    struct Classified<'a> {
        #[serde(flatten)]
        verdict: &'a Verdict,
        parts: Vec<Part<'a>>,
    }

    /// An effect and where in the command it comes from, counted as JavaScript counts.
    #[derive(Serialize)]
    struct Part<'a> {
        from: usize,
        to: usize,
        kind: EffectKind,
        detail: &'a str,
    }

    /// What a shell command would do, as JSON.
    #[wasm_bindgen(js_name = classifyShell)]
    pub fn classify_shell(command: &str, context: Option<String>) -> Result<String, Failure> {
        let verdict = Gate::new().judge_command(command, &context_of(context)?);
        let parts = parts(command, &verdict.effects);
        Ok(json(&Classified { verdict: &verdict, parts }))
    }

    fn parts<'a>(command: &str, effects: &'a [Effect]) -> Vec<Part<'a>> {
        let units = Units::of(command);
        let placed = |effect: &'a Effect| {
            let (from, to) = effect.span?;
            Some(Part { from: units.at(from), to: units.at(to), kind: effect.kind, detail: &effect.detail })
        };
        let mut parts: Vec<_> = effects.iter().filter_map(placed).collect();
        parts.sort_by_key(|part| (part.from, part.to));
        parts
    }

    /// Offsets in UTF-8 as offsets in UTF-16, in which JavaScript counts.
    struct Units {
        /// For each character that takes another number of units than of bytes: where it ends, and by how much the
        /// offsets behind it differ.
        shifts: Vec<(usize, usize)>,
    }

    impl Units {
        fn of(text: &str) -> Self {
            let mut shift = 0;
            let wide = text.char_indices().filter(|(_, character)| !character.is_ascii());
            let shifts = wide.map(|(start, character)| {
                shift += character.len_utf8() - character.len_utf16();
                (start + character.len_utf8(), shift)
            });
            Self { shifts: shifts.collect() }
        }

        /// `byte` is at the border of a character.
        fn at(&self, byte: usize) -> usize {
            let before = self.shifts.partition_point(|(end, _)| *end <= byte);
            byte - before.checked_sub(1).map_or(0, |last| self.shifts[last].1)
        }
    }

    #[cfg(test)]
    mod tests {
        use super::*;

        #[test]
        fn offsets_count_as_javascript_does() {
            let text = "a语b😀c\u{e9}";
            let units = Units::of(text);
            for (byte, _) in text.char_indices().chain([(text.len(), ' ')]) {
                assert_eq!(units.at(byte), text[..byte].encode_utf16().count(), "{byte}");
            }
        }

        #[test]
        fn parts_lie_on_what_they_are_about() {
            let command = "grep 语😀 README.md | sort; curl http://example.org";
            let classified: serde_json::Value =
                serde_json::from_str(&classify_shell(command, None).unwrap()).unwrap();
            let utf16: Vec<u16> = command.encode_utf16().collect();
            let parts = classified["parts"].as_array().unwrap();
            assert_eq!(parts.len(), classified["effects"].as_array().unwrap().len());
            let text = |part: &serde_json::Value| {
                let at = |name: &str| usize::try_from(part[name].as_u64().unwrap()).unwrap();
                String::from_utf16(&utf16[at("from")..at("to")]).unwrap()
            };
            assert!(
                parts.iter().any(|part| part["kind"] == "network" && text(part).contains("curl")),
                "{parts:?}"
            );
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mistake_in_the_rules_names_its_field() {
        let cases = [
            (r#"{"mode":"fast"}"#, "context.mode"),
            (r#"{"deny":["*.pem","!x"]}"#, "deny[1]"),
            (r#"{"deny":"x"}"#, "context.deny"),
            (r#"{"workspace":"project"}"#, "workspace"),
            (r#"{"workspace":"/a/../b"}"#, "workspace"),
            (r#"{"workspaces":"/a"}"#, "context.workspaces"),
            #[cfg(feature = "shell")]
            (r#"{"policies":[{"program":"x/y","decision":"allow"}]}"#, "policies[0].program"),
            #[cfg(feature = "shell")]
            (r#"{"policies":[{"program":"x"}]}"#, "context.policies[0].decision"),
        ];
        for (context, path) in cases {
            let failure = judge(r#"{"name":"ls"}"#, Some(context.to_owned())).unwrap_err();
            assert_eq!(failure.path.as_deref(), Some(path), "{context}: {failure:?}");
        }
        let failure = judge(r#"{"args":{}}"#, None).unwrap_err();
        assert_eq!(failure.path.as_deref(), Some("call.name"));
    }
}
