//! The tools of the server: the arguments of each, the command that does its work, and the form of its answer. Nothing
//! here runs anything.

use std::num::NonZeroU16;
use std::time::Duration;

use headstart_machine::config;
use rmcp::model::{JsonObject, Tool, ToolAnnotations};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use crate::hosts::rpc;

/// The longest time limit that a call may ask for, in seconds.
const MAX_SECONDS: u64 = 3_600;
/// The time limit of a command if the call names none, in seconds.
const SECONDS: u64 = 120;
/// The time limit of calls that have none of their own, in case a language server, for example, never answers.
const PATIENCE: Duration = Duration::from_secs(600);

/// A call, as a command line of this program.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Invocation {
    /// The subcommand and its flags, before the workspace.
    pub(super) command: Vec<String>,
    /// The arguments after the workspace.
    pub(super) rest: Vec<String>,
    pub(super) input: String,
    pub(super) time_limit: Duration,
    pub(super) answer: OutputForm,
}

/// How the output of the command becomes an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum OutputForm {
    /// The first line is the answer.
    Line,
    /// The text is the answer.
    Text,
    /// The lines are a list with this name.
    Lines(&'static str),
    /// The first line is the answer, even if the exit code says that the command could not do what it was asked.
    Outcome,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct JudgeArguments {
    command: Option<String>,
    tool: Option<String>,
    args: Option<JsonObject>,
    mode: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct RunArguments {
    command: String,
    timeout_seconds: Option<u64>,
    id: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct SearchArguments {
    query: String,
    path: Option<String>,
    limit: Option<NonZeroU16>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct DiagnosticsArguments {
    files: Vec<String>,
    id: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct IdArguments {
    id: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct NoArguments {}

/// The command line for a call; the error says what is wrong with its arguments. `None` if there is no such tool.
pub(super) fn invocation(name: &str, args: JsonObject) -> Option<Result<Invocation, String>> {
    Some(match name {
        "judge" => read(args).and_then(judge),
        "run_read_only" => read(args).and_then(|args: RunArguments| {
            no_id(&args)?;
            let time_limit = time_limit(&args)?;
            let invocation = command(&["--json", "run", "--read-only"], OutputForm::Outcome);
            Ok(Invocation { rest: last(vec![text("command", args.command)?]), time_limit, ..invocation })
        }),
        "try_in_shadow" => read(args).and_then(|args: RunArguments| {
            let time_limit = time_limit(&args)?;
            let mut invocation = command(&["--json", "shadow", "run"], OutputForm::Outcome);
            invocation.command.extend(of_speculation(args.id)?);
            let line = ["bash", "-c"].map(str::to_owned).into_iter().chain([text("command", args.command)?]);
            Ok(Invocation { rest: last(line.collect()), time_limit, ..invocation })
        }),
        "search_code" => read(args).and_then(|args: SearchArguments| {
            let mut invocation = command(&["search", "--code"], OutputForm::Text);
            if let Some(path) = args.path {
                invocation.command.push(format!("--path={}", text("path", path)?));
            }
            invocation.command.extend(args.limit.map(|limit| format!("--limit={limit}")));
            Ok(Invocation { rest: last(vec![text("query", args.query)?]), ..invocation })
        }),
        "diagnostics" => read(args).and_then(|args: DiagnosticsArguments| {
            let mut invocation = command(&["--json", "shadow", "diagnostics"], OutputForm::Outcome);
            invocation.command.extend(of_speculation(args.id)?);
            if args.files.is_empty() {
                return Err("files: name one".to_owned());
            }
            let files = args.files.into_iter().map(|file| text("files", file)).collect::<Result<_, _>>()?;
            Ok(Invocation { rest: last(files), ..invocation })
        }),
        "ahead_list" => {
            read(args).map(|NoArguments {}| command(&["--json", "list"], OutputForm::Lines("speculations")))
        }
        "ahead_show" => read(args).and_then(|args| of_id("show", args, OutputForm::Line)),
        "ahead_diff" => read(args).and_then(|args| of_id("diff", args, OutputForm::Lines("files"))),
        "ahead_accept" => read(args).and_then(|args| of_id("accept", args, OutputForm::Outcome)),
        _ => return None,
    })
}

fn read<T: DeserializeOwned>(args: JsonObject) -> Result<T, String> {
    rpc::read("", Value::Object(args))
}

fn judge(args: JudgeArguments) -> Result<Invocation, String> {
    let line = match (args.command, args.tool, args.args) {
        (Some(command), None, None) => json!({ "cmd": command }),
        (None, Some(tool), Some(args)) => json!({ "tool": tool, "args": args }),
        _ => return Err("either command, or tool and args".to_owned()),
    };
    let mut invocation = command(&["gate"], OutputForm::Line);
    if let Some(mode) = args.mode {
        config::parse_mode(&mode).map_err(|why| format!("mode: {why}"))?;
        invocation.command.push(format!("--mode={mode}"));
    }
    Ok(Invocation { input: format!("{line}\n"), ..invocation })
}

fn command(words: &[&str], answer: OutputForm) -> Invocation {
    Invocation {
        command: words.iter().copied().map(str::to_owned).collect(),
        rest: Vec::new(),
        input: String::new(),
        time_limit: PATIENCE,
        answer,
    }
}

fn of_id(word: &str, args: IdArguments, answer: OutputForm) -> Result<Invocation, String> {
    Ok(Invocation { rest: last(vec![text("id", args.id)?]), ..command(&["--json", word], answer) })
}

/// Arguments after `--`, so that none of them is read as a flag.
fn last(words: Vec<String>) -> Vec<String> {
    std::iter::once("--".to_owned()).chain(words).collect()
}

fn of_speculation(id: Option<String>) -> Result<Option<String>, String> {
    id.map(|id| text("id", id).map(|id| format!("--speculation={id}"))).transpose()
}

fn no_id(args: &RunArguments) -> Result<(), String> {
    if args.id.is_some() {
        Err("id: a command that only reads sees the files as they are".to_owned())
    } else {
        Ok(())
    }
}

/// A text that can be an argument of a program.
fn text(field: &str, text: String) -> Result<String, String> {
    match text.trim() {
        "" => Err(format!("{field}: it is empty")),
        _ if text.contains('\0') => Err(format!("{field}: there is a NUL in it")),
        _ => Ok(text),
    }
}

fn time_limit(args: &RunArguments) -> Result<Duration, String> {
    match args.timeout_seconds.unwrap_or(SECONDS) {
        seconds @ 1..=MAX_SECONDS => Ok(Duration::from_secs(seconds)),
        _ => Err(format!("timeoutSeconds: from 1 to {MAX_SECONDS}")),
    }
}

/// All tools that the server offers.
pub(super) fn all() -> Vec<Tool> {
    [of_commands(), of_records()].concat()
}

/// The tools that run, judge or search for something.
fn of_commands() -> Vec<Tool> {
    let command = json!({ "type": "string", "description": "A line for bash" });
    let seconds = json!({ "type": "integer", "minimum": 1, "maximum": MAX_SECONDS, "default": SECONDS });
    let staged = json!({ "type": "string", "description": "Over what this speculation staged: its id, or the start of it" });
    let strings = json!({ "type": "array", "items": { "type": "string" } });
    vec![
        tool(
            "judge",
            "Says what a shell command or a tool call would do, without running it: allow (it provably only reads), redirect (it edits files of the project, which the mode allows) or boundary (it needs consent)",
            &json!({
                "command": command,
                "tool": { "type": "string", "description": "In place of command: the name of a tool" },
                "args": { "type": "object", "description": "The arguments of that tool" },
                "mode": { "type": "string", "enum": config::MODES },
            }),
            &[],
        ),
        tool(
            "run_read_only",
            "Runs a shell command if it provably only reads, below the kernel's walls; any other is not run, and the answer says why",
            &json!({ "command": command, "timeoutSeconds": seconds }),
            &["command"],
        ),
        tool(
            "search_code",
            "Finds the places of the project that fit words, an identifier or a question best, and shows their code with numbered lines",
            &json!({
                "query": { "type": "string" },
                "path": { "type": "string", "description": "Only at or below this path of the project" },
                "limit": { "type": "integer", "minimum": 1, "maximum": u16::MAX },
            }),
            &["query"],
        ),
        tool(
            "diagnostics",
            "Says what language servers find in files of the project, with a speculation's work in them",
            &json!({ "files": strings, "id": staged }),
            &["files"],
        ),
        tool(
            "try_in_shadow",
            "Runs a shell command (a build, tests) in a copy-on-write view of the project without a network, and says what it printed and would have changed; nothing is written to the project",
            &json!({ "command": command, "timeoutSeconds": seconds, "id": staged }),
            &["command"],
        ),
    ]
}

/// The tools for stored speculations.
fn of_records() -> Vec<Tool> {
    let id =
        json!({ "id": { "type": "string", "description": "The id of a speculation, or the start of it" } });
    vec![
        tool(
            "ahead_list",
            "Lists the speculations that are kept for this project, the newest first",
            &json!({}),
            &[],
        ),
        tool(
            "ahead_show",
            "Shows a speculation: its prompt, what was said and called, what it would change, what it cost",
            &id,
            &["id"],
        ),
        tool("ahead_diff", "Shows what a speculation would change, as a diff of each file", &id, &["id"]),
        tool(
            "ahead_accept",
            "Applies a speculation's changes to the project: all, or none where a file has changed meanwhile",
            &id,
            &["id"],
        )
        .with_annotations(
            ToolAnnotations::new().read_only(false).destructive(true).idempotent(false).open_world(false),
        ),
    ]
}

/// A tool that only reads. Its answer has no schema, because it is text.
fn tool(name: &'static str, what: &'static str, properties: &Value, required: &[&str]) -> Tool {
    let reads = ToolAnnotations::new().read_only(true).destructive(false).idempotent(true).open_world(false);
    let schema = json!({ "type": "object", "properties": properties, "required": required });
    let schema = if let Value::Object(schema) = schema { schema } else { JsonObject::new() };
    Tool::new(name, what, schema).with_annotations(reads)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn called(name: &str, args: Value) -> Result<String, String> {
        let Value::Object(args) = args else { panic!("arguments are an object") };
        let invocation = invocation(name, args).expect("there is such a tool")?;
        Ok(format!(
            "{} | {} | {}",
            invocation.command.join(" "),
            invocation.rest.join(" "),
            invocation.input.trim()
        ))
    }

    #[test]
    fn calls_are_commands_and_no_argument_is_a_flag() {
        for (name, args, expected) in [
            ("judge", json!({ "command": "ls" }), r#"gate |  | {"cmd":"ls"}"#),
            (
                "judge",
                json!({ "tool": "ls", "args": {}, "mode": "plan" }),
                r#"gate --mode=plan |  | {"tool":"ls","args":{}}"#,
            ),
            ("run_read_only", json!({ "command": "--version" }), "--json run --read-only | -- --version | "),
            (
                "search_code",
                json!({ "query": "--x", "limit": 3, "path": "src" }),
                "search --code --path=src --limit=3 | -- --x | ",
            ),
            (
                "try_in_shadow",
                json!({ "command": "make", "id": "k" }),
                "--json shadow run --speculation=k | -- bash -c make | ",
            ),
            ("diagnostics", json!({ "files": ["-a", "b"] }), "--json shadow diagnostics | -- -a b | "),
            ("ahead_list", json!({}), "--json list |  | "),
            ("ahead_accept", json!({ "id": "--all" }), "--json accept | -- --all | "),
        ] {
            assert_eq!(called(name, args).unwrap(), expected);
        }
    }

    #[test]
    fn arguments_that_do_not_fit_are_named() {
        for (name, args, expected) in [
            ("judge", json!({}), "either command"),
            ("judge", json!({ "command": "ls", "tool": "ls" }), "either command"),
            ("run_read_only", json!({ "command": " " }), "command: "),
            ("run_read_only", json!({ "command": "a\0b" }), "command: "),
            ("run_read_only", json!({ "command": "ls", "timeoutSeconds": 0 }), "timeoutSeconds: "),
            ("run_read_only", json!({ "command": "ls", "id": "x" }), "id: "),
            ("search_code", json!({ "query": 7 }), "query: invalid type"),
            ("search_code", json!({ "query": "x", "workspace": "/" }), "unknown field `workspace`"),
            ("diagnostics", json!({ "files": [] }), "files: "),
            ("ahead_list", json!({ "all": true }), "unknown field `all`"),
            ("ahead_show", json!({}), "missing field `id`"),
        ] {
            let error = called(name, args).unwrap_err();
            assert!(error.contains(expected), "{name}: {error}");
        }
    }

    #[test]
    fn all_tools_together_take_little_of_a_models_attention() {
        let listed = serde_json::to_string(&all()).unwrap();
        assert!(listed.len() < 6_000, "{} bytes", listed.len());
    }

    #[test]
    fn every_tool_that_is_offered_can_be_called_and_says_what_it_does() {
        for tool in all() {
            assert!(invocation(&tool.name, JsonObject::new()).is_some(), "{}", tool.name);
            let annotations = tool.annotations.unwrap();
            assert_eq!(annotations.read_only_hint, Some(tool.name != "ahead_accept"), "{}", tool.name);
        }
    }
}
