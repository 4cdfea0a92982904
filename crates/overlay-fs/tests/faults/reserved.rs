//! The file that is reserved for the journal of a prepared accept.

use std::cell::Cell;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::rc::Rc;

use futures::executor::block_on;
use headstart_overlay_fs::UndoOutcome;
use headstart_overlay_fs::Workspace as _;
use headstart_overlay_fs::failpoints::{FailAction, arm, disarm};

use crate::place::{Home, Place, committed, contents, snapshot};

/// Preparing makes the file for the journal, so that the accept need not make one.
#[test]
fn a_prepared_accept_makes_no_file_for_its_journal() {
    let made = |is_prepared: bool| {
        let place = Place::new(Home::State);
        let changes = place.staged();
        if is_prepared {
            block_on(place.tree.prepare(&changes)).unwrap();
        }
        let count = Rc::new(Cell::new(0));
        let counter = count.clone();
        arm(move |point| {
            counter.set(counter.get() + usize::from(point.call == "create" && point.name == b"draft"));
            FailAction::GoOn
        });
        assert_eq!(place.commit(&changes), committed());
        disarm();
        count.get()
    };
    assert_eq!((made(false), made(true)), (1, 0));
}

/// Whatever is done to the reserved file, the journal is the one that the commit wrote, and no other file is written
/// to.
#[test]
fn what_is_done_to_the_file_does_not_matter() {
    let attacks: [fn(&Path, &Path); 6] = [
        |_, _| {},
        |file, _| fs::write(file, "{\"format\":1}").unwrap(),
        |file, _| fs::remove_file(file).unwrap(),
        |file, _| {
            fs::remove_file(file).unwrap();
            fs::write(file, "").unwrap();
        },
        |file, outside| {
            fs::remove_file(file).unwrap();
            symlink(outside.join("secret"), file).unwrap();
        },
        |file, outside| fs::hard_link(file, outside.join("linked")).unwrap(),
    ];
    for (number, attack) in attacks.into_iter().enumerate() {
        let place = Place::new(Home::State);
        let changes = place.staged();
        let before = contents(&place.snapshot());
        block_on(place.tree.prepare(&changes)).unwrap();
        let [staging] = &place.stagings()[..] else { panic!("one is prepared") };
        let draft = staging.join("draft");
        assert_eq!(fs::metadata(&draft).unwrap().len(), 0);
        attack(&draft, &place.outside());
        let outside = contents(&snapshot(&place.outside()));
        assert_eq!(place.commit(&changes), committed(), "{number}");
        assert_eq!(contents(&snapshot(&place.outside())), outside, "{number}");
        assert_ne!(contents(&place.snapshot()), before, "{number}");
        let undone = place.tree.undo(&changes);
        assert!(matches!(undone, Ok(UndoOutcome::Undone { .. })), "{number}: {undone:?}");
        assert_eq!(contents(&place.snapshot()), before, "{number}");
    }
}
