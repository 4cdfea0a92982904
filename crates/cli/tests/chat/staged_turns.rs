//! Holds that a turn in the default mode asks once, at its end, where commands run in views.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use serde_json::json;

use crate::fixture::{Chat, Project, project};
use crate::support::server::{Server, calls, says};
use crate::support::{Outcome, PATIENCE};

const ASKS: &str = "y writes, d shows, n drops";

/// A project in a repository, with views.
fn with_views() -> Project {
    let project = project().variable("HEADSTART_SHADOW", "");
    project.session.write("project/.gitignore", "*.db\n");
    project.session.git(&["init", "-q"]);
    project
}

fn edits(project: Project) -> Project {
    project
        .calls(
            0,
            "edit",
            json!({ "file_path": "notes.txt", "old_string": "one\n", "new_string": "two\nthree\n" }),
        )
        .writes(0, "src/a.txt", "hello\nworld\n")
}

/// Begins a turn in a chat, and waits for the question at its end.
fn chat_with_question(project: Project, columns: u16) -> Chat {
    let mut chat = project.chat_in("default", columns, 40);
    let before = chat.project.session.tree();
    chat.send("begin\r");
    chat.wait_for(ASKS);
    assert_eq!(chat.project.session.tree(), before, "nothing is written before the answer");
    assert_eq!(chat.count("run this?"), 0);
    chat
}

#[test]
fn edits_and_commands_are_written_after_one_yes_and_undone_together() {
    for columns in [80, 120] {
        let project = edits(with_views()).shell(0, "sed -i s/hello/bye/ src/a.txt").says(0, "It is done.");
        let mut chat = chat_with_question(project, columns);
        chat.wait_for("Not written yet: 2 files +4 -1\nedit    notes.txt  +2 -1\ncreate  src/a.txt  +2\n");
        chat.wait_for("create src/a.txt  +2\n    1 + bye\n    2 + world\n");
        chat.wait_for("nothing is written before you say y");
        chat.send("y\r");
        chat.wait_for("written: 2 files +4 -1 · /undo takes it back");
        assert_eq!(chat.read("src/a.txt").as_deref(), Some("bye\nworld\n"));
        chat.send("/undo\r");
        chat.wait_for("is taken back");
        assert_eq!(chat.read("notes.txt").as_deref(), Some("one\n"));
        assert_eq!(chat.read("src/a.txt"), None);
        chat.leave();
    }
}

#[test]
fn d_shows_a_commit_with_its_message_and_its_files() {
    let project = project()
        .variable("HEADSTART_SHADOW", "")
        .shell(0, "git commit -qam 'Note two'")
        .says(0, "It is done.");
    project.session.make_repository(&["init", "-q", "-b", "main"]);
    project.session.write("project/notes.txt", "two\n");
    let mut chat = chat_with_question(project, 100);
    for line in ["d\r", "/diff\r"] {
        chat.send(line);
        chat.wait_for("1 commit on main: Note two\nfiles: notes.txt\n");
        chat.send("q");
        chat.wait_until_gone("q leaves");
    }
    chat.send("n\r");
    chat.wait_for("dropped: 1 commit on main");
    chat.leave();
}

#[test]
fn a_no_drops_it_and_is_kept_for_the_model() {
    let mut chat = chat_with_question(edits(with_views()).says(0, "It is done."), 100);
    let before = chat.project.session.tree();
    chat.send("n\r");
    chat.wait_for("dropped: 2 files +4 -1; the model is told with your next prompt");
    chat.wait_until_gone("staged: ");
    assert_eq!(chat.project.session.tree(), before);
    wait_until_kept(&chat, "the user dropped your changes of these files");
    chat.leave();
}

/// What it printed was compared with nothing that is closed, so only its user sees it.
#[test]
fn what_a_command_prints_in_a_view_is_on_the_screen_while_it_runs() {
    let command = "echo one > made.txt; echo begun; while [ ! -e go ]; do sleep 0.05; done";
    let server = Server::start(vec![calls(&[("shell", json!({ "command": command }))]), says("I go on.")]);
    let project = with_views().variable("OPENAI_API_KEY", "key").variable("HEADSTART_BACKGROUND", "off");
    let arguments = ["chat", "--model", "openai:m", "--base-url", &server.base_url];
    let mut chat = Chat::spawn(project, &arguments.map(str::to_owned), 80, 40);
    chat.send("begin\r");
    chat.wait_for("\n  begun\nworking");
    assert_eq!(chat.read("made.txt"), None, "it runs in a view");
    chat.send("\x03");
    chat.wait_for("interrupted\n>");
    chat.wait_for_row(">");
    chat.send("go on\r");
    chat.wait_for("I go on.");
    let request = server.requests()[1].json();
    let messages = request["messages"].as_array().unwrap();
    let result = messages[messages.len() - 2]["content"].as_str().unwrap_or_default();
    let words = "; what it had printed is dropped; nothing of what it did is kept]";
    assert!(result.ends_with(words) && !result.contains("begun"), "{result}");
    chat.leave();
}

/// Waits until what is kept of the conversation contains this text.
fn wait_until_kept(chat: &Chat, text: &str) {
    let sessions = chat.project.session.home().join(".local/state/headstart/sessions");
    let began = std::time::Instant::now();
    while !all_text(&sessions).contains(text) {
        assert!(began.elapsed() < PATIENCE, "{}", all_text(&sessions));
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
}

fn all_text(folder: &std::path::Path) -> String {
    let entries = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let text = |path: std::path::PathBuf| {
        if path.is_dir() { all_text(&path) } else { std::fs::read_to_string(path).unwrap_or_default() }
    };
    entries.map(text).collect()
}

#[test]
fn any_other_line_is_a_prompt_and_the_next_turn_goes_on_over_what_is_staged() {
    let project = edits(with_views())
        .says(0, "It is done.")
        .calls(0, "edit", json!({ "file_path": "src/a.txt", "old_string": "world\n", "new_string": "all\n" }))
        .says(0, "Gone on.");
    let mut chat = chat_with_question(project, 100);
    chat.send("yes, and greet all\r");
    chat.wait_for("Gone on.");
    chat.wait_for("2 + all");
    assert_eq!(chat.read("src/a.txt"), None);
    // Each turn can be taken back by itself.
    chat.send("/undo\r");
    chat.wait_for(
        "src/a.txt\nwhat the last turn staged is taken back, and the model is told with your next prompt",
    );
    chat.send("/write\r");
    chat.wait_for("written: 2 files");
    assert_eq!(chat.read("src/a.txt").as_deref(), Some("hello\nworld\n"));
    chat.leave();
}

#[test]
fn a_file_that_the_user_saved_meanwhile_is_never_replaced() {
    let mut chat = chat_with_question(edits(with_views()).says(0, "It is done."), 100);
    chat.project.session.write("project/notes.txt", "mine\n");
    chat.send("y\r");
    chat.wait_for("Not written: 1 file changed since the turn changed it");
    chat.answer_to("notes.txt: ", "\x1b");
    chat.wait_for("  no: nothing was written, and it stays staged");
    chat.wait_for(ASKS);
    assert_eq!(chat.read("notes.txt").as_deref(), Some("mine\n"));
    assert_eq!(chat.read("src/a.txt"), None);
    chat.send("y\r");
    chat.answer_to("notes.txt: ", "t");
    chat.wait_for("written: 2 files");
    assert_eq!(chat.read("notes.txt").as_deref(), Some("two\nthree\n"));
    chat.leave();
}

#[test]
fn a_command_that_needs_this_machine_is_asked_about_with_what_it_writes_first() {
    let project =
        edits(with_views()).shell(0, "git push nowhere").writes(0, "b.txt", "b\n").says(0, "It is done.");
    let mut chat = project.chat_in("default", 100, 40);
    let before = chat.project.session.tree();
    chat.send("begin\r");
    chat.wait_for("a yes first writes what is staged: 2 files +4 -1");
    assert_eq!(chat.project.session.tree(), before);
    chat.answer_to("write what is staged, then run this?", "y");
    chat.wait_for("Not written yet: 1 file +1 -0");
    chat.wait_for("✗ shell git push nowhere");
    assert_eq!(chat.read("notes.txt").as_deref(), Some("two\nthree\n"));
    assert_eq!(chat.read("b.txt"), None);
    chat.send("n\r");
    chat.wait_for("dropped: 1 file");
    chat.leave();
}

#[test]
fn what_was_not_written_outlives_the_process() {
    let mut chat = chat_with_question(edits(with_views()).says(0, "It is done."), 100);
    chat.send("\x04");
    chat.wait_for("not written: 2 files +4 -1; headstart accept ");
    assert_eq!(chat.exit_code(), 0);
    let project = reopened(chat);
    let mut arguments = project.arguments("default");
    let mut chat = Chat::spawn(edits(project), &arguments, 100, 40);
    chat.wait_for("an earlier conversation has not written 2 files +4 -1: headstart chat --resume");
    chat.send("\x04");
    assert_eq!(chat.exit_code(), 0);
    arguments.push("--continue".to_owned());
    let mut chat = Chat::spawn(reopened(chat), &arguments, 100, 40);
    chat.wait_for("Not written yet of this conversation: 2 files +4 -1");
    chat.send("y\r");
    chat.wait_for("written: 2 files");
    assert_eq!(chat.read("src/a.txt").as_deref(), Some("hello\nworld\n"));
    chat.leave();
}

/// What can be kept besides is there as long as the conversation, also where nothing else is staged, and after a kill.
#[test]
fn what_k_would_keep_is_there_when_the_conversation_goes_on() {
    for (command, is_staged) in
        [("echo 1 > local.db; echo 2 > made.txt", true), ("mkdir -p out.db; echo 1 > out.db/one", false)]
    {
        let project = with_views().shell(0, command).says(0, "It is done.");
        let mut arguments = project.arguments("default");
        let mut chat = Chat::spawn(project, &arguments, 100, 40);
        chat.send("begin\r");
        chat.wait_for(if is_staged { "k with what is not kept" } else { "k keeps it" });
        wait_until_kept(&chat, "It is done.");
        chat.kill("KILL");
        chat.exit_code();
        let (kept, content) = if is_staged { ("local.db", "1\n") } else { ("out.db/one", "1\n") };
        arguments.push("--continue".to_owned());
        let mut chat = Chat::spawn(reopened(chat), &arguments, 100, 40);
        chat.wait_for(if is_staged { "k with what is not kept" } else { "k keeps it" });
        assert_eq!(chat.read(kept), None);
        chat.send("d\r");
        chat.wait_for("k would add:");
        chat.wait_for("1 + 1");
        chat.send("q");
        chat.send("k\r");
        chat.wait_for("written: ");
        assert_eq!(chat.read(kept).as_deref(), Some(content), "{command}");
        assert_eq!(chat.read("made.txt").is_some(), is_staged);
        chat.send("/undo\r");
        chat.wait_for("is taken back");
        assert_eq!(chat.read(kept), None, "{command}");
        chat.leave();
    }
}

/// A process that dies after the write and before it notes it leaves a record of what is written already.
#[test]
fn what_was_written_just_before_a_kill_is_not_offered_again() {
    let files = "echo 1 > local.db; mkdir empty; ln -s notes.txt link; echo 2 > $(printf 'na\\357me')\n";
    let commit = "echo 1 > local.db; echo 2 > made.txt; git add made.txt; git commit -qm made\n";
    for (script, answer) in [(files, "y\r"), (files, "k\r"), (commit, "y\r"), (commit, "k\r")] {
        let project = with_views().shell(0, "sh make.sh").says(0, "It is done.");
        project.session.write("project/make.sh", script);
        let mut arguments = project.arguments("default");
        let mut chat = Chat::spawn(project, &arguments, 100, 40);
        chat.send("begin\r");
        chat.wait_for("k with what is not kept");
        wait_until_kept(&chat, "It is done.");
        let (store, aside) = (chat.project.session.store(), chat.project.session.home().join("aside"));
        copy(&store, &aside);
        chat.send(answer);
        chat.wait_for("written: ");
        chat.wait_until_gone("staged: ");
        chat.kill("KILL");
        chat.exit_code();
        copy(&aside, &store);
        arguments.push("--continue".to_owned());
        let mut chat = Chat::spawn(reopened(chat), &arguments, 100, 40);
        chat.wait_for("It is done.");
        chat.send("/undo\r");
        chat.wait_for("is taken back");
        assert_eq!(chat.count("k with what is not kept"), 0, "{answer}");
        assert_eq!(chat.read("local.db"), None);
        chat.leave();
    }
}

fn copy(from: &std::path::Path, to: &std::path::Path) {
    let copied = std::process::Command::new("cp").args(["-aT"]).args([from, to]).status();
    assert!(copied.unwrap().success());
}

fn reopened(chat: Chat) -> Project {
    chat.into_project()
}

#[test]
fn suggested_work_that_is_taken_is_staged_with_the_rest() {
    let project = edits(with_views())
        .says(0, "It is done.")
        .suggests("add tests")
        .calls(0, "read_file", json!({ "file_path": "src/a.txt" }))
        .writes(0, "tests.txt", "tests\n")
        .says(0, "Tests are written.");
    let mut chat = chat_with_question(project, 100);
    chat.wait_for("ready · 1 file +1 -0");
    chat.take();
    chat.wait_for("Not written yet: 3 files +5 -1");
    assert_eq!(chat.read("tests.txt"), None);
    // An answer leaves the suggestion of the line alone.
    chat.send("y\r");
    chat.wait_for("written: 3 files");
    assert_eq!(chat.read("tests.txt").as_deref(), Some("tests\n"));
    chat.leave();
}

#[test]
fn an_interrupted_turn_keeps_what_it_had_staged_and_nothing_of_the_command_that_was_cut() {
    let project = edits(with_views()).shell(0, "sh slow.sh").says(0, "never");
    project.session.write("project/slow.sh", "echo x > half.txt\necho begun\nsleep 60\n");
    let mut chat = project.chat_in("default", 100, 40);
    chat.send("begin\r");
    chat.wait_for("sh slow.sh");
    chat.wait_until("a second of it", |screen| {
        let text = screen.contents();
        text.contains(" 1 s") || text.contains(" 2 s")
    });
    chat.send("\x03");
    chat.wait_for("Not written yet: 2 files +4 -1");
    chat.send("y\r");
    chat.wait_for("written: 2 files");
    assert_eq!(chat.read("half.txt"), None);
    wait_until_kept(&chat, "nothing of what it did is kept");
    chat.leave();
}

#[test]
fn auto_edit_writes_at_the_end_of_the_turn() {
    let project = edits(with_views()).shell(0, "sed -i s/hello/bye/ src/a.txt").says(0, "It is done.");
    let mut chat = project.chat_in("auto-edit", 100, 40);
    chat.send("begin\r");
    chat.wait_for("written · /undo takes it back");
    assert_eq!(chat.read("src/a.txt").as_deref(), Some("bye\nworld\n"));
    assert_eq!(chat.count("run this?"), 0);
    chat.leave();
}

#[test]
fn off_asks_about_each_edit() {
    let project = edits(with_views()).says(0, "It is done.");
    project.session.write("home/.config/headstart/config.toml", "staging = \"off\"\n");
    let mut chat = project.chat_in("default", 100, 40);
    chat.send("begin\r");
    chat.answer("y");
    chat.wait_for("src/a.txt");
    assert_eq!(chat.read("notes.txt").as_deref(), Some("two\nthree\n"));
    chat.answer("n");
    chat.wait_for("It is done.");
    chat.leave();
}

fn pipe(project: &Project, mode: &str) -> Outcome {
    let arguments = project.arguments(mode);
    let arguments: Vec<_> = arguments.iter().map(String::as_str).collect();
    project.session.run_with_input(&arguments, "begin\n")
}

#[test]
fn a_pipe_leaves_what_the_mode_does_not_allow_as_a_record() {
    let project = edits(with_views()).says(0, "It is done.");
    let before = project.session.tree();
    let outcome = pipe(&project, "default");
    assert_eq!(outcome.code, Some(3), "{outcome}");
    assert_eq!(project.session.tree(), before);
    let (_, told) = outcome.stderr.split_once("not written: 2 files +4 -1; headstart accept ").unwrap();
    let id = told.split_whitespace().next().unwrap();
    assert_eq!(project.session.run(&["accept", id]).code, Some(0));
    assert_eq!(project.read("src/a.txt").as_deref(), Some("hello\nworld\n"));

    let project = edits(with_views()).says(0, "It is done.");
    let outcome = pipe(&project, "auto-edit");
    assert_eq!(outcome.code, Some(0), "{outcome}");
    assert_eq!(project.read("src/a.txt").as_deref(), Some("hello\nworld\n"));
}
