use headstart_code_index::{
    Budget, NEAREST, NearChunk, Query, Snapshot, StaticVectors, TextVector, Vector, View, Weights, nearest,
    search_files,
};
use headstart_overlay_fs::WorkspacePath;

use crate::corpus::{Case, Corpus};
use crate::learn::learn;
use crate::{Failure, Quality, cells, cpu_milliseconds};

const TOKENS: usize = 12_000;
const DIMENSIONS: usize = 128;
/// The weights that are tried for the order by vectors. The best one for the tuning queries is taken.
const WEIGHTS: [f32; 6] = [0.0, 0.05, 0.1, 0.15, 0.2, 0.3];

/// A corpus with the vectors of its chunks.
struct Embedded<'a> {
    corpus: &'a Corpus,
    table: StaticVectors,
    chunks: Vec<(u32, Vector)>,
}

/// Prints how much better a search is with the vectors of a table that was learned from the repository itself.
pub(crate) fn print(corpora: &[Corpus]) -> Result<(), Failure> {
    let embedded: Vec<Embedded<'_>> = corpora.iter().map(Embedded::of).collect::<Result<_, _>>()?;
    println!("\n| repository | weight | tuning R | tuning M | held out R | held out M | names R | names M |");
    println!("|---|---|---|---|---|---|---|---|");
    let mut best = (f64::MIN, 0.0);
    for weight in WEIGHTS {
        let mut sums = [0.0; 6];
        for one in &embedded {
            let of = |cases: &[Case]| one.measure(cases, weight);
            let (tuning, held, names) =
                (of(one.corpus.tuning()), of(one.corpus.held_out()), of(one.corpus.names()));
            let row = [tuning.recall, tuning.mrr, held.recall, held.mrr, names.recall, names.mrr];
            sums.iter_mut().zip(row).for_each(|(sum, value)| *sum += value);
            println!("| {} | {weight} | {} |", one.corpus.name, cells(&row));
        }
        let means = sums.map(|sum| sum / embedded.len() as f64);
        println!("| mean | {weight} | {} |", cells(&means));
        // The choice depends on the tuning queries alone, so that the held-out queries remain a fair check.
        let value = means[0] + 0.5 * means[1];
        if best.0 + 1e-4 < value {
            best = (value, weight);
        }
    }
    println!("\nthe tuning queries choose {}", best.1);
    let vectors_alone = embedded.iter().map(|one| one.alone(one.corpus.held_out()));
    for (one, quality) in embedded.iter().zip(vectors_alone) {
        println!("{}: vectors alone {}", one.corpus.name, cells(&[quality.recall, quality.mrr]));
    }
    Ok(())
}

impl<'a> Embedded<'a> {
    fn of(corpus: &'a Corpus) -> Result<Self, Failure> {
        let start = cpu_milliseconds();
        let texts = passages(corpus);
        let learned =
            texts.iter().map(|(_, text)| text.as_str()).chain(corpus.subjects.iter().map(String::as_str));
        let table = StaticVectors::parse(&learn(learned, TOKENS, DIMENSIONS))?;
        let learned = cpu_milliseconds() - start;
        let start = cpu_milliseconds();
        let mut chunks = Vec::with_capacity(texts.len());
        for (chunk, text) in &texts {
            if let Some(vector) = Vector::of(&table.vector(text))? {
                chunks.push((*chunk, vector));
            }
        }
        let made = cpu_milliseconds() - start;
        eprintln!("{}: table {learned:.0} ms, {} vectors {made:.0} ms", corpus.name, chunks.len());
        Ok(Self { corpus, table, chunks })
    }

    fn nearest(&self, text: &str) -> Vec<NearChunk> {
        let Ok(Some(vector)) = Vector::of(&self.table.vector(text)) else { return Vec::new() };
        let meaning = TextVector { model: String::new(), vector };
        let of = |(chunk, vector): &(u32, Vector)| NearChunk {
            chunk: *chunk,
            similarity: meaning.vector.similarity(vector),
        };
        nearest(self.chunks.iter().map(of), NEAREST)
    }

    fn measure(&self, cases: &[Case], weight: f32) -> Quality {
        let view = View::new(&self.corpus.index, []);
        let weights = Weights { vectors: weight, ..Weights::for_view(&view) };
        let mut quality = Quality::default();
        for case in cases {
            let query = Query::parse(&case.text, |path| view.has(path));
            let near = if weight == 0.0 { Vec::new() } else { self.nearest(&case.text) };
            let query = query.with_nearest(near);
            let budget = Budget { hits: 100, least: 0.0 };
            let found =
                search_files(&view, &query, budget, &self.corpus.recent, &weights).unwrap_or_default();
            let found: Vec<String> = found.into_iter().map(|(path, _)| path.to_string()).collect();
            quality.add(case, &found, cases.len());
        }
        quality
    }

    fn alone(&self, cases: &[Case]) -> Quality {
        let catalogue = self.corpus.index.catalogue();
        let mut quality = Quality::default();
        for case in cases {
            let mut found: Vec<String> = Vec::new();
            for near in self.nearest(&case.text) {
                let names = catalogue.files_of_chunk(near.chunk).map(ToString::to_string);
                found.extend(names.filter(|name| !found.contains(name)).collect::<Vec<_>>());
            }
            quality.add(case, &found, cases.len());
        }
        quality
    }
}

/// The numbers of all chunks, each with the text that is embedded for the chunk.
fn passages(corpus: &Corpus) -> Vec<(u32, String)> {
    let catalogue = corpus.index.catalogue();
    let mut list = Vec::new();
    for (name, bytes) in &corpus.files {
        let Ok(path) = WorkspacePath::parse(name) else { continue };
        let text = String::from_utf8_lossy(bytes);
        for (chunk, lines) in catalogue.chunks_of(&path) {
            list.push((chunk, headstart_code_index::passage(&path, &text, lines)));
        }
    }
    list
}
