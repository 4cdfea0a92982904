//! Servers that compare meanings by making vectors of texts, or by judging passages.

use std::time::Duration;

use async_trait::async_trait;
use headstart_code_index::{Embedder, ModelFailure, ModelLocation, Reranker};
use headstart_forked_query::ModelError;
use headstart_providers::{ApiKey, HttpModel, Provider, Timeouts};
use serde::Deserialize;
use serde_json::json;

use crate::config::{Embeddings, Rerank};
use crate::environment::Environment;
use crate::error::CliError;

/// Loading a model first takes long, but no search waits for that.
const TIMEOUTS: Timeouts = Timeouts {
    connect: Duration::from_secs(5),
    first_byte: Duration::from_secs(60),
    idle: Duration::from_secs(20),
    stalled: Duration::from_secs(60),
};
/// The most bytes of an answer, which may have some dozens of vectors with thousands of numbers each.
const MAX_BYTES: usize = 16 << 20;

/// The keys for servers whose addresses the user gave. No provider's key is sent there.
const EMBEDDINGS_KEY: &str = "HEADSTART_EMBEDDINGS_KEY";
const RERANK_KEY: &str = "HEADSTART_RERANK_KEY";

/// A server that makes vectors.
pub(super) struct RemoteEmbedder {
    server: HttpModel,
    name: String,
    id: String,
    is_ollama: bool,
}

impl RemoteEmbedder {
    /// The server of `openai:NAME` or `ollama:NAME`; `None` for a table, which needs no server.
    pub(super) fn open(config: &Embeddings, environment: &Environment) -> Result<Self, CliError> {
        let (name, url, is_ollama) = match config {
            Embeddings::OpenAi { name, url } => (name, url.as_deref(), false),
            Embeddings::Ollama { name, url } => (name, url.as_deref(), true),
        };
        let provider = match (is_ollama, url) {
            (true, None) => Provider::ollama(),
            (true, Some(url)) => Provider::ollama().with_base_url(url),
            (false, None) => Provider::openai(),
            (false, Some(url)) => of_user("embeddings", url, EMBEDDINGS_KEY),
        };
        let kind = if is_ollama { "ollama" } else { "openai" };
        let id = format!("{kind}:{name} at {}", provider.base_url.split('?').next().unwrap_or_default());
        let server = server(provider, environment)?;
        Ok(Self { server, name: name.clone(), id, is_ollama })
    }
}

/// A server at an address that the user gave.
fn of_user(name: &str, url: &str, key_variable: &str) -> Provider {
    Provider { key_variable: key_variable.to_owned(), ..Provider::compatible(name, url) }
}

fn server(provider: Provider, environment: &Environment) -> Result<HttpModel, CliError> {
    let key = environment.text(&provider.key_variable)?.map(ApiKey::new);
    Ok(HttpModel::new(provider, key, TIMEOUTS)?)
}

fn location(server: &HttpModel) -> ModelLocation {
    if server.is_on_this_machine() { ModelLocation::Local } else { ModelLocation::Remote }
}

#[async_trait]
impl Embedder for RemoteEmbedder {
    fn id(&self) -> &str {
        &self.id
    }

    fn dimensions(&self) -> Option<usize> {
        None
    }

    fn location(&self) -> ModelLocation {
        location(&self.server)
    }

    async fn embed(&self, texts: &[&str]) -> Result<Vec<Vec<f32>>, ModelFailure> {
        let (path, body) = if self.is_ollama {
            ("api/embed", json!({"model": self.name, "input": texts}))
        } else {
            ("embeddings", json!({"model": self.name, "input": texts, "encoding_format": "float"}))
        };
        let asked = self.server.post_json(path, body.to_string().into_bytes(), MAX_BYTES).await;
        let text = asked.map_err(failure)?;
        if self.is_ollama { read_ollama(&text, texts.len()) } else { read_openai(&text, texts.len()) }
    }
}

#[derive(Deserialize)]
struct OllamaAnswer {
    embeddings: Vec<Vec<f32>>,
}

fn read_ollama(text: &str, count: usize) -> Result<Vec<Vec<f32>>, ModelFailure> {
    let OllamaAnswer { embeddings } =
        serde_json::from_str(text).map_err(|error| unreadable_answer("vectors", error))?;
    if embeddings.len() == count { Ok(embeddings) } else { Err(wrong_count(embeddings.len(), count)) }
}

#[derive(Deserialize)]
struct OpenAiAnswer {
    data: Vec<OpenAiVector>,
}

#[derive(Deserialize)]
struct OpenAiVector {
    embedding: Vec<f32>,
    index: Option<usize>,
}

fn read_openai(text: &str, count: usize) -> Result<Vec<Vec<f32>>, ModelFailure> {
    let OpenAiAnswer { data } =
        serde_json::from_str(text).map_err(|error| unreadable_answer("vectors", error))?;
    in_order(data.into_iter().map(|vector| (vector.index, vector.embedding)), count)
}

/// A server that judges passages.
pub(super) struct RemoteReranker {
    server: HttpModel,
    name: String,
}

impl RemoteReranker {
    pub(super) fn open(config: &Rerank, environment: &Environment) -> Result<Self, CliError> {
        let server = server(of_user("reranker", &config.url, RERANK_KEY), environment)?;
        Ok(Self { server, name: config.name.clone() })
    }
}

#[derive(Deserialize)]
struct RankAnswer {
    results: Vec<PassageScore>,
}

#[derive(Deserialize)]
struct PassageScore {
    index: usize,
    #[serde(alias = "score")]
    relevance_score: f32,
}

#[async_trait]
impl Reranker for RemoteReranker {
    fn location(&self) -> ModelLocation {
        location(&self.server)
    }

    async fn rank(&self, query: &str, passages: &[&str]) -> Result<Vec<f32>, ModelFailure> {
        let count = passages.len();
        let body = json!({"model": self.name, "query": query, "documents": passages, "top_n": count});
        let asked = self.server.post_json("rerank", body.to_string().into_bytes(), MAX_BYTES).await;
        let text = asked.map_err(failure)?;
        let RankAnswer { results } =
            serde_json::from_str(&text).map_err(|error| unreadable_answer("a ranking", error))?;
        in_order(results.into_iter().map(|ranked| (Some(ranked.index), ranked.relevance_score)), count)
    }
}

/// Puts values into the order of their numbers. Each number must occur once, and none may be missing.
fn in_order<T>(
    values: impl Iterator<Item = (Option<usize>, T)>,
    count: usize,
) -> Result<Vec<T>, ModelFailure> {
    let mut places: Vec<Option<T>> = (0..count).map(|_| None).collect();
    let mut given = 0;
    for (at, (index, value)) in values.enumerate() {
        given += 1;
        match places.get_mut(index.unwrap_or(at)) {
            Some(place @ None) => *place = Some(value),
            _ => return Err(wrong_count(given, count)),
        }
    }
    places.into_iter().collect::<Option<Vec<T>>>().ok_or_else(|| wrong_count(given, count))
}

fn wrong_count(given: usize, count: usize) -> ModelFailure {
    ModelFailure::unusable(format!("{given} answers to {count} texts, or two to one of them"))
}

fn unreadable_answer(expected: &str, error: serde_json::Error) -> ModelFailure {
    ModelFailure::unusable(format!("an answer that is not {expected} ({error})")).caused_by(error)
}

/// What follows from an error: whether the model is asked again, and with what.
pub(super) fn failure(error: ModelError) -> ModelFailure {
    let message = error.to_string();
    let after = error.retry_after_ms().map(Duration::from_millis);
    let source = None;
    let failure = match &error {
        // The text was too long, or the model could not read it.
        ModelError::WindowExceeded { .. } | ModelError::Rejected { status: 400 | 413 | 422, .. } => {
            ModelFailure::Refused { message, source }
        }
        ModelError::RateLimited { .. }
        | ModelError::Server { .. }
        | ModelError::Timeout { .. }
        | ModelError::Unreachable { .. }
        | ModelError::Dropped { .. } => ModelFailure::Later { message, after, source },
        _ => ModelFailure::Unusable { message, source },
    };
    failure.caused_by(error)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn vectors_come_in_the_order_of_their_texts() {
        let mixed = r#"{"data": [{"index": 1, "embedding": [2]}, {"index": 0, "embedding": [1]}]}"#;
        assert_eq!(read_openai(mixed, 2).unwrap(), vec![vec![1.0], vec![2.0]]);
        let plain = r#"{"data": [{"embedding": [1]}, {"embedding": [2]}], "usage": {}}"#;
        assert_eq!(read_openai(plain, 2).unwrap(), vec![vec![1.0], vec![2.0]]);
        assert_eq!(read_ollama(r#"{"embeddings": [[1], [2]]}"#, 2).unwrap(), vec![vec![1.0], vec![2.0]]);
    }

    #[test]
    fn an_answer_that_makes_no_sense_is_of_no_use() {
        for odd in [
            "",
            "[]",
            "{}",
            r#"{"data": []}"#,
            r#"{"data": [{"embedding": [1]}]}"#,
            r#"{"data": [{"index": 0, "embedding": [1]}, {"index": 0, "embedding": [1]}]}"#,
            r#"{"data": [{"index": 0, "embedding": [1]}, {"index": 9, "embedding": [1]}]}"#,
            r#"{"data": [{"embedding": [NaN]}, {"embedding": [1]}]}"#,
            r#"{"data": [{"embedding": [null]}, {"embedding": [1]}]}"#,
            r#"{"data": [{"embedding": "AAAA"}, {"embedding": [1]}]}"#,
        ] {
            let answer = read_openai(odd, 2);
            assert!(matches!(answer, Err(ModelFailure::Unusable { .. })), "{odd}: {answer:?}");
        }
        for odd in [r#"{"embeddings": [[1]]}"#, r#"{"embeddings": [[1], ["x"]]}"#, r#"{"error": "no"}"#] {
            let answer = read_ollama(odd, 2);
            assert!(matches!(answer, Err(ModelFailure::Unusable { .. })), "{odd}: {answer:?}");
        }
    }
}
