//! Holds what `/undo`, `/model` and `/copy` do.

use std::os::unix::fs::PermissionsExt;

use headstart_overlay_fs::{OsOptions, OsTree, UndoLimit, UndoOutcome};
use serde_json::json;

use crate::fixture::{Chat, Project, project, project_with_suggestion};
use crate::sessions::{list_sessions, pipe};
use crate::support::server::{Server, says};

#[test]
fn undo_takes_back_a_whole_turn_and_then_the_one_before() {
    let mut chat = project()
        .writes(0, "first.txt", "1\n")
        .says(0, "Once.")
        .calls(0, "read_file", json!({ "file_path": "notes.txt" }))
        .writes(0, "notes.txt", "two\n")
        .calls(0, "edit", json!({ "file_path": "notes.txt", "old_string": "two", "new_string": "three" }))
        .writes(0, "made.txt", "made\n")
        .says(0, "Twice.")
        .chat("auto-edit");
    chat.send("/undo\r");
    chat.wait_for("no turn of this chat has changed a file");
    chat.send("begin\r");
    chat.wait_for("Once.");
    chat.send("go on\r");
    chat.wait_for("Twice.");
    assert_eq!(chat.read("notes.txt").as_deref(), Some("three\n"));
    chat.send("/undo\r");
    chat.wait_for("as before  made.txt\nas before  notes.txt\nwhat \"go on\" wrote is taken back");
    assert_eq!((chat.read("notes.txt").as_deref(), chat.read("made.txt")), (Some("one\n"), None));
    assert_eq!(chat.read("first.txt").as_deref(), Some("1\n"));
    chat.send("/undo\r");
    chat.wait_for("what \"begin\" wrote is taken back");
    assert_eq!(chat.read("first.txt"), None);
    chat.send("/undo\r");
    chat.wait_until("nothing left to undo", |screen| {
        screen.contents().matches("no turn of this chat has changed a file").count() == 2
    });
    chat.leave();
}

#[test]
fn undo_passes_over_work_that_changed_nothing() {
    let mut chat = project()
        .writes(0, "first.txt", "1\n")
        .says(0, "First answer.")
        .suggests("add tests")
        .says(0, "There is nothing to add.")
        .chat_with_ghost("auto-edit");
    chat.wait_for("ready");
    chat.take();
    chat.wait_for("There is nothing to add.");
    chat.send("/undo\r");
    chat.wait_for("the last turn changed no file; /undo again takes back what \"begin\" wrote");
    assert_eq!(chat.read("first.txt").as_deref(), Some("1\n"));
    chat.send("/undo\r");
    chat.wait_for("what \"begin\" wrote is taken back");
    assert_eq!(chat.read("first.txt"), None);
    chat.leave();
}

#[test]
fn undo_asks_before_it_takes_back_what_was_committed_since() {
    let project = project().writes(0, "made.txt", "made\n").says(0, "Done.").says(0, "You are welcome.");
    project.session.make_repository(&["init", "-q"]);
    let mut chat = project.chat("auto-edit");
    chat.send("begin\r");
    chat.wait_for("Done.");
    chat.project.session.git(&["add", "made.txt"]);
    chat.project.session.git(&["commit", "-qm", "it is good"]);
    chat.send("/undo\r");
    chat.wait_for("files of \"begin\" were committed since (");
    chat.wait_for("it is good); /undo");
    // Another prompt in between is no yes.
    chat.send("thanks\r");
    chat.wait_for("You are welcome.");
    let asked = "the last turn changed no file, and files of \"begin\" were committed";
    // The turn ends a moment after its last words, and until then an undo is refused.
    let refused = "/undo: a turn is running";
    for tries in 1.. {
        chat.send("/undo\r");
        chat.wait_until("an answer", |screen| {
            let text = screen.contents();
            text.contains(asked) || text.matches(refused).count() == tries
        });
        if chat.count(asked) == 1 {
            break;
        }
    }
    assert_eq!(chat.read("made.txt").as_deref(), Some("made\n"));
    chat.send("/undo\r");
    chat.wait_for("what \"begin\" wrote is taken back");
    assert_eq!(chat.read("made.txt"), None);
    assert_eq!(chat.project.session.git(&["log", "-1", "--format=%s"]), "it is good\n", "the commit stays");
    chat.leave();
}

#[test]
fn undo_leaves_nothing_staged_of_what_it_takes_back() {
    let project = project()
        .writes(0, "made.txt", "made\n")
        .writes(0, "other.txt", "other\n")
        .calls(0, "edit", json!({ "file_path": "notes.txt", "old_string": "one", "new_string": "two" }))
        .says(0, "Done.");
    project.session.make_repository(&["init", "-q"]);
    let mut chat = project.chat("auto-edit");
    chat.send("begin\r");
    chat.wait_for("Done.");
    chat.project.session.git(&["add", "--all"]);
    // What its user staged themselves stays.
    let blob = chat.project.session.git(&["hash-object", "-w", "notes.txt"]);
    chat.project.session.git(&["update-index", "--cacheinfo", &format!("100644,{},other.txt", blob.trim())]);
    chat.send("/undo\r");
    chat.wait_for("unstaged   made.txt\nunstaged   notes.txt");
    chat.wait_for("what \"begin\" wrote is taken back");
    assert_eq!(chat.project.session.git(&["status", "--porcelain"]), "AD other.txt\n");
    chat.leave();
}

/// A project with a chat in which one turn wrote two files and another none, and the arguments that continue it.
fn project_with_a_past() -> (Project, Vec<String>) {
    let mut chat = project()
        .writes(0, "a.txt", "a\n")
        .writes(0, "b.txt", "b\n")
        .says(0, "Written.")
        .says(0, "Nothing to do.")
        .chat("auto-edit");
    chat.send("write both\r");
    chat.wait_for("Written.");
    chat.send("and now?\r");
    chat.wait_for("Nothing to do.");
    chat.send("\x04");
    assert_eq!(chat.exit_code(), 0);
    let project = chat.project;
    let arguments = [project.arguments("auto-edit"), vec!["--continue".to_owned()]].concat();
    (project, arguments)
}

#[test]
fn a_chat_that_goes_on_takes_back_the_last_turn_that_wrote_as_a_whole() {
    let (project, arguments) = project_with_a_past();
    let mut chat = Chat::spawn(project, &arguments, 72, 40);
    chat.send("/undo\r");
    chat.wait_for("the last turn changed no file; /undo again takes back what \"write");
    chat.send("/undo\r");
    chat.wait_for("as before  a.txt\nas before  b.txt\nwhat \"write both\" wrote is taken back");
    assert_eq!((chat.read("a.txt"), chat.read("b.txt")), (None, None));
    // The model that goes on is told, although another process wrote the files.
    chat.send("go on\r");
    chat.wait_for("b.txt  +1");
    let told = chat.project.session.run(&["sessions", "--json"]).json();
    let shown = chat.project.session.run(&["sessions", "show", told[0]["id"].as_str().unwrap(), "--json"]);
    assert!(shown.stdout.contains("the user has undone changes that you made"), "{shown}");
    // Another chat takes back nothing of this one, and says how that is done.
    chat.send("\x04");
    assert_eq!(chat.exit_code(), 0);
    let (project, arguments) = project_with_a_past();
    let mut other = Chat::spawn(project, &arguments[..arguments.len() - 1], 72, 40);
    other.send("/undo\r");
    other.wait_for("`headstart undo` takes back the last turn of another chat");
    assert_eq!(other.read("a.txt").as_deref(), Some("a\n"));
    other.leave();
}

/// Whatever the process was doing when it was killed in an undo: each change is in force or not, and what is not is told.
#[test]
fn an_undo_that_was_cut_off_is_told_when_the_chat_goes_on_and_goes_on_too() {
    let (project, _) = project_with_a_past();
    let state = project.session.home().join(".local/state/headstart");
    let undo = UndoLimit { accepts: 20, bytes: 1 << 30 };
    let options = OsOptions { state: Some(state), undo, ..OsOptions::default() };
    let tree = OsTree::open_with(project.session.workspace(), options).expect("the workspace is there");
    assert!(matches!(tree.undo_last(), Ok(UndoOutcome::Undone { .. })));
    drop(tree);
    let told = "the undo of \"write both\" was cut off: b.txt went back, and a.txt did not; /undo takes back the rest";
    // As long as it is so.
    for _ in 0..2 {
        let goes_on = pipe(&project, "", &["--continue"]);
        assert!(goes_on.stderr.contains(told), "{goes_on}");
    }
    let undone = pipe(&project, "/undo\n/undo\n", &["--continue"]);
    assert!(undone.to_string().contains("what \"write both\" wrote is taken back"), "{undone}");
    assert_eq!((project.read("a.txt"), project.read("b.txt")), (None, None));
    let goes_on = pipe(&project, "go on\n", &["--continue"]);
    assert!(!goes_on.stderr.contains("cut off"), "{goes_on}");
    let id = list_sessions(&project)[0]["id"].as_str().expect("it has an id").to_owned();
    let shown = project.session.run(&["sessions", "show", &id, "--json"]);
    assert!(shown.stdout.contains("the user has undone changes that you made"), "{shown}");
}

#[test]
fn what_was_taken_back_while_the_chat_was_closed_is_told_once() {
    let (project, _) = project_with_a_past();
    assert_eq!(project.session.run(&["undo"]).code, Some(0));
    let told = "changes of \"write both\" were taken back: a.txt, b.txt";
    let goes_on = pipe(&project, "go on\n", &["--continue"]);
    assert!(goes_on.stderr.contains(told), "{goes_on}");
    let id = list_sessions(&project)[0]["id"].as_str().expect("it has an id").to_owned();
    let shown = project.session.run(&["sessions", "show", &id, "--json"]);
    assert!(shown.stdout.contains("the user has undone changes that you made"), "{shown}");
    let goes_on = pipe(&project, "", &["--continue"]);
    assert!(!goes_on.stderr.contains(told), "{goes_on}");
}

#[test]
fn the_command_takes_back_a_turn_as_a_whole_too_and_says_when_there_is_none() {
    let (project, _) = project_with_a_past();
    let undone = project.session.run(&["undo"]);
    assert_eq!(
        (undone.stdout.as_str(), undone.code),
        ("as before  a.txt\nas before  b.txt\n", Some(0)),
        "{undone}"
    );
    assert_eq!((project.read("a.txt"), project.read("b.txt")), (None, None));
    let none = project.session.run(&["undo"]);
    assert_eq!(none.code, Some(1), "{none}");
    assert!(none.stderr.contains("headstart wrote nothing in "), "{none}");
}

#[test]
fn a_turn_that_was_stopped_or_killed_is_taken_back_as_any_other() {
    let begun = || {
        let mut chat = project()
            .writes(0, "a.txt", "a\n")
            .writes(0, "b.txt", "b\n")
            .shell(0, "sleep 60")
            .says(0, "Never said.")
            .chat("yolo");
        chat.send("begin\r");
        chat.wait_for_command("sleep 60");
        assert_eq!(chat.read("b.txt").as_deref(), Some("b\n"));
        chat
    };
    let mut stopped = begun();
    stopped.send("\x03");
    stopped.wait_for("interrupted");
    stopped.send("/undo\r");
    stopped.wait_for("as before  a.txt\nas before  b.txt\nwhat \"begin\" wrote is taken back");
    assert_eq!((stopped.read("a.txt"), stopped.read("b.txt")), (None, None));
    stopped.send("\x04");
    assert_eq!(stopped.exit_code(), 0);

    let mut killed = begun();
    killed.kill("KILL");
    assert_ne!(killed.exit_code(), 0);
    let project = killed.project;
    let arguments = [project.arguments("auto-edit"), vec!["--continue".to_owned()]].concat();
    let mut chat = Chat::spawn(project, &arguments, 72, 40);
    chat.send("/undo\r");
    chat.wait_for("as before  a.txt\nas before  b.txt\nwhat \"begin\" wrote is taken back");
    assert_eq!((chat.read("a.txt"), chat.read("b.txt")), (None, None));
    chat.send("\x04");
    assert_eq!(chat.exit_code(), 0);

    let mut ended = begun();
    ended.kill("TERM");
    assert_ne!(ended.exit_code(), 0);
    ended.wait_for("edits that were made stay: `headstart undo` takes back");
    assert_eq!(ended.project.session.run(&["undo"]).stdout, "as before  a.txt\nas before  b.txt\n");
    assert_eq!((ended.read("a.txt"), ended.read("b.txt")), (None, None));
}

#[test]
fn undo_changes_nothing_where_one_file_of_the_turn_was_edited_since() {
    let mut chat =
        project().writes(0, "a.txt", "a\n").writes(0, "b.txt", "b\n").says(0, "Done.").chat("auto-edit");
    chat.send("begin\r");
    chat.wait_for("Done.");
    chat.project.session.write("project/a.txt", "mine\n");
    chat.send("/undo\r");
    chat.wait_for("nothing of \"begin\" was taken back: what it wrote has changed since");
    assert_eq!((chat.read("a.txt").as_deref(), chat.read("b.txt").as_deref()), (Some("mine\n"), Some("b\n")));
    chat.leave();
}

#[test]
fn undo_takes_back_work_that_ran_ahead_and_the_ledger_hears_of_it() {
    let mut chat = project_with_suggestion()
        .writes(0, "tests.txt", "tests\n")
        .says(0, "Tests are written.")
        .chat_with_ghost("auto-edit");
    chat.wait_for("ready");
    chat.take();
    chat.wait_for("Tests are written.");
    assert_eq!(chat.read("tests.txt").as_deref(), Some("tests\n"));
    chat.send("/undo\r");
    chat.wait_for("what \"add tests\" wrote is taken back");
    assert_eq!(chat.read("tests.txt"), None);
    chat.send("\x04");
    assert_eq!(chat.exit_code(), 0);
    let state = chat.project.session.home().join(".local/state/headstart");
    let mut folders = vec![state];
    let mut text = String::new();
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap().flatten() {
            if entry.path().is_dir() {
                folders.push(entry.path());
            } else {
                text += &std::fs::read_to_string(entry.path()).unwrap_or_default();
            }
        }
    }
    assert!(text.contains(r#""outcome":"undone""#), "{text}");
}

#[test]
fn another_model_answers_from_now_on() {
    let first = Server::start(vec![says("I am the first."), says("I am the third.")]);
    let project = project().variable("OPENAI_API_KEY", "key");
    let arguments = ["chat", "--model", "openai:one", "--base-url", &first.base_url, "--mode", "plan"];
    let arguments: Vec<String> = arguments.map(str::to_owned).to_vec();
    let mut chat = Chat::spawn(project, &arguments, 80, 30);
    chat.send("/model\r");
    chat.wait_for("openai:one answers; /model NAME chooses another");
    chat.send("begin\r");
    chat.wait_for("I am the first.");
    chat.send("/model nothing\r");
    chat.wait_for("the model stays as it is: ");
    chat.send("/model gemini:x\r");
    chat.wait_for("gemini:x needs a key: set GEMINI_API_KEY");
    chat.send("/model openai:three\r");
    chat.wait_for("openai:three answers from now on");
    chat.wait_for("plan · three · ");
    chat.send("who are you?\r");
    chat.wait_for("I am the third.");
    let sent_requests: Vec<_> =
        first.requests().iter().map(|request| request.json()["model"].clone()).collect();
    assert_eq!(sent_requests, ["one", "three"]);
    chat.leave();
}

#[test]
fn another_model_does_the_work_ahead_from_now_on_and_stays_when_the_first_changes() {
    let server = Server::start(vec![
        says("I am the first."),
        says("I am still the first."),
        says("{\"guesses\": []}"),
    ]);
    let project = project().variable("OPENAI_API_KEY", "key");
    let arguments = ["chat", "--model", "openai:one", "--base-url", &server.base_url, "--mode", "default"];
    let arguments: Vec<String> = arguments.map(str::to_owned).to_vec();
    let mut chat = Chat::spawn(project, &arguments, 80, 30);
    chat.send("begin\r");
    chat.wait_for("I am the first.");
    chat.send("/model --fast\r");
    chat.wait_for("/model --fast takes the name of a model");
    chat.send("/model --fast gemini:x\r");
    chat.wait_for("the work ahead stays with its model: gemini:x needs a key");
    chat.send("/model --fast openai:small\r");
    chat.wait_for("openai:small does the work ahead from now on");
    chat.send("/model\r");
    chat.wait_for("openai:one answers, and openai:small the work ahead");
    chat.send("and now?\r");
    chat.wait_for("I am still the first.");
    chat.wait_until("the fast model is asked", |_| 3 <= server.requests().len());
    let asked: Vec<_> = server.requests().iter().map(|request| request.json()["model"].clone()).collect();
    // After the turns it may be asked for a title as well as for a suggestion.
    assert_eq!(asked[..2], ["one", "one"]);
    assert!(asked[2..].iter().all(|name| name == "small"), "{asked:?}");
    chat.send("/model --fast openai:one\r");
    chat.wait_for("openai:one does the work ahead from now on");
    chat.leave();
}

#[test]
fn an_answer_is_copied_to_a_file_or_the_clipboard() {
    let answer = "Look:\n\n```sh\nls -l\n```\n\nThat is all.";
    let mut chat = project().says(0, "First.").says(0, answer).chat("plan");
    chat.send("/copy\r");
    chat.wait_for("there is nothing like that to copy yet");
    chat.send("begin\r");
    chat.wait_for("First.");
    chat.send("go on\r");
    chat.wait_for("That is all.");
    chat.send("/copy code\r");
    chat.wait_for("6 characters are in");
    let folder = chat.project.session.home().join(".local/state/headstart");
    let copies = || {
        let files = std::fs::read_dir(&folder).unwrap().flatten().map(|entry| entry.path());
        files.filter(|path| path.to_string_lossy().contains("headstart-copy-")).collect::<Vec<_>>()
    };
    let copy = copies().remove(0);
    assert_eq!(std::fs::read_to_string(&copy).unwrap(), "ls -l\n");
    assert_eq!(std::fs::metadata(&copy).unwrap().permissions().mode() & 0o777, 0o600);
    std::fs::remove_file(copy).unwrap();
    chat.send("/copy 2\r");
    chat.wait_until("the first answer", |_| {
        copies().first().is_some_and(|copy| std::fs::read_to_string(copy).unwrap() == "First.")
    });
    chat.leave();

    let mut chat = project().says(0, answer).variable("TERM_PROGRAM", "WezTerm").chat("plan");
    chat.send("begin\r");
    chat.wait_for("That is all.");
    chat.send("/copy\r");
    chat.wait_for("characters are in the clipboard");
    chat.leave();
}
