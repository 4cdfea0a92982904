use std::collections::HashMap;

use grep_matcher::Matcher as _;
use grep_regex::RegexMatcherBuilder;
use headstart_code_index::Query;

use crate::corpus::{Case, Corpus};
use crate::{Quality, cpu_milliseconds};

/// How many queries are timed: few, because each scan reads all contents.
const TIMED: usize = 20;

/// Measures the quality of a scan of all contents for the words of each query.
pub(crate) fn measure(corpus: &Corpus, cases: &[Case]) -> Quality {
    let mut quality = Quality::default();
    // Only every third query is used, because a scan of a large repository takes long.
    let cases: Vec<&Case> = cases.iter().step_by(3).collect();
    for case in &cases {
        quality.add(case, &scan(corpus, &case.text), cases.len());
    }
    quality
}

/// The mean processor time of one scan, in milliseconds.
pub(crate) fn time(corpus: &Corpus) -> f64 {
    let cases: Vec<&Case> = corpus.held_out().iter().take(TIMED).collect();
    let start = cpu_milliseconds();
    for case in &cases {
        std::hint::black_box(scan(corpus, &case.text));
    }
    (cpu_milliseconds() - start) / cases.len().max(1) as f64
}

/// The files that contain words of a query, ranked by tf-idf.
fn scan(corpus: &Corpus, text: &str) -> Vec<String> {
    let query = Query::parse(text, |_| false);
    let stop: Vec<&str> = query.terms().collect();
    let words: Vec<String> = text
        .split(|sign: char| !sign.is_alphanumeric() && sign != '_')
        .filter(|word| {
            1 < word.len() && !Query::parse(word, |_| false).terms().all(|term| !stop.contains(&term))
        })
        .map(str::to_lowercase)
        .collect();
    if words.is_empty() {
        return Vec::new();
    }
    let Ok(matcher) = RegexMatcherBuilder::new().case_insensitive(true).build_literals(&words) else {
        return Vec::new();
    };
    let mut counts: Vec<(&str, HashMap<usize, f64>)> = Vec::new();
    let mut found_in = vec![0.0; words.len()];
    for (name, bytes) in &corpus.files {
        let mut of_file: HashMap<usize, f64> = HashMap::new();
        let _ = matcher.find_iter(bytes, |found| {
            let lower = bytes[found.start()..found.end()].to_ascii_lowercase();
            if let Some(word) = words.iter().position(|word| word.as_bytes() == lower) {
                *of_file.entry(word).or_default() += 1.0;
            }
            true
        });
        if !of_file.is_empty() {
            for word in of_file.keys() {
                found_in[*word] += 1.0;
            }
            counts.push((name, of_file));
        }
    }
    let all = corpus.files.len() as f64;
    let mut scored: Vec<(f64, &str)> = counts
        .into_iter()
        .map(|(name, counts)| {
            let score = counts.iter().map(|(word, count)| (1.0 + count.ln()) * (all / found_in[*word]).ln());
            (score.sum(), name)
        })
        .collect();
    scored.sort_by(|one, other| other.0.total_cmp(&one.0).then(one.1.cmp(other.1)));
    scored.into_iter().take(100).map(|(_, name)| name.to_owned()).collect()
}
