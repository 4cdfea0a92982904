//! What was written, as it is shown after it, and as somebody is asked about it before.

use serde_json::json;

use crate::fixture::{Project, project, project_with_suggestion};

/// A project whose `.gitattributes` says of all files that programs write them.
fn generated() -> Project {
    let project = project();
    for (path, text) in [
        (".gitattributes", "* linguist-generated\nhand/** -linguist-generated\n"),
        ("Cargo.lock", "version = 3\n"),
        ("api/schema.ts", "one\n"),
        ("hand/lib.rs", "one\n"),
    ] {
        project.session.write(&format!("project/{path}"), text);
    }
    let look = |path: &str| ("read_file", json!({ "file_path": path }));
    project
        .turn(0, "", &[look("Cargo.lock"), look("api/schema.ts"), look("hand/lib.rs")])
        .writes(0, "Cargo.lock", "version = 4\n")
        .writes(0, "api/schema.ts", "two\n")
        .writes(0, "hand/lib.rs", "two\n")
}

#[test]
fn what_programs_write_is_counted_and_the_reader_has_it() {
    let mut chat = generated().says(0, "All is written.").chat("auto-edit");
    chat.send("begin\r");
    chat.wait_for("✓ write Cargo.lock  +1 -1\n… 2 lines of a lock file (Ctrl-T)\n");
    chat.wait_for("✓ write api/schema.ts  +1 -1\n… 2 lines of a generated file (Ctrl-T)\n");
    chat.wait_for("✓ write hand/lib.rs  +1 -1\n    1 - one\n    1 + two\nAll is written.");
    chat.send("\x14");
    chat.wait_for("    1 - version = 3\n    1 + version = 4\n✓ write api/schema.ts\n");
    chat.send("q");
    chat.wait_for_row(">");
    chat.leave();
}

#[test]
fn a_project_hides_nothing_from_whoever_is_asked() {
    let mut chat = generated().says(0, "Some of it is written.").chat("default");
    chat.send("begin\r");
    chat.wait_for("edit Cargo.lock  +1 -1\n    1 - version = 3\n    1 + version = 4\n");
    chat.answer("n");
    chat.wait_for("edit api/schema.ts  +1 -1\n    1 - one\n    1 + two\n");
    chat.answer("n");
    chat.answer("y");
    chat.wait_for("Some of it is written.");
    chat.leave();
}

#[test]
fn a_file_that_was_moved_or_may_run_now_is_told_of_in_words() {
    let project = project_with_suggestion().variable("HEADSTART_SHADOW", "");
    project.session.write("project/tool.sh", "true\n");
    let mut chat = project
        .shell(0, "mv notes.txt moved.txt; chmod +x tool.sh")
        .says(0, "It is moved.")
        .chat_with_ghost("auto-edit");
    chat.wait_for("ahead ✓ ready · 2 files");
    chat.take();
    chat.wait_for("\nrename  moved.txt from notes.txt\nedit    tool.sh\n");
    chat.wait_for("\nrename moved.txt  from notes.txt\nedit tool.sh  mode 644→755\n");
    chat.wait_for("of this was done ahead · /undo takes it back");
    assert_eq!(chat.read("moved.txt").as_deref(), Some("one\n"));
    chat.leave();
}
