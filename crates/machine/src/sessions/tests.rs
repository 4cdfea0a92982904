use std::fs;

use super::*;

const HEADER: &str =
    "{\"type\":\"session\",\"version\":1,\"id\":\"ID\",\"title\":\"TITLE\",\"model\":\"m\",\"created\":1}\n";

#[test]
fn no_secret_is_kept_and_what_the_model_wants_back_is() {
    let state = tempfile::tempdir().unwrap();
    let sessions = Sessions::of(state.path(), "/project");
    let key = "sk-ant-api03-abcdefghijklmnopqrstuvwxyz0123456789";
    let open = sessions.begin("abc", Scrubber::with_values(["hidden-value".to_owned()]));
    open.write(&HEADER.replace("TITLE", "use hidden-value")).unwrap();
    let opaque = serde_json::json!({ "type": "opaque", "wire": "w", "model": "m", "value": key });
    let said = serde_json::json!({ "type": "text", "text": format!("hidden-value, {key}") });
    let message =
        serde_json::json!({ "type": "message", "message": { "role": "model", "parts": [opaque, said] } });
    open.write(&format!("{message}\n")).unwrap();
    let text = fs::read_to_string(sessions.store.folder().join("abc.jsonl")).unwrap();
    assert!(!text.contains("hidden-value"), "{text}");
    assert_eq!(text.matches(key).count(), 1, "{text}");
    assert!(text.contains(&opaque.to_string()), "{text}");
}
