use std::fs::File;
use std::io::Write;

use super::*;

const HEADER: &str =
    "{\"type\":\"session\",\"version\":1,\"id\":\"ID\",\"title\":\"TITLE\",\"model\":\"m\",\"created\":1}\n";

fn kept(sessions: &Sessions, id: &str, title: &str) {
    let open = sessions.begin(id);
    open.write(&HEADER.replace("ID", id).replace("TITLE", title)).unwrap();
    open.write(&format!("{{\"type\":\"prompt\",\"text\":\"prompt of {id}\",\"at\":2}}\n")).unwrap();
}

#[test]
fn nothing_kept_is_no_error_and_makes_no_folder() {
    let state = tempfile::tempdir().unwrap();
    let sessions = Sessions::new(state.path().join("project"));
    assert!(sessions.list().unwrap().is_empty() && sessions.newest().unwrap().is_none());
    assert!(matches!(sessions.find("a"), Err(SessionsError::Unknown { .. })));
    drop(sessions.begin("a"));
    assert_eq!(fs::read_dir(state.path()).unwrap().count(), 0);
}

#[test]
fn whoever_goes_on_with_a_session_is_the_only_one() {
    let state = tempfile::tempdir().unwrap();
    let sessions = Sessions::new(state.path().join("project"));
    kept(&sessions, "abc", "one");
    let (session, open) = sessions.resume(&sessions.find("a").unwrap()).unwrap();
    assert_eq!(session.title, "one");
    for error in [sessions.resume("abc").map(drop), sessions.remove("abc")] {
        assert!(matches!(error, Err(SessionsError::Open { .. })), "{error:?}");
    }
    // Listing conversations takes no lock.
    assert_eq!(sessions.list().unwrap().len(), 1);
    drop(open);
    let (_, open) = sessions.resume("abc").unwrap();
    open.write(&Session::title_line("another")).unwrap();
    drop(open);
    assert_eq!(sessions.read("abc").unwrap().title, "another");
    sessions.remove("abc").unwrap();
    assert!(sessions.list().unwrap().is_empty());
}

/// A full disk, or a kill, can leave a file to which nothing was written.
#[test]
fn a_session_of_which_nothing_could_be_kept_hides_no_other() {
    let state = tempfile::tempdir().unwrap();
    let sessions = Sessions::new(state.path().join("project"));
    kept(&sessions, "abc", "one");
    File::create(sessions.file("def")).unwrap();
    assert_eq!(sessions.newest().unwrap().as_deref(), Some("abc"));
    assert_eq!(sessions.list().unwrap().len(), 1);
    assert!(matches!(sessions.find("def"), Err(SessionsError::Unknown { .. })));
}

#[test]
fn a_torn_end_is_cut_off_before_more_is_written() {
    let state = tempfile::tempdir().unwrap();
    let sessions = Sessions::new(state.path().join("project"));
    kept(&sessions, "abc", "one");
    let file = sessions.file("abc");
    OpenOptions::new().append(true).open(&file).unwrap().write_all(b"{\"type\":\"mess").unwrap();
    let (session, open) = sessions.resume("abc").unwrap();
    assert_eq!(session.torn, 13);
    open.write(&Session::title_line("two")).unwrap();
    drop(open);
    let session = sessions.read("abc").unwrap();
    assert_eq!((session.title.as_str(), session.torn), ("two", 0));
}

#[test]
fn what_cannot_be_read_is_listed_and_left_as_it_is() {
    let state = tempfile::tempdir().unwrap();
    let sessions = Sessions::new(state.path().join("project"));
    kept(&sessions, "abc", "one");
    for text in ["hello\n", &HEADER.replace("\"version\":1", "\"version\":9")] {
        fs::write(sessions.file("abc"), text).unwrap();
        let listed = sessions.list().unwrap();
        assert!(matches!(&listed[0].session, Err(SessionsError::Unreadable { .. })), "{listed:?}");
        assert!(sessions.resume("abc").is_err());
        assert_eq!(fs::read_to_string(sessions.file("abc")).unwrap(), text);
    }
    assert!(sessions.prompts().is_empty());
}

/// The oldest sessions are removed when there are too many, except those that are open.
#[test]
fn the_oldest_make_room() {
    let state = tempfile::tempdir().unwrap();
    let sessions = Sessions::new(state.path().join("project"));
    for number in 0..MOST {
        let id = format!("s{number:03}");
        kept(&sessions, &id, "x");
        let time = UNIX_EPOCH + std::time::Duration::from_secs(1_000 + number as u64);
        File::options().append(true).open(sessions.file(&id)).unwrap().set_modified(time).unwrap();
    }
    let (_, held) = sessions.resume("s000").unwrap();
    kept(&sessions, "new", "x");
    kept(&sessions, "newer", "x");
    let ids: Vec<_> = sessions.list().unwrap().into_iter().map(|listed| listed.id).collect();
    assert!(ids.contains(&"s000".to_owned()), "somebody talks in it");
    assert!(!ids.contains(&"s001".to_owned()) && ids.len() <= MOST + 1, "{}", ids.len());
    drop(held);
}

#[test]
fn prompts_can_be_called_back_in_their_order() {
    let state = tempfile::tempdir().unwrap();
    let sessions = Sessions::new(state.path().join("project"));
    for (number, id) in ["a", "b"].into_iter().enumerate() {
        kept(&sessions, id, "x");
        let time = UNIX_EPOCH + std::time::Duration::from_secs(1_000 + number as u64);
        File::options().append(true).open(sessions.file(id)).unwrap().set_modified(time).unwrap();
    }
    assert_eq!(sessions.prompts(), ["prompt of a", "prompt of b"]);
}

#[test]
fn so_many_prompts_can_be_called_back_and_these_are_the_newest() {
    let state = tempfile::tempdir().unwrap();
    let sessions = Sessions::new(state.path().join("project"));
    let open = sessions.begin("a");
    open.write(&HEADER.replace("ID", "a")).unwrap();
    for number in 1..=PROMPTS + 7 {
        open.write(&format!("{{\"type\":\"prompt\",\"text\":\"prompt {number}\",\"at\":2}}\n")).unwrap();
    }
    let prompts = sessions.prompts();
    assert_eq!((prompts.len(), PROMPTS), (2_000, 2_000));
    assert_eq!((&*prompts[0], &*prompts[PROMPTS - 1]), ("prompt 8", "prompt 2007"));
}
