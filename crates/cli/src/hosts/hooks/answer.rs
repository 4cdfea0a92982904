//! Turns the gate's verdict into the answer of a hook, which never allows more than the gate does.

use headstart_tool_gate::{Decision, ElsewhereVerdict, Reason};
use serde_json::Value;

use super::contract::{Contract, Shape};
use super::message::HookCall;

/// How an allowed command runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum CommandForm {
    /// This line, which confines the command, replaces it.
    Confined { line: String },
    /// Unchanged, in the product's own shell.
    AsText,
}

/// The answer of a hook.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum HookAnswer {
    /// The command runs without a question; if there is a `line`, that runs in its place.
    Allow { why: String, line: Option<String> },
    /// The command does not run.
    Deny { why: String },
    /// No answer: the product behaves as it would without the hook.
    Silent { why: String },
}

impl HookAnswer {
    /// The name of the answer in JSON.
    pub(crate) fn name(&self) -> &'static str {
        match self {
            Self::Allow { .. } => "allow",
            Self::Deny { .. } => "deny",
            Self::Silent { .. } => "silent",
        }
    }
}

/// The answer to a call that the gate has judged. `objection` is the reason in the call's execution context, if there
/// is one, why the command must not be allowed.
pub(crate) fn decide(
    contract: &Contract,
    judged: &ElsewhereVerdict,
    form: CommandForm,
    denies: bool,
    objection: Option<String>,
) -> HookAnswer {
    let verdict = &judged.verdict;
    let silent = |why: &str| HookAnswer::Silent { why: why.to_owned() };
    if denies && matches!(verdict.reason, Reason::DeniedPath | Reason::SecretPath) {
        return HookAnswer::Deny { why: format!("headstart: {}", verdict.detail) };
    }
    if verdict.decision != Decision::Allow || verdict.reason != Reason::ReadOnly {
        return silent(&verdict.detail);
    }
    if !contract.takes_allow {
        return silent("the command only reads, and this product asks whatever a hook says");
    }
    let line = match form {
        CommandForm::Confined { .. } if judged.leaves_folder => {
            return silent("the command takes the shell to another folder, and a confined one could not");
        }
        CommandForm::AsText if verdict.hardened.is_some() => {
            return silent(
                "headstart would run it with safer options, and the product's shell runs it as it stands",
            );
        }
        CommandForm::Confined { line } => Some(line),
        CommandForm::AsText => None,
    };
    match objection {
        Some(why) => HookAnswer::Silent { why },
        None => HookAnswer::Allow { why: format!("headstart: {}", verdict.detail), line },
    }
}

/// The JSON of an answer to `call`; `None` if nothing is to be printed.
pub(crate) fn render(answer: &HookAnswer, call: &HookCall) -> Option<Value> {
    let (behavior, why, line) = match answer {
        HookAnswer::Allow { why, line } => ("allow", why, line.as_deref()),
        HookAnswer::Deny { why } => ("deny", why, None),
        // According to its documentation, this product reads an empty object as no answer.
        HookAnswer::Silent { .. } if call.shape == Shape::Permission => return Some(object([])),
        HookAnswer::Silent { .. } => return None,
    };
    let why = Some(Value::from(why.as_str()));
    let message = if behavior == "deny" { why.clone() } else { None };
    let behavior = Some(Value::from(behavior));
    let updated = line.map(|line| {
        let mut args = call.args.clone();
        args.insert("command".to_owned(), line.into());
        Value::Object(args)
    });
    let event = ("hookEventName", Some(Value::from(call.event)));
    let specific = |output| object([("hookSpecificOutput", Some(output))]);
    Some(match call.shape {
        Shape::PreToolUse => specific(object([
            event,
            ("permissionDecision", behavior),
            ("permissionDecisionReason", why),
            ("updatedInput", updated),
        ])),
        Shape::PermissionRequest => {
            let decision = object([("behavior", behavior), ("message", message), ("updatedInput", updated)]);
            specific(object([event, ("decision", Some(decision))]))
        }
        Shape::Behavior => object([("behavior", behavior), ("message", message)]),
        Shape::PermissionDecision => {
            object([("permissionDecision", behavior), ("permissionDecisionReason", why)])
        }
        Shape::Permission => {
            let user_message = message.clone();
            object([("permission", behavior), ("user_message", user_message), ("agent_message", message)])
        }
        Shape::Decision => object([("decision", behavior), ("reason", why)]),
    })
}

/// A JSON object of the fields that have a value.
fn object<const N: usize>(fields: [(&str, Option<Value>); N]) -> Value {
    let there = fields.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?)));
    Value::Object(there.collect())
}
