//! Whatever was done in a view, committing its change set gives the workspace exactly the content that the view has.

use std::fmt::Write as _;
use std::fs;
use std::os::fd::AsRawFd as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

use headstart_overlay_fs::Quota;
use headstart_shadow::ReadRules;

use crate::place::{Place, Test, ok, path};

pub(crate) const TESTS: &[Test] = &[("random_histories_come_back", || histories(1, 300))];
/// Fewer histories for tiers in which each view is a copy, which takes longer to make.
pub(crate) const FEW: &[Test] = &[("random_histories_come_back", || histories(3, 60))];
/// Left out of the short run, because it takes too long.
pub(crate) const LONG: &[Test] = &[("ten_thousand_random_histories_come_back", || histories(2, 10_000))];

/// Pseudorandom numbers that are the same in every run.
pub(crate) struct Dice(pub(crate) u64);

impl Dice {
    pub(crate) fn throw(&mut self, sides: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % sides
    }

    fn path(&mut self) -> String {
        let depth = 1 + self.throw(3);
        let names: Vec<&str> =
            (0..depth).map(|_| ["a", "b", "c"][usize::try_from(self.throw(3)).unwrap()]).collect();
        names.join("/")
    }

    /// A random line of the shell. Many of these lines fail, which does no harm.
    fn step(&mut self) -> String {
        let (one, other, number) = (self.path(), self.path(), self.throw(1000));
        match self.throw(14) {
            0..=2 => format!("echo {number} > {one}"),
            3 => format!("echo {number} >> {one}"),
            4 => format!("rm -rf {one}"),
            5 => format!("rm {one}"),
            6 => format!("mkdir -p {one}"),
            7 => format!("mv {one} {other}"),
            8 => format!("test -f {one} && chmod +x {one}"),
            9 => format!("test -f {one} && chmod -x {one}"),
            10 => format!("ln -sfn a {one}"),
            11 => format!("cp -r {one} {other}"),
            12 => format!("rm -rf {one}; mkdir -p {one}; echo {number} > {one}/a"),
            _ => format!("mv {one} x; mkdir {one}; mv x {one}/b"),
        }
    }

    fn script(&mut self, steps: u64) -> String {
        (0..steps).fold(String::new(), |mut script, _| {
            writeln!(script, "{} 2>/dev/null", self.step()).unwrap();
            script
        })
    }
}

/// Every path with its kind. For a file also its content and whether its owner may execute it, for a link its target.
fn list(root: &Path) -> Vec<String> {
    let mut lines = Vec::new();
    let mut todo = vec![root.to_owned()];
    while let Some(folder) = todo.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            let found = path.symlink_metadata().unwrap();
            let name = path.strip_prefix(root).unwrap().display();
            if found.is_symlink() {
                lines.push(format!("link {name} {}", path.read_link().unwrap().display()));
            } else if found.is_dir() {
                lines.push(format!("folder {name}"));
                todo.push(path);
            } else {
                let content = fs::read_to_string(&path).unwrap();
                lines.push(format!("file {name} {:o} {content}", found.mode() & 0o100));
            }
        }
    }
    lines.sort_unstable();
    lines
}

/// Runs a script on disk, as its user would.
fn on_disk(folder: &Path, script: &str) {
    // Many lines fail here too. Their messages are dropped, because only the resulting files matter.
    std::process::Command::new("/bin/sh").args(["-c", script]).current_dir(folder).output().unwrap();
}

fn histories(seed: u64, count: u64) {
    let place = Place::with(&[]);
    let work = place.work();
    let mut dice = Dice(0x9e37_79b9_7f4a_7c15 ^ seed);
    let mut changed = 0;
    for number in 0..count {
        let before = dice.script(8);
        on_disk(&work, &format!("rm -rf ./*; {before}"));
        place.settle();
        let mut view = place.view();
        let staged = place.staged(async |overlay| {
            for _ in 0..dice.throw(4) {
                // Some of these calls fail as well.
                let content = dice.throw(1000).to_string().into_bytes();
                let _ = overlay.write(&path(&dice.path()), content).await;
                let _ = overlay.remove(&path(&dice.path())).await;
            }
        });
        view.show(&staged).unwrap();
        let mut scripts = Vec::new();
        for _ in 0..=dice.throw(3) {
            scripts.push(dice.script(6));
            ok(&mut view, &format!("{}:", scripts.last().unwrap()));
            view.read_back(&place.tree(), &ReadRules::new(Quota::default())).unwrap();
        }
        let expected = list(Path::new(&format!("/proc/self/fd/{}/.", view.root().as_raw_fd())));
        let back = place.read_back(&mut view);
        drop(view);
        let context = || format!("history {number}:\n{before}\n--\n{staged:?}\n--\n{scripts:?}\n{back:?}");
        assert!(back.not_staged.is_empty() && back.changed_meanwhile.is_empty(), "{}", context());
        changed += back.changes.changes.len();
        place.commit_all(&back.changes);
        assert_eq!(list(&work), expected, "{}", context());
    }
    assert!(count < u64::try_from(changed).unwrap(), "the histories change next to nothing: {changed}");
}
