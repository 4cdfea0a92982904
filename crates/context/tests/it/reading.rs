use headstart_context::{RuleScope, SessionEnvironment, system_text};
use headstart_forked_query::ToolSchema;
use serde_json::json;

use crate::support::Conversation;

fn tools(names: &[&str]) -> Vec<ToolSchema> {
    let schema = |name: &&str| ToolSchema {
        name: (*name).to_owned(),
        description: String::new(),
        parameters: json!({}),
    };
    names.iter().map(schema).collect()
}

#[test]
fn the_system_text_says_where_the_agent_is_and_how_the_project_wants_it() {
    let talk = Conversation::over([
        ("AGENTS.md", "Use tabs.\n"),
        (".headstart/rules/b-tests.md", "---\nname: tests\nglobs: tests/**, *.snap\n---\nNo sleeps.\n"),
        (".headstart/rules/a-all.md", "---\nalways: true\n---\nNo new dependencies.\n"),
        (".headstart/rules/release.md", "---\ndescription: How a release is made\n---\nTag it.\n"),
    ]);
    let surroundings = SessionEnvironment {
        folder: "/home/ada/project".into(),
        system: "linux x86_64, bash".into(),
        date: "2026-01-31".into(),
        git: "branch main; no changed files".into(),
        files: "src/\n  lib.rs\n".into(),
    };
    let all = tools(&["read_file", "grep", "glob", "ls", "edit", "write_file", "shell", "codebase"]);
    insta::assert_snapshot!(system_text(&all, Some(&talk.rules()), &surroundings));
}

/// The system text only gives advice about tools that the agent has.
#[test]
fn habits_are_about_tools_that_are_there() {
    let few = system_text(&tools(&["read_file"]), None, &SessionEnvironment::default());
    assert!(
        few.contains("together") && !few.contains("shell") && !few.contains("codebase") && !few.contains('#'),
        "{few}"
    );
}

/// Of the files with rules for all products, only the first that exists is read, and our own comes first.
#[test]
fn what_other_products_read_counts_where_our_own_file_is_not() {
    let names = ["AGENTS.md", "CLAUDE.md", "GEMINI.md", ".cursorrules", ".github/copilot-instructions.md"];
    for first in 0..names.len() {
        let talk = Conversation::over(names[first..].iter().map(|name| (*name, *name)));
        let rules = talk.rules();
        let read: Vec<_> = rules.rules().iter().map(|rule| rule.path.to_string()).collect();
        assert_eq!((read, rules.problems()), (vec![names[first].to_owned()], &[][..]));
    }
    // A user who closes the first file does not want it to be read, so the next one counts.
    let talk = Conversation::closing([("AGENTS.md", "no"), ("CLAUDE.md", "yes")], &["/AGENTS.md"]);
    assert!(talk.system.contains("yes") && !talk.system.contains("no\n"));
}

#[test]
fn rules_come_by_path_and_only_text_files_of_their_folder_are_rules() {
    let talk = Conversation::over([
        (".headstart/rules/z.md", "z"),
        (".headstart/rules/a.md", "a"),
        (".headstart/rules/notes.txt", "no rule"),
        (".headstart/rules/below/x.md", "no rule either"),
        (".headstart/config.toml", ""),
        ("AGENTS.md", "root"),
    ]);
    let rules = talk.rules();
    let read: Vec<_> = rules.rules().iter().map(|rule| (rule.path.to_string(), rule.scope.clone())).collect();
    let expected = [".headstart/rules/a.md", ".headstart/rules/z.md", "AGENTS.md"];
    assert_eq!(read, expected.map(|path| (path.to_owned(), RuleScope::Always)));
}
