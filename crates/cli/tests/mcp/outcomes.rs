//! Holds what each tool answers in each kind of outcome.

use serde_json::json;

use super::{answer, call, here, user};

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
fn the_beginning_of_a_long_output_is_whole_characters() {
    let session = user();
    let mut client = here(&session);
    // The limit is inside one of these characters, which have three bytes each.
    session.write("project/long.txt", "€".repeat(30_000));
    let long = answer(&mut client, "run_read_only", json!({ "command": "cat long.txt; cat long.txt >&2" }));
    for stream in ["output", "errors"] {
        assert_eq!(long[stream], "€".repeat(64 * 1024 / 3), "{stream}");
    }
    assert_eq!((&long["truncated"], &long["exitCode"]), (&json!(true), &json!(0)));
    session.write("project/bytes", [b'a', 0xff, b'b']);
    let bytes = answer(&mut client, "run_read_only", json!({ "command": "cat bytes" }));
    assert_eq!((&bytes["output"], bytes.get("truncated")), (&json!("a\u{fffd}b"), None));
}
