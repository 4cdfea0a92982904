//! Holds that build output is made in idle time after work was accepted.

use std::time::{Duration, Instant};

use crate::fixture::project_with_suggestion;
use crate::support::PATIENCE;

#[test]
fn after_an_accept_what_views_begin_with_is_built_of_the_new_files() {
    let project = project_with_suggestion()
        .writes(0, "value.txt", "accepted\n")
        .says(0, "Written.")
        .variable("HEADSTART_SHADOW", "");
    project
        .session
        .write("project/Cargo.toml", "")
        .write("home/.config/headstart/config.toml", "[shadow]\nwarm = ['cp value.txt target/built']\n");
    let mut chat = project.chat_with_ghost("auto-edit");
    chat.wait_for("ready");
    let listed = |session: &crate::support::Session| session.run(&["shadow", "list", "--json"]).stdout;
    assert!(!listed(&chat.project.session).contains("\"type\":\"warm\""));
    chat.take();
    chat.wait_for("Written.");
    let deadline = Instant::now() + PATIENCE;
    while !listed(&chat.project.session).contains("\"type\":\"warm\"") {
        assert!(Instant::now() < deadline, "nothing was built");
        // Builds in idle time give way to everything else, also to a test that asks without a pause.
        std::thread::sleep(Duration::from_millis(200));
    }
    let shown = chat.project.session.run(&["shadow", "run", "--", "cat", "target/built"]);
    assert_eq!(shown.stdout, "accepted\n", "{shown}");
    assert_eq!(chat.read("target/built"), None);
    chat.leave();
}
