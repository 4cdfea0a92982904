use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use headstart_overlay_fs::WorkspacePath;
use headstart_tool_gate::{ConditionalCommand, DenyRules, Hardened};
use headstart_toolbox::{
    CommandEnvironment, CommandOutput, CommandRequest, CommandRunner, PartialOutput, SecretAccess, ToolError,
};
use serde_json::{Value, json};

use super::BashRunner;
use crate::bounded_output::BoundedOutput;

fn request(command: &str) -> CommandRequest {
    CommandRequest {
        command: ConditionalCommand::approved(command),
        directory: WorkspacePath::root(),
        environment: CommandEnvironment::Clean,
        secrets: SecretAccess::Closed,
        deny: DenyRules::default(),
        time_limit: Duration::from_secs(20),
        output_limit: 10_000,
    }
}

/// The request for a command that the gate allowed in this form.
fn hardened(command: &str, form: Value) -> CommandRequest {
    let form: Hardened = serde_json::from_value(form).unwrap();
    CommandRequest { command: ConditionalCommand::allowed(command, Some(&form)), ..request(command) }
}

fn environment(root: &Path) -> BTreeMap<OsString, OsString> {
    let path = format!("relative:{0}:{0}/bin::/opt/users/bin:/usr/bin", root.display());
    let lines = [
        ("PATH", path.as_str()),
        ("HOME", "/home/ada"),
        ("LANG", "C.UTF-8"),
        ("LC_TIME", "de_DE"),
        ("SECRET_TOKEN", "hush"),
        ("GIT_EXTERNAL_DIFF", "evil"),
        ("LESSOPEN", "|evil"),
        ("BASH_FUNC_ls%%", "() { echo evil; }"),
        ("PAGER", "less"),
    ];
    lines.into_iter().map(|(name, value)| (name.into(), value.into())).collect()
}

async fn run(root: &Path, request: CommandRequest) -> Result<CommandOutput, ToolError> {
    BashRunner::with_environment(root.to_owned(), environment(root)).run(request).await
}

/// Whether a process runs; a zombie does not.
fn is_running(pid: &str) -> bool {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.rsplit(')').next().is_some_and(|rest| !rest.is_empty() && !rest.starts_with(" Z"))
}

async fn ends(pid: &str) -> bool {
    for _ in 0..100 {
        if !is_running(pid) {
            return true;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    false
}

async fn written(file: &Path) -> String {
    for _ in 0..200 {
        match fs::read_to_string(file) {
            Ok(text) if text.ends_with('\n') => return text.trim().to_owned(),
            _ => tokio::time::sleep(Duration::from_millis(20)).await,
        }
    }
    panic!("{} was not written", file.display());
}

#[tokio::test]
async fn output_comes_in_order_with_the_exit_code() {
    let root = tempfile::tempdir().unwrap();
    let done = run(root.path(), request("echo one; echo two >&2; echo three; exit 3")).await.unwrap();
    assert_eq!(done.output, "one\ntwo\nthree\n");
    assert_eq!((done.exit_code, done.timed_out, done.truncated), (Some(3), false, false));
}

#[tokio::test]
async fn standard_input_is_empty() {
    let root = tempfile::tempdir().unwrap();
    let done = run(root.path(), request("cat; echo end")).await.unwrap();
    assert_eq!(done.output, "end\n");
}

#[tokio::test]
async fn a_clean_environment_holds_nothing_that_chooses_a_program() {
    let root = tempfile::tempdir().unwrap();
    let request =
        hardened("/usr/bin/env | LC_ALL=C sort", json!({ "environment": { "GIT_OPTIONAL_LOCKS": "0" } }));
    let done = run(root.path(), request).await.unwrap();
    let lines: Vec<&str> = done.output.lines().collect();
    let pwd = format!("PWD={}", root.path().canonicalize().unwrap().display());
    let expected = [
        "GIT_OPTIONAL_LOCKS=0",
        "GIT_PAGER=cat",
        "GIT_TERMINAL_PROMPT=0",
        "HOME=/home/ada",
        "LANG=C.UTF-8",
        "LC_ALL=C.UTF-8",
        "PAGER=cat",
        "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin:/opt/users/bin",
        &pwd,
        "SHLVL=1",
        "TERM=dumb",
        "_=/usr/bin/env",
    ];
    assert_eq!(lines, expected);
}

#[tokio::test]
async fn what_git_needs_is_looked_at_before_a_command_runs() {
    let root = tempfile::tempdir().unwrap();
    fs::create_dir_all(root.path().join(".git/info")).unwrap();
    fs::write(root.path().join(".git/info/attributes"), "* filter=x").unwrap();
    assert_eq!(run(root.path(), request("echo ran")).await.unwrap().output, "ran\n");
    let git = json!({ "version": [2, 0], "folders": ["."], "hides": ["info/attributes"] });
    let needs = hardened("echo ran", json!({ "environment": {}, "git": git }));
    let refused = run(root.path(), needs).await.unwrap_err().to_string();
    assert!(refused.contains(".git/info/attributes may name programs"), "{refused}");
}

#[tokio::test]
async fn an_approved_command_has_the_users_environment() {
    let root = tempfile::tempdir().unwrap();
    let mut request = request("echo $SECRET_TOKEN $PAGER");
    request.environment = CommandEnvironment::User;
    assert_eq!(run(root.path(), request).await.unwrap().output, "hush cat\n");
}

#[tokio::test]
async fn start_up_files_are_not_read() {
    let root = tempfile::tempdir().unwrap();
    fs::write(root.path().join("startup"), "echo startup").unwrap();
    let mut users = environment(root.path());
    users.insert("BASH_ENV".into(), root.path().join("startup").into());
    let runner = BashRunner::with_environment(root.path().to_owned(), users);
    assert_eq!(runner.run(request("echo command")).await.unwrap().output, "command\n");
}

#[tokio::test]
async fn the_directory_must_be_on_disk_and_inside() {
    let root = tempfile::tempdir().unwrap();
    fs::create_dir(root.path().join("sub")).unwrap();
    fs::write(root.path().join("file"), "").unwrap();
    std::os::unix::fs::symlink("/", root.path().join("out")).unwrap();
    let cases = [
        ("sub", Ok("sub\n")),
        ("staged", Err("staged is not on disk, and a command cannot run in it")),
        ("file", Err("file is not a directory, and a command cannot run in it")),
        ("out", Err("out leads out of the workspace, and a command cannot run in it")),
    ];
    for (directory, expected) in cases {
        let mut request = request("basename $PWD");
        request.directory = WorkspacePath::parse(directory).unwrap();
        let done = run(root.path(), request).await;
        let result = done.map(|done| done.output).map_err(|error| error.to_string());
        assert_eq!(result.as_deref().map_err(String::as_str), expected, "{directory}");
    }
}

#[tokio::test]
async fn the_time_limit_ends_the_whole_group() {
    let root = tempfile::tempdir().unwrap();
    let mut request = request("sleep 60 & echo $! > pid; echo started; wait");
    request.time_limit = Duration::from_secs(4);
    let began = Instant::now();
    let done = run(root.path(), request).await.unwrap();
    assert!(began.elapsed() < Duration::from_secs(50));
    assert_eq!(done.output, "started\n");
    assert_eq!((done.exit_code, done.timed_out), (None, true));
    assert!(ends(&written(&root.path().join("pid")).await).await);
}

#[tokio::test]
async fn dropping_the_future_ends_the_grandchild() {
    let root = tempfile::tempdir().unwrap();
    let file = root.path().join("pid");
    let command = request("(sleep 60 & echo $! > pid; wait) & wait");
    let path = root.path().to_owned();
    let running = tokio::spawn(async move { run(&path, command).await });
    let pid = written(&file).await;
    assert!(is_running(&pid));
    running.abort();
    assert!(ends(&pid).await);
}

#[tokio::test]
async fn what_stays_in_the_background_ends_with_the_command() {
    let root = tempfile::tempdir().unwrap();
    let began = Instant::now();
    let done = run(root.path(), request("sleep 60 & echo $!")).await.unwrap();
    assert!(began.elapsed() < Duration::from_secs(50));
    assert_eq!(done.exit_code, Some(0));
    assert!(ends(done.output.trim()).await);
}

#[tokio::test]
async fn an_endless_output_is_read_on_and_kept_in_part() {
    let root = tempfile::tempdir().unwrap();
    let mut request = request("echo first; yes | head -c 5000000; echo last; exit 7");
    request.output_limit = 100;
    let done = run(root.path(), request).await.unwrap();
    assert_eq!((done.exit_code, done.truncated), (Some(7), true));
    assert!(done.output.starts_with("first\ny\n") && done.output.ends_with("y\nlast\n"), "{}", done.output);
    assert!(done.output.contains("[… 4999911 bytes left out …]"), "{}", done.output);
}

#[tokio::test]
async fn bytes_that_are_no_text_do_not_stop_it() {
    let root = tempfile::tempdir().unwrap();
    let done = run(root.path(), request(r"printf 'a\377b\n'")).await.unwrap();
    assert_eq!(done.output, "a\u{fffd}b\n");
}

#[tokio::test]
async fn a_signal_leaves_no_exit_code() {
    let root = tempfile::tempdir().unwrap();
    let done = run(root.path(), request("kill -TERM $$")).await.unwrap();
    assert_eq!((done.exit_code, done.timed_out), (None, false));
}

#[test]
fn the_same_bytes_are_kept_however_they_arrive() {
    let text: Vec<u8> = "0123456789äöü€".repeat(20).into_bytes();
    let whole = |limit| {
        let mut output = BoundedOutput::new(limit);
        output.push(&text);
        output.finish()
    };
    for limit in [0, 1, 2, 7, 22, 34, 50, 51, 400, 1_000] {
        for size in [1, 3, 64] {
            let mut output = BoundedOutput::new(limit);
            text.chunks(size).for_each(|chunk| output.push(chunk));
            assert_eq!(output.finish(), whole(limit), "limit {limit}, chunks of {size}");
        }
        assert!(!whole(limit).0.contains('\u{fffd}'), "limit {limit}");
        assert_eq!(whole(limit).1, limit < text.len());
    }
}

/// Collects the output of a command as it was reported.
#[derive(Default)]
struct RecordedOutput(std::sync::Mutex<Vec<String>>);

impl PartialOutput for RecordedOutput {
    fn on_output(&self, end: &str) {
        self.0.lock().unwrap().push(end.to_owned());
    }
}

#[tokio::test]
async fn what_is_printed_is_told_while_the_command_runs_but_not_too_often() {
    let root = tempfile::tempdir().unwrap();
    let recorded = RecordedOutput::default();
    let runner = BashRunner::with_environment(root.path().to_owned(), environment(root.path()));
    let command =
        "echo first; sleep 0.4; for i in {1..50}; do echo line $i; sleep 0.005; done; yes ä | head -c 100000";
    let begun = Instant::now();
    let done = runner.run_streaming(request(command), &recorded).await.unwrap();
    let recorded = recorded.0.into_inner().unwrap();
    assert_eq!(recorded[0], "first\n", "at once");
    assert!(
        3 <= recorded.len() && recorded.len() <= 2 + (begun.elapsed().as_millis() / 100) as usize,
        "{}",
        recorded.len()
    );
    assert!(recorded.iter().all(|end| end.len() <= 4 * 1024 && !end.contains('\u{fffd}')), "{recorded:?}");
    assert!(done.output.starts_with("first\nline 1\n") && done.exit_code == Some(0));
}
