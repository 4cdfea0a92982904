//! Compares the merge with git's on random texts, byte for byte.

#![expect(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "a test that runs git, and tells what it counted"
)]

use std::fs;
use std::path::Path;
use std::process::Command;

use super::{merge, merge_with_markers};

#[test]
fn five_hundred_merges_are_those_of_git() {
    compare_with_git(500, 14);
}

/// Run by `cargo test -p headstart-overlay-fs --lib -- --ignored twenty_thousand --nocapture`; the seed is the
/// process's number, or `MERGE_SEED`.
#[test]
#[ignore = "a minute or two"]
fn twenty_thousand_merges_are_those_of_git() {
    let seed = std::env::var("MERGE_SEED").ok().map(|seed| seed.parse().expect("MERGE_SEED is a number"));
    let seed = seed.unwrap_or_else(|| u64::from(std::process::id()));
    println!("MERGE_SEED={seed}");
    compare_with_git(20_000, seed);
}

#[derive(Default, Debug)]
struct Counts {
    merged_by_both: usize,
    conflicts_of_both: usize,
    conflicts_that_git_merges: usize,
}

fn compare_with_git(triples: usize, seed: u64) {
    const THREADS: usize = 2;
    let counts: Vec<Counts> = std::thread::scope(|scope| {
        let workers: Vec<_> = (0..THREADS)
            .map(|worker| scope.spawn(move || compare_some(triples / THREADS, seed * 64 + worker as u64)))
            .collect();
        workers.into_iter().map(|worker| worker.join().expect("no difference")).collect()
    });
    let sum = |count: fn(&Counts) -> usize| counts.iter().map(count).sum::<usize>();
    let (merged, conflicts) = (sum(|counts| counts.merged_by_both), sum(|counts| counts.conflicts_of_both));
    let careful = sum(|counts| counts.conflicts_that_git_merges);
    println!("{merged} merged by both, {conflicts} conflicts of both, {careful} conflicts that git merges");
    assert_eq!(merged + conflicts + careful, triples);
    assert!(merged > triples / 5 && conflicts > triples / 5, "the texts say nothing");
    assert!(careful <= triples / 100, "{careful} conflicts where git has a result");
}

fn compare_some(triples: usize, seed: u64) -> Counts {
    let folder = tempfile::tempdir().unwrap();
    let mut random = Random(seed);
    let mut counts = Counts::default();
    for number in 0..triples {
        let [base, yours, work] = triple(&mut random);
        let ours = merge(base.as_bytes(), yours.as_bytes(), work.as_bytes());
        let gits = git_merge(folder.path(), [&base, &yours, &work], &[]);
        let about = format!("triple {number} of seed {seed}\n{base:?}\n{yours:?}\n{work:?}");
        match (ours.map(|text| String::from_utf8(text).unwrap()), gits) {
            (Some(ours), Ok(gits)) => {
                assert_eq!(ours, gits, "{about}");
                counts.merged_by_both += 1;
            }
            (Some(ours), Err(_)) => panic!("a result where git has a conflict: {about}\n{ours:?}"),
            (None, Ok(_)) => counts.conflicts_that_git_merges += 1,
            (None, Err(_)) => {
                counts.conflicts_of_both += 1;
                let ours = merge_with_markers(base.as_bytes(), yours.as_bytes(), work.as_bytes()).unwrap();
                let gits = git_merge(folder.path(), [&base, &yours, &work], &["--diff3"]).unwrap_err();
                if !differs_too_much(&base, &yours, &work) {
                    assert_eq!(
                        String::from_utf8(ours).unwrap(),
                        without_equal_parts(&gits, &yours, &work),
                        "{about}"
                    );
                }
            }
        }
    }
    counts
}

/// Git's result, or its result with markers as an error.
fn git_merge(folder: &Path, [base, yours, work]: [&str; 3], options: &[&str]) -> Result<String, String> {
    for (name, text) in [("base", base), ("yours", yours), ("work", work)] {
        fs::write(folder.join(name), text).unwrap();
    }
    let output = Command::new("git")
        .current_dir(folder)
        .args(["merge-file", "-p", "-L", "yours", "-L", "base", "-L", "the work"])
        .args(options)
        .args(["yours", "base", "work"])
        .output()
        .expect("this test needs git on the search path");
    let text = String::from_utf8(output.stdout).unwrap();
    match output.status.code() {
        Some(0) => Ok(text),
        Some(1..=127) => Err(text),
        _ => panic!("git merge-file: {}", String::from_utf8_lossy(&output.stderr)),
    }
}

fn differs_too_much(base: &str, yours: &str, work: &str) -> bool {
    let [base, yours, work] = [base, yours, work].map(crate::text::lines);
    let sides = super::Sides { base, ours: yours, theirs: work };
    let [base, yours, work] = sides.numbers();
    super::hunks(&base, &yours).is_none() || super::hunks(&base, &work).is_none()
}

/// Removes markers that only git's `--diff3` sets: it also marks what both sides made the same from different pieces.
/// If the last line of a text has no line end, git gives it one before a marker.
fn without_equal_parts(marked: &str, yours: &str, work: &str) -> String {
    let mut text = String::new();
    let mut rest = marked;
    while let Some((before, block)) = rest.split_once("<<<<<<< yours") {
        let (block, behind) = block.split_once(">>>>>>> the work").unwrap();
        let (our_part, others) = block.split_once("||||||| base").unwrap();
        let their_part = others.split_once("=======").unwrap().1;
        let is_last = behind.trim_end().is_empty();
        let ends_alike = yours.ends_with('\n') == work.ends_with('\n');
        text.push_str(before);
        if our_part == their_part && (ends_alike || !is_last) {
            let (line_end, part) = our_part.split_once('\n').unwrap();
            let has_end = !is_last || yours.ends_with('\n') || part.is_empty();
            text.push_str(if has_end { part } else { &part[..part.len() - line_end.len() - 1] });
            rest = behind.split_once('\n').unwrap().1;
        } else {
            text.extend(["<<<<<<< yours", block, ">>>>>>> the work"]);
            rest = behind;
        }
    }
    text + rest
}

/// `SplitMix64`.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        usize::try_from((mixed ^ (mixed >> 31)) % limit as u64).unwrap()
    }

    fn one_in(&mut self, many: usize) -> bool {
        self.below(many) == 0
    }
}

/// Short texts of few different lines, where most lines could stand for each other, and texts like source code, where
/// unique lines alternate with equal ones.
fn triple(random: &mut Random) -> [String; 3] {
    let kinds = 1 + random.below(6);
    let (length, edits, own) = match random.below(8) {
        0..4 => (random.below(12), 3, 0),
        4 | 5 => (random.below(60), 5, random.below(4)),
        6 => (random.below(400), 12, random.below(4)),
        _ => (300 + random.below(500), 400, 1 + random.below(3)),
    };
    let mut names = 0;
    let base: Vec<String> = (0..length).map(|_| line(random, kinds, own, &mut names)).collect();
    let mut side = |edits: usize| {
        let mut lines = base.clone();
        for _ in 0..=random.below(edits + 1) {
            edit(random, &mut lines, kinds, own, &mut names);
        }
        lines
    };
    let (yours, work) = (side(edits), if edits > 100 { side(3) } else { side(edits) });
    [base, yours, work].map(|lines| text(random, &lines))
}

fn line(random: &mut Random, kinds: usize, own: usize, names: &mut usize) -> String {
    if own > 0 && random.below(4) < own {
        *names += 1;
        return format!("line {names}");
    }
    // A blank line and a bracket contain no letter, which matters to git in a conflict.
    ["", "}", "a", "b", "c", "d"][random.below(kinds)].into()
}

fn edit(random: &mut Random, lines: &mut Vec<String>, kinds: usize, own: usize, names: &mut usize) {
    let at = random.below(lines.len() + 1);
    let end = (at + 1 + random.below(4)).min(lines.len());
    match random.below(5) {
        0 => drop(lines.drain(at..end)),
        1 | 2 => {
            let new: Vec<_> = (0..=random.below(4)).map(|_| line(random, kinds, own, names)).collect();
            let end = if random.one_in(2) { at } else { end };
            lines.splice(at..end, new);
        }
        3 => {
            let copy = lines[at..end].to_vec();
            let to = random.below(lines.len() + 1);
            lines.splice(to..to, copy);
        }
        _ => {
            let moved: Vec<_> = lines.drain(at..end).collect();
            let to = random.below(lines.len() + 1);
            lines.splice(to..to, moved);
        }
    }
}

/// Most texts end with a line end; some do not, and some have the line ends of Windows.
fn text(random: &mut Random, lines: &[String]) -> String {
    let line_end = if random.one_in(10) { "\r\n" } else { "\n" };
    let mut text: String = lines.iter().flat_map(|line| [line, line_end]).collect();
    if random.one_in(5) {
        text.truncate(text.len() - if text.is_empty() { 0 } else { line_end.len() });
    }
    text
}
