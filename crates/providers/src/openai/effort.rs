/// How much a model is asked to think about a question.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Effort {
    /// It is not asked.
    #[default]
    Unspecified,
    /// The least that a model of its name is known to accept, and one step more for each that its server has refused.
    Least {
        /// How many steps were refused.
        refused: usize,
    },
    /// This value, such as `minimal`. Not every model accepts every value, and some accept none.
    Value(String),
}

/// The steps, the least first.
const STEPS: [&str; 3] = ["none", "minimal", "low"];

impl Effort {
    /// The least, before anything was refused.
    pub const LEAST: Self = Self::Least { refused: 0 };

    /// The value for a model of this name.
    pub(crate) fn value_for(&self, model: &str) -> Option<&str> {
        match self {
            Self::Unspecified => None,
            Self::Least { refused } => {
                let first = STEPS.iter().position(|step| Some(*step) == least(model))?;
                STEPS.get(first + refused).copied()
            }
            Self::Value(effort) => Some(effort),
        }
    }

    /// The effort after this many more refusals.
    pub(crate) fn after_refusals(&self, times: usize) -> Self {
        match self {
            Self::Least { refused } if refused + times < STEPS.len() => {
                Self::Least { refused: refused + times }
            }
            effort if times == 0 => effort.clone(),
            _ => Self::Unspecified,
        }
    }

    pub(crate) fn is_specified(&self) -> bool {
        *self != Self::Unspecified
    }
}

/// The least effort that a model of this name accepts, according to its provider's documentation; `None` for models
/// without effort.
fn least(model: &str) -> Option<&'static str> {
    let name = model.rsplit('/').next().unwrap_or(model);
    let begins = |starts: &[&str]| starts.iter().any(|start| name.starts_with(start));
    if does_not_think(model) || begins(&["gpt-5-pro"]) {
        return None;
    }
    if begins(&["o1", "o3", "o4", "gpt-oss", "gpt-5-codex", "gemini-2.5-pro", "gemini-3"]) {
        return Some("low");
    }
    // The first models of this generation; later ones can do without thinking.
    if name == "gpt-5" || begins(&["gpt-5-"]) {
        return Some("minimal");
    }
    Some("none")
}

/// Whether a model of this name is known not to think: it neither accepts an effort nor needs room for thoughts.
pub(crate) fn does_not_think(model: &str) -> bool {
    let name = model.rsplit('/').next().unwrap_or(model);
    let name = name.strip_prefix("ft:").unwrap_or(name);
    ["gpt-3", "gpt-4", "chatgpt-4o"].iter().any(|start| name.starts_with(start))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Each generation of models accepts other efforts. The test checks which one is tried first, and which after a
    /// refusal.
    #[test]
    fn the_least_effort_is_by_generation_and_a_step_more_when_refused() {
        let cases: [(&str, &[&str]); 10] = [
            ("gpt-4.1-mini", &[]),
            ("ft:gpt-4o:me", &[]),
            ("gpt-5", &["minimal", "low"]),
            ("gpt-5-mini-2025-08-07", &["minimal", "low"]),
            ("gpt-5-codex", &["low"]),
            ("gpt-5-pro", &[]),
            ("gpt-5.1", &["none", "minimal", "low"]),
            ("openai/o3-mini", &["low"]),
            ("gemini-3-pro-preview", &["low"]),
            ("qwen/qwen3-32b", &["none", "minimal", "low"]),
        ];
        for (model, expected) in cases {
            let said = (0..5)
                .map_while(|times| Effort::LEAST.after_refusals(times).value_for(model).map(str::to_owned));
            assert_eq!(said.collect::<Vec<_>>(), expected, "{model}");
        }
        assert_eq!(Effort::Value("high".into()).after_refusals(1), Effort::Unspecified);
    }
}
