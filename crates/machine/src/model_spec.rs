use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

use crate::error::CliError;

/// The specification of a model: `replay:FILE`, `replay:demo` or `PROVIDER:NAME`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ModelSpec {
    /// A recording that is played in place of a model.
    Replay(PathBuf),
    /// The bundled recording, which has a project of its own. A file of that name is `replay:./demo`.
    Demo,
    /// A model of a provider.
    Remote {
        provider: Provider,
        /// The provider's name of the model.
        name: String,
    },
}

/// A service and its wire format.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Provider {
    Anthropic,
    Gemini,
    /// Chat completions of OpenAI or of any compatible server.
    OpenAi,
    /// OpenAI's newer interface.
    Responses,
    DashScope,
    /// A server on this machine that needs no key.
    Ollama,
    /// Amazon Bedrock.
    #[cfg(feature = "bedrock")]
    Bedrock,
}

impl Provider {
    const ALL: &[Self] = &[
        Self::Anthropic,
        Self::Gemini,
        Self::OpenAi,
        Self::Responses,
        Self::DashScope,
        Self::Ollama,
        #[cfg(feature = "bedrock")]
        Self::Bedrock,
    ];

    pub const fn prefix(self) -> &'static str {
        match self {
            Self::Anthropic => "anthropic",
            Self::Gemini => "gemini",
            Self::OpenAi => "openai",
            Self::Responses => "responses",
            Self::DashScope => "dashscope",
            Self::Ollama => "ollama",
            #[cfg(feature = "bedrock")]
            Self::Bedrock => "bedrock",
        }
    }
}

impl ModelSpec {
    /// The provider of a model that is not a recording.
    pub fn provider(&self) -> Option<Provider> {
        match self {
            Self::Replay(_) | Self::Demo => None,
            Self::Remote { provider, .. } => Some(*provider),
        }
    }
}

impl FromStr for ModelSpec {
    type Err = CliError;

    fn from_str(spec: &str) -> Result<Self, CliError> {
        let refused = |message: String| CliError::ModelSpec { message };
        let Some((prefix, rest)) = spec.split_once(':') else {
            return Err(refused(format!("{spec:?} does not say whose model it is")));
        };
        match prefix {
            "replay" if rest.is_empty() => return Err(refused(format!("{spec:?} names no file"))),
            "replay" if rest == "demo" => return Ok(Self::Demo),
            "replay" => return Ok(Self::Replay(PathBuf::from(rest))),
            _ => {}
        }
        let Some(provider) = Provider::ALL.iter().copied().find(|provider| provider.prefix() == prefix)
        else {
            let built = if prefix == "bedrock" {
                "; released binaries have it, and `cargo install` makes one that has with `--features bedrock`"
            } else {
                ""
            };
            return Err(refused(format!("{spec:?}: there is no provider {prefix:?}{built}")));
        };
        if rest.trim().is_empty() {
            return Err(refused(format!("{spec:?} names no model")));
        }
        Ok(Self::Remote { provider, name: rest.to_owned() })
    }
}

impl fmt::Display for ModelSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Replay(file) => write!(f, "replay:{}", file.display()),
            Self::Demo => f.write_str("replay:demo"),
            Self::Remote { provider, name } => write!(f, "{}:{name}", provider.prefix()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_specification_says_whose_model_it_is() {
        for spec in [
            "replay:demo.json",
            "replay:demo",
            "replay:./demo",
            "anthropic:claude-sonnet-4-5",
            "gemini:gemini-3-pro",
            "openai:gpt-5",
            "responses:gpt-5",
            "dashscope:qwen3-max",
            "ollama:llama3.3:70b",
        ] {
            assert_eq!(spec.parse::<ModelSpec>().unwrap().to_string(), spec);
        }
        assert_eq!(
            "ollama:llama3.3:70b".parse::<ModelSpec>().unwrap(),
            ModelSpec::Remote { provider: Provider::Ollama, name: "llama3.3:70b".to_owned() }
        );
    }

    #[test]
    fn what_is_not_a_specification_is_told_what_is() {
        let cases = [
            ("", "does not say whose"),
            ("gpt-5", "does not say whose"),
            ("replay:", "names no file"),
            ("openai:", "names no model"),
            ("openai: ", "names no model"),
            ("anthropic:", "names no model"),
            ("google:x", "no provider \"google\""),
            ("OpenAI:x", "no provider \"OpenAI\""),
            ("http://localhost", "no provider \"http\""),
        ];
        for (spec, expected) in cases {
            let message = spec.parse::<ModelSpec>().unwrap_err().to_string();
            assert!(message.contains(expected), "{spec:?}: {message}");
            assert!(message.contains("use replay:FILE, anthropic:NAME"), "{spec:?}: {message}");
        }
    }
}
