//! Whatever commands move, copy, pack, empty and remove between places that come back and places that do not: what the
//! view still has somewhere is on disk after a commit, and an undo puts everything back.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use futures::executor::block_on;
use headstart_overlay_fs::{
    CommitOptions, CommitOutcome, OsOptions, OsTree, UndoLimit, UndoOutcome, Workspace as _,
};

use crate::histories::Dice;
use crate::output::git;
use crate::place::{Place, Test, lines, ok};

pub(crate) const TESTS: &[Test] = &[("random_moves_lose_nothing", || histories(4, 120))];
/// Left out of the short run, because it takes too long.
pub(crate) const LONG: &[Test] = &[("ten_thousand_random_moves_lose_nothing", ten_thousand)];

const ORDINARY: [&str; 6] = ["a", "b", "c", "d/a", "d/b", "e/f/a"];
const IGNORED: [&str; 6] = ["i/a", "i/b", "x.pack", "y.pack", "d/z.pack", "e/f/i/c"];
const ELSEWHERE: [&str; 4] = ["target/a", "node_modules/m/a", "dist/a", "/tmp/a"];
/// Letters for others, so that a word can be found again.
const PACK: &str = "tr a-z n-za-m";

struct History {
    dice: Dice,
    words: u64,
}

impl History {
    fn one_of(&mut self, paths: &[&'static str]) -> &'static str {
        paths[usize::try_from(self.dice.throw(paths.len() as u64)).unwrap()]
    }

    fn any(&mut self) -> &'static str {
        match self.dice.throw(8) {
            0..=3 => self.one_of(&ORDINARY),
            4..=6 => self.one_of(&IGNORED),
            _ => self.one_of(&ELSEWHERE),
        }
    }

    /// A word that is nowhere else, on many lines.
    fn content(&mut self) -> (String, String) {
        self.words += 1;
        let number = self.words.to_string();
        let word: String = number.bytes().map(|digit| char::from(digit - b'0' + b'a')).collect();
        let word = format!("q{word}q");
        (word.clone(), format!("{word}\n").repeat(30))
    }

    /// A random line of the shell. Many of these lines fail, which does no harm.
    fn step(&mut self) -> String {
        let (from, other, to) = (self.any(), self.any(), self.any());
        let folder = Path::new(to).parent().unwrap().display();
        let line = match self.dice.throw(12) {
            0..=2 => format!("mv {from} {to}"),
            3 => format!("cp -n {from} {to}"),
            4 => format!("test ! -e {to} && {PACK} < {from} > {to} && rm {from}"),
            5 => format!("test ! -e {to} && {PACK} < {from} > {to}"),
            6 => format!("test {from} != {to} && cat {from} >> {to} && : > {from}"),
            7 => format!("rm {from}"),
            8 => format!("rm -r {} ", ["d", "e", "i", "e/f"][usize::try_from(self.dice.throw(4)).unwrap()]),
            9 => format!("mv {} {to}", ["d", "e", "i", "e/f"][usize::try_from(self.dice.throw(4)).unwrap()]),
            10 => format!("cat {from} {other} > {folder}/n.pack && rm {from} {other}"),
            _ => format!("echo x > {from}"),
        };
        format!("mkdir -p ./{folder} 2> /dev/null; {line}")
    }

    fn script(&mut self) -> String {
        (0..=self.dice.throw(3)).fold(String::new(), |mut script, _| {
            writeln!(script, "{{ {}; }} 2> /dev/null", self.step()).unwrap();
            script
        })
    }
}

/// Every file, link and folder of the workspace, without git's and the commit's own.
fn list(root: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut found = BTreeMap::new();
    let mut todo = vec![root.to_owned()];
    while let Some(folder) = todo.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            let name = path.strip_prefix(root).unwrap().display().to_string();
            if name.starts_with(".git") || name.starts_with(".headstart") {
                continue;
            }
            if path.is_dir() {
                found.insert(name + "/", Vec::new());
                todo.push(path);
            } else {
                found.insert(name, fs::read(&path).unwrap());
            }
        }
    }
    found
}

fn has_word(text: &str, word: &str) -> bool {
    let packed: String =
        word.chars().map(|letter| char::from((letter as u8 - b'a' + 13) % 26 + b'a')).collect();
    text.contains(word) || text.contains(&packed)
}

/// Most of the time is spent waiting until files get later times, so that many run beside each other.
fn ten_thousand() {
    std::thread::scope(|scope| {
        for seed in 0..20 {
            scope.spawn(move || histories(100 + seed, 500));
        }
    });
}

fn histories(seed: u64, count: u64) {
    let mut history = History { dice: Dice(0x9e37_79b9_7f4a_7c15 ^ seed), words: 0 };
    let (mut torn, mut brought) = (0, 0);
    for number in 0..count {
        let place =
            Place::with(&[(".gitignore", "i/\n*.pack\n"), ("Cargo.toml", ""), ("package.json", "{}")]);
        let mut words = BTreeMap::new();
        let is_tracked = history.dice.throw(4) == 0;
        for path in ORDINARY.iter().chain(&IGNORED) {
            let (word, content) = history.content();
            if history.dice.throw(3) == 0 {
                continue;
            }
            place.write(path, &content);
            if !(is_tracked && ORDINARY.contains(path)) {
                words.insert(word, path);
            }
        }
        if is_tracked {
            git(&place, &["init", "-q"]);
            git(&place, &["add", "."]);
        }
        place.settle();
        let before = list(&place.work());
        let mut view = place.view();
        let mut scripts = Vec::new();
        let mut back = place.read_back(&mut view);
        for _ in 0..=history.dice.throw(4) {
            scripts.push(history.script());
            ok(&mut view, &format!("{}:", scripts.last().unwrap()));
            back = place.read_back(&mut view);
            if back.torn.is_some() {
                break;
            }
        }
        let context = || {
            format!(
                "history {number}:\n{:?}\n--\n{scripts:#?}\n{:#?}\n{:?}",
                before.keys(),
                lines(&back.changes),
                back.left_out
            )
        };
        if back.torn.is_some() {
            // It is refused, and the work ends there.
            torn += 1;
            assert_eq!(list(&place.work()), before, "{}", context());
            continue;
        }
        brought += back.brought.len();
        let everything = "find . /tmp /dev/shm -name .git -prune -o -type f -exec cat {} +";
        let in_view = ok(&mut view, everything);
        drop(view);
        let options = OsOptions { undo: UndoLimit { accepts: 1, bytes: 1 << 20 }, ..OsOptions::default() };
        let tree = OsTree::open_with(place.work(), options).unwrap();
        let committed = block_on(tree.commit(&back.changes, CommitOptions::default()));
        assert!(matches!(committed, Ok(CommitOutcome::Committed(_))), "{committed:?}; {}", context());
        let on_disk: Vec<u8> = list(&place.work()).into_values().flatten().collect();
        let on_disk = String::from_utf8(on_disk).unwrap();
        let is_told = back.left_out.iter().any(|row| 0 < row.written && !row.cache);
        for (word, path) in &words {
            // What is overwritten is kept for the undo, and where a packed copy may be is told.
            let is_overwritten = fs::read(place.work().join(path)).is_ok_and(|now| !now.is_empty());
            let is_there = !has_word(&in_view, word) || has_word(&on_disk, word);
            assert!(is_there || is_overwritten && is_told, "{word} is lost; {}", context());
        }
        if !back.changes.is_empty() {
            let undone = tree.undo(&back.changes);
            assert!(matches!(undone, Ok(UndoOutcome::Undone { .. })), "{undone:?}; {}", context());
        }
        assert_eq!(list(&place.work()), before, "{}", context());
    }
    assert!(
        0 < torn && 0 < brought && torn < count / 2,
        "{torn} of {count} are torn, {brought} files brought"
    );
}
