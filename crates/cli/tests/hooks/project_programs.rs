//! Holds that a hook allows no text whose programs are, or may become, those of the project, and no confined command
//! that could not run.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use super::support::Session;
use super::{asks, hook, line_of, session};

/// Whether the hooks of two products allow the text as it is, in the given folder.
fn allows_text(session: &Session, folder: &Path, command: &str) -> bool {
    let mut message = asks(session, command);
    message["cwd"] = folder.to_str().unwrap().into();
    let claude = hook(session, &["claude-code", "--text"], &message).stdout.contains("allow");
    message["hook_event_name"] = "PermissionRequest".into();
    let codex = hook(session, &["codex"], &message).stdout.contains("allow");
    assert_eq!(claude, codex, "{command} in {}", folder.display());
    claude
}

#[test]
fn programs_of_a_package_manager_count_in_every_folder_of_the_repository() {
    let session = session();
    let project = session.workspace().canonicalize().unwrap();
    let (app, bin) = (project.join("packages/app"), project.join("node_modules/.bin"));
    for folder in [&app, &bin, &project.join("tools"), &project.join(".git")] {
        fs::create_dir_all(folder).unwrap();
    }
    fs::copy("/usr/bin/touch", bin.join("wc")).unwrap();
    fs::copy("/usr/bin/touch", project.join("tools/wc")).unwrap();
    assert!(allows_text(&session, &app, "wc a.txt"));
    for folder in [&bin, &project.join("tools")] {
        let path = format!("{}:/usr/bin:/bin", folder.display());
        let session = super::session().variable("PATH", &path);
        assert!(!allows_text(&session, &app, "wc a.txt"), "{path}");
    }
}

#[test]
fn a_users_link_to_what_the_project_builds_is_a_program_of_the_project() {
    let session = session();
    let project = session.workspace().canonicalize().unwrap();
    let bin = session.home().canonicalize().unwrap().join("bin");
    fs::create_dir_all(&bin).unwrap();
    fs::copy("/usr/bin/wc", bin.join("wc")).unwrap();
    fs::copy("/usr/bin/touch", project.join("tac")).unwrap();
    symlink(project.join("tac"), bin.join("tac")).unwrap();
    let session = session.variable("PATH", &format!("{}:/usr/bin:/bin", bin.display()));
    assert!(allows_text(&session, &project, "wc a.txt"));
    assert!(!allows_text(&session, &project, "tac a.txt"));
}

#[test]
fn nothing_is_confined_where_programs_are_read_from() {
    let session = session();
    for (folder, is_allowed) in [("/etc", false), ("/usr/share", false), ("/proc", false), ("/var", true)] {
        let mut message = asks(&session, "ls");
        message["cwd"] = folder.into();
        let line = line_of(&hook(&session, &["claude-code"], &message));
        assert_eq!(line.is_some(), is_allowed, "{folder}: {line:?}");
    }
}
