//! Permission bits that commands give to files and folders, from the view to the commit.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use headstart_shadow::NotStagedReason;

use crate::place::{Place, Test, lines, ok, path};

pub(crate) const TESTS: &[Test] = &[
    ("a_commit_gives_the_bits_that_a_command_gave", a_commit_gives_the_bits_that_a_command_gave),
    ("bits_that_no_command_gave_are_not_changed", bits_that_no_command_gave_are_not_changed),
    ("bits_last_in_a_view_that_shows_them", bits_last_in_a_view_that_shows_them),
    ("new_bits_of_a_folder_that_exists_are_named", new_bits_of_a_folder_that_exists_are_named),
];

impl Place {
    fn set_mode(&self, name: &str, mode: u32) {
        fs::set_permissions(self.work().join(name), fs::Permissions::from_mode(mode)).unwrap();
    }

    fn mode(&self, name: &str) -> u32 {
        fs::metadata(self.work().join(name)).unwrap().permissions().mode() & 0o7777
    }
}

fn a_commit_gives_the_bits_that_a_command_gave() {
    let place = Place::with(&[("open", "o"), ("tight", "t"), ("moved", "m"), ("same", "s")]);
    place.set_mode("tight", 0o600);
    place.set_mode("moved", 0o640);
    place.settle();
    let mut view = place.view();
    ok(
        &mut view,
        "(umask 077; echo k > key; mkdir vault; echo d > vault/deep); (umask 002; echo g > group); umask 022; \
         mkdir -m 2770 shared; echo s > shared/s; chmod 640 open; chmod 644 tight; mv moved gone; \
         echo '#!/bin/sh' > run; chmod 700 run; mkdir empty; chmod 1777 empty; touch same",
    );
    let back = place.read_back(&mut view);
    assert_eq!(back.not_staged, []);
    place.commit_all(&back.changes);
    let expected = [
        ("key", 0o600),
        ("vault", 0o700),
        ("vault/deep", 0o600),
        ("group", 0o664),
        ("shared", 0o2770),
        ("shared/s", 0o644),
        ("open", 0o640),
        ("tight", 0o644),
        ("gone", 0o640),
        ("run", 0o700),
        ("empty", 0o1777),
        ("same", 0o644),
    ];
    for (name, mode) in expected {
        assert_eq!(place.mode(name), mode, "{name} has {:o}, and not {mode:o}", place.mode(name));
    }
    assert!(!lines(&back.changes).iter().any(|line| line.contains("same")), "{:?}", lines(&back.changes));
}

fn bits_that_no_command_gave_are_not_changed() {
    let place = Place::with(&[("tight", "t"), ("program", "#!/bin/sh"), ("d/in", "i")]);
    place.set_mode("tight", 0o600);
    place.set_mode("program", 0o711);
    place.set_mode("d", 0o750);
    place.settle();
    let staged = place.staged(async |overlay| {
        overlay.write(&path("tight"), b"edited\n".to_vec()).await.unwrap();
        overlay.write(&path("new/file"), b"new\n".to_vec()).await.unwrap();
        overlay.create_dir(&path("made")).await.unwrap();
    });
    let mut view = place.view();
    view.show(&staged.clone()).unwrap();
    ok(
        &mut view,
        "echo more >> tight; echo more >> program; echo more >> d/in; echo more >> new/file; touch made",
    );
    let back = place.read_back(&mut view);
    assert_eq!(back.not_staged, []);
    assert_eq!(back.changes.changes.iter().filter_map(|change| change.mode).collect::<Vec<_>>(), [0; 0]);
    // What the user tightened meanwhile stays so.
    place.set_mode("d/in", 0o400 | 0o200);
    place.commit_all(&back.changes);
    for (name, mode) in [("tight", 0o600), ("program", 0o711), ("d", 0o750), ("d/in", 0o600)] {
        assert_eq!(place.mode(name), mode, "{name} has {:o}", place.mode(name));
    }
}

fn bits_last_in_a_view_that_shows_them() {
    let place = Place::with(&[("a", "a")]);
    let mut view = place.view();
    ok(&mut view, "umask 077; echo k > key; mkdir vault; echo d > vault/deep; chmod 600 a");
    let first = place.read_back(&mut view).changes;
    let mut other = place.view();
    other.show(&first).unwrap();
    let said = ok(&mut other, "stat -c '%a %n' a key vault vault/deep; echo more >> key; chmod 750 vault");
    assert_eq!(said, "600 a\n600 key\n700 vault\n600 vault/deep\n");
    let second = place.read_back(&mut other).changes;
    let modes: Vec<_> = second.changes.iter().map(|change| (change.path.to_string(), change.mode)).collect();
    let expected = [("a", 0o600), ("key", 0o600), ("vault", 0o750), ("vault/deep", 0o600)];
    assert_eq!(modes, expected.map(|(name, mode)| (name.to_owned(), Some(mode))));
}

fn new_bits_of_a_folder_that_exists_are_named() {
    let place = Place::with(&[("d/in", "i")]);
    let mut view = place.view();
    ok(&mut view, "chmod 700 d");
    let back = place.read_back(&mut view);
    assert_eq!(lines(&back.changes), [""; 0]);
    let named: Vec<_> = back.not_staged.iter().map(|not| (not.path.to_string(), not.why)).collect();
    assert_eq!(named, [("d".to_owned(), NotStagedReason::FolderBits)]);
}
