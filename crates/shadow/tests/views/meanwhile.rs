//! What a user does to the files that a command changes is never lost, whether it is done before, during or after the
//! command.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::time::Duration;

use headstart_overlay_fs::CommitOutcome;

use crate::place::{Place, Test, ok};

pub(crate) const TESTS: &[Test] =
    &[("no_edit_of_its_user_is_lost_whenever_it_is_made", no_edit_of_its_user_is_lost)];

/// A name, an edit that the user makes, and a check that the edit is still there.
type Edit = (&'static str, fn(&Path), fn(&Path) -> bool);

/// The edits. The command writes `changed`, removes `removed` and creates `made`.
const EDITS: [Edit; 14] = [
    ("written in place", |at| write(at, "changed", "theirs"), |at| holds(at, "changed", "theirs")),
    ("written in place, as long and as old as before", as_long_and_as_old, |at| holds(at, "changed", "THEI")),
    (
        "appended to",
        |at| write(at, "changed", "base and theirs"),
        |at| holds(at, "changed", "base and theirs"),
    ),
    ("saved by a rename", |at| save(at, "changed"), |at| holds(at, "changed", "theirs")),
    ("removed", |at| fs::remove_file(at.join("changed")).unwrap(), |at| is_gone(at, "changed")),
    ("removed and made anew", made_anew, |at| holds(at, "changed", "theirs")),
    ("made executable", make_executable, |at| mode(at) & 0o111 == 0o111),
    ("replaced by a link", replace_by_link, |at| at.join("changed").is_symlink()),
    ("replaced by a folder", replace_by_folder, |at| holds(at, "changed/theirs", "theirs")),
    (
        "renamed",
        |at| fs::rename(at.join("changed"), at.join("other")).unwrap(),
        |at| is_gone(at, "changed") && holds(at, "other", "base"),
    ),
    ("made, where the command makes one", |at| write(at, "made", "theirs"), |at| holds(at, "made", "theirs")),
    ("made as a folder", make_folder, |at| holds(at, "made/theirs", "theirs")),
    (
        "written, where the command removes it",
        |at| write(at, "removed", "theirs"),
        |at| holds(at, "removed", "theirs"),
    ),
    ("saved, where the command removes it", |at| save(at, "removed"), |at| holds(at, "removed", "theirs")),
];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Moment {
    BeforeTheCommand,
    BesideIt,
    AfterIt,
    AfterReadingBack,
}

fn no_edit_of_its_user_is_lost() {
    use Moment::{AfterIt, AfterReadingBack, BeforeTheCommand, BesideIt};
    for (name, edit, is_there) in EDITS {
        for moment in [BeforeTheCommand, BesideIt, AfterIt, AfterReadingBack] {
            let place = Place::with(&[("changed", "base"), ("removed", "base"), ("beside", "base")]);
            let at = place.work();
            let mut view = place.view();
            if moment == BeforeTheCommand {
                edit(&at);
            }
            let line = "rm -rf changed made; echo ours > changed; echo ours > made; rm -rf removed; echo ours > beside";
            if moment == BesideIt {
                std::thread::scope(|scope| {
                    let command = scope.spawn(|| ok(&mut view, &format!("{line}; sleep 0.2")));
                    std::thread::sleep(Duration::from_millis(100));
                    edit(&at);
                    command.join().unwrap();
                });
            } else {
                ok(&mut view, line);
            }
            if moment == AfterIt {
                edit(&at);
            }
            let back = place.read_back(&mut view);
            if moment == AfterReadingBack {
                edit(&at);
            }
            let outcome = place.commit(&back.changes);
            let about = format!("{name}, {moment:?}: {:?}, {outcome:?}", back.changed_meanwhile);
            assert!(is_there(&at), "{about}");
            // Either the user is told of the conflict, or the edit did not contradict the command.
            let is_told = !back.changed_meanwhile.is_empty() || matches!(outcome, CommitOutcome::Conflict(_));
            assert!(is_told || name == "made executable", "{about}");
            // The file that the user did not edit is committed, or waits with the rest if there is a conflict.
            let beside = if matches!(outcome, CommitOutcome::Conflict(_)) { "base" } else { "ours\n" };
            assert!(holds(&at, "beside", beside), "{about}");
        }
    }
}

fn write(at: &Path, name: &str, text: &str) {
    fs::write(at.join(name), text).unwrap();
}

fn holds(at: &Path, name: &str, text: &str) -> bool {
    fs::read_to_string(at.join(name)).is_ok_and(|found| found == text)
}

fn is_gone(at: &Path, name: &str) -> bool {
    at.join(name).symlink_metadata().is_err()
}

fn mode(at: &Path) -> u32 {
    fs::metadata(at.join("changed")).unwrap().permissions().mode()
}

fn as_long_and_as_old(at: &Path) {
    let file = fs::File::options().write(true).open(at.join("changed")).unwrap();
    let before = file.metadata().unwrap().modified().unwrap();
    std::io::Write::write_all(&mut &file, b"THEI").unwrap();
    file.set_modified(before).unwrap();
}

fn save(at: &Path, name: &str) {
    write(at, "saving", "theirs");
    fs::rename(at.join("saving"), at.join(name)).unwrap();
}

fn made_anew(at: &Path) {
    fs::remove_file(at.join("changed")).unwrap();
    write(at, "changed", "theirs");
}

fn make_executable(at: &Path) {
    fs::set_permissions(at.join("changed"), fs::Permissions::from_mode(0o755)).unwrap();
}

fn replace_by_link(at: &Path) {
    fs::remove_file(at.join("changed")).unwrap();
    std::os::unix::fs::symlink("beside", at.join("changed")).unwrap();
}

fn replace_by_folder(at: &Path) {
    fs::remove_file(at.join("changed")).unwrap();
    fs::create_dir(at.join("changed")).unwrap();
    write(at, "changed/theirs", "theirs");
}

fn make_folder(at: &Path) {
    fs::create_dir(at.join("made")).unwrap();
    write(at, "made/theirs", "theirs");
}
