//! Holds how a later chat goes on with a conversation.

#![expect(clippy::unwrap_used, reason = "what is not there stops the test")]

use serde_json::Value;

use crate::fixture::{Chat, Project, project};
use crate::support::{Outcome, PATIENCE};

pub(crate) fn two_answers() -> Project {
    project().says(0, "First answer.").says(0, "Second answer.")
}

pub(crate) fn pipe(project: &Project, input: &str, flags: &[&str]) -> Outcome {
    let arguments = project.arguments("auto-edit");
    let arguments: Vec<_> = arguments.iter().map(String::as_str).chain(flags.iter().copied()).collect();
    project.session.run_with_input(&arguments, input)
}

pub(crate) fn list_sessions(project: &Project) -> Vec<Value> {
    project.session.run(&["sessions", "--json"]).json()
}

/// The folder with the sessions of the only workspace that has any.
pub(crate) fn folder(project: &Project) -> std::path::PathBuf {
    let sessions = project.session.home().join(".local/state/headstart/sessions");
    std::fs::read_dir(sessions).unwrap().next().unwrap().unwrap().path()
}

#[test]
fn a_chat_goes_on_where_the_last_one_was_left() {
    let mut chat = two_answers().chat("auto-edit");
    chat.send("one\r");
    chat.wait_for("First answer.");
    chat.send("/title the parser\r");
    chat.wait_for("this conversation is called the parser");
    chat.send("\x04");
    assert_eq!(chat.exit_code(), 0);
    chat.wait_for("headstart chat --resume ");
    let project = chat.project;
    let [row] = &list_sessions(&project)[..] else { panic!("one session") };
    assert_eq!((row["title"].as_str(), row["prompts"].as_u64()), (Some("the parser"), Some(1)));
    let id = row["id"].as_str().unwrap().to_owned();

    // The recording begins again, so its first answer is the second one of the conversation.
    let arguments = [project.arguments("auto-edit"), vec!["--continue".to_owned()]].concat();
    let mut chat = Chat::spawn(project, &arguments, 72, 40);
    chat.wait_for("> one\nFirst answer.\n");
    chat.wait_for("This conversation goes on here.");
    // The prompts of the conversation can be called back.
    chat.send("\x1b[A");
    chat.wait_for_row("> one");
    chat.empty_the_prompt();
    chat.send("two\r");
    chat.wait_for("> two\nFirst answer.");
    chat.send("\x04");
    assert_eq!(chat.exit_code(), 0);
    let project = chat.project;
    let shown = project.session.run(&["sessions", "show", &id[..4], "--json"]).json();
    let roles: Vec<_> = shown.iter().map(|message| message["role"].as_str().unwrap().to_owned()).collect();
    assert_eq!(roles, ["user", "model", "user", "model"], "one conversation, not two");
    assert_eq!(list_sessions(&project).len(), 1);
}

#[test]
fn a_script_goes_on_as_well_and_reads_only_what_is_new() {
    let project = two_answers();
    pipe(&project, "one\n", &[]);
    let outcome = pipe(&project, "two\n", &["-c"]);
    assert_eq!((outcome.stdout.as_str(), outcome.code), ("First answer.\n", Some(0)), "{outcome}");
    let text =
        project.session.run(&["sessions", "show", list_sessions(&project)[0]["id"].as_str().unwrap()]).stdout;
    assert_eq!(text, "> one\nFirst answer.\n\n> two\nFirst answer.\n");
}

#[test]
fn what_cannot_be_gone_on_with_says_why_and_is_left_as_it_is() {
    let project = two_answers();
    let outcome = pipe(&project, "one\n", &["--resume", "nothing"]);
    assert!(outcome.stderr.contains("there is no session \"nothing\" in "), "{outcome}");
    assert_eq!(outcome.code, Some(1));
    // If there is no session to go on with, a new one begins.
    assert_eq!(pipe(&project, "one\n", &["--continue"]).code, Some(0));
    let mut files = std::fs::read_dir(folder(&project)).unwrap().map(|file| file.unwrap().path());
    let file = files.find(|file| file.extension().is_some_and(|end| end == "jsonl")).unwrap();
    let whole = std::fs::read_to_string(&file).unwrap();
    for (text, why) in [
        (whole.replace("\"version\":1", "\"version\":2"), "version 2, and this program knows 1"),
        ("hello\n".to_owned(), "does not begin as a session does"),
    ] {
        std::fs::write(&file, &text).unwrap();
        let outcome = pipe(&project, "two\n", &["--continue"]);
        assert!(outcome.stderr.contains(why) && outcome.stderr.contains("left as it is"), "{outcome}");
        assert_eq!(outcome.code, Some(1));
        assert_eq!(std::fs::read_to_string(&file).unwrap(), text);
        let outcome = project.session.run(&["sessions"]);
        assert!(outcome.stderr.contains("skipped: ") && outcome.code == Some(0), "{outcome}");
    }
    // The chat was killed while it wrote. The complete lines are still used.
    std::fs::write(&file, format!("{whole}{{\"type\":\"mess")).unwrap();
    let outcome = pipe(&project, "two\n", &["--continue"]);
    assert!(outcome.stderr.contains("was not whole") && outcome.code == Some(0), "{outcome}");
    // A damaged line in the middle costs that line.
    std::fs::write(&file, whole.replacen("{\"type\":\"message\"", "{\"type\":message", 1)).unwrap();
    let outcome = pipe(&project, "two\n", &["--continue"]);
    assert!(outcome.stderr.contains("line 3 of what was kept is damaged and left out"), "{outcome}");
    assert_eq!(outcome.code, Some(0));
}

#[test]
fn two_chats_do_not_write_into_one_conversation() {
    let mut chat = two_answers().chat("auto-edit");
    chat.send("one\r");
    chat.wait_for("First answer.");
    let deadline = std::time::Instant::now() + PATIENCE;
    while list_sessions(&chat.project).is_empty() {
        assert!(std::time::Instant::now() < deadline, "it is not kept");
    }
    let outcome = pipe(&chat.project, "two\n", &["--continue"]);
    assert!(outcome.stderr.contains("is open in another chat"), "{outcome}");
    assert_eq!(outcome.code, Some(1));
    let id = list_sessions(&chat.project)[0]["id"].as_str().unwrap().to_owned();
    assert_eq!(chat.project.session.run(&["sessions", "remove", &id]).code, Some(1));
    // A second chat with a conversation of its own is allowed.
    assert_eq!(pipe(&chat.project, "two\n", &[]).code, Some(0));
    chat.send("\x04");
    assert_eq!(chat.exit_code(), 0);
    assert_eq!(chat.project.session.run(&["sessions", "rename", &id, "mine"]).code, Some(0));
    assert_eq!(chat.project.session.run(&["sessions", "remove", &id]).code, Some(0));
    assert_eq!(list_sessions(&chat.project).len(), 1);
}

#[test]
fn whoever_wants_nothing_kept_has_nothing_kept() {
    for settings in ["sessions = false\n", ""] {
        let project = two_answers();
        let project =
            if settings.is_empty() { project.variable("HEADSTART_SESSIONS", "off") } else { project };
        project.session.write("home/.config/headstart/config.toml", settings);
        assert_eq!(pipe(&project, "one\n", &[]).code, Some(0));
        assert!(!project.session.home().join(".local/state/headstart/sessions").exists());
        let outcome = pipe(&project, "one\n", &["--continue"]);
        assert!(outcome.stderr.contains("sessions are off"), "{outcome}");
    }
}

/// A project in which one chat was kept for each list of prompts; the last chat is the newest.
fn project_with_chats(chats: &[&[&str]]) -> Project {
    let project = two_answers();
    for prompts in chats {
        for (place, prompt) in prompts.iter().enumerate() {
            pipe(&project, &format!("{prompt}\n"), if place == 0 { &[] } else { &["-c"] });
        }
    }
    project
}

fn resuming(project: Project, columns: u16) -> Chat {
    let arguments = [project.arguments("auto-edit"), vec!["--resume".to_owned()]].concat();
    Chat::spawn(project, &arguments, columns, 40)
}

#[test]
fn a_conversation_is_chosen_from_a_list_that_typing_narrows() {
    let mut chat =
        resuming(project_with_chats(&[&["fix the parser", "and the lexer"], &["write notes"]]), 80);
    chat.wait_for("Resume: type to narrow");
    chat.wait_for("write notes");
    chat.wait_for("2 turns");
    chat.send("parser");
    chat.wait_for_row("> parser");
    chat.wait_until("the other one is gone", |screen| !screen.contents().contains("write notes"));
    chat.send("\r");
    chat.wait_for("> fix the parser\nFirst answer.");
    chat.wait_for("This conversation goes on here.");
    // The user opens another session from within the chat.
    chat.send("/resume\r");
    chat.wait_for("Resume: type to narrow");
    chat.send("notes\r");
    chat.wait_for("> write notes\nFirst answer.");
    // A user who chooses no session gets the same one again.
    chat.send("/resume\r");
    chat.wait_until("the list", |screen| screen.contents().contains("fix the parser"));
    chat.send("\x1b");
    chat.wait_until("the conversation again", |screen| {
        screen.contents().matches("> write notes").count() == 2
    });
    chat.send("\x04");
    assert_eq!(chat.exit_code(), 0);
    assert_eq!(list_sessions(&chat.project).len(), 2, "nothing new was begun");
}

#[test]
fn whoever_chooses_none_leaves_and_where_there_is_none_a_new_one_begins() {
    let mut chat = resuming(project_with_chats(&[&["fix the parser"]]), 80);
    chat.wait_for("Resume: type to narrow");
    chat.send("\x1b");
    assert_eq!(chat.exit_code(), 0);
    let mut chat = resuming(two_answers(), 80);
    chat.wait_for("No conversation of this workspace is kept yet");
    chat.send("one\r");
    chat.wait_for("First answer.");
    chat.leave();
    let outcome = pipe(&two_answers(), "one\n", &["--resume"]);
    assert_eq!(outcome.code, Some(2), "{outcome}");
    assert!(outcome.stderr.contains("here write the id behind it"), "{outcome}");
}

#[test]
fn a_long_conversation_is_shown_from_its_last_two_turns_on() {
    let project = project_with_chats(&[&["one", "two", "three", "four"]]);
    let arguments = [project.arguments("auto-edit"), vec!["--continue".to_owned()]].concat();
    let chat = Chat::spawn(project, &arguments, 72, 40);
    chat.wait_for("2 earlier turns (Ctrl-T shows all)\n\n> three\n");
    chat.wait_for("> four\n");
    assert_eq!(chat.count("> two"), 0, "{}", chat.contents());
    chat.leave();
}

#[test]
fn prompts_of_two_chats_that_are_open_at_once_can_be_called_back_later() {
    let mut first = two_answers().chat("auto-edit");
    let arguments = first.project.arguments("auto-edit");
    let arguments: Vec<_> = arguments.iter().map(String::as_str).collect();
    let mut second = crate::pty::Pty::of(&first.project.session.command(&arguments), 72, 40);
    second.wait_for("? keys");
    for (prompt, answer) in [("one", "First answer."), ("three", "Second answer.")] {
        first.send(&format!("{prompt}\r"));
        first.wait_for(answer);
        second.send(&format!("{prompt} and more\r"));
        second.wait_for(answer);
    }
    second.send("\x04");
    assert_eq!(second.exit_code(), 0);
    first.send("\x04");
    assert_eq!(first.exit_code(), 0);
    let arguments = first.project.arguments("auto-edit");
    let mut chat = Chat::spawn(first.project, &arguments, 72, 40);
    let mut called_back = Vec::new();
    let mut before = ">".to_owned();
    for _ in 0..4 {
        chat.send("\x1b[A");
        chat.wait_until("another prompt", |screen| prompt_of(screen) != before);
        let shown = chat.contents();
        before = shown.lines().rfind(|row| row.starts_with('>')).unwrap().trim_end().to_owned();
        called_back.push(before.clone());
    }
    called_back.sort();
    assert_eq!(called_back, ["> one", "> one and more", "> three", "> three and more"]);
    chat.empty_the_prompt();
    chat.leave();
}

#[test]
fn a_prompt_that_begins_with_a_blank_is_not_called_back_nor_is_any_of_a_chat_that_is_not_kept() {
    let mut chat = two_answers().chat("auto-edit");
    for (prompt, answer) in [("one\r", "First answer."), (" between us\r", "Second answer.")] {
        chat.send(prompt);
        chat.wait_for(answer);
    }
    chat.send("\x04");
    assert_eq!(chat.exit_code(), 0);
    let arguments = chat.project.arguments("auto-edit");
    let mut chat = Chat::spawn(chat.project, &arguments, 72, 40);
    for _ in 0..2 {
        chat.send("\x1b[A");
        chat.wait_for_row("> one");
    }
    chat.send("\x03\x12between");
    chat.wait_for("history: between");
    chat.settle();
    chat.wait_for_row(">");
    chat.send("\x03");
    chat.wait_until_gone("history:");
    chat.leave();
    // A user who wants nothing kept has no prompts either: they are read from the kept conversations.
    let mut chat = two_answers().variable("HEADSTART_SESSIONS", "off").chat("auto-edit");
    chat.send("one\r");
    chat.wait_for("First answer.");
    chat.send("\x04");
    assert_eq!(chat.exit_code(), 0);
    let arguments = chat.project.arguments("auto-edit");
    let mut chat = Chat::spawn(chat.project, &arguments, 72, 40);
    chat.send("\x1b[A");
    chat.settle();
    chat.wait_for_row(">");
    chat.leave();
}

/// The last row that begins with the sign of the prompt.
fn prompt_of(screen: &vt100::Screen) -> String {
    let rows = screen.rows(0, screen.size().1.get()).filter(|row| row.starts_with('>'));
    rows.last().unwrap_or_default().trim_end().to_owned()
}
