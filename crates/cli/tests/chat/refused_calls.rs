//! Holds that nobody is asked about a call that would fail whatever the answer, and that the model learns why.

use serde_json::json;

use crate::fixture::{project, project_with_suggestion};

const NOT_ENCRYPTED: &str = "http://example.org/x: it is not encrypted, and only https is fetched";

#[test]
fn an_address_that_is_never_fetched_is_refused_without_a_question() {
    let url = |url: &str| json!({ "url": url });
    let mut chat = project()
        .calls(0, "fetch_url", url("http://example.org/x"))
        .calls(0, "fetch_url", url("https://example.org/x"))
        .says(0, "It is not fetched.")
        .chat_in("default", 120, 40);
    chat.send("begin\r");
    // The first call is answered, so the model makes the second one, about which the user is asked.
    chat.wait_for(&format!("✗ fetch_url\n  {NOT_ENCRYPTED}"));
    chat.wait_for("  url: https://example.org/x\n  fetch_url opens a connection\n");
    assert_eq!(chat.count("url: http:"), 0, "{}", chat.contents());
    chat.answer("n");
    chat.wait_for("It is not fetched.");
    chat.leave();
}

#[test]
fn work_ahead_goes_on_behind_a_call_that_can_only_fail() {
    let mut chat = project_with_suggestion()
        .calls(0, "fetch_url", json!({ "url": "http://example.org/x" }))
        .says(0, "It is not fetched.")
        .chat_with_ghost_in("default", 120);
    chat.wait_for("ahead ✓ ready · an answer of 4 words");
    chat.take();
    chat.wait_for(NOT_ENCRYPTED);
    chat.wait_for("It is not fetched.");
    assert_eq!(chat.count("run this?"), 0);
    chat.leave();
}
