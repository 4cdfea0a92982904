use std::os::unix::fs::PermissionsExt;
use std::sync::Barrier;

use headstart_speculation::{Cost, Ending, Finished, Transcript};
use headstart_tool_gate::ApprovalMode;

use super::*;
use crate::clock;

const WEEK: SweepPolicy =
    SweepPolicy { younger_than: std::time::Duration::from_secs(7 * 24 * 60 * 60), undecided: true };

fn store() -> (tempfile::TempDir, Store) {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::locate(Some(folder.path()), &Environment::default()).unwrap();
    (folder, store)
}

fn draft() -> Draft {
    Draft {
        conversation: None,
        workspace: "/w".into(),
        mode: ApprovalMode::Default,
        mode_by_flag: false,
        model: "replay:r.json".into(),
        fast_model: None,
        prompt: "run the tests".into(),
    }
}

fn finished() -> Finished {
    Finished {
        id: "x".into(),
        prompt: "run the tests".into(),
        ending: Ending::Completed,
        transcript: Transcript::new("run the tests"),
        task_calls: Vec::new(),
        changes: headstart_overlay_fs::ChangeSet::default(),
        git: None,
        next: None,
        cost: Cost::default(),
        not_kept: Vec::new(),
        keepable: Vec::new(),
        failed: Vec::new(),
        viewed_ms: None,
        preview: None,
        check: None,
    }
}

/// The record of a process that has died.
fn orphan(store: &Store) -> SpeculationId {
    let running = store.create(draft()).unwrap();
    let id = running.record().id.clone();
    drop(running);
    edit(store, &id, |record| record["owner"]["startTime"] = 1.into());
    id
}

fn edit(store: &Store, id: &SpeculationId, change: impl FnOnce(&mut serde_json::Value)) {
    let file = store.folder_of(id).join(RECORD);
    let mut record = serde_json::from_slice(&fs::read(&file).unwrap()).unwrap();
    change(&mut record);
    fs::write(file, record.to_string()).unwrap();
}

#[test]
fn a_speculation_runs_ends_and_is_accepted_once() {
    let (_folder, store) = store();
    let running = store.create(draft()).unwrap();
    let id = running.record().id.clone();
    assert!(store.is_alive(running.record()).unwrap());
    assert!(matches!(store.lock(&id), Err(CliError::Busy { .. })), "nobody else can change it while it runs");

    let record = running.finish(finished()).unwrap();
    assert_eq!(store.read(&id).unwrap(), record);
    assert_eq!((record.state, record.status_word(false)), (SpeculationState::Finished, "completed"));
    assert!(!store.is_alive(&record).unwrap());

    let mut locked = store.lock(&id).unwrap();
    locked.mark(SpeculationState::Accepted).unwrap();
    let error = locked.mark(SpeculationState::Accepted).unwrap_err().to_string();
    assert_eq!(error, format!("speculation {id} is accepted already"));
    assert!(
        locked.mark(SpeculationState::Aborted).is_err() && locked.mark(SpeculationState::Running).is_err()
    );
    drop(locked);
    assert_eq!(store.read(&id).unwrap().state, SpeculationState::Accepted);
}

#[test]
fn of_many_who_accept_at_once_one_does() {
    let (_folder, store) = store();
    for _ in 0..20 {
        let running = store.create(draft()).unwrap();
        let id = running.record().id.clone();
        running.finish(finished()).unwrap();
        let start = Barrier::new(4);
        let accept = || {
            start.wait();
            store.lock(&id).and_then(|mut locked| locked.mark(SpeculationState::Accepted)).is_ok()
        };
        let accepted = std::thread::scope(|scope| {
            let threads: Vec<_> = (0..4).map(|_| scope.spawn(accept)).collect();
            threads.into_iter().map(|thread| usize::from(thread.join().unwrap())).sum::<usize>()
        });
        assert_eq!(accepted, 1);
    }
}

#[test]
fn of_many_who_remove_at_once_one_does_and_nothing_is_left() {
    let (_folder, store) = store();
    for _ in 0..20 {
        let id = orphan(&store);
        let start = Barrier::new(4);
        let remove = || {
            start.wait();
            store.lock(&id).and_then(LockedSpeculation::remove).is_ok()
        };
        let removed = std::thread::scope(|scope| {
            let threads: Vec<_> = (0..4).map(|_| scope.spawn(remove)).collect();
            threads.into_iter().map(|thread| usize::from(thread.join().unwrap())).sum::<usize>()
        });
        assert_eq!((removed, store.names().unwrap().len()), (1, 0));
    }
}

#[test]
fn a_removal_ends_although_others_were_about_to_make_a_file_in_the_folder() {
    let parent = tempfile::tempdir().unwrap();
    let folder = parent.path().join("gone");
    for _ in 0..200 {
        fs::create_dir(&folder).unwrap();
        let start = Barrier::new(2);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                start.wait();
                // More processes than there ever are try this at the same time.
                (0..50).for_each(|_| drop(File::create(folder.join(LOCK))));
            });
            start.wait();
            locked::remove_renamed(&folder).unwrap();
        });
        assert!(!folder.exists());
    }
}

#[test]
fn an_id_may_be_shortened_as_long_as_it_is_clear() {
    let (_folder, store) = store();
    assert!(
        matches!(store.resolve("x"), Err(CliError::UnknownId { .. })),
        "no folder is no error of its own"
    );
    for id in ["aaaaaaaaaa", "aaaaaaaaab", "b000000000"] {
        fs::create_dir_all(store.folder().join(id)).unwrap();
    }
    for (text, expected) in [("b", Some("b000000000")), ("aaaaaaaaab", Some("aaaaaaaaab")), ("c", None)] {
        assert_eq!(store.resolve(text).ok().as_ref().map(SpeculationId::as_str), expected, "{text}");
    }
    let error = store.resolve("a").unwrap_err().to_string();
    assert_eq!(error, "\"a\" is the start of several ids: aaaaaaaaaa, aaaaaaaaab; write more of it");
    assert!(matches!(store.resolve("../aaaaaaaaaa"), Err(CliError::InvalidId { .. })));
}

#[test]
fn a_record_that_is_not_understood_is_reported_and_stays() {
    let (_folder, store) = store();
    let id = orphan(&store);
    let file = store.folder_of(&id).join(RECORD);
    let good = fs::read(&file).unwrap();
    let text = String::from_utf8(good).unwrap();
    let cases = [
        (String::new(), "the record is damaged"),
        (text[..text.len() / 2].to_owned(), "the record is damaged"),
        ("[]".to_owned(), "the record is damaged"),
        (text.replace("\"formatVersion\":1", "\"formatVersion\":2,\"new\":1"), "the record has format 2"),
        (text.replace(id.as_str(), "0000000000"), "the record is of another speculation, 0000000000"),
        (text.replace("\"running\"", "\"sleeping\""), "unknown variant `sleeping`"),
    ];
    for (bytes, expected) in cases {
        fs::write(&file, &bytes).unwrap();
        let error = store.read(&id).unwrap_err().to_string();
        assert!(error.starts_with(&file.display().to_string()) && error.contains(expected), "{error}");
        assert!(store.lock(&id).is_err());
        let swept =
            store.sweep(u64::MAX, SweepPolicy { younger_than: std::time::Duration::ZERO, undecided: false });
        assert!(!swept.unwrap()[0].removed);
        assert_eq!(fs::read_to_string(&file).unwrap(), bytes);
    }
    fs::remove_file(&file).unwrap();
    assert!(store.read(&id).unwrap_err().to_string().contains("the record is missing"));
}

#[test]
fn a_sweep_takes_what_is_dead_or_decided_long_ago_and_nothing_else() {
    let (_folder, store) = store();
    let dead = orphan(&store);
    let running = store.create(draft()).unwrap();
    let ended = store.create(draft()).unwrap().finish(finished()).unwrap().id;
    let accepted = store.create(draft()).unwrap().finish(finished()).unwrap().id;
    store.lock(&accepted).unwrap().mark(SpeculationState::Accepted).unwrap();
    fs::create_dir(store.folder().join("~photos")).unwrap();
    fs::create_dir(store.folder().join(".new-abc")).unwrap();
    let left = |now_ms, keep| {
        let swept = store.sweep(now_ms, keep).unwrap();
        let mut names: Vec<_> = swept.into_iter().filter(|one| one.removed).map(|one| one.name).collect();
        names.sort();
        names
    };
    let name = |id: &SpeculationId| id.to_string();
    assert_eq!(left(clock::unix_ms(), WEEK), [name(&dead)]);
    let next_week = clock::unix_ms() + 8 * 24 * 60 * 60 * 1_000;
    assert_eq!(left(next_week, WEEK), [name(&accepted)]);
    assert_eq!(left(next_week, SweepPolicy { undecided: false, ..WEEK }), [name(&ended)]);
    assert_eq!(store.names().unwrap(), [".new-abc".to_owned(), name(&running.record().id), "~photos".into()]);
    running.discard().unwrap();
}

#[test]
fn a_folder_that_a_dead_process_half_made_goes_after_an_hour() {
    let (_folder, store) = store();
    let folder = store.folder().join(".new-abc");
    fs::create_dir_all(&folder).unwrap();
    let two_hours_ago = std::time::SystemTime::now() - std::time::Duration::from_secs(2 * 60 * 60);
    File::open(&folder).unwrap().set_modified(two_hours_ago).unwrap();
    assert!(store.sweep(clock::unix_ms(), WEEK).unwrap()[0].removed);
    assert_eq!(store.names().unwrap().len(), 0);
}

#[test]
fn what_is_kept_is_for_the_user_alone() {
    let (folder, store) = store();
    let id = orphan(&store);
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(store.folder()), 0o700);
    assert_eq!(mode(&store.folder_of(&id)), 0o700);
    assert_eq!(mode(&store.folder_of(&id).join(RECORD)), 0o600);
    fs::set_permissions(store.folder(), fs::Permissions::from_mode(0o777)).unwrap();
    let error = store.create(draft()).unwrap_err().to_string();
    let place = folder.path().join("speculations");
    assert_eq!(error, format!("{} can be written by others; run `chmod 700` on it", place.display()));
}

#[test]
fn a_record_that_cannot_be_written_leaves_the_old_one() {
    let (_folder, store) = store();
    let running = store.create(draft()).unwrap();
    let id = running.record().id.clone();
    let folder = store.folder_of(&id);
    // Root may write anywhere, so a missing folder takes the place of a full disk.
    let aside = store.folder().join("aside");
    fs::rename(&folder, &aside).unwrap();
    let error = running.finish(finished()).unwrap_err().to_string();
    assert!(error.starts_with(&format!("cannot write {}", folder.join(RECORD).display())), "{error}");
    fs::rename(&aside, &folder).unwrap();
    assert_eq!(store.read(&id).unwrap().state, SpeculationState::Running);
    assert_eq!(fs::read_dir(&folder).unwrap().count(), 2, "no temporary file is left");
}

#[test]
fn a_file_in_place_of_the_state_folder_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("file");
    fs::write(&file, "").unwrap();
    let store = Store::locate(Some(&file), &Environment::default()).unwrap();
    let error = store.create(draft()).unwrap_err().to_string();
    assert!(
        error.starts_with(&format!("the state cannot be kept in {}", store.folder().display())),
        "{error}"
    );
    assert!(store.ids().unwrap_err().to_string().starts_with("the state cannot be kept in "));
    assert_eq!(fs::read_to_string(&file).unwrap(), "");
}

#[tokio::test]
async fn a_running_speculation_hears_that_it_is_not_wanted() {
    let (_folder, store) = store();
    let running = store.create(draft()).unwrap();
    let wait =
        tokio::time::timeout(std::time::Duration::from_millis(250), running.until_abort_is_requested());
    assert!(wait.await.is_err(), "nobody asked yet");
    store.request_abort(&running.record().id).unwrap();
    running.until_abort_is_requested().await;
    running.discard().unwrap();
    assert_eq!(store.names().unwrap().len(), 0);
}
