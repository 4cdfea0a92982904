//! What is on a hook's standard input, with a letter before it that names the product: no answer allows what the gate does not.
#![no_main]

/// The parts of the binary that do no IO.
#[expect(dead_code, reason = "the binary uses the rest")]
#[path = "../../src/hosts/hooks"]
mod hooks {
    pub(crate) mod answer;
    pub(crate) mod contract;
    pub(crate) mod message;
}

use headstart_tool_gate::{CallRef, Decision, Gate, GateContext, Reason};
use hooks::answer::{CommandForm, HookAnswer, decide, render};
use hooks::contract::{CONTRACTS, Contract};
use hooks::message::{HookCall, read};
use serde_json::Value;

const LINE: &str = "headstart run --read-only -- it";

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let Some((product, message)) = bytes.split_first() else { return };
    let contract = &CONTRACTS[usize::from(product.wrapping_sub(b'a')) % CONTRACTS.len()];
    if let Ok(call) = read(contract, message) {
        check(contract, message, &call);
    }
});

fn check(contract: &'static Contract, message: &[u8], call: &HookCall) {
    let context = GateContext { workspace: "/project".to_owned(), ..GateContext::default() };
    let judged = Gate::new().judge_elsewhere(&call.args, &call.directory, &context);
    for denies in [false, true] {
        for (form, objection) in [
            (CommandForm::AsText, None),
            (CommandForm::Confined { line: LINE.to_owned() }, None),
            (CommandForm::AsText, Some("something".to_owned())),
        ] {
            let is_confined = matches!(form, CommandForm::Confined { .. });
            let is_free = objection.is_none();
            let answer = decide(contract, &judged, form, denies, objection);
            let text = render(&answer, call).map(|answer| answer.to_string()).unwrap_or_default();
            assert_eq!(text.contains(":\"allow\""), matches!(answer, HookAnswer::Allow { .. }), "{text}");
            assert!(denies || !matches!(answer, HookAnswer::Deny { .. }), "{text}");
            if !matches!(answer, HookAnswer::Allow { .. }) {
                continue;
            }
            assert!(is_free && contract.takes_allow, "{text}");
            let command = command_in(message).expect("an allowed command is in the message");
            assert_eq!(call.command(), command);
            let mut args = serde_json::Map::new();
            args.insert("command".to_owned(), command.into());
            args.insert("directory".to_owned(), call.directory.as_str().into());
            let again = Gate::new().judge(CallRef { name: "shell", args: &args }, &context);
            assert_eq!((again.decision, again.reason), (Decision::Allow, Reason::ReadOnly), "{text}");
            assert!(is_confined || again.hardened.is_none(), "{text}");
        }
    }
}

/// The command that a reader of the message would find, who knows nothing of products.
fn command_in(message: &[u8]) -> Option<String> {
    let message: Value = serde_json::from_slice(message).ok()?;
    let parsed = |field: &Value| match field {
        Value::String(text) => serde_json::from_str(text).ok(),
        other => Some(other.clone()),
    };
    let fields = ["tool_input", "toolInput", "toolArgs", "tool_args"];
    let args = fields.iter().filter_map(|name| message.get(*name)).find(|field| !field.is_null());
    let args = args.map_or(Some(message.clone()), parsed)?;
    args["command"].as_str().map(str::to_owned)
}
