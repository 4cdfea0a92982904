//! Holds that an accept brings both halves of a move, or neither, and that what it does not bring is told.

use serde_json::{Value, json};

use crate::shadow::{events, session, shell};
use crate::support::Session;

fn project() -> Session {
    let session = session();
    session
        .write("project/.gitignore", "*.gz\nlocal.db\nstore/\n")
        .write("project/Makefile", "")
        .write("project/table.csv", "1,2,3\n".repeat(400))
        .write("project/only.txt", "my only copy\n");
    session.git(&["init", "-q"]);
    session
}

fn recording(command: &str) -> Value {
    json!({"turns": [{"toolCalls": [shell(command)]}, {"text": "Done."}]})
}

#[test]
fn what_is_moved_to_an_ignored_place_comes_with_the_accept_and_goes_back_with_the_undo() {
    for (command, gone, come) in [
        ("gzip table.csv", "table.csv", "table.csv.gz"),
        ("mkdir -p store && mv only.txt store/", "only.txt", "store/only.txt"),
        ("tar czf both.gz only.txt table.csv && rm only.txt table.csv", "only.txt", "both.gz"),
    ] {
        let mut session = project();
        let before = session.hash();
        let (outcome, id) = session.speculate(&recording(command), "auto-edit");
        assert_eq!(outcome.finished()["status"], "completed", "{command}: {outcome}");
        let told = events(&outcome, "toolResult")[0].to_string();
        assert!(told.contains(&format!("{come} is kept too, though git ignores it")), "{command}: {told}");
        assert_eq!(session.hash(), before, "nothing changes before an accept");
        let accepted = session.run(&["accept", &id]);
        assert!(accepted.code == Some(0) && accepted.stdout.contains(come), "{command}: {accepted}");
        assert!(session.text(gone).is_none() && session.workspace().join(come).is_file(), "{command}");
        let undone = session.run(&["undo", &id]);
        assert_eq!(undone.code, Some(0), "{command}: {undone}");
        assert!(session.text(gone).is_some() && !session.workspace().join(come).exists(), "{command}");
    }
}

#[test]
fn a_copy_that_no_accept_can_bring_is_a_boundary() {
    let mut session = project();
    let command = "mkdir node_modules && tr a-z A-Z < only.txt > node_modules/packed && rm only.txt";
    let (outcome, id) = session.speculate(&recording(command), "auto-edit");
    let finished = outcome.finished();
    assert_eq!(
        (&finished["status"], &finished["boundary"]["verdict"]["reason"]),
        (&json!("boundary"), &json!("writes_outside"))
    );
    let why = finished["boundary"]["verdict"]["detail"].as_str().unwrap();
    assert!(
        why.ends_with(
            "takes only.txt away, and a copy of it may be in node_modules/, which an accept does not bring"
        ),
        "{why}"
    );
    session.run(&["accept", &id]);
    assert_eq!(session.text("only.txt").as_deref(), Some("my only copy\n"));

    let applied = session.run(&["shadow", "run", "--apply", "--", "sh", "-c", command]);
    assert!(
        applied.code != Some(0) && applied.stderr.contains("not applied, for it takes only.txt away"),
        "{applied}"
    );
    assert_eq!(session.text("only.txt").as_deref(), Some("my only copy\n"));
}

#[test]
fn what_is_moved_or_written_over_a_closed_file_waits_for_the_user() {
    let moved = "takes only.txt away, and a copy of it may be in .env, which an accept does not bring";
    let written = "writes to .env, which is closed to it";
    for (command, why) in [
        ("mv only.txt .env", moved),
        ("cp only.txt .env && rm only.txt", moved),
        ("f=.en; cp only.txt ${f}v; echo done > made.txt", written),
        ("sed s/my/your/ only.txt > t && mv t .env", written),
    ] {
        let mut session = project();
        session.write("project/.env", "TOKEN=1\n");
        let before = session.hash();
        let (outcome, id) = session.speculate(&recording(command), "auto-edit");
        let verdict = &outcome.finished()["boundary"]["verdict"];
        let detail = verdict["detail"].as_str().unwrap_or_default();
        assert!(detail.ends_with(why), "{command}: {outcome}");
        session.run(&["accept", &id]);
        assert_eq!(session.hash(), before, "{command}");

        let applied = session.run(&["shadow", "run", "--apply", "--", "sh", "-c", command]);
        assert!(applied.code != Some(0) && applied.stderr.contains(why), "{command}: {applied}");
        assert_eq!(session.hash(), before, "{command}");
    }
}

/// An accept brings the objects that a ref, a commit or the index names. Others are in the view's repository alone, and
/// so is what git keeps for itself.
#[test]
fn what_only_an_object_holds_that_nothing_names_is_not_taken_away() {
    let words = "takes only.txt away, and a copy of it may be in .git/";
    let (name, address) = ("user.name=A User", "user.email=user@example.com");
    let commit = format!("git add only.txt; git -c {name:?} -c {address} commit -q -m only");
    for command in [
        "git hash-object -w only.txt; rm only.txt".to_owned(),
        "git hash-object -w only.txt; : > only.txt".to_owned(),
        "gzip < only.txt | git hash-object -w --stdin; rm only.txt".to_owned(),
        "git add only.txt; git reset -q only.txt; rm only.txt".to_owned(),
        format!("{commit}; git reset -q --hard HEAD~1"),
        "git add only.txt; git tag one; git hash-object -w --stdin < table.csv; git reset -q; rm only.txt"
            .to_owned(),
        "mv only.txt .git/COMMIT_EDITMSG".to_owned(),
        "mkdir -p .git/logs/x; mv only.txt .git/logs/x/y".to_owned(),
        "mkdir -p .git/lfs/tmp; mv only.txt .git/lfs/tmp/x".to_owned(),
        "mv only.txt .git/objects/info/x".to_owned(),
        "mv only.txt .git/objects/pack/tmp_x".to_owned(),
    ] {
        let mut session = project();
        session.git(&["add", "Makefile"]);
        session.git(&["-c", name, "-c", address, "commit", "-q", "-m", "all"]);
        let before = session.hash();
        let (outcome, id) = session.speculate(&recording(&command), "auto-edit");
        let verdict = &outcome.finished()["boundary"]["verdict"];
        assert!(verdict["detail"].as_str().unwrap_or_default().contains(words), "{command}: {outcome}");
        session.run(&["accept", &id]);
        assert_eq!(session.hash(), before, "{command}");
        let applied = session.run(&["shadow", "run", "--apply", "--", "sh", "-c", &command]);
        assert!(applied.code != Some(0) && applied.stderr.contains(words), "{command}: {applied}");
        assert_eq!(session.hash(), before, "{command}");
    }
    // What holds it is of a command before.
    let branch = format!("git switch -q -c aside; {commit}; git switch -q -");
    for commands in [
        vec!["git hash-object -w only.txt", "rm only.txt"],
        vec!["git stash -q -u", "git stash drop -q"],
        vec!["git stash -q -u", "true", "echo x > new.txt; git stash clear"],
        vec![&branch, "git branch -q -D aside"],
        vec![&branch, "git switch -q -c other; git branch -q -D aside"],
        vec!["git add only.txt", "rm only.txt", "git reset -q"],
    ] {
        let mut session = project();
        session.git(&["add", "Makefile", ".gitignore", "table.csv"]);
        session.git(&["-c", name, "-c", address, "commit", "-q", "-m", "all"]);
        let turns: Vec<_> = commands.iter().map(|line| json!({"toolCalls": [shell(line)]})).collect();
        let (outcome, id) = session.speculate(&json!({"turns": turns}), "auto-edit");
        let detail = outcome.finished()["boundary"]["verdict"]["detail"].to_string();
        assert!(detail.contains(words), "{commands:?}: {outcome}");
        assert!(detail.contains(commands.last().unwrap().split(';').next().unwrap()), "{detail}");
        session.run(&["accept", &id]);
        let held = session.git(&["rev-list", "--objects", "--all", "--indexed-objects"]);
        assert!(session.text("only.txt").is_some() || held.contains("only.txt"), "{commands:?}: {held}");
    }

    for command in [
        "git add only.txt; rm only.txt".to_owned(),
        format!("{commit}; rm only.txt"),
        "git add table.csv; rm -f only.txt.bak; cat only.txt > other.txt; rm only.txt".to_owned(),
    ] {
        let mut session = project();
        session.git(&["add", "Makefile"]);
        session.git(&["-c", name, "-c", address, "commit", "-q", "-m", "all"]);
        let (outcome, id) = session.speculate(&recording(&command), "auto-edit");
        assert_eq!(outcome.finished()["status"], "completed", "{command}: {outcome}");
        let accepted = session.run(&["accept", &id]);
        assert!(accepted.code == Some(0) && session.text("only.txt").is_none(), "{command}: {accepted}");
    }
}

#[test]
fn what_is_overwritten_comes_back_with_the_undo_and_a_copy_of_it_comes_along() {
    for (command, come) in [
        ("gzip -k only.txt; echo x > only.txt", Some("only.txt.gz")),
        (
            "mkdir dist; printf '{}' > package.json; mv only.txt dist/ && echo > only.txt",
            Some("dist/only.txt"),
        ),
        ("git checkout -q table.csv", None),
        ("git restore table.csv", None),
    ] {
        let mut session = project();
        session.git(&["add", "table.csv"]);
        let (name, address) = ("user.name=A User", "user.email=user@example.com");
        session.git(&["-c", name, "-c", address, "commit", "-q", "-m", "all"]);
        session.write("project/table.csv", "only on disk\n");
        let (outcome, id) = session.speculate(&recording(command), "auto-edit");
        assert_eq!(outcome.finished()["status"], "completed", "{command}: {outcome}");
        let before = session.hash();
        let accepted = session.run(&["accept", &id]);
        assert_eq!(accepted.code, Some(0), "{command}: {accepted}");
        assert!(come.is_none_or(|come| session.workspace().join(come).is_file()), "{command}: {accepted}");
        assert_ne!(session.hash(), before, "{command}");
        assert_eq!(session.run(&["undo", &id]).code, Some(0), "{command}");
        assert_eq!(session.text("only.txt").as_deref(), Some("my only copy\n"), "{command}");
        assert_eq!(session.text("table.csv").as_deref(), Some("only on disk\n"), "{command}");
    }
}

/// What git ignores stays on disk, so its folder cannot become a file.
#[test]
fn ignored_files_do_not_go_with_a_folder_that_becomes_a_file() {
    for (folder, command) in [
        ("store", "rm -r store; echo f > store"),
        ("store", "mv store aside; ln -s aside store"),
        ("dist", "rm -r dist && echo f > dist"),
    ] {
        let mut session = project();
        session.write("project/package.json", "{}\n");
        session.write(format!("project/{folder}/only.txt").as_str(), "ignored, and the only one\n");
        // Where git tracks nothing, a folder of this name may be the user's own.
        session.git(&["add", "Makefile"]);
        let before = session.hash();
        let (outcome, id) = session.speculate(&recording(command), "auto-edit");
        let told = outcome.to_string();
        assert!(told.contains(&format!("{folder}/only.txt")), "{command}: {outcome}");
        session.run(&["accept", &id, "--keep-ignored"]);
        assert_eq!(session.hash(), before, "{command}: {outcome}");
        let applied = session.run(&["shadow", "run", "--apply", "--", "sh", "-c", command]);
        assert!(applied.code != Some(0) && applied.stderr.contains(folder), "{command}: {applied}");
        assert_eq!(session.hash(), before, "{command}: {applied}");
    }
}

#[test]
fn what_an_accept_does_not_bring_comes_along_if_its_user_says_so() {
    let mut session = project();
    session.write("project/local.db", "0\n").write("project/package.json", "{}\n");
    let before = session.hash();
    let command = "echo 1 > local.db; mkdir dist store; echo 1 > dist/a; echo 2 > dist/b; \
        mkdir -p node_modules/m; echo 3 > node_modules/m/x; truncate -s 80M store/big";
    let (outcome, id) = session.speculate(&recording(command), "auto-edit");
    assert_eq!(session.hash(), before, "nothing changes before an accept");
    let shown = session.run(&["show", &id]);
    let offered = "not kept: dist/ (2 files), local.db, node_modules/ (1 file) and 1 more · accept --keep-ignored \
        keeps them, but not node_modules/ (1 file): its tool makes it again, store/ (1 file): too much, \
        80 MiB; at most 1,000 files and 64 MiB are kept";
    assert!(shown.stdout.contains(offered), "{outcome}\n{shown}");

    // What was saved since is not overwritten, and then nothing comes.
    session.write("project/local.db", "mine\n");
    let refused = session.run(&["accept", &id, "--keep-ignored"]);
    assert!(
        refused.code != Some(0) && refused.stderr.contains("local.db was changed meanwhile"),
        "{refused}"
    );
    assert!(!session.workspace().join("dist").exists());
    session.write("project/local.db", "0\n");

    let accepted = session.run(&["accept", &id, "--keep-ignored"]);
    let left = "not kept: node_modules/ (1 file): its tool makes it again, store/ (1 file): too much, 80 MiB; at most \
        1,000 files and 64 MiB are kept\n";
    assert!(accepted.code == Some(0) && accepted.stdout.contains(left), "{accepted}");
    assert_eq!(session.text("local.db").as_deref(), Some("1\n"));
    assert_eq!(session.text("dist/b").as_deref(), Some("2\n"));
    assert!(!session.workspace().join("node_modules").exists());
    let undone = session.run(&["undo", &id]);
    assert_eq!((undone.code, session.text("local.db").as_deref()), (Some(0), Some("0\n")), "{undone}");
    assert_eq!(session.hash(), before);
}

/// As many files as a build of a page makes, and more bytes than come along unasked.
#[test]
fn hundreds_of_files_are_kept_as_one_and_go_back_as_one() {
    let mut session = project();
    session.write("project/package.json", "{}\n").write("project/store/page-7.txt", "mine\n");
    let before = session.hash();
    let command = "mkdir -p dist/assets; for i in $(seq 700); do echo $i > dist/assets/page-$i.txt; done; \
        for i in $(seq 200); do echo $i > store/page-$i.txt; done; head -c 20M /dev/zero | tr '\\0' x > dist/big";
    let (outcome, id) = session.speculate(&recording(command), "auto-edit");
    assert_eq!(session.hash(), before, "nothing changes before an accept");
    let shown = session.run(&["show", &id]);
    let offered = "not kept: dist/ (701 files), store/ (200 files) · accept --keep-ignored keeps them\n";
    assert!(shown.stdout.contains(offered), "{outcome}\n{shown}");
    let accepted = session.run(&["accept", &id, "--keep-ignored"]);
    assert_eq!(accepted.code, Some(0), "{accepted}");
    let files = |below: &str| std::fs::read_dir(session.workspace().join(below)).unwrap().count();
    assert_eq!((files("dist/assets"), files("store")), (700, 200));
    assert_eq!(session.workspace().join("dist/big").metadata().unwrap().len(), 20 << 20);
    assert_eq!(session.text("store/page-7.txt").as_deref(), Some("7\n"));
    let undone = session.run(&["undo", &id]);
    assert_eq!(undone.code, Some(0), "{undone}");
    assert_eq!(session.hash(), before);
}

#[test]
fn what_an_accept_does_not_bring_is_told() {
    let mut session = project();
    let command =
        "echo 1 > local.db; mkdir dist store; echo '{}' > package.json; echo 1 > dist/a; echo 2 > dist/b";
    let (outcome, id) = session.speculate(&recording(command), "auto-edit");
    let told = events(&outcome, "toolResult")[0].to_string();
    assert!(told.contains("it is build output: dist/ (2 files), local.db]"), "{told}");
    let shown = session.run(&["show", &id]);
    assert!(shown.stdout.contains("not kept: dist/ (2 files), local.db"), "{shown}");
    let accepted = session.run(&["accept", &id, "--json"]).json();
    let rows =
        json!([{ "path": "dist", "folder": true, "written": 2 }, { "path": "local.db", "written": 1 }]);
    assert_eq!(accepted[0]["notKept"], rows);
    let ran = session.run(&["shadow", "run", "--", "sh", "-c", "echo 2 > local.db; echo x > ~/kept"]);
    assert!(ran.stderr.contains("not kept: local.db\n"), "{ran}");
    assert!(ran.stderr.contains("written outside the workspace, and gone with the view: "), "{ran}");
}
