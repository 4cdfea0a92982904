//! The messages as text, and answers that no view would give.

use std::sync::Arc;
use std::time::Duration;

use futures::executor::block_on;
use headstart_overlay_fs::{
    Change, ChangeKind, ChangeKindByHash, ChangeSet, CommitOutcome, Content, ContentHash, EntryKind,
    MemoryTree, Overlay, Quota, Workspace as _, WorkspacePath,
};
use headstart_tool_gate::DenyRules;
use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::{
    CommandOutput, PriorGitChanges, SecretAccess, Tier, ViewCost, ViewId, ViewOutput, ViewRefusals,
    ViewRequest,
};

fn path(text: &str) -> WorkspacePath {
    WorkspacePath::parse(text).unwrap()
}

fn write(content: &str) -> ChangeKindByHash {
    ChangeKindByHash::Write {
        content: ContentHash::of(content.as_bytes()),
        executable: false,
        moved_from: None,
    }
}

#[expect(clippy::unnecessary_wraps, reason = "the field of an answer is one that may be missing")]
fn file(content: &str) -> Option<BaseEntry> {
    let content = Some(ContentHash::of(content.as_bytes()));
    Some(BaseEntry { kind: EntryKind::File, content, executable: false })
}

const FOLDER: Option<BaseEntry> =
    Some(BaseEntry { kind: EntryKind::Directory, content: None, executable: false });

fn changed(at: &str, base: Option<BaseEntry>, kind: ChangeKindByHash) -> ViewChange {
    ViewChange { path: path(at), base, kind, mode: None }
}

fn tree() -> MemoryTree {
    let files = [
        ("a.txt", "a\n"),
        ("src/lib.rs", "one\n"),
        ("old/b.txt", "b\n"),
        ("old/out/c.o", "c\n"),
        (".gitignore", "out\n*.log\n"),
    ];
    MemoryTree::from_files(files).unwrap()
}

fn request(tree: MemoryTree, staged: ChangeSet) -> ViewRequest {
    ViewRequest {
        printed: None,
        command: "make".to_owned(),
        directory: WorkspacePath::root(),
        view: ViewId::new("one"),
        below: Arc::default(),
        staged: Arc::new(staged),
        git: PriorGitChanges::default(),
        base: Arc::new(tree),
        deny: DenyRules::from_patterns(["private/**"]).unwrap(),
        secrets: SecretAccess::Closed,
        time_limit: Duration::from_secs(9),
        output_limit: 1_000,
    }
}

fn ran(changes: Vec<ViewChange>) -> RunResult {
    let output =
        CommandOutput { output: "done\n".to_owned(), exit_code: Some(0), timed_out: false, truncated: false };
    RunResult { changes, ..RunResult::of(7, &ViewOutput::of(output, ChangeSet::default())) }
}

fn take(changes: Vec<ViewChange>, contents: &[&str], request: &ViewRequest) -> Result<ViewOutput, String> {
    take_ran(ran(changes), contents, Quota::default(), request)
}

fn take_ran(
    ran: RunResult,
    contents: &[&str],
    quota: Quota,
    request: &ViewRequest,
) -> Result<ViewOutput, String> {
    let mut answer = AnswerReceiver::new(quota);
    for content in contents {
        for (piece, more) in content_pieces(content.as_bytes()) {
            answer.push_content(ContentHash::of(content.as_bytes()), &piece, more)?;
        }
    }
    block_on(answer.into_output(ran, request)).map_err(|error| error.to_string())
}

#[test]
fn an_answer_is_a_change_set_that_rests_on_this_side() {
    let request = request(tree(), ChangeSet::default());
    let changes = vec![
        changed("a.txt", file("a\n"), write("A\n")),
        changed("new/x.txt", None, write("x\n")),
        changed("src/lib.rs", file("one\n"), ChangeKindByHash::Delete),
        changed("link", None, ChangeKindByHash::Link { target: b"a.txt".to_vec(), moved_from: None }),
    ];
    let ran = take(changes, &["A\n", "x\n"], &request).unwrap();
    let paths: Vec<_> = ran.changes.changes.iter().map(|change| change.path.to_string()).collect();
    assert_eq!(paths, ["src/lib.rs", "a.txt", "link", "new/x.txt"], "removals come first");
    let on_disk = block_on(request.base.metadata(&path("a.txt"))).unwrap().fingerprint;
    let of_a = &ran.changes.changes[1];
    assert_eq!((of_a.base.as_ref(), of_a.base_content.as_deref()), (Some(&on_disk), Some(&b"a\n"[..])));
    let target = tree();
    let staged = take(vec![changed("a.txt", file("a\n"), write("A\n"))], &["A\n"], &request).unwrap().changes;
    assert!(matches!(block_on(target.commit(&staged, <_>::default())), Ok(CommitOutcome::Committed(_))));
}

#[test]
fn what_this_side_has_otherwise_changed_meanwhile() {
    let request = request(tree(), ChangeSet::default());
    let changes = vec![
        changed("a.txt", file("as it was before\n"), write("A\n")),
        changed("src/lib.rs", None, write("A\n")),
        changed("gone.txt", file("x\n"), ChangeKindByHash::Delete),
        changed("fine.txt", None, write("A\n")),
    ];
    let ran = take(changes, &["A\n"], &request).unwrap();
    assert_eq!(ran.changed_meanwhile, [path("a.txt"), path("gone.txt"), path("src/lib.rs")]);
    assert_eq!(ran.changes.changes.len(), 1);
}

#[test]
fn what_git_ignores_is_not_staged_and_a_folder_that_holds_it_stays() {
    let request = request(tree(), ChangeSet::default());
    let changes = vec![
        changed("old/b.txt", file("b\n"), ChangeKindByHash::Delete),
        changed("old", FOLDER, ChangeKindByHash::Delete),
        changed("out/evil.sh", None, write("x\n")),
        changed("x.log", None, write("x\n")),
        changed("src/lib.rs", file("one\n"), ChangeKindByHash::Delete),
        changed("src", FOLDER, ChangeKindByHash::Delete),
    ];
    let ran = take(changes, &["x\n"], &request).unwrap();
    let paths: Vec<_> = ran.changes.changes.iter().map(|change| change.path.to_string()).collect();
    assert_eq!(paths, ["src/lib.rs", "src", "old/b.txt"]);
    assert_eq!(ran.warm, [path("old"), path("out"), path("x.log")]);
    // What they were brought for must not be removed without them.
    let torn = ran.torn.unwrap();
    assert_eq!(
        (torn.removed, torn.written),
        (vec![path("old/b.txt"), path("src/lib.rs")], vec!["out".to_owned(), "x.log".to_owned()])
    );
    assert_eq!(ran.changed_meanwhile, []);
    let listed: Vec<_> =
        ran.changes.reads.iter().map(|read| (read.path.to_string(), read.names.clone())).collect();
    assert_eq!(listed, [("src".to_owned(), Some(vec![b"lib.rs".to_vec()]))]);
    // A file that appeared in a removed folder since must not be removed.
    let tree = tree();
    tree.write(&path("src/new.rs"), "new\n");
    let request = ViewRequest { base: Arc::new(tree), ..request };
    let changes = vec![
        changed("src/lib.rs", file("one\n"), ChangeKindByHash::Delete),
        changed("src", FOLDER, ChangeKindByHash::Delete),
    ];
    assert_eq!(take(changes, &[], &request).unwrap().changed_meanwhile, [path("src/new.rs")]);
}

#[test]
fn what_was_staged_before_needs_no_content_to_come_back() {
    let staged = ChangeSet {
        changes: vec![Change {
            path: path("out/kept.txt"),
            base: None,
            base_content: None,
            kind: ChangeKind::Write { content: "kept\n".into(), executable: true, moved_from: None },
            mode: None,
        }],
        reads: Vec::new(),
    };
    let request = request(tree(), staged);
    let kept =
        ChangeKindByHash::Write { content: ContentHash::of(b"kept\n"), executable: true, moved_from: None };
    let ran = take(vec![changed("out/kept.txt", None, kept)], &[], &request).unwrap();
    assert_eq!(ran.changes, *request.staged);
}

/// Each of these is an answer of a side that lies or is broken, and is refused as a whole.
#[test]
fn an_answer_that_no_view_gives_is_refused_as_a_whole() {
    let request = request(tree(), ChangeSet::default());
    let good = || changed("fine.txt", None, write("x\n"));
    let link = |target: &[u8]| ChangeKindByHash::Link { target: target.to_vec(), moved_from: None };
    let cases = [
        (changed(".", None, write("x\n")), "it changes the workspace itself"),
        (
            changed(".git/hooks/pre-commit", None, write("x\n")),
            "it changes .git/hooks/pre-commit, which is git's own",
        ),
        (changed("sub/.GIT/config", None, write("x\n")), "it changes sub/.GIT/config, which is git's own"),
        (changed(".git", None, ChangeKindByHash::CreateDirectory), "it changes .git, which is git's own"),
        (good(), "it changes fine.txt twice"),
        (changed("l", None, link(b"/etc/passwd")), "it makes l a link that leads out of the workspace"),
        (changed("l", None, link(b"../x")), "it makes l a link that leads out of the workspace"),
        (changed("d/l", None, link(b"../a/../../x")), "it makes d/l a link that leads out of the workspace"),
        (changed("l", None, link(b"")), "it makes l a link that leads out of the workspace"),
        (changed("y.txt", None, write("not sent\n")), "the content of y.txt ("),
    ];
    for (change, why) in cases {
        let refused = take(vec![good(), change], &["x\n"], &request).unwrap_err();
        assert!(refused.starts_with(why), "{refused}");
    }
    for line in [
        r#"{"path":"../x","kind":{"type":"delete"}}"#,
        r#"{"path":"/etc/passwd","kind":{"type":"delete"}}"#,
        r#"{"path":"a/../../x","kind":{"type":"delete"}}"#,
        r#"{"path":"a\u0000b","kind":{"type":"delete"}}"#,
        r#"{"path":"","kind":{"type":"delete"}}"#,
        r#"{"path":"a","kind":{"type":"chmod"}}"#,
    ] {
        assert!(decode_line::<ViewChange>(line.as_bytes()).is_err(), "{line}");
    }
}

#[test]
fn a_secret_that_comes_back_is_left_to_the_rules() {
    let tree = tree();
    tree.write(&path(".env"), "TOKEN=1\n");
    let request = request(tree, ChangeSet::default());
    let changes = vec![changed(".env", None, write("x\n")), changed("private/a", None, write("x\n"))];
    let ran = take(changes, &["x\n"], &request).unwrap();
    let paths: Vec<_> = ran.changes.changes.iter().map(|change| change.path.to_string()).collect();
    assert_eq!((paths, ran.changed_meanwhile.len()), (vec![".env".to_owned(), "private/a".to_owned()], 0));
    assert!(ran.changes.changes.iter().all(|change| change.base_content.is_none()), "its content stays here");
}

#[test]
fn an_answer_has_limits() {
    let request = request(tree(), ChangeSet::default());
    let take = |changes: Vec<ViewChange>, contents: &[&str], quota: Quota| {
        take_ran(ran(changes), contents, quota, &request).unwrap_err()
    };
    let many = (0..3).map(|number| changed(&format!("n{number}"), None, ChangeKindByHash::CreateDirectory));
    let quota = Quota { files: 2, ..Quota::default() };
    assert!(take(many.collect(), &[], quota).ends_with("would exceed the limit of 2 files"));
    let deep = changed("a/b/c", None, ChangeKindByHash::CreateDirectory);
    let quota = Quota { depth: 2, ..Quota::default() };
    assert!(take(vec![deep], &[], quota).ends_with("would exceed the limit of 2 names in a path"));
    let quota = Quota { file_bytes: 3, ..Quota::default() };
    let refused = take(vec![changed("x", None, write("four"))], &["four"], quota);
    assert!(refused.ends_with("would exceed the limit of 3 bytes in one file"), "{refused}");
    let quota = Quota { bytes: 6, ..Quota::default() };
    let refused = take(vec![changed("x", None, write("four"))], &["four", "more"], quota);
    assert_eq!(refused, "contents have more than 6 bytes");
    let words = RunResult {
        notes: vec!["\u{1b}[2Jx\ny".repeat(1_000); 1_000],
        outside: vec!["\u{7}".to_owned()],
        refused: ViewRefusals { quota: Some("a\nb".to_owned()), ..ViewRefusals::default() },
        git_refused: Some("a\r\nb".to_owned()),
        ..ran(Vec::new())
    };
    let told = take_ran(words, &[], Quota::default(), &request).unwrap();
    assert_eq!((told.notes.len(), told.notes[0].chars().count()), (100, 500));
    let all =
        [told.notes.join(""), told.outside.join(""), told.refused.quota.unwrap(), told.git_refused.unwrap()];
    assert!(!all.concat().chars().any(char::is_control));
}

#[test]
fn a_content_comes_in_pieces_and_is_what_it_was_announced_as() {
    let long = "x".repeat(700_000);
    let hash = ContentHash::of(long.as_bytes());
    let mut pieces = ContentAssembler::only([hash]);
    assert!(!pieces.is_complete());
    for (piece, more) in content_pieces(long.as_bytes()) {
        pieces.push(hash, &piece, more).unwrap();
    }
    assert!(pieces.is_complete() && pieces.take()[&hash].len() == 700_000);
    assert_eq!(content_pieces(b"").count(), 1);
    let other = ContentHash::of(b"other");
    assert!(
        ContentAssembler::only([hash])
            .push(other, b"other", false)
            .unwrap_err()
            .ends_with("was not asked for")
    );
    assert!(
        ContentAssembler::only([other])
            .push(other, b"Other", false)
            .unwrap_err()
            .contains("as it was announced")
    );
    let mut mixed = ContentAssembler::at_most(100);
    mixed.push(hash, b"x", true).unwrap();
    assert!(mixed.push(other, b"other", false).unwrap_err().contains("begins before the end of"));
}

#[test]
fn a_side_of_another_version_is_told_apart() {
    let greet =
        |line: &str| decode_greeting::<ServerMessage>(line.as_bytes()).map_err(|error| error.to_string());
    let hello = ServerMessage::Hello {
        version: VERSION,
        program: "p".to_owned(),
        tier: Some(Tier::Kernel),
        notes: Vec::new(),
        tree: None,
    };
    assert_eq!(greet(std::str::from_utf8(&encode_line(&hello)).unwrap().trim()), Ok(hello));
    let newer = r#"{"type":"hello","version":2,"tier":{"of":"another kind"}}"#;
    let why =
        "it speaks version 2 of the exchange, and this side version 1; install the same headstart on both";
    assert_eq!(greet(newer).unwrap_err(), why);
    assert!(greet(r#"{"type":"hello","version":0}"#).unwrap_err().starts_with("it speaks version 0"));
    for line in
        ["Welcome to Debian!", "", "{}", r#"{"type":"alive"}"#, r#"{"type":"ran","version":1}"#, "\u{1b}[0m"]
    {
        assert!(greet(line).unwrap_err().contains("which is no greeting"), "{line}");
    }
    assert!(greet(r#"{"type":"hello","version":1}"#).unwrap_err().contains("missing field"));
}

/// The format that other programs read and write, as described in docs/formats.md.
#[test]
fn the_messages_are_these() {
    let hash = ContentHash::of(b"a\n");
    let ask = |ask: &ClientMessage| serde_json::to_value(ask).unwrap();
    let run = RunRequest {
        id: 2,
        tree: hash,
        view: "7k2m".to_owned(),
        command: "make".to_owned(),
        directory: WorkspacePath::root(),
        below: Vec::new(),
        staged: vec![StagedChange { path: path("a"), kind: write("a\n"), mode: None }],
        time_ms: 5,
        output_bytes: 6,
    };
    let edits = vec![
        TreeEdit { path: path("gone"), now: None },
        TreeEdit { path: path("a"), now: Some(ManifestEntry::File { hash, len: 2, executable: true }) },
        TreeEdit { path: path("d"), now: Some(ManifestEntry::Folder) },
        TreeEdit { path: path("l"), now: Some(ManifestEntry::Link { target: "a".into() }) },
    ];
    let text = hash.to_string();
    let hello = ClientHello {
        version: VERSION,
        program: "headstart 0.1.0".to_owned(),
        client: "c".to_owned(),
        workspace: "/home/ada/project".to_owned(),
        limits: ViewLimits { bytes: Some(1), ..ViewLimits::default() },
        build: Vec::new(),
    };
    assert_eq!(
        ask(&ClientMessage::Hello(hello)),
        json!({"type": "hello", "version": 1, "program": "headstart 0.1.0", "client": "c", "workspace": "/home/ada/project", "limits": {"bytes": 1}})
    );
    assert_eq!(
        ask(&ClientMessage::Tree { id: 1, since: None, digest: hash, edits, more: false }),
        json!({"type": "tree", "id": 1, "digest": text, "edits": [
            {"path": "gone"},
            {"path": "a", "now": {"type": "file", "hash": text, "len": 2, "executable": true}},
            {"path": "d", "now": {"type": "folder"}},
            {"path": "l", "now": {"type": "link", "target": "a"}},
        ]})
    );
    assert_eq!(
        ask(&ClientMessage::Content { id: 1, hash, bytes: (&b"\xff"[..]).into(), more: true }),
        json!({"type": "content", "id": 1, "hash": text, "bytes": {"base64": "/w=="}, "more": true})
    );
    assert_eq!(
        ask(&ClientMessage::Run(Box::new(run))),
        json!({"type": "run", "id": 2, "tree": text, "view": "7k2m", "command": "make", "directory": ".", "below": [],
            "staged": [{"path": "a", "kind": {"type": "write", "content": text, "executable": false}}], "timeMs": 5, "outputBytes": 6})
    );
    assert_eq!(ask(&ClientMessage::End { view: "7k2m".to_owned() }), json!({"type": "end", "view": "7k2m"}));
    let told = |told: &ServerMessage| serde_json::to_value(told).unwrap();
    assert_eq!(
        told(&ServerMessage::Missing { id: 1, hashes: vec![hash] }),
        json!({"type": "missing", "id": 1, "hashes": [text]})
    );
    assert_eq!(
        told(&ServerMessage::Failed { id: 1, failure: Failure::TreeChanged, why: "w".to_owned() }),
        json!({"type": "failed", "id": 1, "failure": "treeChanged", "why": "w"})
    );
    let answer =
        RunResult { time_us: 9, ..ran(vec![changed("a.txt", file("a\n"), ChangeKindByHash::Delete)]) };
    let answer = ServerMessage::Ran(Box::new(answer));
    assert_eq!(
        told(&answer),
        json!({"type": "ran", "id": 7, "output": "done\n", "exitCode": 0,
            "changes": [{"path": "a.txt", "base": {"kind": "file", "content": text}, "kind": {"type": "delete"}}],
            "refused": {"network": 0, "privileges": false, "tracing": false, "renaming": false, "signature": false, "quota": null},
            "timeUs": 9, "processorUs": 0, "peakBytes": 0})
    );
    assert_eq!(decode_line::<ServerMessage>(encode_line(&answer).trim_ascii_end()).unwrap(), answer);
}

#[test]
fn a_request_arrives_as_it_was() {
    let tree = tree();
    let overlay = Overlay::new(Arc::new(tree), Quota::default());
    let staged = ChangeSet {
        changes: vec![Change {
            path: path("a.txt"),
            base: None,
            base_content: None,
            kind: ChangeKind::Write { content: "A\n".into(), executable: false, moved_from: None },
            mode: None,
        }],
        reads: Vec::new(),
    };
    let shown = StagedChange::from_changes(&staged);
    let content = Content::from("A\n");
    let again =
        StagedChange::change_set(&shown, |hash| (hash == content.hash()).then(|| content.clone())).unwrap();
    assert_eq!(again, staged);
    assert_eq!(StagedChange::change_set(&shown, |_| None), Err(content.hash()));
    assert!(StagedChange::change_set(&shown, |_| Some("another\n".into())).is_err());
    let based = block_on(with_base(&overlay, again)).unwrap();
    assert_eq!(based.changes[0].base_content.as_deref(), Some(&b"a\n"[..]));
    let ran = ViewOutput {
        cost: ViewCost { time: Duration::from_millis(3), ..ViewCost::default() },
        ..take(vec![], &[], &request(self::tree(), staged)).unwrap()
    };
    assert_eq!(RunResult::of(1, &ran).time_us, 3_000);
}

#[test]
fn a_tree_that_cannot_be_is_refused() {
    let folder = |at: &str| (path(at), ManifestEntry::Folder);
    let link = |at: &str| (path(at), ManifestEntry::Link { target: "/etc".into() });
    let file =
        |at: &str| (path(at), ManifestEntry::File { hash: ContentHash::of(b""), len: 0, executable: false });
    let manifest = |entries: Vec<(WorkspacePath, ManifestEntry)>| {
        let mut manifest = Manifest::default();
        for (path, standing) in entries {
            manifest.insert(path, standing);
        }
        manifest.check()
    };
    assert_eq!(manifest(vec![folder("a"), file("a/b"), link("l")]), Ok(()));
    assert_eq!(manifest(vec![link("a"), file("a/passwd")]), Err("a/passwd is in no folder".to_owned()));
    assert_eq!(manifest(vec![file("a"), file("a/b")]), Err("a/b is in no folder".to_owned()));
    assert_eq!(manifest(vec![file("a/b")]), Err("a/b is in no folder".to_owned()));
    assert_eq!(manifest(vec![folder("a"), file("a/.Git")]), Err("a/.Git is git's own".to_owned()));
    assert_eq!(manifest(vec![folder(".")]), Err("the root itself is no path in it".to_owned()));
}

fn any_manifest() -> impl Strategy<Value = Manifest> {
    let standing = prop_oneof![
        Just(ManifestEntry::Folder),
        "[ab]{0,2}".prop_map(|text| ManifestEntry::Link { target: text.as_str().into() }),
        ("[ab]{0,2}", any::<bool>()).prop_map(|(text, executable)| ManifestEntry::File {
            hash: ContentHash::of(text.as_bytes()),
            len: text.len() as u64,
            executable,
        }),
    ];
    proptest::collection::vec(("[ab](/[ab]){0,2}", standing), 0..8).prop_map(|entries| {
        let mut manifest = Manifest::default();
        for (at, standing) in entries {
            manifest.insert(path(&at), standing);
        }
        manifest
    })
}

proptest! {
    #[test]
    fn edits_lead_from_one_tree_to_another(before in any_manifest(), after in any_manifest()) {
        let edits = after.edits_since(&before);
        let mut now = before.clone();
        now.apply(&edits);
        prop_assert_eq!(&now, &after);
        prop_assert_eq!(before.digest() == after.digest(), before == after);
        let line = encode_line(&ClientMessage::Tree { id: 1, since: None, digest: after.digest(), edits: edits.clone(), more: false });
        let read: ClientMessage = decode_line(line.trim_ascii_end()).unwrap();
        prop_assert_eq!(read, ClientMessage::Tree { id: 1, since: None, digest: after.digest(), edits, more: false });
    }

    #[test]
    fn a_stream_is_the_same_however_it_is_cut(text in "[a\n]{0,40}", cuts in proptest::collection::vec(0_usize..41, 0..6)) {
        let mut cuts: Vec<usize> = cuts.into_iter().map(|cut| cut.min(text.len())).collect();
        cuts.extend([0, text.len()]);
        cuts.sort_unstable();
        let (mut lines, mut found) = (LineBuffer::default(), Vec::new());
        for pair in cuts.windows(2) {
            lines.push(&text.as_bytes()[pair[0]..pair[1]]);
            while let Some(line) = lines.next_line().unwrap() {
                found.push(String::from_utf8(line).unwrap());
            }
        }
        let expected: Vec<&str> = text.split_inclusive('\n').filter_map(|line| line.strip_suffix('\n')).collect();
        prop_assert_eq!(found, expected);
    }

    /// Any bytes are a message or an error.
    #[test]
    fn no_bytes_make_the_reader_panic(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        drop(decode_line::<ServerMessage>(&bytes));
        drop(decode_line::<ClientMessage>(&bytes));
        drop(decode_greeting::<ServerMessage>(&bytes));
    }

    #[test]
    fn a_message_with_a_fault_is_an_error_or_another_message(at in 0_usize..400, byte in any::<u8>(), cut in any::<bool>()) {
        let answer = ServerMessage::Ran(Box::new(ran(vec![changed("a.txt", file("a\n"), write("b\n"))])));
        let mut line = encode_line(&answer);
        let at = at % line.len();
        if cut { line.truncate(at) } else { line[at] = byte }
        if let Ok(ServerMessage::Ran(read)) = decode_line::<ServerMessage>(&line) {
            let request = request(tree(), ChangeSet::default());
            drop(take_ran(*read, &["b\n"], Quota::default(), &request));
        }
    }
}

#[test]
fn a_line_that_never_ends_is_an_error() {
    let mut lines = LineBuffer::default();
    let piece = vec![b'x'; 1 << 20];
    for _ in 0..16 {
        lines.push(&piece);
        assert_eq!(lines.next_line(), Ok(None));
    }
    lines.push(b"x");
    assert_eq!(lines.next_line(), Err(ExchangeError::TooLong));
}
