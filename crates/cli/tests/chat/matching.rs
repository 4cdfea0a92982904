//! Holds that a prompt which asks in its own words for the work of the suggestion takes it.

use serde_json::json;

use crate::fixture::{Chat, Project, project};

const ROW: &str = "✓ that ran ahead (“option 2, one file”) · Ctrl-_ takes it back";

/// A chat in which the model has offered two options, and the second has run ahead.
fn with_option(project: impl FnOnce(Project) -> Project, mode: &str, columns: u16) -> Chat {
    let guess = json!({ "text": "option 2, one file", "chance": 70, "kind": "choice", "sign": "2" });
    let begun = self::project()
        .calls(0, "read_file", json!({ "file_path": "notes.txt" }))
        .says(0, "Option 1 is two files, option 2 is one. Which?")
        .suggests(&json!({ "guesses": [guess] }).to_string())
        .writes(0, "made.txt", "made\n")
        .says(0, "It is made.");
    let mut chat = project(begun).chat_in(mode, columns, 40);
    chat.send("begin\r");
    chat.wait_for("> option 2, one file  [Tab]");
    chat.wait_for("ready");
    chat
}

#[test]
fn the_sign_of_the_option_takes_its_work_and_one_row_says_so() {
    for columns in [80, 120] {
        let mut chat = with_option(|project| project, "auto-edit", columns);
        chat.send("the second");
        chat.wait_until_gone("[Tab]");
        // The time in which a slip can be taken back passes, and the work stays.
        std::thread::sleep(std::time::Duration::from_millis(2_500));
        chat.send("\r");
        chat.wait_for_row(ROW);
        chat.wait_for("It is made.");
        assert_eq!(chat.read("made.txt").as_deref(), Some("made\n"));
        let screen = chat.contents();
        assert!(!screen.contains("dropped"), "nothing was: {screen}");
        assert!(screen.contains("the second") && !screen.contains("> option 2"), "{screen}");
        chat.leave();
    }
}

#[test]
fn taking_it_back_undoes_the_work_and_sends_the_prompt_for_real() {
    let mut chat = with_option(|project| project.says(0, "Asked for real."), "auto-edit", 80);
    chat.send("2\r");
    chat.wait_for_row(ROW);
    chat.wait_for("of this was done ahead");
    assert_eq!(chat.read("made.txt").as_deref(), Some("made\n"));
    chat.send("\x1f");
    chat.wait_for("what \"2\" wrote is taken back");
    chat.wait_for("Asked for real.");
    assert_eq!(chat.read("made.txt"), None);
    chat.leave();
}

#[test]
fn in_a_mode_that_asks_the_words_are_asked_about_as_tab_is() {
    let mut chat = with_option(|project| project, "default", 80);
    chat.send("go with 2\r");
    chat.wait_for("write this? [y]es / [d]iff / [n]o");
    assert_eq!(chat.read("made.txt"), None);
    chat.answer_about_changes("y");
    chat.wait_for_row(ROW);
    assert_eq!(chat.read("made.txt").as_deref(), Some("made\n"));
    chat.leave();
}

#[test]
fn what_adds_to_the_guess_is_offered_to_tab_and_enter_sends_it_as_typed() {
    let row = "“option 2, one file” ran ahead · Tab takes it and sends the rest";
    let mut chat = with_option(|project| project.says(0, "The rest is done."), "auto-edit", 120);
    chat.send("2, and tell me more\r");
    chat.wait_for(row);
    chat.wait_for_row("> 2, and tell me more");
    assert_eq!(chat.read("made.txt"), None);
    chat.send("\t");
    chat.wait_for("It is made.");
    chat.wait_for("The rest is done.");
    assert_eq!(chat.read("made.txt").as_deref(), Some("made\n"));
    chat.wait_for("> tell me more");
    chat.leave();

    let mut chat = with_option(|project| project.says(0, "All of it anew."), "auto-edit", 80);
    chat.send("2, and tell me more\r");
    chat.wait_for("“option 2, one file” ran ahead");
    chat.send("\r");
    chat.wait_for("All of it anew.");
    chat.wait_until_gone("ran ahead");
    assert_eq!(chat.read("made.txt"), None);
    chat.leave();
}

#[test]
fn other_words_and_the_setting_off_take_nothing() {
    for (setting, typed) in [("meaning", "2?"), ("meaning", "3"), ("off", "2"), ("exact", "2")] {
        let with = |project: Project| {
            let config = format!("match = \"{setting}\"\n");
            project.session.write("home/.config/headstart/config.toml", config);
            project.says(0, "It is asked.")
        };
        let mut chat = with_option(with, "auto-edit", 80);
        chat.send(&format!("{typed}\r"));
        chat.wait_for("It is asked.");
        assert_eq!((chat.read("made.txt"), chat.count("that ran ahead")), (None, 0), "{setting} {typed}");
        chat.leave();
    }
}
