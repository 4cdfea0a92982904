use headstart_providers::Scrubber;

use crate::environment::Environment;

/// Words in the names of variables that hold secrets.
const WORDS: [&str; 12] = [
    "KEY",
    "KEYS",
    "APIKEY",
    "TOKEN",
    "TOKENS",
    "SECRET",
    "SECRETS",
    "PASSWORD",
    "PASSWD",
    "PASS",
    "PAT",
    "CREDENTIALS",
];

/// A scrubber for the values of all environment variables whose names say that they hold a key, a token, a secret or a
/// password.
pub fn scrubber(environment: &Environment) -> Scrubber {
    Scrubber::with_values(environment.values(names_a_secret))
}

/// Whether a variable of this name holds a secret.
pub(crate) fn names_a_secret(name: &str) -> bool {
    let upper = name.to_uppercase();
    upper.split('_').any(|word| WORDS.contains(&word))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variables_are_known_by_the_words_in_their_names() {
        let cases = [
            ("OPENAI_API_KEY", true),
            ("github_token", true),
            ("DB_PASSWORD_1", true),
            ("AWS_SECRET_ACCESS_KEY", true),
            ("KEYBOARD", false),
            ("SSH_AUTH_SOCK", false),
            ("PATH", false),
        ];
        for (name, secret) in cases {
            let environment = [(name.into(), "plain words of mine".into())].into_iter().collect();
            let scrubbed = scrubber(&environment).text("<plain words of mine>").into_owned();
            assert_eq!(scrubbed == "<[scrubbed]>", secret, "{name}");
        }
    }
}
