//! Holds that if the user saves files while work runs ahead, no later command of the work and no check says anything
//! about the old files.

use std::fs;
use std::path::Path;

use serde_json::json;

use super::shadow::{events, session};
use crate::support::server::{ScriptedResponse, Server, calls, says};
use crate::support::{Outcome, Session};

/// A command that prints what it finds in the workspace. It also writes, so that it runs in a view.
const LOOK: &str = "bash -c 'cat a.txt b.txt c.txt link d/e.txt 2>/dev/null; ls -A . d; test -x a.txt && echo may run; echo x > made.txt'";

/// A name, and something that the user does in a workspace.
type UserEdit = (&'static str, fn(&Path));

/// The ways in which editors, shells and git change a file.
const DEEDS: [UserEdit; 9] = [
    ("saved by rename", |at| save_by_rename(at, "a.txt", "saved\n")),
    ("saved in place", |at| fs::write(at.join("a.txt"), "saved\n").unwrap()),
    ("removed", |at| fs::remove_file(at.join("b.txt")).unwrap()),
    ("created", |at| fs::write(at.join("c.txt"), "created\n").unwrap()),
    ("saved by rename in a folder", |at| save_by_rename(at, "d/e.txt", "saved\n")),
    ("a folder in place of another", |at| {
        fs::rename(at.join("d"), at.join("was")).unwrap();
        fs::create_dir(at.join("d")).unwrap();
        fs::write(at.join("d/e.txt"), "another\n").unwrap();
    }),
    ("a link that leads elsewhere", |at| {
        fs::remove_file(at.join("link")).unwrap();
        std::os::unix::fs::symlink("b.txt", at.join("link")).unwrap();
    }),
    ("made executable", |at| {
        let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
        fs::set_permissions(at.join("a.txt"), mode).unwrap();
    }),
    ("put back with its old times", |at| {
        let old = fs::metadata(at.join("a.txt")).unwrap().modified().unwrap();
        save_by_rename(at, "a.txt", "saved\n");
        fs::File::options().write(true).open(at.join("a.txt")).unwrap().set_modified(old).unwrap();
    }),
];

fn save_by_rename(at: &Path, name: &str, text: &str) {
    fs::write(at.join(".saving"), text).unwrap();
    fs::rename(at.join(".saving"), at.join(name)).unwrap();
}

fn project() -> Session {
    let session = session().variable("OPENAI_API_KEY", "sk-of-no-use");
    session
        .write("project/a.txt", "before\n")
        .write("project/b.txt", "b\n")
        .write("project/d/e.txt", "e\n")
        .write("project/sample.txt", "sample\n");
    std::os::unix::fs::symlink("a.txt", session.workspace().join("link")).unwrap();
    session
}

/// What the command finds on disk, with the name of `made.txt`, which the work has staged.
fn on_disk(session: &Session) -> String {
    let line =
        LOOK.replace("echo x > made.txt", "true").replace("ls -A . d", "{ ls -A . d; echo made.txt; }");
    let ran =
        std::process::Command::new("bash").args(["-c", &line]).current_dir(session.workspace()).output();
    sorted(&String::from_utf8(ran.unwrap().stdout).unwrap())
}

fn sorted(text: &str) -> String {
    let mut lines: Vec<&str> = text.lines().filter(|line| !line.starts_with("[changed: ")).collect();
    lines.sort_unstable();
    lines.join("\n")
}

/// Runs work during which the user does something before the model's second of two answers.
fn run_with_user_edit(session: &Session, deed: fn(&Path), second: Option<&'static str>) -> (Outcome, String) {
    work_of(session, LOOK, deed, second)
}

fn work_of(
    session: &Session,
    first: &'static str,
    deed: fn(&Path),
    second: Option<&'static str>,
) -> (Outcome, String) {
    let workspace = session.workspace();
    let server = Server::answering(move |request| -> ScriptedResponse {
        let shell = |line: &str| calls(&[("shell", json!({ "command": line }))]);
        let said = request.json();
        let results = said["messages"]
            .as_array()
            .map_or(0, |messages| messages.iter().filter(|message| message["role"] == "tool").count());
        match (results, second) {
            (0, _) => shell(first),
            (1, second) => {
                deed(&workspace);
                second.map_or_else(|| says("Done."), shell)
            }
            _ => says("Done."),
        }
    });
    let outcome = session.run(&server.speculation("openai:test", &["look twice"]));
    let id = outcome.finished()["id"].as_str().unwrap().to_owned();
    (outcome, id)
}

fn results(outcome: &Outcome) -> Vec<String> {
    let results = events(outcome, "toolResult");
    results.iter().map(|result| result["result"]["output"].as_str().unwrap_or_default().to_owned()).collect()
}

#[test]
fn the_second_command_of_work_sees_what_its_user_saved_after_the_first() {
    for (name, deed) in DEEDS {
        let session = project();
        let before = on_disk(&session);
        let (outcome, _) = run_with_user_edit(&session, deed, Some(LOOK));
        assert_eq!(outcome.finished()["status"], "completed", "{name}: {outcome}");
        let tool_results = results(&outcome);
        assert_eq!(tool_results.len(), 2, "{name}: {outcome}");
        assert_eq!(sorted(&tool_results[0]), before.replace("made.txt\n", ""), "{name}: {outcome}");
        assert_eq!(sorted(&tool_results[1]), on_disk(&session), "{name}: {outcome}");
    }
}

#[test]
fn what_it_saved_before_the_first_command_is_seen_by_that() {
    let session = project();
    let (outcome, _) = work_of(&session, "true", |at| save_by_rename(at, "a.txt", "saved\n"), Some(LOOK));
    assert_eq!(sorted(&results(&outcome)[1]), on_disk(&session).replace("made.txt\n", ""), "{outcome}");
}

/// Without this, the work would say that its check passes, although the text that it checked was replaced.
#[test]
fn the_check_of_the_project_sees_what_its_user_saved_after_the_last_command() {
    for (name, deed, passes) in [
        ("it would fail by now", (|at| save_by_rename(at, "a.txt", "broken\n")) as fn(&Path), false),
        ("it would fail by now, in place", |at| fs::write(at.join("a.txt"), "broken\n").unwrap(), false),
        ("what it needs is gone", |at| fs::remove_file(at.join("b.txt")).unwrap(), false),
        ("what it does not bear has come", |at| fs::write(at.join("c.txt"), "c").unwrap(), false),
        ("nothing that it looks at", |at| save_by_rename(at, "sample.txt", "saved\n"), true),
    ] {
        let session = project();
        session.write("project/check.sh", "grep -q before a.txt && test -e b.txt && ! test -e c.txt\n");
        session.write("home/.config/headstart/config.toml", "[shadow]\ncheck = 'bash check.sh'\n");
        let first = "bash check.sh && bash -c 'echo x > made.txt'";
        let (outcome, _) = work_of(&session, first, deed, None);
        let checked = events(&outcome, "checked");
        assert_eq!(
            checked.first().map(|line| line["passed"].clone()),
            Some(json!(passes)),
            "{name}: {outcome}"
        );
    }
}

#[test]
fn what_is_staged_is_shown_again_and_is_a_conflict_where_its_user_saved_the_same_file() {
    let session = project();
    let first = "bash -c 'echo ahead > a.txt; echo new > new.txt; rm b.txt'";
    let second = "bash -c 'cat a.txt new.txt; ls; echo more >> a.txt'";
    let (outcome, id) = work_of(&session, first, |at| save_by_rename(at, "a.txt", "saved\n"), Some(second));
    assert_eq!(outcome.finished()["status"], "completed", "{outcome}");
    let tool_results = &results(&outcome)[1];
    assert!(tool_results.starts_with("ahead\nnew\na.txt\nd\nlink\nnew.txt\nsample.txt\n"), "{outcome}");
    let refused = session.run(&["accept", &id, "--json"]);
    assert_eq!(refused.code, Some(4), "{refused}");
    assert_eq!(refused.json().pop().unwrap()["conflicts"][0]["path"], "a.txt", "{refused}");
    assert_eq!(session.text("a.txt").as_deref(), Some("saved\n"));
}

#[test]
fn the_model_is_told_what_a_new_view_lacks() {
    let session = project();
    session.write("project/.gitignore", "out\n");
    let first = "bash -c 'echo built > out/file'";
    let second = "bash -c 'cat out/file; echo x > made.txt'";
    for (deed, lost) in [
        ((|at| save_by_rename(at, "a.txt", "saved\n")) as fn(&Path), true),
        // Files that git ignores are not compared.
        (|at| fs::create_dir_all(at.join("out/of/its/user")).unwrap(), false),
        (|_| {}, false),
    ] {
        fs::create_dir_all(session.workspace().join("out")).unwrap();
        let (outcome, _) = work_of(&session, first, deed, Some(second));
        let tool_results = &results(&outcome)[1];
        assert_eq!(tool_results.contains("without what earlier commands left in out"), lost, "{outcome}");
        assert_eq!(tool_results.contains("built"), !lost, "{outcome}");
    }
}

#[test]
fn git_in_a_view_sees_the_commits_of_its_user_and_those_of_the_work() {
    let log = "bash -c 'git log --format=%s; echo x > made.txt'";
    let ahead = "bash -c 'git commit -qam ahead --allow-empty && git log --format=%s'";
    for (name, first, deed, seen) in [
        ("theirs", log, commit as fn(&Path), "theirs\nfirst"),
        ("the work's", ahead, |at| save_by_rename(at, "sample.txt", "saved\n"), "ahead\nfirst"),
    ] {
        let session = project();
        session.make_repository(&["init", "-q"]);
        let (outcome, _) = work_of(&session, first, deed, Some(log));
        let tool_results = results(&outcome);
        assert!(tool_results.len() == 2 && tool_results[1].starts_with(seen), "{name}: {outcome}");
    }
}

/// Makes a commit of the user in the workspace.
fn commit(at: &Path) {
    let mut git = std::process::Command::new("git");
    git.args(["commit", "-q", "--allow-empty", "-m", "theirs"]).current_dir(at);
    git.env("HOME", at.with_file_name("home")).env("GIT_CONFIG_NOSYSTEM", "1").env_remove("XDG_CONFIG_HOME");
    assert!(git.status().unwrap().success());
}
