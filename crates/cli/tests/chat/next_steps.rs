//! Holds that the next steps run ahead as well, on top of work that nobody has accepted yet.

use serde_json::json;

use crate::fixture::{Chat, Project, project_with_suggestion};
use crate::ledger::lines;

/// Makes the chat run this many steps ahead, whatever they cost.
fn with_depth(project: Project, depth: u32) -> Project {
    project.session.write("home/.config/headstart/config.toml", format!("[limits]\ndepth = {depth}\n"));
    project.variable("HEADSTART_BACKGROUND", "always")
}

/// Three steps that end immediately, and a fourth that takes long.
fn steps(depth: u32) -> Project {
    let project = project_with_suggestion()
        .writes(0, "tests.txt", "tests\n")
        .says(0, "Tests are written.")
        .suggests("run the linter")
        .calls(0, "read_file", json!({ "file_path": "tests.txt" }))
        .writes(0, "lint.txt", "clean\n")
        .says(0, "The linter is content.")
        .suggests("describe the change")
        .writes(0, "change.txt", "tests and a linter\n")
        .says(0, "It is described.")
        .suggests("commit this")
        .says(60_000, "never");
    with_depth(project, depth)
}

fn take(chat: &mut Chat, suggestion: &str, said: &str, made: &str) {
    chat.wait_for(&format!("> {suggestion}  [Tab]"));
    assert_eq!(chat.read(made), None);
    chat.take();
    chat.wait_for(said);
    // The text of an earlier step also says that it was done ahead, so the test waits for the change of this step.
    chat.wait_for(&format!("{made}  +1"));
    assert!(chat.read(made).is_some(), "{made}");
}

#[test]
fn tab_tab_tab_takes_three_steps_that_are_done_already() {
    for depth in [2, 3] {
        let mut chat = steps(depth).chat_with_ghost("auto-edit");
        let before = chat.project.session.tree();
        chat.wait_for(match depth {
            2 => "ready · 1 file +1 -0 · next step ready",
            _ => "ready · 1 file +1 -0 · next 2 steps ready",
        });
        assert_eq!(chat.project.session.tree(), before);
        // The costs of the steps are in the ledger before the user decides.
        lines(&chat, "speculation", depth as usize);
        take(&mut chat, "add tests", "Tests are written.", "tests.txt");
        take(&mut chat, "run the linter", "The linter is content.", "lint.txt");
        take(&mut chat, "describe the change", "It is described.", "change.txt");
        chat.wait_for("> commit this  [Tab]");
        let ran = lines(&chat, "speculation", 3);
        let decided = lines(&chat, "outcome", 3);
        let suggested = lines(&chat, "suggestion", 4);
        for (number, outcome) in decided.iter().enumerate() {
            assert_eq!((&outcome["outcome"], &outcome["id"]), (&json!("accepted"), &ran[number]["id"]));
            assert_eq!(outcome["id"], suggested[number]["id"]);
            assert_eq!(ran[number]["stagedFiles"], 1);
        }
        chat.leave();
    }
}

#[test]
fn by_default_one_step_runs_ahead() {
    let mut chat = steps(1).chat_with_ghost("auto-edit");
    chat.wait_for("ready · 1 file +1 -0 · Ctrl-O shows it\n");
    chat.settle();
    assert_eq!(chat.count("next step"), 0);
    lines(&chat, "speculation", 1);
    take(&mut chat, "add tests", "Tests are written.", "tests.txt");
    chat.wait_for("> run the linter  [Tab]");
    lines(&chat, "speculation", 2);
    chat.leave();
}

#[test]
fn a_careful_policy_runs_no_step_that_the_user_will_hardly_come_to() {
    let project = steps(3).variable("HEADSTART_BACKGROUND", "auto").paid();
    let settings = project.session.home().join(".config/headstart/config.toml");
    let paid = std::fs::read_to_string(&settings).unwrap_or_default();
    project.session.write("home/.config/headstart/config.toml", format!("{paid}[limits]\ndepth = 3\n"));
    let chat = project.chat_with_ghost("auto-edit");
    chat.wait_for("ready · 1 file +1 -0 · Ctrl-O shows it\n");
    chat.settle();
    assert_eq!(chat.count("next step"), 0);
    lines(&chat, "speculation", 1);
    chat.leave();
}

#[test]
fn whoever_does_something_else_gives_all_steps_up() {
    for (keys, first) in [("xy\r", "ignored"), ("/clear\r", "aborted"), ("\x04", "aborted")] {
        let mut chat = steps(3).chat_with_ghost("auto-edit");
        let before = chat.project.session.tree();
        chat.wait_for("next 2 steps ready");
        chat.send(keys);
        let outcomes = lines(&chat, "outcome", 3);
        let outcomes: Vec<_> = outcomes.iter().map(|line| line["outcome"].as_str().unwrap()).collect();
        assert_eq!(outcomes, [first, "aborted", "aborted"], "{keys:?}");
        lines(&chat, "speculation", 3);
        assert_eq!(chat.project.session.tree(), before);
        if keys != "\x04" {
            chat.wait_until_gone("next 2 steps");
        }
    }
}

#[test]
fn after_an_accept_the_user_may_still_give_the_next_steps_up() {
    let mut chat = steps(3).chat_with_ghost("auto-edit");
    chat.wait_for("next 2 steps ready");
    take(&mut chat, "add tests", "Tests are written.", "tests.txt");
    // The accept made room for one more step.
    chat.wait_for("ready · 1 file +1 -0 · next 2 steps working · Ctrl-O shows it\n> run the linter  [Tab]");
    chat.send("\x1b");
    let outcomes = lines(&chat, "outcome", 4);
    let outcomes: Vec<_> = outcomes.iter().map(|line| line["outcome"].as_str().unwrap()).collect();
    assert_eq!(outcomes, ["accepted", "ignored", "aborted", "aborted"]);
    chat.settle();
    assert_eq!((chat.read("lint.txt"), chat.read("change.txt")), (None, None));
    chat.leave();
}

#[test]
fn an_edit_between_two_accepts_is_kept() {
    let mut chat = steps(2).chat_with_ghost("auto-edit");
    chat.wait_for("next step ready");
    take(&mut chat, "add tests", "Tests are written.", "tests.txt");
    chat.wait_for("> run the linter  [Tab]");
    chat.project.session.write("project/tests.txt", "mine\n");
    chat.take();
    chat.wait_for("tests.txt was read, and was changed meanwhile\n");
    chat.answer_to("tests.txt: [a]sk again / [n]o", "a");
    chat.wait_for("nothing of the work ahead was applied");
    assert_eq!(chat.read("tests.txt").as_deref(), Some("mine\n"));
    assert_eq!(chat.read("lint.txt"), None);
}

#[test]
fn a_conflict_of_the_first_step_gives_the_next_up() {
    let mut chat = steps(2).chat_with_ghost("auto-edit");
    chat.wait_for("next step ready");
    chat.project.session.write("project/tests.txt", "mine\n");
    chat.take();
    chat.answer_to("[a]sk again", "a");
    chat.wait_for("nothing of the work ahead was applied; running it anew");
    let outcomes = lines(&chat, "outcome", 2);
    assert_eq!((&outcomes[0]["outcome"], &outcomes[1]["outcome"]), (&json!("conflict"), &json!("aborted")));
    assert_eq!(chat.read("lint.txt"), None);
}
