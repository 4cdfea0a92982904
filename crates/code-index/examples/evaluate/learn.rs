use std::collections::{BTreeMap, HashMap};
use std::fmt::Write as _;

use headstart_code_index::tokens;

/// Tokens that are rarer than this have no vector. Of the others the most frequent ones have one.
const LEAST_COUNT: u32 = 3;
/// A token in more than this share of the passages has no vector, because it says nothing about the text around it.
const MOST_SHARE: f32 = 0.2;
/// The most distinct tokens of one passage that are paired with each other.
const MOST_OF_PASSAGE: usize = 120;
/// How many rounds of subspace iteration bring the directions closer to the strongest ones.
const ROUNDS: usize = 3;

/// A table of vectors that is learned from which tokens stand together in passages of a repository: tokens with similar
/// surroundings get similar vectors. Nothing but the passages is used.
///
/// The method is the usual one: positive pointwise mutual information of pairs, reduced to its strongest directions by
/// subspace iteration.
pub(crate) fn learn<'a>(
    passages: impl Iterator<Item = &'a str>,
    most_tokens: usize,
    dimensions: usize,
) -> String {
    let passages: Vec<Vec<String>> = passages.map(distinct).collect();
    let mut counts: BTreeMap<&str, u32> = BTreeMap::new();
    for token in passages.iter().flatten() {
        *counts.entry(token).or_default() += 1;
    }
    let all = passages.len() as f32;
    let mut kept: Vec<(&str, u32)> = counts
        .into_iter()
        .filter(|(_, count)| LEAST_COUNT <= *count && *count as f32 <= (MOST_SHARE * all).max(8.0))
        .collect();
    kept.sort_by(|one, other| other.1.cmp(&one.1).then(one.0.cmp(other.0)));
    kept.truncate(most_tokens);
    let numbers: HashMap<&str, usize> =
        kept.iter().enumerate().map(|(at, (token, _))| (*token, at)).collect();

    let mut pairs: HashMap<(u32, u32), f32> = HashMap::new();
    for passage in &passages {
        let mut known: Vec<u32> =
            passage.iter().filter_map(|token| Some(*numbers.get(token.as_str())? as u32)).collect();
        known.truncate(MOST_OF_PASSAGE);
        // A pair in a short passage says more about its tokens than a pair in a long one.
        let share = 1.0 / (known.len() as f32).sqrt().max(1.0);
        for (at, one) in known.iter().enumerate() {
            for other in &known[at + 1..] {
                *pairs.entry((*one.min(other), *one.max(other))).or_default() += share;
            }
        }
    }
    let rows = mutual_information(&pairs, kept.len());
    let vectors = strongest(&rows, dimensions.min(kept.len()));
    table(&kept, &vectors, all)
}

fn distinct(text: &str) -> Vec<String> {
    let mut list = Vec::new();
    let mut seen = std::collections::HashSet::new();
    tokens(text, |token| {
        if 1 < token.len() && seen.insert(token.to_owned()) {
            list.push(token.to_owned());
        }
    });
    list
}

/// For each token the tokens that stand beside it more often than by chance, each with how much more often, as a
/// logarithm.
fn mutual_information(pairs: &HashMap<(u32, u32), f32>, tokens: usize) -> Vec<Vec<(u32, f32)>> {
    let (mut sums, mut all) = (vec![0.0_f32; tokens], 0.0_f32);
    for ((one, other), count) in pairs {
        sums[*one as usize] += count;
        sums[*other as usize] += count;
        all += 2.0 * count;
    }
    let mut rows = vec![Vec::new(); tokens];
    for ((one, other), count) in pairs {
        // The count is divided by what chance would give, and pairs that are rarely seen are left out, because rare
        // neighbours would otherwise count most.
        let expected = sums[*one as usize] * sums[*other as usize] / all;
        let information = (count / expected).ln();
        if 0.0 < information && 0.3 < *count {
            rows[*one as usize].push((*other, information));
            rows[*other as usize].push((*one, information));
        }
    }
    // Sorted, so that sums are rounded equally in each run; the order of a map differs from run to run.
    for row in &mut rows {
        row.sort_by_key(|(other, _)| *other);
    }
    rows
}

/// The rows in terms of their strongest directions, each scaled by the square root of its strength.
fn strongest(rows: &[Vec<(u32, f32)>], dimensions: usize) -> Vec<Vec<f32>> {
    let mut seed = 0x9e37_79b9_7f4a_7c15_u64;
    let mut random = || {
        seed ^= seed << 13;
        seed ^= seed >> 7;
        seed ^= seed << 17;
        (seed >> 40) as f32 / (1_u64 << 24) as f32 - 0.5
    };
    // Each direction is a column over all tokens.
    let mut basis: Vec<Vec<f32>> = (0..dimensions).map(|_| rows.iter().map(|_| random()).collect()).collect();
    orthonormal(&mut basis);
    for _ in 0..ROUNDS {
        for column in &mut basis {
            *column = product(rows, column);
        }
        orthonormal(&mut basis);
    }
    let strengths: Vec<f32> =
        basis.iter().map(|column| dot(column, &product(rows, column)).abs().sqrt()).collect();
    (0..rows.len())
        .map(|token| {
            basis.iter().zip(&strengths).map(|(column, strength)| column[token] * strength).collect()
        })
        .collect()
}

fn product(rows: &[Vec<(u32, f32)>], column: &[f32]) -> Vec<f32> {
    let of_row =
        |row: &Vec<(u32, f32)>| row.iter().map(|(other, value)| column[*other as usize] * value).sum();
    rows.iter().map(of_row).collect()
}

fn orthonormal(basis: &mut [Vec<f32>]) {
    for at in 0..basis.len() {
        let (before, rest) = basis.split_at_mut(at);
        let column = &mut rest[0];
        for other in before.iter() {
            let along = dot(other, column);
            column.iter_mut().zip(other).for_each(|(value, other)| *value -= along * other);
        }
        let length = dot(column, column).sqrt().max(1e-12);
        for value in column.iter_mut() {
            *value /= length;
        }
    }
}

fn dot(one: &[f32], other: &[f32]) -> f32 {
    one.iter().zip(other).map(|(one, other)| one * other).sum()
}

/// The vectors as a table. The rarer a token is, the longer is its vector, so that rare tokens count more in a mean.
fn table(kept: &[(&str, u32)], vectors: &[Vec<f32>], passages: f32) -> String {
    let dimensions = vectors.first().map_or(1, Vec::len);
    let mut text = format!("headstart-vectors 1 {dimensions}\n");
    let rarity = |count: u32| (passages / count as f32).ln().max(0.1);
    let longest = kept.iter().map(|(_, count)| rarity(*count)).fold(0.0, f32::max);
    for ((token, count), vector) in kept.iter().zip(vectors) {
        let length = dot(vector, vector).sqrt();
        if length <= 1e-6 {
            continue;
        }
        // Scaled by four times the range, because no single number of a vector is as large as the whole vector. The few
        // numbers that are too large are cut.
        let scale = 4.0 * 127.0 * rarity(*count) / longest / length;
        text.push_str(token);
        for value in vector {
            let _ = write!(text, " {}", ((value * scale).round() as i32).clamp(-127, 127));
        }
        text.push('\n');
    }
    text
}
