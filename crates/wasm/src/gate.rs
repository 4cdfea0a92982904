use std::cell::RefCell;
use std::rc::Rc;

use headstart_tool_gate::{CallRef, Gate, GateContext};
use serde::Deserialize;
use serde_json::{Map, Value};
use wasm_bindgen::prelude::wasm_bindgen;

use crate::failure::Failure;
use crate::input::parse;
use crate::packed;
use crate::rules::Rules;

/// A call as a model wrote it; other fields, such as an id, do not matter here.
#[derive(Deserialize)]
struct Call {
    name: String,
    #[serde(default)]
    args: Map<String, Value>,
}

/// The verdict on a call, [packed].
#[wasm_bindgen]
pub fn judge(call: &str, context: Option<String>) -> Result<String, Failure> {
    let Call { name, args } = parse("call", call)?;
    let context = context_of(context)?;
    Ok(packed::verdict(&Gate::new().judge(CallRef { name: &name, args: &args }, &context), None))
}

/// The rules that a text stands for. The last ones are kept, because a host asks with the same rules again and again.
fn context_of(text: Option<String>) -> Result<Rc<GateContext>, Failure> {
    type Last = Option<(Option<String>, Rc<GateContext>)>;
    thread_local! {
        static LAST: RefCell<Last> = const { RefCell::new(None) };
    }
    LAST.with_borrow_mut(|last| {
        if let Some((known, context)) = last
            && *known == text
        {
            return Ok(Rc::clone(context));
        }
        let rules = text.as_deref().map(|text| parse::<Rules>("context", text)).transpose()?;
        let context = Rc::new(rules.unwrap_or_default().into_context("context")?);
        *last = Some((text, Rc::clone(&context)));
        Ok(context)
    })
}

/// What a shell command would do: the verdict, [packed], in which the places of effects are in UTF-16 units, as
/// JavaScript counts.
#[cfg(feature = "shell")]
#[wasm_bindgen(js_name = classifyShell)]
pub fn classify_shell(command: &str, context: Option<String>) -> Result<String, Failure> {
    let context = context_of(context)?;
    let verdict = Gate::new().judge_command(command, &context);
    Ok(packed::verdict(&verdict, Some(command)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mistake_in_the_rules_names_its_field() {
        let cases = [
            (r#"{"mode":"fast"}"#, "context.mode"),
            (r#"{"deny":["*.pem","!x"]}"#, "context.deny[1]"),
            (r#"{"deny":"x"}"#, "context.deny"),
            (r#"{"workspace":"project"}"#, "context.workspace"),
            (r#"{"workspace":"/a/../b"}"#, "context.workspace"),
            (r#"{"workspace":"C:\\project"}"#, "context.workspace"),
            (r#"{"workspaces":"/a"}"#, "context.workspaces"),
            #[cfg(feature = "shell")]
            (r#"{"policies":[{"program":"x/y","decision":"allow"}]}"#, "context.policies[0].program"),
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
