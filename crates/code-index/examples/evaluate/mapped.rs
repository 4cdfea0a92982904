use std::collections::HashSet;

use headstart_code_index::{View, repo_map};
use headstart_overlay_fs::WorkspacePath;

use crate::Failure;
use crate::corpus::Corpus;

/// The sizes of the maps in tokens; a token counts as three bytes.
const TOKENS: [usize; 4] = [500, 1_000, 2_000, 4_000];
/// The files of this many commits before a commit stand for the files that a conversation already has at hand.
const BEFORE: usize = 3;

/// Prints which share of the files that a commit changes is named by a map of the repository, and which share is among
/// the files of the commits just before it.
pub(crate) fn print(corpora: &[Corpus]) -> Result<(), Failure> {
    println!(
        "\n| repository | files at hand | map of 500 | 1,000 | 2,000 | 4,000 | and not at hand: 500 | 1,000 | 2,000 | 4,000 |"
    );
    println!("|---|---|---|---|---|---|---|---|---|---|");
    let mut sums = [0.0; 9];
    for corpus in corpora {
        let view = View::new(&corpus.index, []);
        let mut maps = Vec::new();
        for tokens in TOKENS {
            let text = repo_map(&view, &WorkspacePath::root(), 3 * tokens, &|_| false)?;
            let names = text.lines().filter(|line| !line.starts_with(' '));
            maps.push(names.map(str::to_owned).collect::<HashSet<String>>());
        }
        let (mut row, mut count) = ([0.0; 9], 0.0);
        // The list begins with the newest commit, so the commits before another one come after it in the list.
        for (at, files) in corpus.newest.iter().enumerate() {
            let known: Vec<&String> = files.iter().filter(|file| corpus.files.contains_key(*file)).collect();
            let before = corpus.newest.iter().skip(at + 1).take(BEFORE);
            let at_hand: HashSet<&String> = before.flatten().collect();
            if known.is_empty() || corpus.newest.len() < at + 1 + BEFORE {
                continue;
            }
            count += 1.0;
            let share = |is: &dyn Fn(&String) -> bool| {
                known.iter().filter(|file| is(file)).count() as f64 / known.len() as f64
            };
            row[0] += share(&|file| at_hand.contains(file));
            for (place, map) in maps.iter().enumerate() {
                row[1 + place] += share(&|file| map.contains(file));
                row[5 + place] += share(&|file| map.contains(file) && !at_hand.contains(file));
            }
        }
        let row = row.map(|sum| sum / f64::max(count, 1.0));
        sums.iter_mut().zip(row).for_each(|(sum, value)| *sum += value);
        println!("| {} | {} |", corpus.name, crate::cells(&row));
    }
    println!("| mean | {} |", crate::cells(&sums.map(|sum| sum / corpora.len() as f64)));
    Ok(())
}
