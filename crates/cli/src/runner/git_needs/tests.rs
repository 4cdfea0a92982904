use super::*;

fn needs(folders: &[&str]) -> GitNeeds {
    GitNeeds {
        version: (2, 45),
        folders: folders.iter().map(|folder| (*folder).to_owned()).collect(),
        hides: vec!["info/attributes".to_owned()],
    }
}

/// A workspace with files in it, and what the check says of a command in `folder`.
fn checked(files: &[(&str, &str)], folder: &str) -> Result<(), String> {
    let scratch = tempfile::tempdir().unwrap();
    let root = scratch.path().canonicalize().unwrap().join("work");
    fs::create_dir(&root).unwrap();
    for (path, content) in files {
        let file = root.join(path);
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(file, content).unwrap();
    }
    check_repositories(&needs(&[folder]), &root)
}

#[test]
fn attributes_that_git_cannot_leave_out_keep_a_command_from_running() {
    let attributes = (".git/info/attributes", "* filter=x\n");
    let told = checked(&[attributes], ".").unwrap_err();
    assert!(told.contains(".git/info/attributes may name programs"), "{told}");
    assert!(checked(&[attributes, ("sub/deep/file", "")], "sub/deep").is_err());
    assert!(checked(&[("sub/.git/info/attributes", ""), ("sub/deep/file", "")], "sub/deep").is_err());
    assert!(checked(&[(".git/info/exclude", ""), (".git/config", "[core]\n\tbare = false\n")], ".").is_ok());
    // A repository that git does not find from there.
    assert!(checked(&[("sub/.git/info/attributes", ""), ("other/file", "")], "other").is_ok());
    assert!(checked(&[], "missing").is_ok());
}

#[test]
fn a_repository_kept_elsewhere_is_found() {
    let link = ("sub/.git", "gitdir: ../.git/modules/sub\n");
    assert!(checked(&[link, (".git/modules/sub/info/attributes", "")], "sub").is_err());
    let worktree = ("tree/.git", "gitdir: ../main/.git/worktrees/tree\n");
    let common = ("main/.git/worktrees/tree/commondir", "../..\n");
    assert!(checked(&[worktree, common, ("main/.git/info/attributes", "")], "tree").is_err());
    assert!(checked(&[worktree, common, ("main/.git/config", "")], "tree").is_ok());
}

#[test]
fn a_link_to_a_repository_is_followed() {
    let scratch = tempfile::tempdir().unwrap();
    let root = scratch.path().canonicalize().unwrap();
    fs::create_dir_all(root.join("there/.git/info")).unwrap();
    fs::write(root.join("there/.git/info/attributes"), "").unwrap();
    std::os::unix::fs::symlink("there", root.join("link")).unwrap();
    assert!(check_repositories(&needs(&["link"]), &root).is_err());
}

#[test]
fn a_work_tree_outside_is_refused_and_one_inside_is_not() {
    let set = |text: &str| checked(&[(".git/config", text), ("sub/file", "")], ".");
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
        assert!(set(text).is_err_and(|told| told.contains("core.worktree")), "{text}");
    }
    for text in [
        "[core]\n\tworktree = ../sub\n",
        "[core]\n\tworktree = ..\n",
        "[extensions]\n\tworktreeConfig = true\n",
        "",
    ] {
        assert_eq!(set(text), Ok(()), "{text}");
    }
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
    fs::write(&git, "#!/bin/sh\necho git version 2.44.1\n").unwrap();
    fs::set_permissions(&git, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    let here = environment(&format!("{}:/bin", scratch.path().display()));
    let old = InstalledGit::default();
    let told = old.is_new_enough((2, 45), &here).await.unwrap_err();
    assert!(told.contains("git here is 2.44"), "{told}");
    // It is asked once.
    fs::remove_file(&git).unwrap();
    assert_eq!(old.is_new_enough((2, 44), &here).await, Ok(()));
    let none = InstalledGit::default().is_new_enough((2, 45), &environment("/nowhere")).await;
    assert!(none.is_err_and(|told| told.contains("no git here")));
}
