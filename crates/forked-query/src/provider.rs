use crate::openai::{CacheAnnotations, OutputLimit, StructuredOutput, ThinkingSwitch, WireOptions};

/// Where a model is, how its key is called, and which dialect it speaks. Keys are never part of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Provider {
    /// The name in messages.
    pub name: String,
    /// The URL that `/chat/completions` follows.
    pub base_url: String,
    /// The environment variable that holds the key.
    pub key_variable: String,
    /// Whether requests without a key are refused anyway.
    pub key: KeyNeed,
    /// The dialect.
    pub wire: WireOptions,
}

/// Whether a provider needs a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KeyNeed {
    /// It refuses requests without one.
    Required,
    /// One is sent if there is one.
    Optional,
}

impl Provider {
    /// OpenAI.
    ///
    /// The schema of an answer goes into the question: as `json_schema` it would be put before the system
    /// instruction and miss the prefix cache.
    pub fn openai() -> Self {
        Self {
            name: "openai".into(),
            base_url: "https://api.openai.com/v1".into(),
            key_variable: "OPENAI_API_KEY".into(),
            key: KeyNeed::Required,
            wire: WireOptions {
                structured_output: StructuredOutput::JsonObject,
                output_limit: OutputLimit::MaxCompletionTokens,
                ..WireOptions::default()
            },
        }
    }

    /// DashScope, with its header and annotations for explicit caching.
    pub fn dashscope() -> Self {
        Self {
            name: "dashscope".into(),
            base_url: "https://dashscope.aliyuncs.com/compatible-mode/v1".into(),
            key_variable: "DASHSCOPE_API_KEY".into(),
            key: KeyNeed::Required,
            wire: WireOptions {
                cache: CacheAnnotations::DashScope,
                thinking: ThinkingSwitch::EnableThinking,
                structured_output: StructuredOutput::JsonObject,
                ..WireOptions::default()
            },
        }
    }

    /// Ollama on this machine.
    pub fn ollama() -> Self {
        Self {
            name: "ollama".into(),
            base_url: "http://localhost:11434/v1".into(),
            key_variable: "OLLAMA_API_KEY".into(),
            key: KeyNeed::Optional,
            wire: WireOptions::default(),
        }
    }

    /// Any server that speaks OpenAI's chat completions: vLLM, llama.cpp, a gateway. The wire options ask nothing of
    /// it that one of them is known not to have.
    pub fn compatible(name: impl Into<String>, base_url: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            base_url: base_url.into(),
            key_variable: "HEADSTART_API_KEY".into(),
            key: KeyNeed::Optional,
            wire: WireOptions::default(),
        }
    }

    /// The preset of that name: `openai`, `dashscope` or `ollama`.
    pub fn preset(name: &str) -> Option<Self> {
        match name {
            "openai" => Some(Self::openai()),
            "dashscope" => Some(Self::dashscope()),
            "ollama" => Some(Self::ollama()),
            _ => None,
        }
    }

    /// The same dialect at another URL, a region's or a gateway's. Such a server may need no key.
    #[must_use]
    pub fn at(self, base_url: impl Into<String>) -> Self {
        Self { base_url: base_url.into(), key: KeyNeed::Optional, ..self }
    }
}
