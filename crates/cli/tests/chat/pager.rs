//! Holds how the conversation is read on a screen of its own.

use serde_json::json;

use crate::fixture::{project, project_with_suggestion};

#[test]
fn the_whole_conversation_is_read_unfolded_and_the_lines_are_as_before() {
    let mut chat = project()
        .shell(0, "seq 100 140")
        .calls(0, "read_file", json!({ "file_path": "notes.txt" }))
        .says(0, "**All** is counted.")
        .says(300, "Later.")
        .chat_in("yolo", 80, 20);
    chat.send("count\r");
    chat.wait_for("All is counted.");
    chat.wait_for("more lines");
    let before = chat.settle();
    assert!(!before.contains("  117"), "{before}");
    chat.send("\x14");
    chat.wait_for("conversation · ");
    chat.wait_for("All is counted.");
    chat.send("g/117\r");
    chat.wait_until("the row that was searched at the top", |screen| {
        screen.contents().starts_with("  117\n")
    });
    chat.resize(60, 12);
    chat.send("j");
    chat.wait_until("the new size", |screen| screen.contents().lines().count() == 12);
    chat.resize(80, 20);
    chat.send("q");
    chat.wait_until_gone("conversation · ");
    // A terminal that grows may bring back rows that had scrolled away, so only the end is compared.
    let after = chat.settle();
    assert!(after.ends_with(&before), "{after}\n---\n{before}");
    chat.send("more\r\x14");
    chat.wait_for("conversation · ");
    // Output that comes meanwhile is shown when the user leaves the reader.
    chat.settle();
    chat.send("q");
    chat.wait_for("> more\nLater.");
    chat.leave();
}

/// Whoever reads before they answer sees that the call has not run, and whoever reads meanwhile what it has printed.
#[test]
fn a_call_that_has_not_ended_is_not_shown_as_done() {
    let mut chat =
        project().shell(0, "echo begun; touch x; sleep 60").says(0, "Done.").chat_in("default", 80, 20);
    chat.send("go\r");
    chat.wait_for("run this?");
    chat.send("\x14");
    chat.wait_for("conversation · ");
    chat.wait_for("! shell echo begun; touch x; sleep 60");
    chat.send("q");
    chat.wait_for("run this?");
    chat.answer("y");
    chat.wait_for("● shell echo begun");
    chat.wait_for("  begun");
    chat.send("\x14");
    chat.wait_for("conversation · ");
    chat.wait_for("● shell echo begun; touch x; sleep 60\n  begun");
    chat.send("q\x03");
    chat.wait_for("– shell echo begun");
    chat.wait_for("> go\n");
    chat.empty_the_prompt();
    chat.leave();
}

#[test]
fn what_is_new_is_the_work_ahead_and_else_the_last_output() {
    let mut chat = project().says(0, "Nothing.").chat("plan");
    chat.send("\x0f");
    chat.wait_for("there is neither work ahead nor an output to read");
    chat.leave();
    let mut chat = project_with_suggestion()
        .writes(0, "tests.txt", "tests of all\n")
        .says(0, "Tests are written.")
        .chat_with_ghost("auto-edit");
    chat.wait_for("ready");
    chat.send("\x0f");
    chat.wait_for("what the work ahead would change · ");
    chat.wait_for("1 + tests of all");
    chat.send("\x1b");
    chat.wait_for("[Tab]");
    assert_eq!(chat.read("tests.txt"), None);
    chat.take();
    chat.wait_for("Tests are written.");
    chat.leave();
}

#[test]
fn what_was_folded_is_whole_in_the_conversation_also_changes_and_commands_of_ones_own() {
    let lines = (100..160).map(|line| line.to_string()).collect::<Vec<_>>().join("\n") + "\n";
    let mut chat = project()
        .calls(0, "edit", json!({ "file_path": "notes.txt", "old_string": "one\n", "new_string": lines }))
        .says(0, "It is longer.")
        .chat("yolo");
    chat.send("make it longer\r");
    chat.wait_for("more lines in 1 hunk (Ctrl-T)");
    chat.wait_for("It is longer.");
    assert_eq!(chat.count("+ 159"), 0, "{}", chat.contents());
    chat.send("!seq 1000 1200\r");
    // When the last line is on the screen, the line of the fold has scrolled away, so the test looks at what was
    // written.
    chat.wait_for("  1200\n");
    chat.settle();
    let written = chat.written();
    assert!(written.contains("… 121 more lines (Ctrl-T)"), "{written}");
    assert!(!written.contains("1050"), "{written}");
    // Of the two outputs that could be read, the newest is shown.
    chat.send("\x0f");
    chat.wait_for("the last output · ");
    chat.send("/1050\r");
    chat.wait_until("the row that was searched at the top", |screen| {
        screen.contents().starts_with("  1050\n")
    });
    chat.send("q\x14");
    chat.wait_for("conversation · ");
    chat.send("g/159\r");
    chat.wait_until("the changed line at the top", |screen| {
        screen.contents().lines().next().is_some_and(|row| row.ends_with("+ 159"))
    });
    chat.send("q");
    chat.leave();
}

#[test]
fn a_chat_that_is_ended_while_somebody_reads_gives_the_terminal_back() {
    let mut chat = project().says(0, "It is.").chat("plan");
    let mode = chat.mode();
    chat.send("begin\r");
    chat.wait_for("It is.");
    chat.send("\x14");
    chat.wait_for("conversation · ");
    let process = rustix::process::Pid::from_raw(i32::try_from(chat.process_id()).unwrap()).unwrap();
    rustix::process::kill_process(process, rustix::process::Signal::TERM).unwrap();
    chat.exit_code();
    chat.wait_until("the lines again", |screen| !screen.alternate_screen() && !screen.hide_cursor());
    assert_ne!(chat.mode(), mode);
    chat.wait_for("It is.");
}

#[test]
fn a_file_that_changed_is_named_once_above_its_lines() {
    let mut chat = project_with_suggestion()
        .writes(0, "tests.txt", "tests of all\n")
        .says(0, "Tests are written.")
        .calls(0, "edit", json!({ "file_path": "notes.txt", "old_string": "one", "new_string": "two" }))
        .says(0, "The notes say two.")
        .chat_with_ghost("auto-edit");
    chat.wait_for("ready");
    chat.take();
    chat.wait_for("Tests are written.");
    chat.send("go on\r");
    chat.wait_for("The notes say two.");
    chat.send("\x14");
    chat.wait_for("conversation · ");
    chat.wait_for("The notes say two.");
    for (name, line) in [("create  tests.txt  +1", "1 + tests of all"), ("edit notes.txt", "1 + two")] {
        assert_eq!((chat.count(name), chat.count(line)), (1, 1), "{}", chat.contents());
    }
    chat.send("q\x0f");
    // Shown alone, the output has its name.
    chat.wait_for("the last output · ");
    chat.wait_for("notes.txt");
    chat.send("q");
    chat.leave();
}
