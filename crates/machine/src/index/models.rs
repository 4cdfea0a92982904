//! The models that a search may ask, which the user's own file names.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use headstart_code_index::{Embedder, ModelFailure, ModelLocation, Reranker, TextVector, Vector, order_of};

use headstart_toolbox::AvailableModels;

use super::remote::{RemoteEmbedder, RemoteReranker};
use super::vectors::other_dimensions;
use crate::config::Config;
use crate::environment::Environment;
use crate::error::CliError;

/// How long a search waits for the vector of its query, or for a judgement, before it continues without.
const PATIENCE: Duration = Duration::from_millis(1_500);
/// How long searches do without a model after a failure that may be temporary, unless the model says how long.
const REST: Duration = Duration::from_secs(30);
const MAX_REST: Duration = Duration::from_secs(600);
/// The most bytes of a query that a model is given.
const MAX_QUERY: usize = 2_000;
/// The most queries whose vectors are kept.
const MAX_KEPT: usize = 64;

/// The models that a search may ask.
#[derive(Default)]
pub struct IndexModels {
    embedder: Option<Arc<dyn Embedder>>,
    reranker: Option<Arc<dyn Reranker>>,
    state: Mutex<ModelsState>,
}

#[derive(Default)]
struct ModelsState {
    /// Queries with their vectors, the newest first.
    meanings: VecDeque<(String, TextVector)>,
    embedding: ModelHealth,
    ranking: ModelHealth,
    /// The length of the index's vectors, once it is known.
    dimensions: Option<usize>,
    reported: Vec<String>,
    notices: Vec<String>,
}

/// Whether a model may be asked.
#[derive(Default)]
struct ModelHealth {
    /// Whether the model cannot be used by this process at all.
    is_unusable: bool,
    /// The model has just failed, and is not asked again before this time.
    rests_until: Option<Instant>,
}

impl ModelHealth {
    fn note(&mut self, failure: &ModelFailure) {
        self.is_unusable |= matches!(failure, ModelFailure::Unusable { .. });
        if let ModelFailure::Later { after, .. } = failure {
            self.rests_until = Some(Instant::now() + after.unwrap_or(REST).clamp(REST, MAX_REST));
        }
    }

    fn serves(&self) -> bool {
        !self.is_unusable && self.rests_until.is_none_or(|until| until < Instant::now())
    }
}

impl IndexModels {
    /// The models that the configuration names. Nothing is requested from them yet.
    pub fn open(config: &Config, environment: &Environment) -> Result<Self, CliError> {
        let config = &config.index;
        let embedder: Option<Arc<dyn Embedder>> = match &config.embeddings {
            None => None,
            Some(remote) => Some(Arc::new(RemoteEmbedder::open(remote, environment)?)),
        };
        let reranker = config.rerank.as_ref().map(|rerank| RemoteReranker::open(rerank, environment));
        let reranker = reranker.transpose()?.map(|it| Arc::new(it) as _);
        Ok(Self { embedder, reranker, state: Mutex::default() })
    }

    #[cfg(test)]
    pub(super) fn of(embedder: Arc<dyn Embedder>) -> Self {
        Self { embedder: Some(embedder), ..Self::default() }
    }

    /// The model that makes vectors; `None` if it cannot be used.
    pub(super) fn embedder(&self) -> Option<&Arc<dyn Embedder>> {
        self.embedder.as_ref().filter(|_| !self.lock().embedding.is_unusable)
    }

    /// Which models a search within this location may ask.
    pub fn available_models(&self, permitted: ModelLocation) -> AvailableModels {
        let state = self.lock();
        let embeds = self.embedder.as_ref().is_some_and(|it| is_within(it.location(), permitted));
        let ranks = self.reranker.as_ref().is_some_and(|it| is_within(it.location(), permitted));
        AvailableModels { embeds: embeds && state.embedding.serves(), ranks: ranks && state.ranking.serves() }
    }

    /// The vector of a query; `None` if there is none in time, which the user is told once.
    pub async fn embed_query(&self, text: &str, permitted: ModelLocation) -> Option<TextVector> {
        let embedder = self.embedder.as_ref().filter(|_| self.available_models(permitted).embeds)?;
        let text = beginning(text);
        let known = self.lock().meanings.iter().find(|(known, _)| known == text).cloned();
        if let Some((_, meaning)) = known {
            return Some(meaning);
        }
        let asked = tokio::time::timeout(PATIENCE, embedder.embed(&[text])).await;
        let made = matches!(&asked, Ok(Ok(_)));
        tracing::debug!(model = embedder.id(), texts = 1, made, "an embedder was asked");
        let vector =
            asked.unwrap_or_else(|_| Err(too_slow(PATIENCE))).and_then(|vectors| match &vectors[..] {
                [numbers] => Vector::of(numbers),
                _ => Err(ModelFailure::unusable(format!("{} vectors of one text", vectors.len()))),
            });
        let expected = self.lock().dimensions;
        let vector = vector.and_then(|vector| match (vector, expected) {
            (Some(vector), Some(before)) if vector.dimensions() != before => {
                Err(other_dimensions(embedder.id(), vector.dimensions(), before))
            }
            (vector, _) => Ok(vector),
        });
        match vector {
            Ok(vector) => {
                let meaning = TextVector { model: embedder.id().to_owned(), vector: vector? };
                let mut state = self.lock();
                state.meanings.truncate(MAX_KEPT - 1);
                state.meanings.push_front((text.to_owned(), meaning.clone()));
                Some(meaning)
            }
            Err(failure) => {
                self.no_vectors(&failure);
                None
            }
        }
    }

    /// The order in which passages answer a query best; `None` if their order is not to change.
    pub async fn rank_passages(
        &self,
        query: &str,
        passages: &[&str],
        permitted: ModelLocation,
    ) -> Option<Vec<usize>> {
        let reranker = self
            .reranker
            .as_ref()
            .filter(|_| self.available_models(permitted).ranks && 1 < passages.len())?;
        let asked = tokio::time::timeout(PATIENCE, reranker.rank(beginning(query), passages)).await;
        tracing::debug!(
            passages = passages.len(),
            judged = matches!(&asked, Ok(Ok(_))),
            "a reranker was asked"
        );
        let order = asked.unwrap_or_else(|_| Err(too_slow(PATIENCE))).and_then(|scores| {
            order_of(&scores, passages.len())
                .ok_or_else(|| ModelFailure::unusable("numbers that are no judgement of the passages"))
        });
        match order {
            Ok(order) => Some(order),
            Err(failure) => {
                self.notice_once(&format!("what was found is in the order of its words: {failure}"));
                self.lock().ranking.note(&failure);
                None
            }
        }
    }

    /// Sets the length of the index's vectors.
    pub(crate) fn expect(&self, dimensions: Option<usize>) {
        self.lock().dimensions = dimensions;
    }

    /// Notes that there are no vectors, for now or in this process, and tells the user once.
    pub(super) fn no_vectors(&self, failure: &ModelFailure) {
        self.notice_once(&format!("searches compare words alone: {failure}"));
        self.lock().embedding.note(failure);
    }

    /// What the user must be told, each only once.
    pub fn notices(&self) -> Vec<String> {
        std::mem::take(&mut self.lock().notices)
    }

    pub(super) fn notice_once(&self, text: &str) {
        let mut state = self.lock();
        if !state.reported.iter().any(|reported| reported == text) {
            state.reported.push(text.to_owned());
            state.notices.push(text.to_owned());
        }
    }

    fn lock(&self) -> MutexGuard<'_, ModelsState> {
        // No change of the state can be left half done.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn is_within(location: ModelLocation, permitted: ModelLocation) -> bool {
    location == ModelLocation::Local || permitted == ModelLocation::Remote
}

fn too_slow(patience: Duration) -> ModelFailure {
    let message = format!("no answer within {} s", patience.as_secs_f32());
    ModelFailure::Later { message, after: None, source: None }
}

fn beginning(text: &str) -> &str {
    let end = (0..=MAX_QUERY.min(text.len())).rev().find(|end| text.is_char_boundary(*end));
    &text[..end.unwrap_or(0)]
}
