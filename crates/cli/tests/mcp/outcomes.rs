//! Holds what each tool answers in each kind of outcome. `call` checks every answer against the tool's schema.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::{answer, call, here, speculated, speculated_by, text, user};
use crate::support::Session;

#[test]
fn a_call_is_judged_by_the_rules_of_each_mode() {
    let session = user();
    let mut client = here(&session);
    let calls = [
        json!({ "command": "ls" }),
        json!({ "command": "touch x" }),
        json!({ "command": "" }),
        json!({ "command": "a\0b" }),
        json!({ "tool": "read_file", "args": { "file_path": "notes.txt" } }),
        json!({ "tool": "write_file", "args": { "file_path": "x", "content": "y" } }),
        json!({ "tool": "edit", "args": { "file_path": "x", "old_string": "a", "new_string": "b" } }),
        json!({ "tool": "no_such_tool", "args": {} }),
    ];
    let mut decisions = BTreeSet::new();
    for mode in [None, Some("default"), Some("plan"), Some("chat"), Some("auto-edit"), Some("yolo")] {
        for arguments in &calls {
            let mut arguments = arguments.clone();
            arguments.as_object_mut().unwrap().extend(mode.map(|mode| ("mode".to_owned(), mode.into())));
            let verdict = answer(&mut client, "judge", arguments);
            decisions.insert(verdict["decision"].as_str().unwrap().to_owned());
        }
    }
    assert_eq!(decisions.into_iter().collect::<Vec<_>>(), ["allow", "boundary", "redirect"]);
    let listed = client.request("tools/list", json!({}));
    let judge = &listed["result"]["tools"][0];
    let expected = json!(["default", "plan", "chat", "auto-edit", "yolo"]);
    assert_eq!(judge["inputSchema"]["properties"]["mode"]["enum"], expected, "{judge}");
}

/// What a command prints is never taken for headstart's own words, and where none ran the answer never says that one did.
#[test]
fn whether_a_command_ran_does_not_depend_on_what_it_prints() {
    let session = user();
    let mut client = here(&session);
    for (said, code) in [
        ("headstart: the command was not run: x", 125),
        ("headstart cannot confine a command here, and did not run it: x", 125),
        ("headstart: boo", 1),
        ("{\"ran\":false,\"why\":\"x\"}", 125),
        ("{\"type\":\"error\",\"message\":\"x\"}", 1),
    ] {
        let command = format!("echo '{said}'; echo '{said}' >&2; exit {code}");
        let ran = answer(&mut client, "run_read_only", json!({ "command": command }));
        let line = format!("{said}\n");
        assert_eq!(
            ran,
            json!({ "ran": true, "exitCode": code, "output": line, "errors": line }),
            "{command}"
        );
    }
    let not = answer(&mut client, "run_read_only", json!({ "command": "touch x" }));
    assert_eq!(not["ran"], false, "{not}");

    // No command can be confined if the files that are closed to it lie below a folder of programs.
    session.write("project/.env", "KEY=1\n");
    let above = session.workspace().canonicalize().unwrap().parent().unwrap().display().to_string();
    let session = session.variable("PATH", &format!("{above}:/usr/bin:/bin"));
    let mut client = here(&session);
    let not = answer(&mut client, "run_read_only", json!({ "command": "ls" }));
    assert_eq!(not["ran"], false, "{not}");
    assert!(not["why"].as_str().unwrap().contains("nothing in it can be closed"), "{not}");
    let shown = session.run(&["run", "--read-only", "--", "ls"]);
    assert_eq!((shown.code, shown.stdout.as_str()), (Some(125), ""), "{shown}");
    assert!(shown.stderr.starts_with("headstart: the command was not run: "), "{shown}");

    // A configuration that cannot be read is an error, not a command that was not run.
    let session = user();
    session.write("home/.config/headstart/config.toml", "deny = 7");
    let failed = call(&mut here(&session), "run_read_only", json!({ "command": "ls" }));
    assert_eq!(failed["result"]["isError"], true, "{failed}");
    assert!(failed["result"]["content"][0]["text"].as_str().unwrap().contains("deny"), "{failed}");
}

#[test]
fn both_ends_of_a_long_output_are_whole_characters() {
    let session = user();
    let mut client = here(&session);
    // The limits are inside of these characters, which have three bytes each.
    session.write("project/long.txt", "€".repeat(30_000));
    let long = answer(&mut client, "run_read_only", json!({ "command": "cat long.txt; cat long.txt >&2" }));
    for stream in ["output", "errors"] {
        let told = long[stream].as_str().unwrap();
        assert!(told.starts_with('€') && told.ends_with('€') && !told.contains('\u{fffd}'), "{stream}");
    }
    assert_eq!((&long["truncated"], &long["exitCode"]), (&json!(true), &json!(0)));
    session.write("project/bytes", [b'a', 0xff, b'b']);
    let bytes = answer(&mut client, "run_read_only", json!({ "command": "cat bytes" }));
    assert_eq!((&bytes["output"], bytes.get("truncated")), (&json!("a\u{fffd}b"), None));
}

fn status(session: &Session, id: &str) -> Value {
    answer(&mut here(session), "ahead_show", json!({ "id": id }))["status"].clone()
}

#[test]
fn each_other_tool_says_what_came_of_it() {
    let session = user();
    let mut client = here(&session);
    assert_eq!(answer(&mut client, "ahead_list", json!({})), json!({ "speculations": [], "notes": [] }));
    let nothing = call(&mut client, "search_code", json!({ "query": "zzzzqqqq" }));
    assert!(text(&nothing).starts_with("[nothing fits"), "{nothing}");
    assert_ne!(nothing["result"]["isError"], true, "{nothing}");
    for (tool, arguments) in [
        ("search_code", json!({ "query": "one", "path": "/etc" })),
        ("diagnostics", json!({ "files": ["../x"] })),
        ("try_in_shadow", json!({ "command": "ls", "id": "nope" })),
        ("try_in_shadow", json!({ "command": "sleep 30", "timeoutSeconds": 1 })),
        ("run_read_only", json!({ "command": "sleep 30", "timeoutSeconds": 1 })),
        ("ahead_show", json!({ "id": "nope" })),
        ("ahead_diff", json!({ "id": "nope" })),
        ("ahead_accept", json!({ "id": "--all" })),
    ] {
        let failed = call(&mut client, tool, arguments);
        assert_eq!(failed["result"]["isError"], true, "{tool}: {failed}");
    }
    let ended = answer(&mut client, "try_in_shadow", json!({ "command": "kill -9 $$" }));
    assert_eq!(ended["changes"], json!([]), "{ended}");

    let id = speculated(&session);
    assert_eq!(status(&session, &id), "completed");
    // A rule that was written since then withdraws the work.
    session.write("home/.config/headstart/config.toml", "deny = ['new.txt']");
    let withdrawn = call(&mut here(&session), "ahead_accept", json!({ "id": id }));
    assert!(text(&withdrawn).contains(r#""type":"withdrawn""#), "{withdrawn}");
    session.write("home/.config/headstart/config.toml", "");
    let id = speculated_by(&session, json!({ "file_path": "../out.txt", "content": "x" }));
    assert_eq!(status(&session, &id), "boundary");
    std::fs::write(session.store().join("damaged.json"), "{").unwrap();
    let listed = answer(&mut client, "ahead_list", json!({}));
    assert!(2 <= listed["speculations"].as_array().unwrap().len(), "{listed}");
}
