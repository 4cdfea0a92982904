//! Holds that commits can be made ahead, by the user's own git in views of a real repository: before the accept nothing
//! of them exists, and after it all of them do.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use headstart_git_ahead::Git;
use serde_json::{Value, json};

use crate::support::project::call;
use crate::support::{Outcome, Session};

/// A repository with one commit on main. The user's name is in the user's own git settings.
fn repository() -> Session {
    repository_of(&["init", "-q", "-b", "main"])
}

fn repository_of(init: &[&str]) -> Session {
    let session = Session::new().variable("HEADSTART_SHADOW", "");
    session.write("project/greeting.txt", "hello\n").write("project/notes.txt", "one\n");
    session.make_repository(init);
    session
}

fn shell(command: &str) -> Value {
    call("shell", &json!({ "command": command }))
}

fn writes(path: &str, content: &str) -> Value {
    call("write_file", &json!({ "file_path": path, "content": content }))
}

/// Runs work that makes these calls, each in an answer of its own.
fn run_calls(session: &mut Session, calls: Vec<Value>, mode: &str) -> (Outcome, String) {
    let turns = calls.into_iter().map(|call| json!({ "toolCalls": [call] }));
    let turns: Vec<_> = turns.chain([json!({ "text": "Done." })]).collect();
    session.speculate(&json!({ "turns": turns }), mode)
}

fn results(outcome: &Outcome) -> String {
    let results = outcome.json().into_iter().filter(|line| line["type"] == "toolResult");
    results.map(|line| line["result"].to_string()).collect::<Vec<_>>().join("\n")
}

fn git_changes(outcome: &Outcome) -> Vec<Value> {
    let ran = outcome.json().into_iter().filter(|line| line["type"] == "shadowRan");
    ran.map(|line| line["git"].clone()).collect()
}

fn boundary(outcome: &Outcome) -> (String, String) {
    let verdict = &outcome.finished()["boundary"]["verdict"];
    let text = |name: &str| verdict[name].as_str().unwrap_or_else(|| panic!("{outcome}")).to_owned();
    (text("reason"), text("detail"))
}

#[test]
fn a_commit_is_made_ahead_taken_with_its_files_and_taken_back() {
    let mut session = repository();
    let before = session.hash();
    let calls = vec![
        writes("tests.txt", "tests\n"),
        shell("git add -A && git commit -m 'Add tests'"),
        shell("git log --format='%s by %an <%ae>'; git status --porcelain; git config --list"),
    ];
    let (outcome, id) = run_calls(&mut session, calls, "auto-edit");
    assert_eq!(outcome.finished()["status"], "completed", "{outcome}");
    assert_eq!(session.hash(), before, "nothing changes before an accept");
    assert_eq!(git_changes(&outcome), [json!("1 commit on main"), Value::Null]);
    let results = results(&outcome);
    assert!(results.contains("Add tests by Ada <ada@example.com>\\nfirst by Ada"), "{results}");
    assert!(!results.contains("tests.txt\\n?") && !results.contains("token@"), "{results}");
    assert!(!results.contains(".local/state"), "{results}");

    let shown = session.run(&["show", &id]);
    assert!(shown.stdout.contains("1 commit on main: Add tests"), "{shown}");
    let shown = session.run(&["show", &id, "--json"]).json().pop().unwrap();
    assert_eq!(shown["git"]["summary"], "1 commit on main", "{shown}");
    assert_eq!(session.run(&["list", "--json"]).json()[0]["git"], "1 commit on main");

    for undo in [&["undo", &id][..], &["undo"]] {
        let accepted = session.run(&["accept", &id, "--json"]);
        assert_eq!(accepted.code, Some(0), "{accepted}");
        assert_eq!(accepted.json()[0]["git"], "1 commit on main", "{accepted}");
        assert_eq!(
            session.git(&["log", "--format=%s %ae"]),
            "Add tests ada@example.com\nfirst ada@example.com\n"
        );
        assert_eq!(session.git(&["status", "--porcelain"]), "");
        assert_eq!(session.text("tests.txt").as_deref(), Some("tests\n"));
        session.repository_is_sound();
        let undone = session.run(undo);
        assert_eq!(undone.code, Some(0), "{undone}");
        assert_eq!(session.git(&["log", "--format=%s"]), "first\n");
        assert_eq!(session.git(&["status", "--porcelain"]), "");
        assert_eq!(session.text("tests.txt"), None);
        session.repository_is_sound();
    }
}

/// The user's own edits are committed as they are, and a file that the user has staged stays staged.
#[test]
fn the_users_edits_are_committed_and_their_staged_file_stays_staged() {
    let mut session = repository();
    session.write("project/notes.txt", "two\n").write("project/mine.txt", "mine\n");
    session.git(&["add", "mine.txt"]);
    let calls = vec![shell("git commit -qm 'Change notes' notes.txt"), shell("git log -1 --format=%s")];
    let (outcome, id) = run_calls(&mut session, calls, "auto-edit");
    assert_eq!(
        (&outcome.finished()["status"], &outcome.finished()["changes"]),
        (&json!("completed"), &json!([]))
    );
    assert!(
        results(&outcome).contains("Change notes"),
        "a command that only reads sees the commit: {outcome}"
    );
    let accepted = session.run(&["accept", &id]);
    assert_eq!(accepted.code, Some(0), "{accepted}");
    assert!(accepted.stdout.contains("1 commit on main: Change notes"), "{accepted}");
    assert_eq!(session.git(&["show", "--format=%s", "--name-only"]), "Change notes\n\nnotes.txt\n");
    assert_eq!(session.git(&["status", "--porcelain"]), "A  mine.txt\n");
    session.repository_is_sound();
}

/// All commands of one step are one change: several commits, but also a branch, a tag and a stash.
#[test]
fn all_git_commands_of_a_step_are_one_change() {
    let mut session = repository();
    session.write("project/notes.txt", "stash me\n");
    let calls = vec![
        shell("git stash"),
        writes("a.txt", "a\n"),
        shell("git add a.txt"),
        shell("git commit -qm 'Add a'"),
        writes("b.txt", "b\n"),
        shell("git add b.txt; git commit -qm 'Add b'; git tag v1; git branch side HEAD~1"),
    ];
    let (outcome, id) = run_calls(&mut session, calls, "auto-edit");
    assert_eq!(outcome.finished()["status"], "completed", "{outcome}");
    let accepted = session.run(&["accept", &id]);
    assert_eq!(accepted.code, Some(0), "{accepted}");
    assert!(accepted.stdout.contains("2 commits on main: Add b; Add a"), "{accepted}");
    assert_eq!(session.git(&["log", "--format=%s", "v1"]), "Add b\nAdd a\nfirst\n");
    assert_eq!(session.git(&["log", "--format=%s", "side"]), "Add a\nfirst\n");
    assert_eq!(session.git(&["stash", "list"]).lines().count(), 1);
    assert_eq!(session.text("notes.txt").as_deref(), Some("one\n"));
    assert_eq!(session.git(&["status", "--porcelain"]), "");
    session.repository_is_sound();
}

#[test]
fn a_detached_head_packed_refs_and_tables_of_refs_are_all_the_same() {
    let (major, minor) = Git::find(&std::env::var_os("PATH").unwrap()).unwrap().version();
    let tables = ["init", "-q", "-b", "main", "--ref-format=reftable"];
    for (kind, init, then) in [
        ("detached", &["init", "-q", "-b", "main"][..], &["checkout", "-q", "--detach"][..]),
        ("packed", &["init", "-q", "-b", "main"], &["pack-refs", "--all", "--prune"]),
        ("reftable", &tables, &["pack-refs", "--all"]),
        ("sha256", &["init", "-q", "-b", "main", "--object-format=sha256"], &["gc", "-q"]),
    ] {
        if kind == "reftable" && (major, minor) < (2, 45) {
            eprintln!("refs in tables are left out: git here is {major}.{minor}, which does not know them");
            continue;
        }
        let mut session = repository_of(init);
        session.git(then);
        let before = session.hash();
        let calls = vec![
            writes("a.txt", "a\n"),
            shell("git add -A && git commit -qm second"),
            shell("git log --format=%s"),
        ];
        let (outcome, id) = run_calls(&mut session, calls, "auto-edit");
        assert_eq!(outcome.finished()["status"], "completed", "{kind}: {outcome}");
        assert_eq!(session.hash(), before, "{kind}");
        let accepted = session.run(&["accept", &id]);
        assert_eq!(accepted.code, Some(0), "{kind}: {accepted}");
        assert_eq!(session.git(&["log", "--format=%s"]), "second\nfirst\n", "{kind}");
        assert_eq!(session.git(&["status", "--porcelain"]), "", "{kind}");
        session.repository_is_sound();
        assert_eq!(session.run(&["undo", &id]).code, Some(0), "{kind}");
        assert_eq!(session.git(&["log", "--format=%s"]), "first\n", "{kind}");
    }
}

/// A hook of the repository runs in the view of its command, and can write nowhere else.
#[test]
fn a_hook_runs_in_the_view_only() {
    let mut session = repository();
    let outside = session.home().with_file_name("outside.txt");
    let hook = format!(
        "#!/bin/sh\necho formatted > formatted.txt\ngit add formatted.txt\necho x 2>/dev/null > {} || true\n",
        outside.display()
    );
    session.write("project/.git/hooks/pre-commit", hook);
    let file = session.workspace().join(".git/hooks/pre-commit");
    fs::set_permissions(file, fs::Permissions::from_mode(0o755)).unwrap();
    let before = session.hash();
    let calls = vec![writes("a.txt", "a\n"), shell("git add a.txt && git commit -qm second")];
    let (outcome, id) = run_calls(&mut session, calls, "auto-edit");
    assert_eq!(outcome.finished()["status"], "completed", "{outcome}");
    assert_eq!(session.hash(), before);
    assert!(!outside.exists());
    assert_eq!(session.run(&["accept", &id]).code, Some(0));
    assert_eq!(session.git(&["show", "--format=", "--name-only"]), "a.txt\nformatted.txt\n");
    assert_eq!(session.git(&["status", "--porcelain"]), "");
    assert!(!outside.exists(), "an accept runs no hook");
}

/// What is not done for a user, and what cannot be done, stops the work with its reason, and nothing of it stays.
#[test]
fn what_is_not_done_for_a_user_is_a_boundary() {
    for (command, reason, words) in [
        ("git branch -q -m other", "protected_path", "another branch"),
        ("git checkout -q --detach", "protected_path", "another branch"),
        ("git config core.hooksPath x", "protected_path", ".git/config"),
        ("bash -c 'echo x > .git/hooks/post-merge'", "protected_path", ".git/hooks/post-merge"),
        ("git update-ref refs/remotes/origin/main HEAD", "protected_path", ".git/refs/remotes/origin/main"),
        ("git push", "network", "opens a connection"),
        ("git fetch origin", "network", "opens a connection"),
        ("git commit -q --allow-empty -S -m signed", "needs_host", "your key to sign with"),
        // The commit contains a file that is not in the work tree.
        (
            "b=$(echo x | git hash-object -w --stdin); git update-index --add --cacheinfo 100644,$b,.headstart/config.toml; git commit -qm x",
            "protected_path",
            ".headstart/config.toml",
        ),
        (
            "git update-index --add --cacheinfo 100644,$(git hash-object -w notes.txt),.env",
            "secret_path",
            ".env",
        ),
    ] {
        let mut session = repository();
        let before = session.hash();
        let (outcome, _) = run_calls(&mut session, vec![shell(command)], "auto-edit");
        let boundary_line = boundary(&outcome);
        assert!(boundary_line.0 == reason && boundary_line.1.contains(words), "{command}: {boundary_line:?}");
        assert_eq!(session.hash(), before, "{command}");
        assert_eq!(results(&outcome), "", "{command}");
    }
}

/// A view does not show a file that may contain a secret, so a commit of all changes would remove the file.
#[test]
fn a_secret_that_is_committed_is_not_removed_by_a_commit_ahead() {
    let mut session = repository();
    session.write("project/keys/server.pem", "secret\n");
    session.git(&["add", "."]);
    session.git(&["commit", "-qm", "keys"]);
    // Each of these lines makes git look at the file anyway, and so records that it is gone.
    for line in [
        "git update-index --no-skip-worktree keys/server.pem && git add -A && git commit -qm all",
        "git rm -q --cached --sparse keys/server.pem && git commit -qm all",
        "echo x > keys/server.pem; git add -A --sparse && git commit -qm all",
        "mkdir -p keys && echo x > keys/server.pem && git add -A && git commit -qm all",
        "git read-tree --empty && git add -A && git commit -qm all",
    ] {
        let (outcome, _) = run_calls(&mut session, vec![writes("a.txt", "a\n"), shell(line)], "auto-edit");
        let boundary_line = boundary(&outcome);
        assert!(
            boundary_line.0 == "secret_path" && boundary_line.1.contains("keys/server.pem"),
            "{line}: {boundary_line:?}"
        );
    }
    let line = "git status --short && git add -A && git commit -qam all";
    let (outcome, id) = run_calls(&mut session, vec![writes("a.txt", "a\n"), shell(line)], "auto-edit");
    assert_eq!(outcome.finished()["status"], "completed", "{outcome}");
    assert_eq!(session.run(&["accept", &id]).code, Some(0));
    assert_eq!(session.git(&["show", "--format=", "--name-only"]), "a.txt\n");
    assert_eq!(session.git(&["status", "--porcelain"]), "");
}

#[test]
fn what_the_users_own_settings_leave_out_is_not_committed() {
    let mut session = repository();
    session.write("home/.config/git/ignore", "*.swp\n");
    session.write("project/notes.swp", "x\n");
    let calls = vec![writes("a.txt", "a\n"), shell("git add -A && git commit -qm second; env")];
    let (outcome, id) = run_calls(&mut session, calls, "auto-edit");
    assert!(!results(&outcome).contains("token@"), "{outcome}");
    assert_eq!(session.run(&["accept", &id]).code, Some(0), "{outcome}");
    assert_eq!(session.git(&["show", "--format=", "--name-only"]), "a.txt\n");
    assert_eq!(session.git(&["status", "--porcelain"]), "");
}

/// In these repositories, git's folder is outside the workspace.
#[test]
fn a_linked_worktree_a_submodule_and_a_folder_of_a_repository_are_boundaries() {
    let mut session = repository();
    let aside = session.home().with_file_name("aside");
    session.git(&["worktree", "add", "-q", "-b", "linked", aside.to_str().unwrap()]);
    session.git_at(
        &aside,
        &[
            "-c",
            "protocol.file.allow=always",
            "submodule",
            "--quiet",
            "add",
            session.workspace().to_str().unwrap(),
            "sub",
        ],
    );
    fs::create_dir(aside.join("folder")).unwrap();
    let recording =
        json!({"turns": [{"toolCalls": [shell("git add -A; git commit -qm x")]}, {"text": "never said"}]});
    let model = session.recording(&recording);
    for (below, words) in [(".", "a linked worktree"), ("sub", "a submodule"), ("folder", "a folder above")] {
        let workspace = aside.join(below);
        let path = workspace.to_str().unwrap();
        let ran = session.run(&[
            "speculate",
            "--json",
            "--mode",
            "auto-edit",
            "--model",
            &model,
            "--workspace",
            path,
            "commit",
        ]);
        let boundary_line = boundary(&ran);
        assert!(
            boundary_line.0 == "protected_path" && boundary_line.1.contains(words),
            "{below}: {boundary_line:?}"
        );
    }
    session.name("ASIDE", aside.to_str().unwrap());
}

#[test]
fn in_a_mode_that_asks_a_commit_is_a_boundary_where_nobody_is_asked_later() {
    let mut session = repository();
    session.write("home/.config/headstart/config.toml", "ahead_writes = 'boundary'\n");
    let before = session.hash();
    let (outcome, _) =
        run_calls(&mut session, vec![shell("git commit -q --allow-empty -m empty")], "default");
    let boundary_line = boundary(&outcome);
    assert!(
        boundary_line.1.contains("1 commit on main") && boundary_line.1.contains("asks before a write"),
        "{boundary_line:?}"
    );
    assert_eq!(session.hash(), before);
}

#[test]
fn a_command_of_the_users_own_shows_its_commits_and_applies_them_if_they_say_so() {
    let session = repository();
    let before = session.hash();
    let line = ["shadow", "run", "--", "bash", "-c", "echo a > a.txt; git add a.txt; git commit -qm 'Add a'"];
    let ran = session.run(&line);
    assert_eq!(ran.code, Some(0), "{ran}");
    assert!(
        ran.stderr.contains("1 commit on main: Add a") && ran.stderr.contains("nothing was written"),
        "{ran}"
    );
    assert_eq!(session.hash(), before);
    let applied = session.run(&[&line[..2], &["--apply", "--json"], &line[2..]].concat());
    let report = applied.json().pop().unwrap();
    assert_eq!(
        (&report["applied"], &report["gitChange"]["summary"]),
        (&json!(true), &json!("1 commit on main")),
        "{applied}"
    );
    assert_eq!(session.git(&["log", "--format=%s"]), "Add a\nfirst\n");
    assert_eq!(session.git(&["status", "--porcelain"]), "");
    assert_eq!(session.run(&["undo"]).code, Some(0));
    assert_eq!(session.git(&["log", "--format=%s"]), "first\n");
    let refused = session.run(&["shadow", "run", "--apply", "--", "git", "branch", "-q", "-m", "other"]);
    assert_eq!(refused.code, Some(4), "{refused}");
    assert!(refused.stderr.contains("is not applied: the work switched to another branch"), "{refused}");
    assert_eq!(session.git(&["branch", "--show-current"]), "main\n");
}

/// Work that begins a branch ends on it, as if its user had typed the commands, and an undo leads back.
#[test]
fn work_on_a_new_branch_is_accepted_on_that_branch() {
    let mut session = repository();
    let before = session.hash();
    let calls = vec![
        shell("git switch -q -c fix/notes"),
        writes("a.txt", "a\n"),
        shell("git add a.txt && git commit -qm 'Add a'"),
    ];
    let (outcome, id) = run_calls(&mut session, calls, "auto-edit");
    assert_eq!(outcome.finished()["status"], "completed", "{outcome}");
    assert_eq!(session.hash(), before);
    let shown = session.run(&["show", &id]);
    assert!(shown.stdout.contains("1 commit on fix/notes: Add a"), "{shown}");
    assert!(shown.stdout.contains("switched to fix/notes"), "{shown}");
    // A command on top of the work is on that branch, too.
    let above =
        session.run(&["shadow", "run", "--speculation", &id, "--", "git", "branch", "--show-current"]);
    assert_eq!(above.stdout, "fix/notes\n", "{above}");
    assert_eq!(session.run(&["accept", &id]).code, Some(0));
    assert_eq!(session.git(&["branch", "--show-current"]), "fix/notes\n");
    assert_eq!(session.git(&["status", "--porcelain"]), "");
    assert_eq!(session.git(&["log", "--format=%s", "main"]), "first\n");
    assert_eq!(session.run(&["undo"]).code, Some(0));
    assert_eq!(session.git(&["branch"]), "* main\n");
    assert_eq!(session.git(&["status", "--porcelain"]), "");
}

/// A command on top of work that committed sees the commit of that work.
#[test]
fn a_command_of_the_users_own_sees_the_commits_of_work_ahead() {
    let mut session = repository();
    let calls = vec![writes("a.txt", "a\n"), shell("git add -A && git commit -qm 'Add a'")];
    let (_, id) = run_calls(&mut session, calls, "auto-edit");
    let seen = session.run(&["shadow", "run", "--speculation", &id, "--", "git", "log", "--format=%s"]);
    assert_eq!(seen.stdout, "Add a\nfirst\n", "{seen}");
}
