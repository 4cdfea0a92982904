use serde_json::json;

use crate::fixture::{project, project_with_suggestion};

#[test]
fn default_mode_asks_before_an_edit_with_the_call_in_full() {
    let content = "first\nsecond\nthird\n";
    let mut chat = project()
        .writes(0, "made.txt", content)
        .shell(0, "touch other.txt")
        .says(0, "Both are tried.")
        .chat("default");
    chat.send("begin\r");
    chat.wait_for("create made.txt  +3\n    1 + first\n    2 + second\n    3 + third\n");
    assert_eq!(chat.read("made.txt"), None);
    chat.answer("y");
    chat.wait_for("shell wants to run\n  command: touch other.txt\n");
    assert_eq!(chat.read("made.txt").as_deref(), Some(content));
    chat.answer("n");
    chat.wait_for("Both are tried.");
    assert_eq!(chat.read("other.txt"), None);
    chat.leave();
}

#[test]
fn an_edit_is_asked_about_and_told_as_what_it_changes() {
    let evil = "t\u{1b}[2Jwo\n";
    let edit =
        |from: &str, to: &str| json!({ "file_path": "notes.txt", "old_string": from, "new_string": to });
    let mut chat = project()
        .calls(0, "edit", edit("one\n", evil))
        .calls(0, "edit", edit("not there", "x"))
        .says(0, "Both are tried.")
        .calls(0, "edit", edit("wo\n", "wo and more\n"))
        .says(0, "A third is made.")
        .chat("default");
    chat.send("begin\r");
    chat.wait_for("edit notes.txt  +1 -1\n    1 - one\n    1 + t\\u{1b}[2Jwo\n");
    assert_eq!(chat.read("notes.txt").as_deref(), Some("one\n"), "looking writes nothing");
    chat.answer("y");
    // An edit that cannot be made is not asked about.
    chat.wait_for("  yes\n✓ edit notes.txt  +1 -1\n✗ edit notes.txt\n  ");
    chat.wait_for("Both are tried.");
    assert_eq!(chat.read("notes.txt").as_deref(), Some(evil));
    assert_eq!(chat.count("1 + t"), 1, "what was agreed to is not shown again");
    chat.send("/mode auto-edit\r");
    chat.send("go on\r");
    chat.wait_for(
        "✓ edit notes.txt  +1 -1\n    1 - t\\u{1b}[2Jwo\n    1 + t\\u{1b}[2Jwo and more\nA third is made.",
    );
    chat.leave();
}

#[test]
fn where_writes_ahead_are_a_boundary_an_edit_waits_for_the_user() {
    let project = project_with_suggestion().writes(0, "tests.txt", "tests\n").says(0, "Tests are written.");
    project.session.write("home/.config/headstart/config.toml", "ahead_writes = 'boundary'\n");
    let mut chat = project.chat_with_ghost("default");
    chat.wait_for("ahead ! waits for your yes: write_file tests.txt (edit)");
    chat.take();
    chat.wait_for("create tests.txt  +1\n    1 + tests\n");
    assert_eq!(chat.read("tests.txt"), None);
    assert_eq!(chat.count("done ahead"), 0);
    chat.answer("y");
    chat.wait_for("Tests are written.");
    assert_eq!(chat.read("tests.txt").as_deref(), Some("tests\n"));
    chat.leave();
}

#[test]
fn plan_mode_writes_nothing_and_suggests_nothing() {
    let mut chat = project()
        .writes(0, "made.txt", "x")
        .shell(0, "touch other.txt")
        .says(0, "This is the plan.")
        .suggests("add tests")
        .says(0, "never")
        .chat("plan");
    let before = chat.project.session.tree();
    chat.send("begin\r");
    chat.wait_for("✗ write made.txt\n  plan mode runs nothing that may write");
    chat.wait_for("This is the plan.");
    chat.settle();
    assert_eq!(chat.count("[Tab]") + chat.count("ready") + chat.count("run this?"), 0);
    assert_eq!(chat.project.session.tree(), before);
    chat.leave();
}

#[test]
fn plan_mode_withdraws_the_suggestion_and_its_work() {
    let mut chat = project_with_suggestion()
        .writes(0, "tests.txt", "tests\n")
        .says(0, "Tests are written.")
        .says(0, "I only plan.")
        .chat_with_ghost("auto-edit");
    let before = chat.project.session.tree();
    chat.wait_for("ready · 1 file +1 -0");
    chat.send("/mode plan\r");
    chat.wait_for("what ran ahead is dropped");
    chat.wait_for_row(">");
    chat.send("\t\r");
    chat.settle();
    assert_eq!(chat.count("[Tab]") + chat.count("✓ ready"), 0);
    chat.send("add tests\r");
    chat.wait_for("I only plan.");
    assert_eq!(chat.project.session.tree(), before);
    chat.leave();
}

#[test]
fn a_stricter_mode_counts_for_work_that_is_done() {
    let mut chat = project_with_suggestion()
        .writes(0, "tests.txt", "tests\n")
        .says(0, "Tests are written.")
        .writes(0, "tests.txt", "tests\n")
        .says(0, "You said no.")
        .chat_with_ghost("auto-edit");
    let before = chat.project.session.tree();
    chat.wait_for("ready · 1 file +1 -0");
    chat.send("/mode default\r");
    chat.wait_for("also for work that ran ahead");
    chat.wait_for("> add tests  [Tab]");
    chat.take();
    chat.answer_about_changes("n");
    chat.wait_for("  no: nothing was written, and what ran ahead is dropped\n> add tests");
    chat.send("\r");
    chat.answer("n");
    chat.wait_for("You said no.");
    assert_eq!(chat.project.session.tree(), before);
    chat.leave();
}

#[test]
fn suggestions_can_be_turned_off() {
    let project = || project_with_suggestion().writes(0, "tests.txt", "tests\n").says(0, "Asked for it.");
    let in_file = project();
    in_file.session.write("home/.config/headstart/config.toml", "suggestions = false\n");
    for project in [in_file, project().variable("HEADSTART_SUGGEST", "off")] {
        let mut chat = project.chat("auto-edit");
        chat.send("begin\r");
        chat.wait_for("First answer.");
        chat.settle();
        assert_eq!(chat.count("add tests") + chat.count("✓ ready"), 0);
        chat.send("\t\radd tests\r");
        chat.wait_for("Asked for it.");
        assert_eq!(chat.count("done ahead"), 0);
        chat.leave();
    }
}

#[test]
fn speculation_can_be_turned_off() {
    let project = || project_with_suggestion().writes(0, "tests.txt", "tests\n").says(0, "Asked for it.");
    let in_file = project();
    in_file.session.write("home/.config/headstart/config.toml", "speculation = false\n");
    for project in [in_file, project().variable("HEADSTART_SPECULATE", "off")] {
        let mut chat = project.chat_with_ghost("auto-edit");
        chat.settle();
        assert_eq!(chat.count("✓ ready") + chat.count("ahead working"), 0);
        chat.take();
        chat.wait_for("Asked for it.");
        chat.settle();
        assert_eq!(chat.count("done ahead"), 0);
        assert_eq!(chat.read("tests.txt").as_deref(), Some("tests\n"));
        chat.leave();
    }
}

#[test]
fn a_denied_path_is_not_even_asked_for() {
    let project =
        project().calls(0, "read_file", json!({ "file_path": "secret.key" })).says(0, "I may not read it.");
    project.session.write("project/secret.key", "s3cret\n");
    project.session.write("home/.config/headstart/config.toml", "deny = [\"*.key\"]\n");
    let mut chat = project.chat("yolo");
    chat.send("begin\r");
    chat.wait_for("I may not read it.");
    chat.wait_for("✗ read secret.key\n  the deny rule");
    assert_eq!(chat.count("run this?") + chat.count("s3cret"), 0);
    chat.leave();
}

/// From then on models are told a rule that a model wrote. So the tool is offered only on request, and asks in every
/// mode but one.
#[test]
fn a_rule_is_written_after_a_yes_where_its_user_has_the_tool() {
    let rule = || json!({ "name": "style", "rule": "Use tabs.", "globs": ["*.rs"] });
    let written = ".headstart/rules/style.md";
    for (settings, mode, answer) in [
        ("", "auto-edit", None),
        ("[tools]\ncreate_rule = 'ask'\n", "auto-edit", Some("n")),
        ("[tools]\ncreate_rule = 'automatic'\n", "auto-edit", Some("y")),
        ("[tools]\ncreate_rule = 'ask'\n", "default", Some("y")),
    ] {
        let project = project().calls(0, "create_rule", rule()).says(0, "It is tried.");
        project.session.write("home/.config/headstart/config.toml", settings);
        let mut chat = project.chat(mode);
        chat.send("begin\r");
        match answer {
            None => chat.wait_for("there is no tool \"create_rule\""),
            Some(answer) => {
                chat.wait_for("create_rule wants to run\n  name: style\n  rule: Use tabs.\n");
                assert_eq!(chat.read(written), None);
                chat.answer_to("run this?", answer);
            }
        }
        chat.wait_for("It is tried.");
        let text = (answer == Some("y")).then_some("---\nglobs:\n  - \"*.rs\"\n---\n\nUse tabs.\n");
        assert_eq!(chat.read(written).as_deref(), text, "{settings} {}", chat.contents());
        chat.leave();
    }
}

#[test]
fn why_plan_mode_suggests_nothing_is_said_once_in_the_row_of_the_work_ahead() {
    const ROW: &str = "ahead – held back · plan mode · /mode changes it";
    let mut chat = project().says(0, "One.").says(0, "Two.").says(0, "Three.").chat("plan");
    chat.wait_for("headstart: ");
    chat.wait_for("? keys · /help · suggestions after a tool call or the second answer\n");
    for (prompt, answer, rows) in [("first", "One.", 1), ("second", "Two.", 0), ("third", "Three.", 0)] {
        chat.send(&format!("{prompt}\r"));
        chat.wait_for(answer);
        if rows == 0 {
            chat.wait_until_gone(ROW);
        } else {
            chat.wait_for(ROW);
        }
        chat.settle();
        assert_eq!(chat.count(ROW), rows, "{prompt}: {}", chat.contents());
    }
    chat.leave();
}
