//! The binary as a program of Windows: work ahead, its accept and undo, a chat on a pipe, an editor, and what it refuses
//! there. On Linux it runs in wine: `.ci/windows`.
#![cfg(windows)]
#![expect(clippy::unwrap_used, reason = "the helpers of tests may unwrap as tests do")]

use std::fs;
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};

use serde_json::{Value, json};

/// A user with an empty profile and a project.
struct User {
    folder: tempfile::TempDir,
}

impl User {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        for name in ["profile/AppData/Local", "profile/AppData/Roaming", "project"] {
            fs::create_dir_all(folder.path().join(name)).unwrap();
        }
        fs::write(folder.path().join("project/greeting.txt"), "hello world\n").unwrap();
        Self { folder }
    }

    fn project(&self) -> PathBuf {
        self.folder.path().join("project")
    }

    fn greeting(&self) -> String {
        fs::read_to_string(self.project().join("greeting.txt")).unwrap()
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let profile = self.folder.path().join("profile");
        let mut command = Command::new(env!("CARGO_BIN_EXE_headstart"));
        command.args(arguments).current_dir(self.project());
        command.env("USERPROFILE", &profile).env_remove("HOME");
        command
            .env("LOCALAPPDATA", profile.join("AppData/Local"))
            .env("APPDATA", profile.join("AppData/Roaming"));
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    fn run(&self, arguments: &[&str], input: &str) -> Output {
        let mut child = self.command(arguments).spawn().unwrap();
        // A command that does not read its input makes this fail, which is no failure of the test.
        let _ = child.stdin.take().unwrap().write_all(input.as_bytes());
        child.wait_with_output().unwrap()
    }

    /// The name of a model that plays these turns.
    fn model(&self, turns: &Value) -> String {
        let file = self.folder.path().join("recording.json");
        fs::write(&file, json!({ "turns": turns, "suggestions": ["run the tests"] }).to_string()).unwrap();
        format!("replay:{}", file.display())
    }

    /// Runs `say farewell` ahead, and returns the record that `speculate --json` ends with.
    fn speculate(&self, turns: &Value) -> Value {
        let model = self.model(turns);
        let output =
            self.run(&["speculate", "--json", "--mode", "auto-edit", "--model", &model, "say farewell"], "");
        let told = text(&output.stdout);
        let last = told.lines().last().unwrap_or_else(|| panic!("{}", text(&output.stderr)));
        serde_json::from_str(last).unwrap()
    }
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn call(name: &str, args: &Value) -> Value {
    json!({ "toolCalls": [{ "name": name, "args": args }] })
}

fn farewell() -> Value {
    json!([
        call("read_file", &json!({ "file_path": "greeting.txt" })),
        call("edit", &json!({ "file_path": "greeting.txt", "old_string": "world", "new_string": "moon" })),
        call("write_file", &json!({ "file_path": "src/bye.txt", "content": "bye\n" })),
        { "text": "Done." },
    ])
}

#[test]
fn work_ahead_is_accepted_and_undone() {
    let user = User::new();
    let finished = user.speculate(&farewell());
    assert_eq!(finished["status"], "completed", "{finished}");
    assert_eq!(user.greeting(), "hello world\n", "nothing happens before the accept");
    assert_eq!(fs::read_dir(user.project()).unwrap().count(), 1);
    let id = finished["id"].as_str().unwrap();
    let diff = text(&user.run(&["diff", id], "").stdout);
    assert!(diff.contains("+hello moon") && diff.contains("b/src/bye.txt"), "{diff}");
    let accepted = user.run(&["accept", id], "");
    assert!(accepted.status.success(), "{}", text(&accepted.stderr));
    assert_eq!(user.greeting(), "hello moon\n");
    assert_eq!(fs::read_to_string(user.project().join("src/bye.txt")).unwrap(), "bye\n");
    let undone = user.run(&["undo"], "");
    assert!(undone.status.success(), "{}", text(&undone.stderr));
    assert_eq!(user.greeting(), "hello world\n");
    assert!(!user.project().join("src").exists());
    let local = user.folder.path().join("profile/AppData/Local/headstart");
    assert!(local.join("speculations").is_dir(), "state is where Windows wants it");
}

#[test]
fn an_edit_of_the_users_own_is_kept() {
    let user = User::new();
    let finished = user.speculate(&farewell());
    fs::write(user.project().join("greeting.txt"), "mine\n").unwrap();
    let accepted = user.run(&["accept", finished["id"].as_str().unwrap()], "");
    assert!(!accepted.status.success());
    assert_eq!(user.greeting(), "mine\n");
    assert!(!user.project().join("src").exists());
}

/// Nothing confines a command on Windows, so none runs that nobody was asked about.
#[test]
fn a_command_ahead_is_a_boundary_also_one_that_only_reads() {
    let user = User::new();
    let finished = user.speculate(&json!([call("shell", &json!({ "command": "ls" })), { "text": "Done." }]));
    assert_eq!(finished["status"], "boundary", "{finished}");
    assert!(finished.to_string().contains("nothing on this system confines a command"), "{finished}");
}

/// Each is another name of a file that is closed, or of one outside.
#[test]
fn another_name_of_a_closed_file_opens_nothing() {
    let user = User::new();
    fs::write(user.project().join(".env"), "KEY=very-secret\n").unwrap();
    fs::write(user.folder.path().join("outside.txt"), "very-secret\n").unwrap();
    let outside = user.folder.path().join("outside.txt").display().to_string();
    let names = [
        ".env",
        ".ENV",
        ".env.",
        ".env ",
        ".env::$DATA",
        r".\.env",
        r"..\outside.txt",
        "../outside.txt",
        r"src\..\.env",
        "ENV~1",
        &outside,
        "NUL",
    ];
    for name in names {
        let finished =
            user.speculate(&json!([call("read_file", &json!({ "file_path": name })), { "text": "Done." }]));
        assert!(!finished.to_string().contains("very-secret"), "{name}: {finished}");
        let written = call("write_file", &json!({ "file_path": name, "content": "theirs" }));
        let finished = user.speculate(&json!([written, { "text": "Done." }]));
        let _ = user.run(&["accept", finished["id"].as_str().unwrap()], "");
        assert_eq!(fs::read_to_string(user.project().join(".env")).unwrap(), "KEY=very-secret\n", "{name}");
        assert_eq!(fs::read_to_string(&outside).unwrap(), "very-secret\n", "{name}");
    }
}

#[test]
fn a_chat_on_a_pipe_answers_edits_and_runs_no_command() {
    let user = User::new();
    let turns = json!([
        call("edit", &json!({ "file_path": "greeting.txt", "old_string": "world", "new_string": "moon" })),
        call("shell", &json!({ "command": "rm greeting.txt" })),
        { "text": "All done." },
    ]);
    let model = user.model(&turns);
    let output = user.run(&["chat", "--mode", "auto-edit", "--model", &model], "say farewell\n");
    assert!(text(&output.stdout).contains("All done."), "{}{}", text(&output.stdout), text(&output.stderr));
    assert_eq!(user.greeting(), "hello moon\n");
    let sessions = text(&user.run(&["sessions"], "").stdout);
    assert!(sessions.contains("say farewell"), "{sessions}");
}

#[test]
fn an_editor_is_served() {
    let user = User::new();
    let model = user.model(&farewell());
    let mut child = user.command(&["acp", "--model", &model]).spawn().unwrap();
    let mut to = child.stdin.take().unwrap();
    let mut from = BufReader::new(child.stdout.take().unwrap()).lines();
    let mut ask = |id: u32, method: &str, params: Value| {
        let request = json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params });
        writeln!(to, "{request}").unwrap();
        loop {
            let line: Value = serde_json::from_str(&from.next().unwrap().unwrap()).unwrap();
            if line["method"] == "session/request_permission" {
                let options = line["params"]["options"].as_array().unwrap();
                let once = options.iter().find(|option| option["kind"] == "allow_once").unwrap();
                let outcome = json!({ "outcome": { "outcome": "selected", "optionId": once["optionId"] } });
                writeln!(to, "{}", json!({ "jsonrpc": "2.0", "id": line["id"], "result": outcome })).unwrap();
            }
            if line["id"] == id && line.get("method").is_none() {
                break line["result"].clone();
            }
        }
    };
    ask(1, "initialize", json!({ "protocolVersion": 1 }));
    let session = ask(2, "session/new", json!({ "cwd": user.project(), "mcpServers": [] }));
    let prompt = json!([{ "type": "text", "text": "say farewell" }]);
    let answer = ask(3, "session/prompt", json!({ "sessionId": session["sessionId"], "prompt": prompt }));
    assert_eq!(answer["stopReason"], "end_turn", "{answer}");
    assert_eq!(user.greeting(), "hello moon\n");
    drop(to);
    assert!(child.wait().unwrap().success());
}

#[test]
fn a_hook_allows_nothing_and_refuses_what_is_closed_where_it_is_asked_to() {
    let user = User::new();
    let question = |command: &str| {
        json!({
            "hook_event_name": "PreToolUse",
            "cwd": user.project(),
            "tool_name": "Bash",
            "tool_input": { "command": command },
        })
        .to_string()
    };
    for arguments in [&["hook", "claude-code"][..], &["hook", "claude-code", "--text"]] {
        let output = user.run(arguments, &question("ls"));
        assert_eq!((output.status.code(), text(&output.stdout)), (Some(0), String::new()), "{arguments:?}");
    }
    let refused = user.run(&["hook", "claude-code", "--deny"], &question("cat .env"));
    assert_eq!(refused.status.code(), Some(0));
    assert!(text(&refused.stdout).contains("\"deny\""), "{}", text(&refused.stdout));
    let installed = user.run(&["hook", "claude-code", "--install"], "");
    assert_eq!(installed.status.code(), Some(1));
    assert!(text(&installed.stderr).contains("with --deny"), "{}", text(&installed.stderr));
}

#[test]
fn what_only_linux_has_says_so() {
    let user = User::new();
    for arguments in
        [&["shadow", "run", "--", "ls"][..], &["shadow", "serve"], &["run", "--read-only", "--", "ls"]]
    {
        let output = user.run(arguments, "");
        assert!(!output.status.success(), "{arguments:?}");
        let told = text(&output.stderr) + &text(&output.stdout);
        assert!(!told.contains("panicked") && !told.trim().is_empty(), "{arguments:?}: {told}");
    }
    let doctor = user.run(&["doctor"], "");
    assert!(text(&doctor.stdout).contains("Windows"), "{}", text(&doctor.stdout));
}

/// Models write paths of Windows as people do there; in what is kept and shown, names are separated by `/`.
#[test]
fn a_path_may_have_a_drive_and_backslashes() {
    let user = User::new();
    let greeting = user.project().canonicalize().unwrap().join("greeting.txt");
    let greeting = greeting.to_str().unwrap().trim_start_matches(r"\\?\").to_owned();
    let edit = json!({ "file_path": greeting, "old_string": "world", "new_string": "moon" });
    let write = json!({ "file_path": r"src\deep\bye.txt", "content": "bye\n" });
    let finished = user.speculate(&json!([
        call("read_file", &json!({ "file_path": greeting })),
        call("edit", &edit),
        call("write_file", &write),
        { "text": "Done." },
    ]));
    let paths: Vec<_> =
        finished["changes"].as_array().unwrap().iter().map(|change| &change["path"]).collect();
    assert_eq!(paths, ["greeting.txt", "src/deep/bye.txt"], "{finished}");
}

#[test]
fn a_speculation_that_is_given_up_leaves_nothing() {
    let user = User::new();
    let finished = user.speculate(&farewell());
    let id = finished["id"].as_str().unwrap();
    let aborted = user.run(&["abort", id], "");
    assert!(aborted.status.success(), "{}", text(&aborted.stderr));
    let kept = user.folder.path().join("profile/AppData/Local/headstart/speculations");
    assert_eq!(fs::read_dir(kept).unwrap().count(), 0);
    assert_eq!(text(&user.run(&["list", "--json"], "").stdout), "");
}

#[test]
fn a_turn_asks_about_each_command_and_runs_it_in_bash_only() {
    let user = User::new();
    let model = user.model(&json!([call("shell", &json!({ "command": "ls" })), { "text": "Done." }]));
    let asked = user.run(&["chat", "--model", &model], "look\n");
    assert!(
        text(&asked.stderr).contains("nothing on this system confines a command"),
        "{}",
        text(&asked.stderr)
    );
    assert!(text(&asked.stderr).contains("declined"), "{}", text(&asked.stderr));
    // Nowhere is there a bash that sees the files of this system.
    let mut command = user.command(&["chat", "--mode", "yolo", "--model", &model]);
    command.env("PATH", "");
    for folder in ["ProgramFiles", "ProgramW6432", "ProgramFiles(x86)"] {
        command.env(folder, user.folder.path());
    }
    let mut child = command.spawn().unwrap();
    child.stdin.take().unwrap().write_all(b"look\n").unwrap();
    let told = text(&child.wait_with_output().unwrap().stderr);
    assert!(told.contains("install Git for Windows"), "{told}");
}

#[test]
fn a_hook_that_refuses_is_installed_once_and_taken_out_again() {
    let user = User::new();
    let settings = user.folder.path().join("profile/.claude/settings.json");
    for expected in ["written to", "has it already"] {
        let installed = text(&user.run(&["hook", "claude-code", "--install", "--deny"], "").stdout);
        assert!(installed.contains(expected), "{installed}");
    }
    let written = fs::read_to_string(&settings).unwrap();
    assert_eq!(written.matches("hook claude-code --deny").count(), 1, "{written}");
    let removed = text(&user.run(&["hook", "claude-code", "--uninstall"], "").stdout);
    assert!(removed.contains("taken out of"), "{removed}");
    assert!(!fs::read_to_string(&settings).unwrap().contains("headstart"));
}

/// Outside of a profile, every user of the machine may write to a new folder.
#[test]
fn state_is_kept_only_in_the_profile_of_its_user() {
    let user = User::new();
    let model = user.model(&farewell());
    let elsewhere = user.folder.path().join("elsewhere").display().to_string();
    let output = user.run(&["speculate", "--model", &model, "--state-dir", &elsewhere, "say farewell"], "");
    assert_eq!(output.status.code(), Some(1), "{}", text(&output.stdout));
    assert!(text(&output.stderr).contains("is not in your user folder"), "{}", text(&output.stderr));
}
