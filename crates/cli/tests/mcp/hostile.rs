//! A project that somebody only cloned and opened in an agent with `headstart mcp`, and that tries all it can.

use serde_json::json;

use super::call;
use crate::client::Client;
use crate::support::Session;
use crate::support::hostile::{
    GIT_LOOKS, LOOSENING, SECRET, bounded, for_each_plant, for_each_repository_elsewhere, user,
};

/// Asks for all that a hostile repository has, and returns what the client was told, also on standard error.
fn ask_for_all(session: &Session, commands: &[&str]) -> String {
    let errors = tempfile::NamedTempFile::new().unwrap();
    let workspace = session.workspace();
    let command = session.command(&["mcp", "--workspace", workspace.to_str().unwrap()]);
    let mut client = Client::with_errors(bounded(&command), errors.reopen().unwrap().into());
    let info = json!({ "name": "test", "version": "1" });
    let begin = json!({ "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": info });
    client.request("initialize", begin);
    client.notify("notifications/initialized", json!({}));
    for command in commands {
        call(&mut client, "judge", json!({ "command": command }));
        call(&mut client, "run_read_only", json!({ "command": command, "timeoutSeconds": 2 }));
    }
    call(
        &mut client,
        "try_in_shadow",
        json!({ "command": "git log -1; env; cat AGENTS.md", "timeoutSeconds": 2 }),
    );
    call(&mut client, "search_code", json!({ "query": "the plan" }));
    call(&mut client, "diagnostics", json!({}));
    call(&mut client, "ahead_list", json!({}));
    assert_eq!(client.end(), Some(0));
    let told = client.log.iter().filter(|(own, _)| !own).map(|(_, message)| message.to_string() + "\n");
    told.collect::<String>() + &std::fs::read_to_string(errors.path()).unwrap()
}

#[test]
fn whatever_lies_in_the_place_of_a_file_tells_no_secret_and_hangs_nothing() {
    for_each_plant(|plant, session| {
        let looks = [
            "ls",
            "git status --short",
            "git log -1",
            "grep -r canary .",
            "head -c 99 .headstart/config.toml",
        ];
        let told = ask_for_all(session, &looks);
        assert!(!told.contains(SECRET), "{plant}: {told}");
        assert!(told.len() < 1 << 20, "{plant}: {} bytes", told.len());
    });
}

#[test]
fn a_repository_elsewhere_stays_closed() {
    for_each_repository_elsewhere(|way, session| {
        let told = ask_for_all(session, &GIT_LOOKS);
        assert!(!told.contains(SECRET), "{way}: {told}");
    });
}

#[test]
fn a_line_that_loosens_is_an_error_that_names_the_field_and_repeats_nothing() {
    let session = user();
    for (line, field) in LOOSENING {
        session.write("project/.headstart/config.toml", line);
        let told = ask_for_all(&session, &["ls"]);
        assert!(told.contains(field) && told.contains("\"isError\":true"), "{line}: {told}");
        assert!(!told.contains("canary"), "{line}: {told}");
    }
}

#[cfg(feature = "mcp")]
#[test]
fn a_projects_servers_are_not_started() {
    let session = user();
    let line = "model = 'ollama:theirs'\n[mcp.t]\ncommand = ['sh', '-c', 'touch owned']\n";
    session.write("project/.headstart/config.toml", line);
    ask_for_all(&session, &["ls", "touch owned"]);
    assert!(!session.workspace().join("owned").exists());
}
