//! Vectors of texts without a model: a table has a vector for each token, and the vector of a text is their mean.

use std::collections::HashMap;

use async_trait::async_trait;
use headstart_overlay_fs::ContentHash;

use crate::ports::{Embedder, ModelFailure, ModelLocation};
use crate::token::tokens;
use crate::vector::MOST_DIMENSIONS;

/// The first line of a table, before the number of dimensions.
const HEAD: &str = "headstart-vectors 1";
/// The most tokens in a table.
const MOST_TOKENS: usize = 500_000;

/// A table of vectors of tokens.
///
/// As a text: `headstart-vectors 1 DIMENSIONS`, and then a line for each token, with the token and that many whole
/// numbers from -127 to 127, separated by blanks. Tokens are those that [`tokens`](crate::tokens) makes of a text.
/// The longer a token's vector, the more it counts in the mean.
#[derive(Clone)]
pub struct StaticVectors {
    id: String,
    dimensions: usize,
    places: HashMap<Box<str>, usize>,
    numbers: Vec<i8>,
}

/// What is wrong with a table.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {problem}")]
pub struct TableError {
    /// The line, from 1.
    pub line: usize,
    /// What is wrong there, and what is expected.
    pub problem: String,
}

impl StaticVectors {
    /// Reads a table.
    pub fn parse(text: &str) -> Result<Self, TableError> {
        let refused = |line: usize, problem: String| TableError { line, problem };
        let (head, rest) = text.split_once('\n').unwrap_or((text, ""));
        let dimensions =
            head.trim_end().strip_prefix(HEAD).and_then(|rest| rest.trim().parse::<usize>().ok());
        let dimensions =
            dimensions.filter(|count| (1..=MOST_DIMENSIONS).contains(count)).ok_or_else(|| {
                refused(
                    1,
                    format!("a table of vectors begins with `{HEAD} N`, N from 1 to {MOST_DIMENSIONS}"),
                )
            })?;
        let mut places = HashMap::new();
        let mut numbers = Vec::new();
        for (text, line) in rest.lines().zip(2..) {
            let mut words = text.split_ascii_whitespace();
            let Some(token) = words.next() else { continue };
            if places.len() == MOST_TOKENS {
                return Err(refused(line, format!("a table has at most {MOST_TOKENS} tokens")));
            }
            let before = numbers.len();
            for word in words {
                let number = word.parse::<i8>().ok().filter(|number| *number != i8::MIN);
                let number = number
                    .ok_or_else(|| refused(line, format!("{word:?} is no whole number from -127 to 127")))?;
                numbers.push(number);
            }
            let count = numbers.len() - before;
            if count != dimensions {
                return Err(refused(
                    line,
                    format!("{token:?} has {count} numbers; each has {dimensions} here"),
                ));
            }
            if places.insert(token.into(), before).is_some() {
                return Err(refused(line, format!("{token:?} comes a second time")));
            }
        }
        if places.is_empty() {
            return Err(refused(2, "the table has no token".to_owned()));
        }
        Ok(Self { id: format!("static:{}", ContentHash::of(text.as_bytes())), dimensions, places, numbers })
    }

    /// The mean of the vectors of a text's tokens; all 0 if none of them is in the table.
    pub fn vector(&self, text: &str) -> Vec<f32> {
        let mut sum = vec![0.0_f32; self.dimensions];
        let mut count = 0.0_f32;
        tokens(text, |token| {
            let Some(at) = self.places.get(token) else { return };
            count += 1.0;
            for (sum, number) in sum.iter_mut().zip(&self.numbers[*at..*at + self.dimensions]) {
                *sum += f32::from(*number);
            }
        });
        for number in &mut sum {
            *number /= count.max(1.0);
        }
        sum
    }
}

#[async_trait]
impl Embedder for StaticVectors {
    fn id(&self) -> &str {
        &self.id
    }

    fn dimensions(&self) -> Option<usize> {
        Some(self.dimensions)
    }

    fn location(&self) -> ModelLocation {
        ModelLocation::Local
    }

    async fn embed(&self, texts: &[&str]) -> Result<Vec<Vec<f32>>, ModelFailure> {
        Ok(texts.iter().map(|text| self.vector(text)).collect())
    }
}

impl std::fmt::Debug for StaticVectors {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("StaticVectors").field("id", &self.id).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Vector;

    const TABLE: &str = "headstart-vectors 1 3\nlogin 10 0 0\npassword 9 1 0\ninvoic 0 0 20\n\n";

    fn vector(table: &StaticVectors, text: &str) -> Option<Vector> {
        Vector::of(&table.vector(text)).expect("finite numbers")
    }

    #[test]
    fn a_text_is_the_mean_of_its_tokens() {
        let table = StaticVectors::parse(TABLE).expect("a good table");
        assert_eq!(table.vector("login, password!"), [9.5, 0.5, 0.0]);
        let login = vector(&table, "fn login() {}").expect("a known token");
        let similar = vector(&table, "the passwords").expect("a known token");
        let other = vector(&table, "Invoices").expect("a known token");
        assert!(0.9 < login.similarity(&similar) && login.similarity(&other) < 0.1);
        assert_eq!(vector(&table, "nothing of it"), None);
    }

    /// The id of a table depends on its content, so that vectors of another table are never compared with its own.
    #[test]
    fn a_table_is_known_by_its_content() {
        let id = |text: &str| StaticVectors::parse(text).expect("a good table").id().to_owned();
        assert_eq!(id(TABLE), id(TABLE));
        assert_ne!(id(TABLE), id(&TABLE.replace("20", "21")));
    }

    #[test]
    fn what_is_no_table_is_told_with_its_line() {
        let cases = [
            ("", 1, "begins with"),
            ("login 1 2 3\n", 1, "begins with"),
            ("headstart-vectors 1 0\na 1", 1, "from 1 to"),
            ("headstart-vectors 1 99999\na 1", 1, "from 1 to"),
            ("headstart-vectors 2 3\na 1 2 3", 1, "begins with"),
            ("headstart-vectors 1 2\n", 2, "no token"),
            ("headstart-vectors 1 2\na 1 2\nb 1\n", 3, "\"b\" has 1 numbers"),
            ("headstart-vectors 1 2\na 1 2 3\n", 2, "has 3 numbers"),
            ("headstart-vectors 1 2\na 1 NaN\n", 2, "\"NaN\" is no whole number"),
            ("headstart-vectors 1 2\na 1 -128\n", 2, "is no whole number"),
            ("headstart-vectors 1 2\na 1 0.5\n", 2, "is no whole number"),
            ("headstart-vectors 1 2\na 1 2\n\na 2 1\n", 4, "a second time"),
        ];
        for (text, line, problem) in cases {
            let error = StaticVectors::parse(text).expect_err(text);
            assert_eq!(error.line, line, "{text:?}: {error}");
            assert!(error.problem.contains(problem), "{text:?}: {error}");
        }
    }
}
