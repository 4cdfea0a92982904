//! Holds that rules which a user writes down while a session is open count from then on.

use serde_json::json;

use super::User;
use crate::client::Client;

const CONFIG: &str = "home/.config/headstart/config.toml";

/// What the client was told since its log had this length.
fn since(client: &Client, length: usize) -> String {
    client.log[length..].iter().map(|(_, message)| message.to_string()).collect()
}

#[test]
fn a_rule_that_is_written_down_counts_for_the_next_call() {
    let read = |user: User| {
        let user = user.calls("read_file", json!({ "file_path": "plan.txt" }));
        user.calls("shell", json!({ "command": "cat plan.txt" })).says("Read.")
    };
    let mut user = User::new();
    for _ in 0..4 {
        user = read(user);
    }
    user.session.write(CONFIG, "suggestions = false\n").write("project/plan.txt", "the-plan-4711\n");
    let mut client = user.client("auto-edit");
    let session = client.open(&user.session);
    let mut said = |text: &str| {
        let before = client.log.len();
        client.said(&session, "read it");
        user.session.write(CONFIG, text);
        since(&client, before)
    };
    let told = said("suggestions = false\ndeny = ['plan.txt']\n");
    assert!(told.contains("the-plan-4711"), "{told}");
    // What an editor saves half counts for nothing, and is told.
    let told = said("deny = [");
    assert!(!told.contains("the-plan-4711") && told.contains("now count from here on"), "{told}");
    let told = said("");
    assert!(!told.contains("the-plan-4711") && told.contains("does not count"), "{told}");
    let told = said("");
    assert!(!told.contains("the-plan-4711"), "what loosens counts from the next start on: {told}");
}
