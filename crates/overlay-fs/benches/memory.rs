//! The memory of a process that stages 10,000 files of 4 KB, compared with the bytes that it stages (Linux).
#![expect(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "a workspace is made, and processes started"
)]
#![expect(clippy::unwrap_used, reason = "a benchmark that fails ends")]
#![expect(clippy::print_stdout, reason = "it prints what it measured")]

use std::fs;
use std::process::Command;
use std::sync::Arc;

use futures::executor::block_on;
use headstart_overlay_fs::{OsTree, Overlay, Quota, WorkspacePath};

const FILES: usize = 10_000;
const FILE: usize = 4096;

fn main() {
    if let Some(what) =
        std::env::args().find_map(|argument| argument.strip_prefix("stage=").map(str::to_owned))
    {
        return stage(&what);
    }
    println!("{FILES} files of {FILE} bytes: {} kB are staged", FILES * FILE / 1024);
    // Each case has a process of its own, because the peak of a process never falls.
    for what in ["new", "over existing"] {
        let status =
            Command::new(std::env::current_exe().unwrap()).arg(format!("stage={what}")).status().unwrap();
        assert!(status.success(), "{what}: {status}");
    }
}

fn stage(what: &str) {
    let folder = tempfile::tempdir().unwrap();
    let names: Vec<_> = (0..FILES).map(|number| format!("folder{}/file{number}", number % 100)).collect();
    if what == "over existing" {
        for name in &names {
            let at = folder.path().join(name);
            fs::create_dir_all(at.parent().unwrap()).unwrap();
            fs::write(at, vec![b'x'; FILE]).unwrap();
        }
    }
    let before = peak();
    let overlay = Overlay::new(Arc::new(OsTree::open(folder.path()).unwrap()), Quota::default());
    for (number, name) in names.iter().enumerate() {
        let mut content = vec![b'y'; FILE];
        content[..8].copy_from_slice(&number.to_le_bytes());
        block_on(overlay.write(&WorkspacePath::parse(name).unwrap(), content)).unwrap();
    }
    let staged = peak() - before;
    let changes = overlay.change_set();
    assert_eq!(changes.changes.len(), FILES);
    let with_changes = peak() - before;
    println!("{what}: peak {staged} kB while staging, {with_changes} kB with its change set");
}

/// The most memory that this process has had so far, in kB.
fn peak() -> usize {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    line.trim().trim_end_matches(" kB").parse().unwrap()
}
