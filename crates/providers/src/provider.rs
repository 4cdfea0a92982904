use crate::openai::{CacheAnnotations, Effort, OutputLimit, StructuredOutput, ThinkingSwitch, WireOptions};
use std::fmt;

use crate::{KeyHeader, Wire, anthropic, gemini, ollama, responses};

/// The address of a model, the name of its key, and its wire format. It never contains keys.
#[derive(Debug, Clone, PartialEq)]
pub struct Provider {
    /// The name in messages.
    pub name: String,
    /// The URL before the wire format's [path](Wire::path).
    pub base_url: String,
    /// The environment variable that holds the key.
    pub key_variable: String,
    /// Whether a key is required.
    pub key: KeyRequirement,
    /// The wire format.
    pub wire: Wire,
    /// How the key is sent, if it differs from the [format's](Wire::key_header) way.
    pub key_header: Option<KeyHeader>,
    /// Headers that every request has besides those of the format. They replace headers of the same name.
    pub headers: Vec<Header>,
}

/// A header that a host adds to every request. Its value may be a secret, so it is never printed.
#[derive(Clone, PartialEq, Eq)]
pub struct Header {
    /// Letters, digits and hyphens.
    pub name: String,
    /// Visible characters of ASCII and spaces.
    pub value: String,
}

impl fmt::Debug for Header {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: ***", self.name)
    }
}

/// Whether a provider requires a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KeyRequirement {
    /// It refuses requests without one.
    Required,
    /// A key is sent if there is one.
    Optional,
}

impl Provider {
    /// Anthropic.
    pub fn anthropic() -> Self {
        let wire = Wire::Anthropic(anthropic::Options::default());
        Self::preset_of("anthropic", "https://api.anthropic.com", "ANTHROPIC_API_KEY", wire)
    }

    /// Gemini.
    pub fn gemini() -> Self {
        let wire = Wire::Gemini(gemini::Options::default());
        Self::preset_of("gemini", "https://generativelanguage.googleapis.com/v1beta", "GEMINI_API_KEY", wire)
    }

    /// OpenAI with its chat completions.
    ///
    /// The schema of an answer is part of the question, because as `json_schema` it would be put before the system
    /// instruction and miss the prefix cache.
    pub fn openai() -> Self {
        let wire = Wire::Chat(WireOptions {
            thinking: ThinkingSwitch::ReasoningEffort(Effort::LEAST),
            structured_output: StructuredOutput::JsonObject,
            output_limit: OutputLimit::MaxCompletionTokens,
            ..WireOptions::default()
        });
        Self::preset_of("openai", OPENAI_URL, "OPENAI_API_KEY", wire)
    }

    /// OpenAI with its Responses. The schema of an answer is part of the question, as for [chat
    /// completions](Self::openai).
    pub fn responses() -> Self {
        let structured_output = StructuredOutput::JsonObject;
        let effort = Effort::LEAST;
        let options = responses::Options { structured_output, effort, ..responses::Options::default() };
        let wire = Wire::Responses(options);
        Self::preset_of("responses", OPENAI_URL, "OPENAI_API_KEY", wire)
    }

    /// DashScope, with its header and annotations for explicit caching.
    pub fn dashscope() -> Self {
        let wire = Wire::Chat(WireOptions {
            cache: CacheAnnotations::DashScope,
            thinking: ThinkingSwitch::EnableThinking,
            structured_output: StructuredOutput::JsonObject,
            ..WireOptions::default()
        });
        let url = "https://dashscope.aliyuncs.com/compatible-mode/v1";
        Self::preset_of("dashscope", url, "DASHSCOPE_API_KEY", wire)
    }

    /// Ollama on this machine.
    pub fn ollama() -> Self {
        let wire = Wire::Ollama(ollama::Options::default());
        Self::preset_of("ollama", "http://localhost:11434", "OLLAMA_API_KEY", wire).without_key()
    }

    /// Bedrock in this region. Requests without a key of Bedrock's own are signed.
    #[cfg(feature = "bedrock")]
    pub fn bedrock(region: &str) -> Self {
        let wire = Wire::Bedrock(crate::bedrock::Options::default());
        let url = format!("https://bedrock-runtime.{region}.amazonaws.com");
        Self::preset_of("bedrock", url, "AWS_BEARER_TOKEN_BEDROCK", wire).without_key()
    }

    /// Any server with OpenAI's chat completions: vLLM, llama.cpp, a gateway. The wire options use nothing that one
    /// of them is known to lack, except the switch for thinking, which is the one of the provider at this address, or
    /// that of local servers.
    pub fn compatible(name: impl Into<String>, base_url: impl Into<String>) -> Self {
        let base_url = base_url.into();
        let wire = Wire::Chat(WireOptions {
            cache: CacheAnnotations::ByName,
            thinking: thinking_switch_for(&base_url),
            ..WireOptions::default()
        });
        Self { name: name.into(), ..Self::preset_of("", base_url, "HEADSTART_API_KEY", wire).without_key() }
    }

    /// The preset with this name: `anthropic`, `gemini`, `openai`, `responses`, `dashscope` or `ollama`.
    pub fn preset(name: &str) -> Option<Self> {
        match name {
            "anthropic" => Some(Self::anthropic()),
            "gemini" => Some(Self::gemini()),
            "openai" => Some(Self::openai()),
            "responses" => Some(Self::responses()),
            "dashscope" => Some(Self::dashscope()),
            "ollama" => Some(Self::ollama()),
            _ => None,
        }
    }

    /// The same wire format at another URL, such as that of a region or a gateway. Such a server may need no key.
    #[must_use]
    pub fn with_base_url(self, base_url: impl Into<String>) -> Self {
        Self { base_url: base_url.into(), ..self.without_key() }
    }

    /// This provider at a URL that the user gave. A server of somebody else under OpenAI's name may lack what only
    /// OpenAI has, so it is treated as [compatible](Self::compatible).
    #[must_use]
    pub fn served_at(self, base_url: &str) -> Self {
        if matches!(self.wire, Wire::Chat(_)) && self.name == "openai" && !is_openai(base_url) {
            return Self { key_variable: self.key_variable, ..Self::compatible(self.name, base_url) };
        }
        self.with_base_url(base_url)
    }

    /// Its name for messages, with the address if that is not the well-known one.
    pub fn label(&self) -> String {
        if self.is_well_known() {
            self.name.clone()
        } else {
            format!("{} at {}", self.name, self.shown_url())
        }
    }

    /// Whether the address is the one that everybody has for a provider of this name.
    pub(crate) fn is_well_known(&self) -> bool {
        Self::preset(&self.name).is_some_and(|preset| preset.base_url == self.base_url)
    }

    /// The base URL without its query, which may contain a key.
    pub(crate) fn shown_url(&self) -> &str {
        self.base_url.split('?').next().unwrap_or_default()
    }

    /// How the key is sent.
    pub fn key_header(&self) -> KeyHeader {
        self.key_header.unwrap_or(self.wire.key_header())
    }

    fn preset_of(name: &str, base_url: impl Into<String>, key_variable: &str, wire: Wire) -> Self {
        Self {
            name: name.into(),
            base_url: base_url.into(),
            key_variable: key_variable.into(),
            key: KeyRequirement::Required,
            wire,
            key_header: None,
            headers: Vec::new(),
        }
    }

    fn without_key(self) -> Self {
        Self { key: KeyRequirement::Optional, ..self }
    }
}

const OPENAI_URL: &str = "https://api.openai.com/v1";

/// Whether the URL is that of OpenAI's own service, or of its cloud partner.
/// Whether an address is one of the machine that asks.
pub(crate) fn is_this_machine(base_url: &str) -> bool {
    matches!(host(base_url), "localhost" | "127.0.0.1")
}

fn is_openai(base_url: &str) -> bool {
    let host = host(base_url);
    host.ends_with(".openai.com") || host.ends_with(".openai.azure.com")
}

fn host(base_url: &str) -> &str {
    base_url.split("://").nth(1).and_then(|rest| rest.split(['/', ':', '?']).next()).unwrap_or_default()
}

/// How thinking is turned off at this address. A server that does not know the switch either ignores or refuses it,
/// and is asked without it from then on.
fn thinking_switch_for(base_url: &str) -> ThinkingSwitch {
    let host = host(base_url);
    let is_of = |domains: &[&str]| {
        let is_in = |domain: &&str| {
            host.strip_suffix(*domain).is_some_and(|sub| sub.is_empty() || sub.ends_with('.'))
        };
        domains.iter().any(is_in)
    };
    if is_of(&["deepseek.com", "moonshot.ai", "moonshot.cn", "z.ai", "bigmodel.cn", "volces.com"]) {
        ThinkingSwitch::Disabled
    } else if is_of(&["aliyuncs.com"]) {
        ThinkingSwitch::EnableThinking
    } else if is_of(&["openrouter.ai", "groq.com", "cerebras.ai", "googleapis.com"])
        || base_url.contains(":11434")
    {
        ThinkingSwitch::ReasoningEffort(Effort::LEAST)
    } else if is_of(&["mistral.ai", "x.ai"]) {
        ThinkingSwitch::None
    } else {
        ThinkingSwitch::ChatTemplate
    }
}
