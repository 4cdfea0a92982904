//! Holds that a file with several names (hard links) is changed only after a yes that says so, and that an undo makes them
//! names of one file again.

use std::fs;
use std::os::unix::fs::MetadataExt as _;

use serde_json::{Value, json};

use crate::fixture::{Chat, Project, project, project_with_suggestion};

const ASKED: &str = "notes.txt has 2 names (hard links)";

/// Gives the file of the project another name.
fn linked(project: Project) -> Project {
    let root = project.session.workspace();
    fs::hard_link(root.join("notes.txt"), root.join("same.txt")).expect("a file can have two names");
    project
}

fn edit() -> Value {
    json!({ "file_path": "notes.txt", "old_string": "one", "new_string": "two" })
}

/// The contents of both names, and whether they are names of one file.
fn names(chat: &Chat) -> (String, String, bool) {
    let root = chat.project.session.workspace();
    let inode = |name: &str| fs::metadata(root.join(name)).expect("both names are there").ino();
    let read = |name: &str| chat.read(name).expect("both names are there");
    (read("notes.txt"), read("same.txt"), inode("notes.txt") == inode("same.txt"))
}

fn as_before() -> (String, String, bool) {
    ("one\n".to_owned(), "one\n".to_owned(), true)
}

fn parted() -> (String, String, bool) {
    ("two\n".to_owned(), "one\n".to_owned(), false)
}

#[test]
fn an_edit_that_parts_names_asks_once_and_is_taken_back_whole() {
    for mode in ["default", "auto-edit"] {
        let mut chat = linked(project().calls(0, "edit", edit()).says(0, "Done.")).chat(mode);
        chat.send("begin\r");
        chat.wait_for("edit notes.txt  +1 -1\n    1 - one\n    1 + two\n");
        chat.wait_for(ASKED);
        assert_eq!(names(&chat), as_before());
        chat.answer("y");
        chat.wait_for("Done.");
        assert_eq!(names(&chat), parted());
        assert_eq!(chat.count("run this?"), 0, "it is asked once");
        chat.send("/undo\r");
        chat.wait_for("as before  notes.txt");
        assert_eq!(names(&chat), as_before());
        chat.leave();
    }
}

#[test]
fn a_no_changes_nothing_and_a_mode_without_questions_asks_nothing() {
    let content = json!({ "file_path": "notes.txt", "content": "two\n" });
    let look = json!({ "file_path": "notes.txt" });
    let answers = || {
        project()
            .calls(0, "read_file", look.clone())
            .calls(0, "write_file", content.clone())
            .writes(0, "new.txt", "new\n")
            .says(0, "Tried.")
    };
    let mut chat = linked(answers()).chat("auto-edit");
    chat.send("begin\r");
    chat.wait_for(ASKED);
    chat.answer("n");
    chat.wait_for("Tried.");
    assert_eq!((names(&chat), chat.read("new.txt").as_deref()), (as_before(), Some("new\n")));
    chat.leave();

    let mut chat = linked(answers()).chat("yolo");
    chat.send("begin\r");
    chat.wait_for("Tried.");
    assert_eq!((names(&chat), chat.count(ASKED)), (parted(), 0));
    chat.leave();
}

/// A command has no way to say what becomes of the other names.
#[test]
fn a_command_ahead_waits_for_the_users_yes() {
    for command in ["echo two > notes.txt", "f=notes.txt; rm $f", "f=notes.txt; ln $f new"] {
        let project = project_with_suggestion()
            .variable("HEADSTART_SHADOW", "")
            .shell(0, command)
            .says(0, "It is done.")
            .says(0, "It is done.");
        let mut chat = linked(project).chat_with_ghost("auto-edit");
        let before = chat.project.session.tree();
        chat.wait_for("ahead ! waits for your yes: ");
        chat.wait_for("(hard links)");
        assert_eq!((names(&chat), chat.project.session.tree()), (as_before(), before), "{command}");
        chat.take();
        chat.answer("n");
        chat.wait_for("It is done.");
        assert_eq!(names(&chat), as_before(), "{command}");
        chat.leave();
    }
}

#[test]
fn ahead_it_waits_for_the_users_yes() {
    let project = project_with_suggestion().calls(0, "edit", edit()).says(0, "It is edited.");
    let mut chat = linked(project).chat_with_ghost("auto-edit");
    chat.wait_for("ahead ! waits for your yes: edit notes.txt (hard links)");
    assert_eq!(names(&chat), as_before());
    chat.take();
    chat.wait_for(ASKED);
    chat.answer("y");
    chat.wait_for("It is edited.");
    assert_eq!(names(&chat), parted());
    chat.leave();
}
