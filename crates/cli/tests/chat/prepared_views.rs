//! Holds that the processes of a view are started before a command of work ahead needs them, and end with the chat.

use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use crate::fixture::project_with_suggestion;
use crate::support::PATIENCE;

const LINE: &str = "sleep 2; echo made > made.txt";
/// The first process of each view that this process has started.
fn views_of(process: u32) -> Vec<u64> {
    let tasks = fs::read_dir(format!("/proc/{process}/task")).into_iter().flatten().flatten();
    let children = tasks.map(|task| fs::read_to_string(task.path().join("children")).unwrap_or_default());
    let children: Vec<u64> = children.collect::<String>().split_whitespace().flat_map(str::parse).collect();
    let is_view = |child: &u64| {
        fs::read(format!("/proc/{child}/cmdline")).is_ok_and(|words| words.ends_with(b"\0__shadow\0"))
    };
    children.into_iter().filter(is_view).collect()
}

fn wait_until<T>(what: &str, found: impl Fn() -> Option<T>) -> T {
    let deadline = Instant::now() + PATIENCE;
    loop {
        if let Some(found) = found() {
            return found;
        }
        assert!(Instant::now() < deadline, "{what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn the_view_of_the_first_command_was_prepared_and_the_next_one_is() {
    let project =
        project_with_suggestion().shell(1_500, LINE).says(0, "Made.").variable("HEADSTART_SHADOW", "");
    let chat = project.chat_with_ghost("auto-edit");
    let process = chat.process_id();
    let prepared = wait_until("nothing is prepared", || views_of(process).pop());
    let views = || {
        let listed = chat.project.session.run(&["shadow", "list", "--json"]).json();
        listed.into_iter().find(|row| row["type"] == "view" && row["running"] == true)
    };
    assert_eq!(views(), None, "no command runs yet");
    wait_until("no view is listed", views);
    let child = |process: u64| -> Option<u64> {
        let children = fs::read_to_string(format!("/proc/{process}/task/{process}/children")).ok()?;
        children.trim().parse().ok()
    };
    // The process that becomes the command has another command line at first.
    wait_until("the prepared view does not run the command", || {
        let runs = fs::read(format!("/proc/{}/cmdline", child(child(prepared)?)?)).ok()?;
        String::from_utf8_lossy(&runs).contains(LINE).then_some(())
    });
    chat.wait_for("ready");
    let next =
        wait_until("no other is prepared", || views_of(process).into_iter().find(|next| *next != prepared));
    assert_eq!(chat.project.read("made.txt"), None);
    chat.leave();
    for process in [prepared, next] {
        wait_until("it is left", || (!Path::new(&format!("/proc/{process}")).exists()).then_some(()));
    }
}
