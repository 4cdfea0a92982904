use std::fs;

use headstart_tool_gate::{Decision, Gate, GateContext};

use super::*;

fn unconfined<'a>(
    root: &'a Path,
    git: &'a InstalledGit,
    environment: &'a BTreeMap<OsString, OsString>,
) -> Place<'a> {
    Place { root, home: None, git, environment, is_confined: false }
}

/// The outcome for a git command in `folder` of a workspace with these files, if git is new enough.
async fn proven_in(root: &Path, folder: &str) -> Result<(), String> {
    let context = GateContext { workspace: "/ws".to_owned(), ..GateContext::default() };
    let written = format!("git -C {folder} status");
    let verdict = Gate::new().judge_command(&written, &context);
    assert_eq!(verdict.decision, Decision::Allow, "{}", verdict.detail);
    let command = ConditionalCommand::allowed(&written, verdict.hardened.as_ref());
    let git = InstalledGit(OnceCell::new_with(Some(Some((2, 45)))));
    let proven = prove(&command, &unconfined(root, &git, &BTreeMap::new())).await;
    proven.map(drop).map_err(|need| need.to_string())
}

async fn checked(files: &[(&str, &str)], folder: &str) -> Result<(), String> {
    let scratch = tempfile::tempdir().unwrap();
    let root = scratch.path().canonicalize().unwrap().join("work");
    fs::create_dir(&root).unwrap();
    for (path, content) in files {
        let file = root.join(path);
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(file, content).unwrap();
    }
    proven_in(&root, folder).await
}

#[tokio::test]
async fn attributes_that_git_cannot_leave_out_keep_a_command_from_running() {
    let attributes = (".git/info/attributes", "* filter=x\n");
    let error = checked(&[attributes], ".").await.unwrap_err();
    assert!(error.contains(".git/info/attributes may name programs"), "{error}");
    assert!(checked(&[attributes, ("sub/deep/file", "")], "sub/deep").await.is_err());
    let deep = [("sub/.git/info/attributes", "[attr]x -text\n"), ("sub/deep/file", "")];
    assert!(checked(&deep, "sub/deep").await.is_err());
    let fine = [(".git/info/exclude", ""), (".git/config", "[core]\n\tbare = false\n")];
    assert_eq!(checked(&fine, ".").await, Ok(()));
    // These attributes name no program.
    assert_eq!(checked(&[(".git/info/attributes", "*.c text eol=lf\n")], ".").await, Ok(()));
    // Git does not find this repository from that folder.
    let beside = [("sub/.git/info/attributes", "* diff=x\n"), ("other/file", "")];
    assert_eq!(checked(&beside, "other").await, Ok(()));
    assert_eq!(checked(&[], "missing").await, Ok(()));
    // This is not a file that can be read.
    assert!(checked(&[(".git/info/attributes/x", "")], ".").await.is_err());
}

#[tokio::test]
async fn a_repository_kept_elsewhere_is_found() {
    let attributes = "* merge=x\n";
    let link = ("sub/.git", "gitdir: ../.git/modules/sub\n");
    assert!(checked(&[link, (".git/modules/sub/info/attributes", attributes)], "sub").await.is_err());
    assert!(checked(&[(".git/modules/sub/info/attributes", attributes)], ".git/modules/sub").await.is_err());
    let worktree = ("tree/.git", "gitdir: ../main/.git/worktrees/tree\n");
    let common = ("main/.git/worktrees/tree/commondir", "../..\n");
    let named = [worktree, common, ("main/.git/info/attributes", attributes)];
    assert!(checked(&named, "tree").await.is_err());
    assert_eq!(checked(&[worktree, common, ("main/.git/config", "")], "tree").await, Ok(()));
}

#[tokio::test]
async fn a_link_to_a_repository_is_followed() {
    let scratch = tempfile::tempdir().unwrap();
    let root = scratch.path().canonicalize().unwrap();
    fs::create_dir_all(root.join("there/.git/info")).unwrap();
    fs::write(root.join("there/.git/info/attributes"), "* diff=x").unwrap();
    std::os::unix::fs::symlink("there", root.join("link")).unwrap();
    assert!(proven_in(&root, "link").await.is_err());
}

#[tokio::test]
async fn a_work_tree_outside_is_refused_and_one_inside_is_not() {
    for text in [
        "[core]\n\tworktree = /\n",
        "[core]\n\tworktree = ../..\n",
        "[core] WorkTree=/etc\n",
        "[core]\nworktree\t=\t\"/\"\n",
        "[core]\nworktree = a\\\n/b\n",
        "[core]\nworktree \\\n = /\n",
        "[core]\nworktree =\n",
        "[core]\n\tworktree = missing\n",
    ] {
        let result = checked(&[(".git/config", text), ("sub/file", "")], ".").await;
        assert!(result.is_err_and(|result| result.contains("core.worktree")), "{text}");
    }
    for text in [
        "[core]\n\tworktree = ../sub\n",
        "[core]\n\tworktree = ..\n",
        "[extensions]\n\tworktreeConfig = true\n",
        "",
    ] {
        assert_eq!(checked(&[(".git/config", text), ("sub/file", "")], ".").await, Ok(()), "{text}");
    }
}

#[tokio::test]
async fn a_pipe_is_not_waited_for() {
    let scratch = tempfile::tempdir().unwrap();
    let root = scratch.path().canonicalize().unwrap();
    fs::create_dir_all(root.join(".git/info")).unwrap();
    let pipe = root.join(".git/info/attributes");
    assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    assert!(proven_in(&root, ".").await.is_err());
}

#[test]
fn versions_are_read() {
    assert_eq!(version_in("git version 2.47.3\n"), Some((2, 47)));
    assert_eq!(version_in("git version 2.39.5 (Apple Git-154)\n"), Some((2, 39)));
    assert_eq!(version_in("git version 3.0\n"), Some((3, 0)));
    assert_eq!(version_in("hub version 2\n"), None);
}

#[tokio::test]
async fn a_git_that_is_too_old_or_missing_runs_nothing() {
    let environment = |path: &str| BTreeMap::from([("PATH".into(), path.into())]);
    let scratch = tempfile::tempdir().unwrap();
    let git = scratch.path().join("git");
    // Another process writes the file. Otherwise a child that another test starts meanwhile could hold it open for
    // writing, and it could not be run.
    let writes = r"printf '#!/bin/sh\necho git version 2.33.1\n' > git && chmod +x git";
    let written =
        std::process::Command::new("sh").args(["-c", writes]).current_dir(&scratch).status().unwrap();
    assert!(written.success());
    let here = environment(&format!("{}:/bin", scratch.path().display()));
    let verdict = Gate::new()
        .judge_command("git log", &GateContext { workspace: "/ws".to_owned(), ..GateContext::default() });
    let command = ConditionalCommand::allowed("git log", verdict.hardened.as_ref());
    let old = InstalledGit::default();
    let error = prove(&command, &unconfined(scratch.path(), &old, &here)).await.unwrap_err().to_string();
    assert!(error.contains("git here is 2.33"), "{error}");
    // The version is asked for only once.
    fs::remove_file(&git).unwrap();
    assert_eq!(old.version(&here).await, Probed::Version(2, 33));
    let (git, nowhere) = (InstalledGit::default(), environment("/nowhere"));
    let none = prove(&command, &unconfined(scratch.path(), &git, &nowhere)).await;
    assert!(none.is_err_and(|error| error.to_string().contains("no git here")));
}
