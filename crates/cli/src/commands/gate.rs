mod known;

use std::io;
use std::path::{Path, PathBuf};

use headstart_machine::context::Context;
use headstart_machine::error::CliError;
use headstart_machine::exit::ExitStatus;
use headstart_machine::lines;
use headstart_machine::output;
use headstart_machine::workspace;
use headstart_tool_gate::{CallRef, Gate as GateOf, GateContext, Verdict};
use serde::Serialize;
use serde_json::{Map, Value};

use crate::args::Gate;

/// The answer to one line of input.
#[derive(Debug, Serialize)]
#[serde(untagged)]
enum GateReply {
    Judged(Verdict),
    Invalid(InvalidCall),
}

/// The answer to a line that is not understood, which is a boundary here too.
#[derive(Debug, Serialize)]
struct InvalidCall {
    decision: &'static str,
    reason: &'static str,
    detail: String,
    /// The number of the line, from 1.
    line: u64,
    effects: [(); 0],
    reads: [(); 0],
    writes: [(); 0],
}

/// Judges a command or the calls on standard input, or tells what the gate knows.
pub(crate) fn run(args: &Gate, context: &Context) -> Result<ExitStatus, CliError> {
    if args.list {
        output::print(&known::list())?;
        return Ok(ExitStatus::Done);
    }
    if let Some(program) = &args.explain {
        output::print(&known::explain(program))?;
        return Ok(ExitStatus::Done);
    }
    let workspace = textual_workspace(args.workspace.path.as_deref())?;
    let config = context.config(&args.mode.flags(), Path::new(&workspace))?;
    let gate_context = GateContext { views: args.shadow, ..config.gate_context(workspace)? };
    let gate = GateOf::new();
    let judge_call = if args.shadow { GateOf::judge_ahead } else { GateOf::judge };
    let judge_call =
        |name: &str, args: &Map<String, Value>| judge_call(&gate, CallRef { name, args }, &gate_context);
    if let Some(command) = &args.command {
        let verdict = judge_call("shell", &shell_call(command));
        if args.brief {
            output::print(&format!("{}: {}\n", verdict.decision.as_str(), verdict.detail))?;
        } else {
            output::print_json(&verdict)?;
        }
        return Ok(ExitStatus::Done);
    }
    let judge = |number: u64, line: Result<Value, String>| match line.and_then(call_of) {
        Ok((name, args)) => GateReply::Judged(judge_call(&name, &args)),
        Err(detail) => GateReply::Invalid(InvalidCall {
            decision: "boundary",
            reason: "invalid_input",
            detail,
            line: number,
            effects: [],
            reads: [],
            writes: [],
        }),
    };
    lines::answer_each(io::stdin().lock(), io::stdout().lock(), judge)?;
    Ok(ExitStatus::Done)
}

/// The tool and the arguments in a line, or what is wrong with the line.
fn call_of(line: Value) -> Result<(String, Map<String, Value>), String> {
    let Value::Object(mut line) = line else {
        return Err("the line is not a JSON object".to_owned());
    };
    match (line.remove("cmd"), line.remove("tool"), line.remove("args")) {
        (Some(Value::String(command)), None, None) => Ok(("shell".to_owned(), shell_call(&command))),
        (None, Some(Value::String(tool)), Some(Value::Object(args))) => Ok((tool, args)),
        (Some(_), None, None) => Err("\"cmd\" is not a string".to_owned()),
        (Some(_), _, _) => Err("\"cmd\" stands alone; it cannot go with \"tool\" or \"args\"".to_owned()),
        (None, None, _) => Err("neither \"tool\" nor \"cmd\" is there".to_owned()),
        (None, Some(Value::String(_)), None) => Err("\"args\" is missing".to_owned()),
        (None, Some(Value::String(_)), Some(_)) => Err("\"args\" is not an object".to_owned()),
        (None, Some(_), _) => Err("\"tool\" is not a string".to_owned()),
    }
}

/// The arguments of a call that runs a command.
fn shell_call(command: &str) -> Map<String, Value> {
    Map::from_iter([("command".to_owned(), Value::String(command.to_owned()))])
}

/// The absolute path of the workspace as it is spelt, because the gate compares text, and the calls may come from
/// another machine.
fn textual_workspace(flag: Option<&Path>) -> Result<String, CliError> {
    let Some(path) = flag else { return workspace::resolve(None) };
    if path.is_file() {
        return Err(CliError::WorkspaceNotADirectory { path: path.to_owned() });
    }
    if !path.exists() {
        output::note(&format!("workspace {} is not here; paths are judged by their text", path.display()));
    }
    let absolute = std::path::absolute(path).map_err(CliError::io("find", path))?;
    without_dots(&absolute)
        .into_os_string()
        .into_string()
        .map_err(|path| CliError::WorkspaceNotUtf8 { path: path.into() })
}

/// The path without `..`: resolved by the system if the path exists, and otherwise by its text.
fn without_dots(absolute: &Path) -> PathBuf {
    use std::path::Component;
    if !absolute.components().any(|name| name == Component::ParentDir) {
        return absolute.to_owned();
    }
    if let Ok(path) = absolute.canonicalize() {
        return path;
    }
    let mut path = PathBuf::new();
    for name in absolute.components() {
        match name {
            Component::ParentDir => drop(path.pop()),
            name => path.push(name),
        }
    }
    path
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_line_is_a_call_or_says_why_it_is_none() {
        let cases = [
            (json!({"cmd": "ls"}), Ok("shell {\"command\":\"ls\"}")),
            (json!({"cmd": "ls", "expect": "readonly"}), Ok("shell {\"command\":\"ls\"}")),
            (json!({"tool": "ls", "args": {"path": "."}}), Ok("ls {\"path\":\".\"}")),
            (json!({"tool": "ls"}), Err("\"args\" is missing")),
            (json!({"tool": "ls", "args": []}), Err("\"args\" is not an object")),
            (json!({"tool": 1, "args": {}}), Err("\"tool\" is not a string")),
            (json!({"cmd": null}), Err("\"cmd\" is not a string")),
            (json!({"cmd": "ls", "tool": "ls"}), Err("\"cmd\" stands alone")),
            (json!({"args": {}}), Err("neither \"tool\" nor \"cmd\"")),
            (json!(["ls"]), Err("the line is not a JSON object")),
        ];
        for (line, expected) in cases {
            let call = call_of(line.clone()).map(|(tool, args)| format!("{tool} {}", Value::Object(args)));
            match (call, expected) {
                (Ok(call), Ok(expected)) => assert_eq!(call, expected),
                (Err(error), Err(expected)) => assert!(error.contains(expected), "{line}: {error}"),
                (call, expected) => panic!("{line}: {call:?}, not {expected:?}"),
            }
        }
    }

    #[test]
    fn a_workspace_that_is_not_here_is_taken_by_its_text() {
        assert_eq!(without_dots(Path::new("/no/such/../place")), Path::new("/no/place"));
        assert_eq!(without_dots(Path::new("/../no")), Path::new("/no"));
    }
}
