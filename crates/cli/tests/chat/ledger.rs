//! Holds what a chat writes into the ledger, and how it uses what earlier chats wrote.

#![expect(clippy::unwrap_used, reason = "what is not there stops the test")]

use std::fs;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::fixture::{Chat, GHOST, Project, project_with_suggestion, wait_for_files};
use crate::support::PATIENCE;

/// The lines of this type in the project's ledger, once there are as many as expected.
pub(crate) fn lines(chat: &Chat, kind: &str, number: usize) -> Vec<Value> {
    let deadline = Instant::now() + PATIENCE;
    loop {
        let folder = chat.project.session.home().join(".local/state/headstart/ledgers");
        let file = folder.is_dir().then(|| chat.project.session.ledger());
        let text = file.map(|file| fs::read_to_string(file).unwrap()).unwrap_or_default();
        // The last line may be only half written at this moment.
        let whole = text.split_inclusive('\n').filter(|line| line.ends_with('\n'));
        let lines: Vec<Value> = whole.map(|line| serde_json::from_str(line).unwrap()).collect();
        let found: Vec<Value> = lines.iter().filter(|line| line["type"] == kind).cloned().collect();
        if found.len() == number {
            return found;
        }
        assert!(Instant::now() < deadline && found.len() < number, "{kind}: {text}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

fn outcome(chat: &Chat) -> Value {
    lines(chat, "outcome", 1).remove(0)
}

/// A suggestion whose work ends immediately.
fn project_with_quick_work() -> Project {
    project_with_suggestion().writes(0, "tests.txt", "tests\n").says(0, "Tests are written.")
}

/// A suggestion whose work takes a while.
fn project_with_slow_work() -> Project {
    project_with_suggestion().writes(0, "tests.txt", "tests\n").says(1_000, "Tests are written.")
}

#[test]
fn work_that_is_taken_is_accepted_with_the_time_it_saved() {
    let mut chat = project_with_quick_work().suggests("run the linter").chat_with_ghost("auto-edit");
    chat.wait_for("✓ ready");
    // The cost of the work is in the ledger before the user decides.
    let ran = lines(&chat, "speculation", 1).remove(0);
    assert_eq!(
        (&ran["status"], &ran["stagedFiles"], &ran["stagedBytes"]),
        (&json!("completed"), &json!(1), &json!(6))
    );
    assert_eq!(
        (&ran["source"], &ran["kind"], &ran["sharesCache"]),
        (&json!("chat"), &json!("change"), &json!(true))
    );
    chat.take();
    chat.wait_for("> run the linter  [Tab]");
    let decided = outcome(&chat);
    assert_eq!((&decided["outcome"], &decided["id"]), (&json!("accepted"), &ran["id"]));
    assert_eq!(decided["savedMs"], ran["workMs"]);
    let suggestions = lines(&chat, "suggestion", 2);
    assert_eq!((&suggestions[0]["id"], &suggestions[0].get("suppressed")), (&ran["id"], &None));
    lines(&chat, "turn", 1);
    chat.leave();
}

/// Of work that a chat accepted, only the ledger is kept.
#[test]
fn an_accept_that_is_undone_afterwards_is_no_hit() {
    let mut chat = project_with_quick_work().suggests("run the linter").chat_with_ghost("auto-edit");
    chat.wait_for("✓ ready");
    chat.take();
    chat.wait_for("> run the linter  [Tab]");
    let taken = outcome(&chat);
    let session = &chat.project.session;
    let hits = || {
        let mut told = session.run(&["stats", "--json"]).json().into_iter();
        told.find(|line| line["type"] == "total").unwrap()["outcomes"].clone()
    };
    assert_eq!(hits(), json!({"accepted": 1}));
    for (code, number) in [(0, 2), (1, 2)] {
        let undone = session.run(&["undo"]);
        assert_eq!(undone.code, Some(code), "{undone}");
        let decided = lines(&chat, "outcome", number).remove(1);
        assert_eq!((&decided["outcome"], &decided["id"]), (&json!("undone"), &taken["id"]));
        assert_eq!(hits(), json!({"undone": 1}));
    }
    assert!(!session.workspace().join("tests.txt").exists());
    chat.leave();
}

#[test]
fn work_that_is_taken_while_it_runs_is_joined() {
    let mut chat = project_with_slow_work().chat_with_ghost("auto-edit");
    chat.wait_for("working · 1 file");
    chat.take();
    chat.wait_for("of this was done ahead");
    assert_eq!(outcome(&chat)["outcome"], "joined");
    assert_eq!(lines(&chat, "speculation", 1)[0]["status"], "completed");
    let saved = outcome(&chat)["savedMs"].as_u64().unwrap();
    assert!(saved < lines(&chat, "speculation", 1)[0]["workMs"].as_u64().unwrap(), "{saved}");
    chat.leave();
}

#[test]
fn what_the_user_does_instead_is_told_apart() {
    // The keys that the user presses, and the outcome. While they type, the work stays: it may be what they ask for.
    let cases = [
        ("xy\r", "ignored"),
        ("\x1b", "ignored"),
        ("\x1b[C for the parser\r", "ignored"),
        ("/clear\r", "aborted"),
        ("/mode plan\r", "aborted"),
        ("/background off\r", "aborted"),
        ("\x04", "aborted"),
    ];
    for (keys, expected) in cases {
        let mut chat = project_with_slow_work().chat_with_ghost("auto-edit");
        chat.wait_for("working · 1 file");
        chat.send(keys);
        assert_eq!(outcome(&chat)["outcome"], expected, "{keys:?}");
        let ran = lines(&chat, "speculation", 1).remove(0);
        assert_eq!((&ran["status"], &ran["unmeasured"]), (&json!("aborted"), &json!(1)), "{keys:?}");
        assert_eq!((&ran["stagedFiles"], &ran["stagedBytes"]), (&json!(1), &json!(6)), "{keys:?}");
    }
}

#[test]
fn an_edit_of_the_users_makes_it_a_conflict() {
    let mut chat = project_with_quick_work().chat_with_ghost("auto-edit");
    chat.wait_for("✓ ready");
    chat.project.session.write("project/tests.txt", "mine\n");
    chat.take();
    chat.answer_to("[m]ine / [t]heirs / [b]oth with markers / [a]sk again", "a");
    chat.wait_for("nothing of the work ahead was applied");
    assert_eq!(outcome(&chat)["outcome"], "conflict");
    assert_eq!(outcome(&chat)["savedMs"], 0);
}

#[test]
fn a_suggestion_that_is_not_run_has_an_outcome_too() {
    let mut chat =
        project_with_quick_work().variable("HEADSTART_SPECULATE", "off").chat_with_ghost("auto-edit");
    chat.take();
    chat.wait_for("Tests are written.");
    assert_eq!(outcome(&chat)["outcome"], "accepted");
    lines(&chat, "speculation", 0);
    lines(&chat, "turn", 2);
    chat.leave();
}

#[test]
fn a_model_of_its_own_for_background_work_shares_no_cache() {
    let project = project_with_quick_work();
    let fast = json!({"turns": [{"text": "Done."}], "suggestions": ["add tests"]}).to_string();
    project.session.write("home/fast.json", fast);
    let name = format!("replay:{}", project.session.home().join("fast.json").display());
    let chat = project.variable("HEADSTART_FAST_MODEL", &name).chat_with_ghost("auto-edit");
    chat.wait_for("✓ ready");
    let ran = lines(&chat, "speculation", 1).remove(0);
    assert_eq!((&ran["sharesCache"], &ran["model"]), (&json!(false), &json!(name)));
    assert_eq!(lines(&chat, "suggestion", 1)[0]["sharesCache"], false);
    assert_ne!(lines(&chat, "turn", 1)[0]["model"], name);
    chat.leave();
}

#[test]
fn what_was_spent_is_there_after_the_chat_was_killed() {
    let mut chat = project_with_quick_work().chat_with_ghost("auto-edit");
    chat.wait_for("✓ ready");
    lines(&chat, "speculation", 1);
    let pid = rustix::process::Pid::from_raw(i32::try_from(chat.process_id()).unwrap()).unwrap();
    rustix::process::kill_process(pid, rustix::process::Signal::KILL).unwrap();
    chat.exit_code();
    let total = chat.project.session.run(&["stats", "--json"]).json().remove(0);
    assert_eq!(
        (&total["speculations"], &total["suggestions"], &total["turns"]),
        (&json!(1), &json!(1), &json!(1))
    );
    assert_eq!(total["hitRate"], Value::Null);
}

#[test]
fn background_work_is_turned_off_by_one_switch_wherever_it_stands() {
    let in_user = project_with_quick_work();
    in_user.session.write("home/.config/headstart/config.toml", "background = 'off'\n");
    let in_project = project_with_quick_work();
    in_project.session.write("project/.headstart/config.toml", "background = 'off'\n");
    for project in [in_user, in_project, project_with_quick_work().variable("HEADSTART_BACKGROUND", "off")] {
        let mut chat = project.chat("auto-edit");
        chat.send("begin\r");
        chat.wait_for("First answer.");
        chat.settle();
        assert_eq!(chat.count("[Tab]") + chat.count("✓ ready"), 0);
        lines(&chat, "suggestion", 0);
        lines(&chat, "speculation", 0);
        chat.leave();
    }

    let mut chat = project_with_quick_work().chat_with_ghost("auto-edit");
    chat.wait_for("✓ ready");
    chat.send("/background off\r");
    chat.wait_for("background work is off");
    chat.wait_until_gone("✓ ready");
    assert_eq!(chat.count("add tests"), 0);
    chat.send("/background\r/background auto\r");
    chat.wait_for("background work is on auto: a turn is followed by a suggestion, once the");
    chat.wait_for("or answered twice, and not in plan mode");
    chat.leave();
}

#[test]
fn suggestions_not_taken_in_other_projects_bring_a_pause_here() {
    let project = project_with_quick_work().suggests("run the linter").paid();
    let mut chat = project.habits(&json!({ "row": 20, "passed": 15 })).chat("auto-edit");
    chat.send("begin\r");
    chat.wait_for("First answer.");
    chat.settle();
    // Nothing was shown in this chat, so there is nothing to explain.
    assert_eq!(chat.count("[Tab]") + chat.count("/background"), 0, "{}", chat.contents());
    let held = lines(&chat, "suggestion", 1).remove(0);
    assert_eq!(held["suppressed"], "backing_off");
    // That was the last of the turns without a question.
    chat.send("again\r");
    chat.wait_for("[Tab]");
    chat.send("\x1b");
    assert_eq!(outcome(&chat)["outcome"], "ignored");
    let row =
        chat.project.session.run(&["stats", "--json"]).json().iter().find_map(|line| line["row"].as_u64());
    assert_eq!(row, Some(21));
    chat.leave();
}

#[test]
fn what_seldom_comes_true_shows_and_does_not_run_unless_it_is_always_to_run() {
    // Of guesses of which nothing is said 32 % come true, and count for twenty observations. Work that costs nothing runs
    // from 25 % on.
    for (did_not, mode, runs) in [(9, "auto", false), (2, "auto", true), (9, "always", true)] {
        let project = project_with_quick_work();
        let calibration = json!({ project.model(): { "low": { "didNot": did_not } } });
        let project = project.habits(&json!({ "calibration": calibration }));
        let chat = project.variable("HEADSTART_BACKGROUND", mode).chat_with_ghost("auto-edit");
        chat.settle();
        assert_eq!(chat.count("✓ ready") == 1, runs, "{did_not} {mode}: {}", chat.contents());
        assert_eq!(chat.count(GHOST), 1);
        chat.leave();
    }
}

#[test]
fn habits_that_cannot_be_read_are_told_once_and_stop_nothing() {
    let project = project_with_quick_work();
    project.session.write("home/.local/state/headstart/user/habits.json", "{\"row\":");
    let mut chat = project.chat_with_ghost("auto-edit");
    chat.wait_for("which suggestions you take is unknown");
    chat.wait_for("✓ ready");
    chat.send("\x1b");
    assert_eq!(outcome(&chat)["outcome"], "ignored");
    assert_eq!(chat.count("is unknown"), 1);
    let folder = chat.project.session.home().join(".local/state/headstart/user");
    // What was learned is written after the ledger, so the test waits for the files.
    wait_for_files(&[&folder.join("habits.json.damaged"), &folder.join("habits.json")]);
    assert_eq!(fs::read_to_string(folder.join("habits.json.damaged")).unwrap(), "{\"row\":");
    assert!(fs::read_to_string(folder.join("habits.json")).unwrap().contains("\"row\":1"));
    chat.leave();
}

#[test]
fn a_ledger_that_cannot_be_written_is_told_once_and_stops_nothing() {
    let project = project_with_quick_work();
    project.session.write("home/.local/state/headstart/ledgers", "a file in its place");
    let mut chat = project.chat_with_ghost("auto-edit");
    chat.wait_for("what earlier chats cost is unknown");
    chat.wait_for("✓ ready");
    chat.take();
    chat.wait_for("of this was done ahead");
    assert_eq!(chat.count("is unknown"), 1);
    chat.leave();
}
