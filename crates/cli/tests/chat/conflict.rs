use serde_json::json;

use crate::fixture::project_with_suggestion;

#[test]
fn the_users_edit_wins_and_the_prompt_runs_anew() {
    let mut chat = project_with_suggestion()
        .turn(
            0,
            "I change the notes.",
            &[("edit", json!({ "file_path": "notes.txt", "old_string": "one", "new_string": "two" }))],
        )
        .says(0, "The notes say two.")
        .says(0, "I leave the notes to you.")
        .chat_with_ghost("auto-edit");
    chat.wait_for("ready · 1 file +1 -1");
    chat.project.session.write("project/notes.txt", "mine\n");
    chat.take();
    chat.wait_for(
        "notes.txt was changed meanwhile\nnothing of the work ahead was applied; running it anew\n",
    );
    chat.wait_for("I leave the notes to you.");
    assert_eq!(chat.read("notes.txt").as_deref(), Some("mine\n"));
    // What was not applied is not told as if it had been.
    assert_eq!(chat.count("The notes say two."), 0);
    chat.leave();
}

#[test]
fn a_file_that_was_only_read_counts_too() {
    let mut chat = project_with_suggestion()
        .calls(0, "read_file", json!({ "file_path": "notes.txt" }))
        .says(0, "The notes say one.")
        .says(0, "The notes say mine.")
        .chat_with_ghost("auto-edit");
    chat.wait_for("ready · an answer of 4 words");
    chat.project.session.write("project/notes.txt", "mine\n");
    chat.take();
    chat.wait_for("notes.txt was read, and was changed meanwhile\n");
    chat.wait_for("The notes say mine.");
    chat.leave();
}
