//! The tools by which a model reads rules by name and writes new ones.

use std::sync::Arc;

use futures::executor::block_on;
use headstart_context::{ProjectRules, RuleScope, create_rule_tool, request_rule_tool, rule_declarations};
use headstart_forked_query::ToolCall;
use headstart_overlay_fs::{MemoryTree, Overlay, Quota, Tree, WorkspacePath};
use headstart_tool_gate::{CallRef, Decision, DenyRules, Gate, GateContext, Reason};
use headstart_toolbox::{ToolContext, ToolLimits, ToolOutput, Toolbox};
use proptest::prelude::*;
use serde_json::{Value, json};

struct Project {
    view: Arc<Overlay>,
    gate: GateContext,
}

impl Project {
    fn of(files: &[(&str, &str)]) -> Self {
        let tree = MemoryTree::from_files(files.iter().copied()).expect("paths");
        let gate =
            GateContext { workspace: "/w".to_owned(), tools: rule_declarations(), ..GateContext::default() };
        Self { view: Arc::new(Overlay::new(Arc::new(tree), Quota::default())), gate }
    }

    fn call(&self, name: &str, args: &Value) -> Result<String, String> {
        let toolbox = Toolbox::default().with(create_rule_tool()).with(request_rule_tool());
        let context = ToolContext {
            view: &self.view,
            gate: &self.gate,
            limits: &ToolLimits::default(),
            hardened: None,
            consented: false,
            attended: true,
        };
        let args = args.as_object().cloned().expect("an object");
        let call = ToolCall { id: "1".to_owned(), name: name.to_owned(), args };
        block_on(toolbox.run(&call, context)).map(ToolOutput::into_text).map_err(|error| error.to_string())
    }

    fn rules(&self) -> ProjectRules {
        let tree: Arc<dyn Tree> = Arc::clone(&self.view) as _;
        block_on(ProjectRules::read(&tree, &self.gate))
    }

    fn file(&self, path: &str) -> Option<String> {
        let path = WorkspacePath::parse(path).expect("a path");
        block_on(self.view.read(&path)).ok().map(|bytes| String::from_utf8(bytes).expect("text"))
    }
}

/// A model reads a rule by its name. Closed rules are not even named, and work that has read a rule depends on it.
#[test]
fn a_rule_is_read_by_its_name() {
    let rule = "---\ndescription: how tests are named\n---\nTests are sentences.\n";
    let project =
        Project::of(&[(".headstart/rules/tests.md", rule), (".headstart/rules/closed.md", "Hidden.\n")]);
    let closed = DenyRules::from_patterns([".headstart/rules/closed.md"]).expect("a pattern");
    let project = Project { gate: GateContext { deny: closed, ..project.gate }, view: project.view };
    assert_eq!(
        project.call("request_rule", &json!({"name": "tests"})),
        Ok("Tests are sentences.".to_owned())
    );
    for name in ["closed", "../tests", "tests.md"] {
        let refused = project.call("request_rule", &json!({"name": name})).expect_err(name);
        assert_eq!(refused, "there is no such rule; the rules are: tests");
    }
    let read = project.view.change_set().reads;
    let is_rule = |path: &WorkspacePath| path.to_string() == ".headstart/rules/tests.md";
    assert!(read.iter().any(|read| is_rule(&read.path) && read.content.is_some()), "the work rests on it");
}

/// The rules that the tool writes are read with the same meaning.
#[test]
fn what_is_written_is_read_again() {
    let project = Project::of(&[(".headstart/rules/old.md", "Old.\n")]);
    let said = project.call(
        "create_rule",
        &json!({"name": "sql", "rule": "Bind values.\n", "description": "how to \"query\"", "globs": ["*.sql", "db/{a,b}/**"]}),
    );
    assert_eq!(
        said,
        Ok("wrote the rule sql to .headstart/rules/sql.md; it counts from the next prompt on".to_owned())
    );
    insta::assert_snapshot!(project.file(".headstart/rules/sql.md").expect("it is there"));
    project.call("create_rule", &json!({"name": "all", "rule": "Be brief."})).expect("a plain rule");
    project
        .call(
            "create_rule",
            &json!({"name": "asked", "rule": "Slow.", "description": "releases", "globs": null}),
        )
        .expect("a rule on request");
    let rules = project.rules();
    assert!(rules.problems().is_empty(), "{:?}", rules.problems());
    let scope = |name: &str| {
        let rule = rules.rules().iter().find(|rule| rule.name() == name).expect(name);
        (rule.scope.clone(), rule.description.clone())
    };
    assert!(matches!(scope("sql"), (RuleScope::Files(_), Some(about)) if about == "how to \"query\""));
    assert_eq!(scope("all"), (RuleScope::Always, None));
    assert_eq!(scope("asked"), (RuleScope::OnRequest, Some("releases".to_owned())));
}

/// A call whose rule would be read with another meaning is refused, and hidden characters are written visibly.
#[test]
fn what_would_be_read_as_something_else_is_not_written() {
    let project = Project::of(&[(".headstart/rules/old.md", "Old.\n"), ("a", "")]);
    for (args, words) in [
        (json!({"name": "old", "rule": "New."}), "there is a rule old already, in .headstart/rules/old.md"),
        (json!({"name": "../up", "rule": "x"}), "small letters, digits and hyphens, not \"../up\""),
        (json!({"name": "", "rule": "x"}), "small letters"),
        (json!({"name": "-x", "rule": "x"}), "small letters"),
        (json!({"name": "a/b", "rule": "x"}), "small letters"),
        (json!({"name": "x", "rule": " \n"}), "the rule is empty"),
        (json!({"name": "x", "rule": "---\nalways: true\n---\nx"}), "read as something else"),
        (json!({"name": "x", "rule": "x", "globs": ["a\"\nalways: true"]}), "read as something else"),
        (json!({"name": "x", "rule": "x", "globs": ["{a"]}), "globs: "),
        (json!({"name": "x", "rule": "x", "globs": 5}), "must be a list of patterns"),
        (json!({"name": "x", "rule": "y".repeat(70_000)}), "more than 65536 bytes"),
        (json!({"name": "x", "text": "x"}), "there is no argument \"text\""),
    ] {
        let refused = project.call("create_rule", &args).expect_err(words);
        assert!(refused.contains(words), "{refused}");
    }
    assert!(project.view.change_set().is_empty());
    let hidden = json!({"name": "x", "rule": "plain\u{202e}\u{1b}[2J", "description": "a\nb"});
    project.call("create_rule", &hidden).expect("what hides is written as its number");
    assert_eq!(
        project.file(".headstart/rules/x.md").as_deref(),
        Some("---\ndescription: \"a b\"\n---\n\nplain<U+202E>[2J\n")
    );
}

/// The user is asked in every mode before a rule is written below `.headstart`, and it is never written ahead.
#[test]
fn the_gate_asks_before_a_rule_is_written() {
    use headstart_tool_gate::ApprovalMode::{AutoEdit, Default, Plan, Yolo};
    let args = json!({"name": "x", "rule": "x"});
    let call = CallRef { name: "create_rule", args: args.as_object().expect("an object") };
    for mode in [Default, Plan, AutoEdit, Yolo] {
        let gate = GateContext {
            mode,
            workspace: "/w".to_owned(),
            tools: rule_declarations(),
            ..GateContext::default()
        };
        for verdict in [Gate::new().judge(call, &gate), Gate::new().judge_ahead(call, &gate)] {
            assert_eq!(verdict.decision, Decision::Boundary, "{mode:?}");
            // A gate that is built with policies for tools gives another reason first: that the tool was not asked for.
            let is_known = matches!(verdict.reason, Reason::ProtectedPath | Reason::WriteToolNoAuto);
            assert!(is_known || verdict.reason.as_str() == "excluded_tool", "{verdict:?}");
        }
    }
}

proptest! {
    /// For every call: the written rule has the text and the conditions of the call, or the call is refused.
    #[test]
    fn a_rule_says_what_its_call_said_or_is_refused(
        rule in r#"[-a\n:" #'é]{0,20}"#,
        description in proptest::option::of(r#"[-a\n:"' #]{0,10}"#),
        globs in proptest::collection::vec(r#"[-a*{},"'/ #:\n\[\]]{0,8}"#, 0..3),
        always in any::<bool>(),
    ) {
        let project = Project::of(&[("a", "")]);
        let args = json!({"name": "x", "rule": rule, "description": description, "globs": globs, "always": always});
        if project.call("create_rule", &args).is_ok() {
            let rules = project.rules();
            prop_assert!(rules.problems().is_empty(), "{:?}", rules.problems());
            let [written] = rules.rules() else { panic!("one rule") };
            prop_assert_eq!(written.text.trim(), rule.trim());
            let expected = match &written.scope {
                RuleScope::Always => always || globs.is_empty() && description.as_ref().is_none_or(|about| about.trim().is_empty()),
                RuleScope::Files(_) => !always && !globs.is_empty(),
                _ => !always && globs.is_empty(),
            };
            prop_assert!(expected, "{:?} of {}", written.scope, args);
        }
    }
}
