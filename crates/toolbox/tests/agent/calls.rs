//! The names, schemas and arguments of all tools.

use std::sync::Arc;

use crate::session::{Session, path, tree};
use async_trait::async_trait;
use headstart_forked_query::ToolSchema;
use headstart_toolbox::{
    CommandOutput, CommandRequest, CommandRunner, Tool, ToolContext, ToolError, ToolOutput, Toolbox,
};
use proptest::prelude::*;
use serde_json::{Map, Value, json};

struct SilentTool;

#[async_trait]
impl CommandRunner for SilentTool {
    async fn run(&self, _request: CommandRequest) -> Result<CommandOutput, ToolError> {
        Ok(CommandOutput { output: String::new(), exit_code: Some(0), timed_out: false, truncated: false })
    }
}

/// A host's own tool.
struct NamedTool(&'static str);

#[async_trait]
impl Tool for NamedTool {
    fn schema(&self) -> ToolSchema {
        ToolSchema { name: self.0.to_owned(), description: String::new(), parameters: json!({}) }
    }

    async fn run(
        &self,
        _args: &Map<String, Value>,
        _context: ToolContext<'_>,
    ) -> Result<ToolOutput, ToolError> {
        Ok(format!("the host's {}", self.0).into())
    }
}

/// A host's own tool whose answers are too long.
struct VerboseTool;

#[async_trait]
impl Tool for VerboseTool {
    fn schema(&self) -> ToolSchema {
        ToolSchema { name: "talk".to_owned(), description: String::new(), parameters: json!({}) }
    }

    async fn run(
        &self,
        args: &Map<String, Value>,
        _context: ToolContext<'_>,
    ) -> Result<ToolOutput, ToolError> {
        let message = "ä".repeat(5000);
        match args.get("kind").and_then(Value::as_str) {
            Some("failed") => Err(ToolError::failed(message)),
            Some("invalid") => Err(ToolError::InvalidArgument { tool: "talk".to_owned(), message }),
            _ => Ok(message.into()),
        }
    }
}

#[async_trait]
impl CommandRunner for VerboseTool {
    async fn run(&self, _request: CommandRequest) -> Result<CommandOutput, ToolError> {
        Err(ToolError::failed("ä".repeat(5000)))
    }
}

#[test]
fn the_limit_of_an_output_holds_for_what_is_the_hosts_own() {
    let mut session = session();
    session.toolbox = Toolbox::standard(Some(Arc::new(VerboseTool))).with(Arc::new(VerboseTool));
    session.limits.output_bytes = 101;
    let whole = format!("{}\n[cut after 101 of 10000 bytes]", "ä".repeat(50));
    assert_eq!(session.ok("talk", json!({})), whole);
    assert_eq!(session.refused("talk", json!({"kind": "failed"})), whole);
    assert_eq!(session.refused("talk", json!({"kind": "invalid"})), format!("talk: {whole}"));
    assert_eq!(session.refused("shell", json!({"command": "true"})), whole);
    session.limits.output_bytes = 10_000;
    assert_eq!(session.ok("talk", json!({})), "ä".repeat(5000));
}

fn session() -> Session {
    let mut session = Session::new(&[("src/a.rs", "fn a() {}\n"), ("b", "b"), ("link -> src", "")]);
    session.toolbox = Toolbox::standard(Some(Arc::new(SilentTool)));
    session
}

/// The name of the snapshot for this build, because a full toolbox takes more arguments.
fn of_build(name: &str) -> String {
    format!("{name}{}", if cfg!(feature = "more") { "_of_all" } else { "" })
}

#[test]
fn schemas_are_a_promise() {
    insta::assert_json_snapshot!(
        of_build("schemas"),
        Toolbox::standard(Some(Arc::new(SilentTool))).schemas()
    );
}

#[test]
fn every_name_finds_the_tool_that_was_judged() {
    let mut session = session();
    for (name, args) in [
        ("Read", json!({"file_path": "b"})),
        ("grep_search", json!({"pattern": "b"})),
        ("Glob", json!({"pattern": "b"})),
        ("list_directory", json!({})),
        ("replace", json!({"file_path": "b", "old_string": "b", "new_string": "c"})),
        ("Write", json!({"file_path": "b", "content": "c"})),
        ("run_shell_command", json!({"command": "true"})),
    ] {
        assert!(session.toolbox.offers(name));
        session.ok(name, args);
    }
    assert!(!session.toolbox.offers("web_fetch"));
    assert_eq!(
        session.refused("web_fetch", json!({})),
        "there is no tool \"web_fetch\"; the tools are read_file, grep, glob, ls, edit, write_file, shell"
    );
    assert!(!Toolbox::standard(None).offers("shell"));
}

#[test]
fn a_hosts_tool_is_added_or_takes_a_place() {
    let mut session = session();
    session.toolbox =
        session.toolbox.clone().with(Arc::new(NamedTool("deploy"))).with(Arc::new(NamedTool("read_file")));
    let names: Vec<String> = session.toolbox.schemas().into_iter().map(|schema| schema.name).collect();
    assert_eq!(names, ["read_file", "grep", "glob", "ls", "edit", "write_file", "shell", "deploy"]);
    assert_eq!(session.ok("deploy", json!({})), "the host's deploy");
    assert_eq!(session.ok("Read", json!({})), "the host's read_file");
}

#[test]
fn wrong_arguments_are_named() {
    let mut session = session();
    for (tool, args) in [
        ("read_file", json!({})),
        ("read_file", json!({"file_path": null})),
        ("read_file", json!({"file_path": 5})),
        ("read_file", json!({"file_path": "b", "path": "src/a.rs"})),
        ("read_file", json!({"file_path": "b", "lines": 5})),
        ("read_file", json!({"file_path": "b", "offset": "5"})),
        ("read_file", json!({"file_path": "b", "offset": -1})),
        ("read_file", json!({"file_path": "b", "offset": 1.5})),
        ("read_file", json!({"file_path": "b", "limit": 0})),
        ("grep", json!({"path": "src"})),
        ("grep", json!({"pattern": {}})),
        ("grep", json!({"pattern": "a", "output_mode": "content"})),
        ("grep", json!({"pattern": "a", "glob": []})),
        ("glob", json!({"pattern": true})),
        ("ls", json!({"path": ["src"]})),
        ("edit", json!({"file_path": "b", "old_string": "b"})),
        ("edit", json!({"file_path": "b", "old_string": "b", "new_string": "c", "replace_all": "yes"})),
        ("write_file", json!({"content": "c"})),
        ("write_file", json!({"file_path": "b", "content": {"a": 1}})),
    ] {
        let error = session.call(tool, args).unwrap_err();
        assert!(matches!(error, ToolError::InvalidArgument { .. }), "{error:?}");
    }
    insta::assert_snapshot!(of_build("wrong_arguments"), session.transcript());
}

/// Texts that a careless tool would mishandle, and arbitrary ones.
fn any_text() -> impl Strategy<Value = String> {
    let nasty = [
        "",
        ".",
        "..",
        "/",
        "b",
        "src",
        "src/a.rs",
        "link/a.rs",
        "a\0",
        "**",
        "*",
        "[",
        "{a,{b,",
        "(",
        "a{99999}",
        "\\",
        "é\r\n",
        "\u{feff}",
        "(?i)É",
        "/home/ada/project",
        "/home/ada/project/b",
        "!",
        "~",
        "\n",
        "fn a() {}\n",
    ];
    prop_oneof![prop::sample::select(nasty.map(str::to_owned).to_vec()), any::<String>()]
}

fn any_value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        any_text().prop_map(Value::from),
        any_text().prop_map(Value::from),
        any_text().prop_map(Value::from),
    ];
    leaf.prop_recursive(2, 8, 3, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..3).prop_map(Value::from),
            prop::collection::vec((any_text(), inner), 0..3)
                .prop_map(|rows| Value::Object(rows.into_iter().collect())),
        ]
    })
}

fn any_call() -> impl Strategy<Value = (&'static str, Map<String, Value>)> {
    let tools = vec!["read_file", "grep", "glob", "ls", "edit", "write_file", "shell"];
    let names = vec![
        "file_path",
        "path",
        "pattern",
        "glob",
        "old_string",
        "new_string",
        "content",
        "command",
        "directory",
        "offset",
        "limit",
        "replace_all",
        "other",
    ];
    // Most calls have the arguments that the tool needs, with values of the right type, so that they pass the first
    // check.
    let fitting = (any_text(), any_text(), any_text(), any::<bool>(), any::<u64>());
    let args = prop::collection::vec((prop::sample::select(names), any_value()), 0..2);
    (prop::sample::select(tools), fitting, args, prop::bool::weighted(0.8)).prop_map(
        |(tool, (one, two, three, flag, number), args, fit)| {
            let fitting = match tool {
                "read_file" => json!({"file_path": one, "offset": number % 9}),
                "grep" => json!({"pattern": one, "path": two, "glob": three}),
                "glob" => json!({"pattern": one, "path": two}),
                "ls" => json!({"path": one}),
                "edit" => {
                    json!({"file_path": one, "old_string": two, "new_string": three, "replace_all": flag})
                }
                "write_file" => json!({"file_path": one, "content": two}),
                _ => json!({"command": one, "directory": two}),
            };
            let mut all = if fit { fitting.as_object().cloned().unwrap_or_default() } else { Map::new() };
            all.extend(args.into_iter().map(|(name, value)| (name.to_owned(), value)));
            (tool, all)
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    /// Whatever a model sends, the tool answers, the real tree is unchanged, and the limit holds.
    #[test]
    fn no_arguments_break_a_tool(calls in prop::collection::vec(any_call(), 1..6)) {
        let base = Arc::new(tree(&[("src/a.rs", "fn a() {}\n"), ("b", "b\r\nc\r\n"), ("link -> src", "")]));
        let before = base.snapshot();
        let mut session = Session::over(base.clone());
        session.toolbox = Toolbox::standard(Some(Arc::new(SilentTool)));
        session.limits.output_bytes = 300;
        for (tool, args) in calls {
            if let Ok(text) = session.call(tool, Value::Object(args)) {
                prop_assert!(tool == "edit" || tool == "write_file" || text.len() < 3_000, "{tool}: {text}");
            }
        }
        prop_assert_eq!(base.snapshot(), before);
        let _ = path(".");
    }
}
