//! The tools of code intelligence, called as a model calls them.

use std::sync::Arc;
use std::time::Duration;

use headstart_code_intel::{EditDiagnostics, Settings, declarations, tools};
use headstart_forked_query::ToolCall;
use headstart_overlay_fs::{Overlay, Quota, Tree as _};
use headstart_tool_gate::{DenyRule, DenyRules, GateContext, Role};
use headstart_toolbox::{
    EditObserver as _, FinalLook, ToolContext, ToolError, ToolLimits, ToolOutput, Toolbox,
};
use libtest_mimic::Trial;
use serde_json::{Value, json};

use super::trials::{FILES, settings, trial};
use crate::support::{TestProject, path};

pub(crate) fn all() -> Vec<Trial> {
    let trials: [(&str, fn()); 7] = [
        ("the tools are declared", declared),
        ("arguments are named where they are wrong", arguments),
        ("a closed file is neither read nor shown", closed),
        ("a step sees what all below it staged", stacked),
        ("an error is told with the edit that made it, once", after_edit),
        ("what comes too late follows a later edit", too_late),
        ("all that is staged is looked at when a server has loaded, or it is said that nobody looked", last),
    ];
    trials.into_iter().map(trial).collect()
}

struct ToolSession {
    world: TestProject,
    overlay: Arc<Overlay>,
    gate: GateContext,
    toolbox: Toolbox,
}

impl ToolSession {
    fn new(part: &str, time: Duration) -> Self {
        let world =
            TestProject::new(&FILES, Settings { request_timeout: Duration::from_secs(60), ..settings(part) });
        let observer = Arc::new(EditDiagnostics::new(world.intel.clone(), time));
        let toolbox = tools(&world.intel).into_iter().fold(Toolbox::standard(None), Toolbox::with);
        let overlay = world.overlay();
        let gate = GateContext { workspace: "/w".to_owned(), ..GateContext::default() };
        Self { overlay, gate, toolbox: toolbox.with_edit_observer(observer), world }
    }

    fn call(&self, name: &str, args: Value) -> Result<String, ToolError> {
        let Value::Object(args) = args else { panic!("arguments are an object") };
        let call = ToolCall { id: "1".to_owned(), name: name.to_owned(), args };
        let limits = ToolLimits::default();
        let context = ToolContext {
            view: &self.overlay,
            gate: &self.gate,
            limits: &limits,
            hardened: None,
            consented: false,
            attended: false,
        };
        async_io::block_on(self.toolbox.run(&call, context)).map(ToolOutput::into_text)
    }

    fn call_ok(&self, name: &str, args: Value) -> String {
        self.call(name, args).unwrap_or_else(|error| error.to_string())
    }

    fn edit(&self, old: &str, new: &str) -> String {
        self.call_ok("edit", json!({ "file_path": "a.mock", "old_string": old, "new_string": new }))
    }
}

const TIME: Duration = Duration::from_secs(30);

fn declared() {
    let world = TestProject::new(&FILES, settings("good"));
    let schemas: Vec<Value> = tools(&world.intel)
        .iter()
        .map(|tool| {
            let schema = tool.schema();
            json!({ "name": schema.name, "required": schema.parameters["required"],
                "takes": schema.parameters["properties"].as_object().unwrap().keys().collect::<Vec<_>>() })
        })
        .collect();
    let place = json!(["path", "line", "symbol"]);
    assert_eq!(
        Value::from(schemas.clone()),
        json!([
            { "name": "diagnostics", "required": [], "takes": ["paths", "severity"] },
            { "name": "definition", "required": place, "takes": place },
            { "name": "references", "required": place, "takes": place },
            { "name": "hover", "required": place, "takes": place },
            { "name": "symbols", "required": [], "takes": ["path", "query"] },
            { "name": "rename", "required": ["path", "line", "symbol", "to"], "takes": ["path", "line", "symbol", "to"] },
            { "name": "code_actions", "required": place, "takes": ["path", "line", "symbol", "kind", "apply"] },
        ])
    );
    let declared = declarations();
    let stages = |name: &str, args: Value| {
        let declaration = declared.iter().find(|declaration| declaration.name == name).unwrap();
        // An argument that names a path must be declared as a path, because the gate judges it as one.
        let takes = schemas.iter().find(|schema| schema["name"] == name).unwrap()["takes"].clone();
        for key in takes.as_array().unwrap().iter().filter_map(Value::as_str) {
            let is_path = declaration.takes(Role::Read, key) || declaration.takes(Role::Changed, key);
            assert_eq!(is_path, key.starts_with("path"), "{name}: {key}");
        }
        declaration.stages_in(args.as_object().unwrap())
    };
    for schema in &schemas {
        let name = schema["name"].as_str().unwrap();
        assert_eq!(
            stages(name, json!({ "apply": "x" })),
            ["rename", "code_actions"].contains(&name),
            "{name}"
        );
    }
    assert!(!stages("code_actions", json!({ "apply": null })));
}

fn arguments() {
    let session = ToolSession::new("good", Duration::ZERO);
    let place = |line: Value, symbol: &str| json!({ "path": "a.mock", "line": line, "symbol": symbol });
    let cases = [
        ("hover", place(json!(2), "two"), "one\ntwo ERR"),
        ("hover", place(json!(2.0), "two"), "one\ntwo ERR"),
        (
            "hover",
            place(json!(1), "two"),
            "a.mock: \"two\" is not on line 1, which reads \"one\"; it is on line 2",
        ),
        ("hover", place(json!(0), "two"), "hover: the argument line must be a whole number from 1"),
        ("hover", place(json!("x"), "two"), "hover: the argument line must be a whole number from 1"),
        (
            "hover",
            json!({ "path": "a.mock", "line": 1 }),
            "hover: the argument symbol is missing; give a string",
        ),
        (
            "hover",
            json!({ "column": 1 }),
            "hover: there is no argument \"column\"; it takes path, line, symbol",
        ),
        ("symbols", json!({}), "symbols: give either path or query"),
        ("symbols", json!({ "path": "a.mock" }), "[nothing found]"),
        ("symbols", json!({ "query": "x" }), "mock cannot do symbols of the project"),
        (
            "diagnostics",
            json!({ "severity": "bad" }),
            "diagnostics: the argument severity must be error, warning, information or hint",
        ),
        ("diagnostics", json!({ "paths": ["a.mock"] }), "present (1):\na.mock:2:5: error: two ERR"),
        (
            "diagnostics",
            json!({ "paths": ["/etc/passwd"] }),
            "\"/etc/passwd\" is outside the workspace; use a path inside it",
        ),
        ("diagnostics", json!({}), "nothing new"),
        ("definition", place(json!(2), "two"), "[nothing found]"),
        (
            "rename",
            json!({ "path": "a.mock", "line": 2, "symbol": "two", "to": "x" }),
            "[the server proposes no change]",
        ),
        (
            "code_actions",
            place(json!(2), "two"),
            "run it [runs a command, cannot be applied]\nalso run it [runs a command, cannot be applied]",
        ),
    ];
    for (name, args, expected) in cases {
        assert_eq!(session.call_ok(name, args.clone()), expected, "{name} {args}");
    }
}

fn closed() {
    let mut session = ToolSession::new("outside", Duration::ZERO);
    let rules = [DenyRule("b.mock".to_owned())];
    session.gate.deny = DenyRules::new(rules).unwrap();
    session.world.tree.link(&path("alias.mock"), "b.mock");
    for name in ["b.mock", "alias.mock"] {
        let told = session.call_ok("hover", json!({ "path": name, "line": 1, "symbol": "three" }));
        assert!(told.contains("closed by a deny rule"), "{told}");
    }
    let told = session.call_ok("definition", json!({ "path": "a.mock", "line": 1, "symbol": "one" }));
    assert_eq!(
        told,
        "a closed file:901 (outside the workspace)\npasswd:901 (outside the workspace)\nsecret:901 (outside the workspace)"
    );
}

fn stacked() {
    let mut session = ToolSession::new("good", Duration::ZERO);
    session.edit("one", "one ERR");
    let below = session.overlay.clone();
    session.overlay = Arc::new(Overlay::new(below, Quota::default()));
    session.edit("two ERR", "two");
    assert_eq!(session.overlay.staged_changes().changes.len(), 1);
    let told = session.call_ok("diagnostics", json!({}));
    assert_eq!(told, "new (1):\na.mock:1:5: error: one ERR\ngone (1):\na.mock:2:5: error: two ERR");
}

fn after_edit() {
    let session = ToolSession::new("good", TIME);
    // The server starts with the first edit. That edit does not wait for it, so it has no diagnostics.
    assert_eq!(session.edit("one", "uno ERR"), "replaced 1 occurrence in a.mock (line 1)");
    session.call_ok("hover", json!({ "path": "a.mock", "line": 1, "symbol": "uno" }));
    let told = session.edit("uno ERR", "una ERR");
    assert_eq!(
        told,
        "replaced 1 occurrence in a.mock (line 1)\n[mock: 1 new error in a.mock]\na.mock:1:5: error: una ERR"
    );
    let told = session.edit("two ERR", "dos ERR");
    assert_eq!(
        told,
        "replaced 1 occurrence in a.mock (line 2)\n[mock: 1 new error in a.mock]\na.mock:2:5: error: dos ERR"
    );
    assert_eq!(session.edit("una ERR", "una"), "replaced 1 occurrence in a.mock (line 1)");
    // Another overlay must not see the edits of this one.
    let other = ToolSession { overlay: session.world.overlay(), ..session };
    let told = other.edit("one", "one ERR");
    assert_eq!(
        told,
        "replaced 1 occurrence in a.mock (line 1)\n[mock: 1 new error in a.mock]\na.mock:1:5: error: one ERR"
    );
}

fn too_late() {
    let session = ToolSession::new("slow", Duration::from_millis(100));
    // The server answers the hover only after the question of the edit before, so that question is answered by then,
    // however slow this machine is.
    let hover = |symbol| session.call_ok("hover", json!({ "path": "a.mock", "line": 1, "symbol": symbol }));
    hover("one");
    assert_eq!(session.edit("one", "uno ERR"), "replaced 1 occurrence in a.mock (line 1)");
    hover("uno");
    let told = session.edit("uno ERR", "una ERR");
    assert!(
        told.ends_with("\n[mock: 1 new error in a.mock, before this edit]\na.mock:1:5: error: uno ERR"),
        "{told}"
    );
}

fn last() {
    let look = |part: &str, time: Duration, question: Duration, file: &str, text: &str| {
        let world = TestProject::new(&FILES, Settings { request_timeout: question, ..settings(part) });
        let observer = EditDiagnostics::new(world.intel.clone(), Duration::from_millis(1));
        let (overlay, gate, limits) = (world.overlay(), GateContext::default(), ToolLimits::default());
        let context = ToolContext {
            view: &overlay,
            gate: &gate,
            limits: &limits,
            hardened: None,
            consented: false,
            attended: false,
        };
        async_io::block_on(async {
            overlay.write(&path(file), text.as_bytes().to_vec()).await.unwrap();
            observer.look_at_all(&[path(file)], time, context).await
        })
    };
    // The server takes longer to start than one question may, so the first questions only learn that it is loading.
    let short = Duration::from_millis(500);
    let errors = |look: Option<FinalLook>| look.unwrap().new_errors;
    let found = look("starts slowly", TIME, short, "a.mock", "ERR one\n").unwrap();
    assert_eq!(
        (found.by.as_str(), found.new_errors),
        ("mock", Ok(vec!["a.mock:1:1: error: ERR one".to_owned()]))
    );
    assert_eq!(errors(look("starts slowly", TIME, short, "a.mock", "one\n")), Ok(Vec::new()));
    let late = "it was still at work after 0 s, so nobody looked".to_owned();
    assert_eq!(errors(look("sleeps", Duration::from_millis(300), short, "a.mock", "one\n")), Err(late));
    let ended = errors(look("crash", TIME, TIME, "a.mock", "one\n")).unwrap_err();
    assert!(ended.starts_with("mock ended; its last words: "), "{ended}");
    assert_eq!(look("good", TIME, TIME, "notes.txt", "ERR\n"), None, "no server knows such a file");
}
