//! English words for queries in other languages, from the model that the user named for background work.

use std::collections::VecDeque;
use std::time::Duration;

use headstart_code_index::{ModelFailure, ModelLocation};
use headstart_forked_query::BackgroundModel;
use headstart_toolbox::english_words;
use tokio::sync::OnceCell;

use super::models::{IndexModels, is_within, too_slow};
use super::remote::failure;
use crate::config::Config;
use crate::environment::Environment;
use crate::models;

/// How long a search waits for the words before it continues without them.
const PATIENCE: Duration = Duration::from_secs(6);
/// The most queries whose words are kept.
const MAX_KEPT: usize = 64;
/// The most requests of one process.
const MAX_ASKED: usize = 200;

/// The model that gives the words. It is opened when a query first needs it, which is rare.
pub(super) struct Translator {
    config: Config,
    environment: Environment,
    opened: OnceCell<Option<(BackgroundModel, ModelLocation)>>,
}

/// Earlier answers, the newest first: the model with the query, and the words.
#[derive(Debug, Default)]
pub(super) struct TranslationCache {
    list: VecDeque<(String, String)>,
    asked: usize,
}

impl Translator {
    /// The model of background work; `None` if the user has switched this off.
    pub(super) fn of(config: &Config, environment: &Environment) -> Option<Self> {
        let (config, environment) = (config.clone(), environment.clone());
        config.index.translate.then_some(Self { config, environment, opened: OnceCell::new() })
    }

    async fn opened(&self) -> Result<Option<&(BackgroundModel, ModelLocation)>, ModelFailure> {
        let open = || async {
            let model = models::separate_background_model(&self.config, &self.environment)
                .map_err(|error| ModelFailure::unusable(error.to_string()).caused_by(error))?;
            Ok(model.map(|(model, is_here)| {
                (model, if is_here { ModelLocation::Local } else { ModelLocation::Remote })
            }))
        };
        Ok(self.opened.get_or_try_init(open).await?.as_ref())
    }
}

impl IndexModels {
    /// English words for a query, separated by blanks. If there are none in time, the user is told why.
    pub async fn translate_query(&self, query: &str, permitted: ModelLocation) -> Option<String> {
        let translator = self.translator.as_ref().filter(|_| self.available_models(permitted).translates)?;
        match self.request_words(translator, query.trim(), permitted).await {
            Ok(words) => words,
            Err(failure) => {
                self.notice_once(&format!("the query is compared as it is written: {failure}"));
                self.lock().translating.note(&failure);
                None
            }
        }
    }

    async fn request_words(
        &self,
        translator: &Translator,
        query: &str,
        permitted: ModelLocation,
    ) -> Result<Option<String>, ModelFailure> {
        let Some((model, location)) = translator.opened().await? else {
            return Err(ModelFailure::unusable(
                "it is in a language that the code is not in, and no model is named that could translate it",
            ));
        };
        let key = format!("{}\n{query}", model.name);
        if let Some(words) = self.lock().words.get(&key) {
            return Ok(Some(words));
        }
        if !is_within(*location, permitted) {
            return Ok(None);
        }
        if !self.lock().words.may_ask() {
            return Err(ModelFailure::unusable(
                "as many queries were translated as one process may have translated",
            ));
        }
        let asked = tokio::time::timeout(PATIENCE, english_words(model, query)).await;
        let answer = asked.map_err(|_| too_slow(PATIENCE))?.map_err(|failed| failure(failed.error))?;
        let usage = answer.usage;
        let Some(words) = answer.words else {
            let message = format!("{} gave no English words for it", model.name);
            return Err(ModelFailure::Refused { message, source: None });
        };
        let tokens = usage.input_tokens.saturating_add(usage.output_tokens);
        self.notice_once(&format!(
            "searched for these words as well: {words} (of {}, {tokens} tokens)",
            model.name
        ));
        self.lock().words.keep(key, words.clone());
        Ok(Some(words))
    }

    /// Adds the words of earlier processes, as [`known_words`](Self::known_words) returned them.
    pub fn remember_words(&self, text: &str) {
        let known: VecDeque<(String, String)> = serde_json::from_str(text).unwrap_or_default();
        self.lock().words.list.extend(known.into_iter().take(MAX_KEPT));
    }

    /// All known words as a text for later processes; `None` if nothing was asked.
    pub fn known_words(&self) -> Option<String> {
        let state = self.lock();
        let is_new = 0 < state.words.asked;
        is_new.then(|| serde_json::to_string(&state.words.list).expect("works because texts are always JSON"))
    }
}

impl TranslationCache {
    fn get(&self, key: &str) -> Option<String> {
        self.list.iter().find(|(known, _)| known == key).map(|(_, words)| words.clone())
    }

    fn keep(&mut self, key: String, words: String) {
        self.list.truncate(MAX_KEPT - 1);
        self.list.push_front((key, words));
    }

    /// Counts a request. Returns whether it is within the limit.
    fn may_ask(&mut self) -> bool {
        self.asked += 1;
        self.asked <= MAX_ASKED
    }
}
