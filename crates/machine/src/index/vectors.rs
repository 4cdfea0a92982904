//! Adds missing vectors to an index: in batches, once for each content, and always in the background.

use std::collections::HashSet;
use std::ops::ControlFlow;
use std::sync::Arc;

use headstart_code_index::{Embedder, IndexError, ModelFailure, Vector, WithoutVectors, passage};
use headstart_overlay_fs::{ContentHash, Tree as _};

use super::Index;

/// The chunks of one step, after which the vectors are written.
const STEP: usize = 64;
/// The most texts of one request; below it the most bytes.
const MAX_TEXTS: usize = 32;
const MAX_BYTES: usize = 96 * 1024;
/// The length in characters of a second attempt with a refused text. If that is refused too, the text has no vector.
const SHORT: usize = 600;
/// After so many refused texts, without one that was accepted, the model is given up.
const MAX_REFUSED: usize = 8;

/// Makes the vectors of one model.
pub(super) struct VectorBuilder<'a> {
    index: &'a Index,
    embedder: &'a Arc<dyn Embedder>,
    /// The length of the vectors, once it is known.
    dimensions: Option<usize>,
    /// Contents whose file has changed since.
    skipped: HashSet<ContentHash>,
    made: usize,
    refused: usize,
}

/// Why no more vectors are made for now.
#[derive(Debug)]
pub(super) enum VectorError {
    /// The model failed.
    Model(ModelFailure),
    Index(IndexError),
}

impl From<IndexError> for VectorError {
    fn from(error: IndexError) -> Self {
        Self::Index(error)
    }
}

impl From<ModelFailure> for VectorError {
    fn from(failure: ModelFailure) -> Self {
        Self::Model(failure)
    }
}

impl<'a> VectorBuilder<'a> {
    /// Begins with a model. Vectors of other models are removed.
    pub(super) fn begin(index: &'a Index, embedder: &'a Arc<dyn Embedder>) -> Result<Self, IndexError> {
        let dimensions = index.store.only_vectors_of(embedder.id())?;
        Ok(Self { index, embedder, dimensions, skipped: HashSet::new(), made: 0, refused: 0 })
    }

    /// The length of the vectors, once it is known.
    pub(super) fn dimensions(&self) -> Option<usize> {
        self.dimensions
    }

    /// Makes some vectors. Breaks if none are missing.
    pub(super) async fn step(&mut self) -> Result<ControlFlow<()>, VectorError> {
        let model = self.embedder.id();
        let wanted = self.index.store.without_vectors(model, STEP, &self.skipped)?;
        if wanted.is_empty() {
            return Ok(ControlFlow::Break(()));
        }
        let mut readable = Vec::new();
        for content in wanted {
            match self.texts(&content).await {
                Some(texts) => readable.push((content, texts)),
                None => _ = self.skipped.insert(content.digest),
            }
        }
        let texts: Vec<&str> = readable.iter().flat_map(|(_, texts)| texts).map(String::as_str).collect();
        let mut vectors = self.vectors(&texts).await?.into_iter();
        let done: Vec<_> = readable
            .iter()
            .map(|(content, texts)| (content.clone(), vectors.by_ref().take(texts.len()).collect()))
            .collect();
        self.index.store.put_vectors(model, &done)?;
        Ok(ControlFlow::Continue(()))
    }

    /// The texts of a content's chunks; `None` if the file is closed, does not exist, or has changed since.
    async fn texts(&self, content: &WithoutVectors) -> Option<Vec<String>> {
        if self.index.gate.denies(&content.path) {
            return None;
        }
        let bytes = self.index.tree.read(&content.path).await.ok()?;
        if ContentHash::of(&bytes) != content.digest {
            return None;
        }
        let text = String::from_utf8_lossy(&bytes);
        Some(content.chunks.iter().map(|lines| passage(&content.path, &text, *lines)).collect())
    }

    async fn vectors(&mut self, texts: &[&str]) -> Result<Vec<Option<Vector>>, ModelFailure> {
        let mut vectors = Vec::with_capacity(texts.len());
        let mut rest = texts;
        while !rest.is_empty() {
            let mut bytes = 0;
            let fits = rest.iter().take(MAX_TEXTS).take_while(|text| {
                bytes += text.len();
                bytes <= MAX_BYTES
            });
            let (now, later) = rest.split_at(fits.count().max(1));
            let made = self.embedder.embed(now).await;
            tracing::debug!(
                model = self.embedder.id(),
                texts = now.len(),
                made = made.is_ok(),
                "an embedder was asked"
            );
            match made {
                Ok(numbers) => vectors.extend(self.checked(&numbers, now.len())?),
                Err(ModelFailure::Refused { message, .. }) => {
                    for text in now {
                        vectors.push(self.alone(text, &message).await?);
                    }
                }
                Err(failure) => return Err(failure),
            }
            rest = later;
        }
        Ok(vectors)
    }

    /// Asks for the vector of a text that was refused together with others.
    async fn alone(&mut self, text: &str, refusal: &str) -> Result<Option<Vector>, ModelFailure> {
        let short = text.char_indices().nth(SHORT).map_or(text, |(end, _)| &text[..end]);
        for text in [text, short] {
            match self.embedder.embed(&[text]).await {
                Ok(numbers) => return Ok(self.checked(&numbers, 1)?.into_iter().next().flatten()),
                Err(ModelFailure::Refused { .. }) => {}
                Err(failure) => return Err(failure),
            }
        }
        self.refused += 1;
        if self.made == 0 && MAX_REFUSED <= self.refused {
            return Err(ModelFailure::unusable(refusal));
        }
        Ok(None)
    }

    /// Checks the vectors: their number, and that all have the same length as earlier ones.
    fn checked(&mut self, numbers: &[Vec<f32>], count: usize) -> Result<Vec<Option<Vector>>, ModelFailure> {
        if numbers.len() != count {
            return Err(ModelFailure::unusable(format!("{} vectors of {count} texts", numbers.len())));
        }
        let vectors: Vec<Option<Vector>> =
            numbers.iter().map(|list| Vector::of(list)).collect::<Result<_, _>>()?;
        for vector in vectors.iter().flatten() {
            let (now, before) = (vector.dimensions(), *self.dimensions.get_or_insert(vector.dimensions()));
            if now != before {
                return Err(other_dimensions(self.embedder.id(), now, before));
            }
        }
        self.made += count;
        Ok(vectors)
    }
}

/// The failure of a model that has changed while its name stayed the same.
pub(super) fn other_dimensions(model: &str, now: usize, before: usize) -> ModelFailure {
    ModelFailure::unusable(format!(
        "{model} gives vectors of {now} numbers, and of {before} before; headstart index rebuild makes them anew"
    ))
}
