use headstart_code_index::{View, Weights};

use crate::corpus::Corpus;
use crate::{cells, measure};

const FACTORS: [f32; 4] = [0.6, 0.8, 1.25, 1.6];
const ROUNDS: usize = 2;

/// The name of one number of the weights, and access to it.
type Knob = (&'static str, fn(&mut Weights) -> &mut f32);

const KNOBS: [Knob; 17] = [
    ("header", |weights| &mut weights.chunk[1].weight),
    ("folder", |weights| &mut weights.file[0].weight),
    ("name", |weights| &mut weights.file[1].weight),
    ("definitions", |weights| &mut weights.file[2].weight),
    ("history", |weights| &mut weights.file[3].weight),
    ("body b", |weights| &mut weights.chunk[0].b),
    ("header b", |weights| &mut weights.chunk[1].b),
    ("folder b", |weights| &mut weights.file[0].b),
    ("name b", |weights| &mut weights.file[1].b),
    ("definitions b", |weights| &mut weights.file[2].b),
    ("history b", |weights| &mut weights.file[3].b),
    ("chunk k", |weights| &mut weights.chunk_k),
    ("file k", |weights| &mut weights.file_k),
    ("file share", |weights| &mut weights.file_share),
    ("spread", |weights| &mut weights.spread),
    ("size", |weights| &mut weights.size),
    ("recent", |weights| &mut weights.recent),
];

/// Changes one number after the other as long as the tuning queries gain by it, and prints the result for the held-out
/// queries.
pub(crate) fn tune(corpora: &[Corpus]) {
    let view = corpora.first().map(|corpus| View::new(&corpus.index, []));
    let mut best = view.map_or_else(Weights::default, |view| Weights::for_view(&view));
    let mut top = value(corpora, &best);
    for _ in 0..ROUNDS {
        for (name, knob) in KNOBS {
            let start = *knob(&mut best);
            for factor in FACTORS {
                let mut tried = best;
                let value_tried = start * factor;
                if name.ends_with(" b") && 1.0 < value_tried {
                    continue;
                }
                *knob(&mut tried) = value_tried;
                let gained = value(corpora, &tried);
                if top + 1e-4 < gained {
                    eprintln!("{name} {start:.3} → {value_tried:.3}: {top:.4} → {gained:.4}");
                    (top, best) = (gained, tried);
                }
            }
        }
    }
    println!("\n{best:#?}\n");
    println!("| repository | held out, recall@10 | MRR | names R | names M |");
    println!("|---|---|---|---|---|");
    for corpus in corpora {
        let (commits, names) =
            (measure(corpus, corpus.held_out(), &best), measure(corpus, corpus.names(), &best));
        println!("| {} | {} |", corpus.name, cells(&[commits.recall, commits.mrr, names.recall, names.mrr]));
    }
}

/// The value that tuning makes as large as possible, measured with the tuning queries alone.
fn value(corpora: &[Corpus], weights: &Weights) -> f64 {
    let of_each = corpora.iter().map(|corpus| {
        let quality = measure(corpus, corpus.tuning(), weights);
        quality.recall + 0.5 * quality.mrr
    });
    of_each.sum::<f64>() / corpora.len() as f64
}
