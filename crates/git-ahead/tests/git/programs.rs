//! An accept runs no program except git, whatever programs the user's repository names.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::time::{Duration, SystemTime};

use crate::world::World;

/// The user's configuration, hooks and attributes name programs in many ways. None of them may run.
#[test]
fn neither_hooks_nor_configuration_nor_attributes_start_a_program() {
    let world = World::new();
    let ran = world.path.join("ran");
    let program = world.path.join("program");
    fs::write(&program, format!("#!/bin/sh\necho \"$0 $@\" >> {}\ncat\n", ran.display())).unwrap();
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    let program = program.to_str().unwrap();
    world.write(".gitattributes", "* filter=x merge=x diff=x\n");
    fs::create_dir_all(world.user().join(".git/info")).unwrap();
    fs::write(world.user().join(".git/info/attributes"), "* filter=x merge=x diff=x\n").unwrap();
    world.git(&["add", "."]);
    world.git(&["commit", "-qm", "attributes"]);
    let work = world.work("echo more >> a.txt; git commit -qam second; git tag v1");
    let hooks = world.user().join(".git/hooks");
    for hook in [
        "reference-transaction",
        "pre-commit",
        "post-commit",
        "post-index-change",
        "update",
        "pre-receive",
        "post-receive",
        "post-update",
        "pre-auto-gc",
        "post-checkout",
        "post-merge",
        "post-rewrite",
        "fsmonitor-watchman",
    ] {
        fs::copy(program, hooks.join(hook)).unwrap();
    }
    for key in [
        "core.fsmonitor",
        "core.hooksPath",
        "core.sshCommand",
        "core.pager",
        "core.editor",
        "core.askPass",
        "core.alternateRefsCommand",
        "filter.x.clean",
        "filter.x.smudge",
        "filter.x.process",
        "merge.x.driver",
        "diff.x.command",
        "diff.x.textconv",
        "gpg.program",
        "credential.helper",
        "alias.update-ref",
        "alias.unpack-objects",
        "uploadpack.packObjectsHook",
        "trace2.eventTarget",
        "gc.recentObjectsHook",
    ] {
        let value = if key == "core.hooksPath" { hooks.to_str().unwrap() } else { program };
        fs::write(
            world.user().join(".git/config"),
            format!(
                "{}[{}]\n\t{} = {value}\n",
                fs::read_to_string(world.user().join(".git/config")).unwrap(),
                section(key),
                key.rsplit('.').next().unwrap(),
            ),
        )
        .unwrap();
    }
    // Git reads the files that are as new as its index when it writes the next one.
    let index = fs::File::options().write(true).open(world.user().join(".git/index")).unwrap();
    index.set_modified(SystemTime::UNIX_EPOCH + Duration::from_secs(1_000_000_000)).unwrap();
    let accepted = world.accept(&work).unwrap();
    assert!(matches!(accepted, headstart_overlay_fs::CommitOutcome::Committed(_)));
    assert!(!ran.exists(), "{}", fs::read_to_string(&ran).unwrap_or_default());
    assert!(matches!(world.undo(&work), Ok(headstart_overlay_fs::UndoOutcome::Undone { .. })));
    world.repository().offer(work.git.as_ref().unwrap(), "1").unwrap();
    world.repository().keep(work.git.as_ref().unwrap(), "1").unwrap();
    assert!(!ran.exists(), "{}", fs::read_to_string(&ran).unwrap_or_default());
    let _ =
        crate::world::git_command(&world.user()).args(["commit", "-q", "--allow-empty", "-m", "x"]).output();
    assert!(ran.exists(), "the user's own git does run them");
}

fn section(key: &str) -> String {
    let (section, _) = key.rsplit_once('.').unwrap();
    match section.split_once('.') {
        Some((section, name)) => format!("{section} \"{name}\""),
        None => section.to_owned(),
    }
}

/// A hook of the project runs in the view, where the commit is made. At the accept only its result is applied.
#[test]
fn hooks_of_the_project_run_in_the_view_only() {
    let world = World::new();
    let hook = world.user().join(".git/hooks/pre-commit");
    fs::write(&hook, "#!/bin/sh\necho formatted > formatted.txt\ngit add formatted.txt\n").unwrap();
    fs::set_permissions(&hook, fs::Permissions::from_mode(0o755)).unwrap();
    let whole = world.whole();
    let work = world.work("echo more >> a.txt; git commit -qam second");
    assert_eq!(world.whole(), whole);
    world.accepted(&work);
    assert_eq!(world.git(&["show", "HEAD:formatted.txt"]), "formatted\n");
    assert_eq!(world.status(), "");
}

/// Git fetches a missing object from a promisor remote, and the repository says by which program.
#[test]
fn nothing_that_is_missing_is_fetched() {
    let world = World::new();
    let ran = world.path.join("ran");
    let program = world.path.join("program");
    fs::write(&program, format!("#!/bin/sh\necho \"$0 $@\" >> {}\n", ran.display())).unwrap();
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    let work = world.work("echo more >> a.txt; git commit -qam second");
    // A tree on which the new commit is built is gone from the user's repository.
    let tree = world.git(&["rev-parse", "HEAD^{tree}"]);
    let (first, rest) = tree.trim().split_at(2);
    fs::remove_file(world.user().join(".git/objects").join(first).join(rest)).unwrap();
    let plain = fs::read_to_string(world.user().join(".git/config")).unwrap();
    let program = program.to_str().unwrap();
    let urls =
        [format!("ext::{program}"), "ssh://host/x".to_owned(), world.user().to_str().unwrap().to_owned()];
    for url in urls {
        let remote = format!(
            "{plain}\tsshCommand = {program}\n[remote \"x\"]\n\turl = {url}\n\tpromisor = true\n\tuploadpack = {program}\n\
             [protocol]\n\tallow = always\n[fetch]\n\tbundleURI = http://127.0.0.1:1/\n"
        );
        fs::write(world.user().join(".git/config"), remote).unwrap();
        let _ = world.accept(&work);
        let _ = world.repository().offer(work.git.as_ref().unwrap(), "1");
        let _ = world.repository().keep(work.git.as_ref().unwrap(), "1");
        assert!(!ran.exists(), "{url}: {}", fs::read_to_string(&ran).unwrap_or_default());
    }
    let git = crate::world::git_command(&world.user()).args(["cat-file", "-p", tree.trim()]).output();
    assert!(ran.exists(), "the user's own git runs it: {git:?}");
}
