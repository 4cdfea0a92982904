use proptest::prelude::*;

use super::*;

fn all(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    tokens(text, |token| found.push(token.to_owned()));
    found
}

#[test]
fn identifiers_give_their_parts_and_themselves() {
    let cases: [(&str, &[&str]); 16] = [
        ("parseHTTPRequest", &["pars", "http", "request", "parsehttprequest"]),
        ("parse_http_request", &["pars", "http", "request", "parsehttprequest"]),
        ("PARSE_HTTP", &["pars", "http", "parsehttp"]),
        ("utf8", &["utf", "utf8"]),
        ("sha256sum", &["sha", "256", "sum", "sha256sum"]),
        ("__init__", &["init"]),
        ("x", &[]),
        ("xAxis", &["axi", "xaxi"]),
        ("getURL", &["get", "url", "geturl"]),
        ("a.b->c", &[]),
        ("foo::Bar<Baz>", &["foo", "bar", "baz"]),
        ("don't", &["don"]),
        ("WebSockets", &["web", "socket", "websocket"]),
        ("ÜberGröße", &["über", "größe", "übergröße"]),
        ("Ошибка", &["ошибка"]),
        ("", &[]),
    ];
    for (text, expected) in cases {
        assert_eq!(all(text), expected, "{text}");
    }
}

/// Forms of one word have the same token, so that a query in one form finds the others.
#[test]
fn forms_of_a_word_meet() {
    let families: [&[&str]; 16] = [
        &["cache", "caches", "cached", "caching"],
        &["retry", "retries", "retried"],
        &["match", "matches", "matched", "matching"],
        &["run", "runs", "running"],
        &["set", "sets", "setting", "settings"],
        &["class", "classes"],
        &["add", "adds", "added", "adding"],
        &["call", "calls", "called", "calling"],
        &["parse", "parses", "parsed", "parsing"],
        &["stop", "stopped", "stopping", "stops"],
        &["index", "indexed", "indexing"],
        &["entry", "entries"],
        &["delete", "deletes", "deleting", "deletion"],
        &["authenticate", "authenticating", "authentication"],
        &["serialize", "serializer", "serialized"],
        &["valid", "validate", "validation", "validator"],
    ];
    for family in families {
        let stems: Vec<_> = family.iter().map(|word| all(word)).collect();
        for (word, stem) in family.iter().zip(&stems) {
            assert_eq!(stem, &stems[0], "{word}");
        }
    }
    for (word, stem) in [("status", "status"), ("this", "this"), ("string", "string"), ("need", "need")] {
        assert_eq!(all(word), [stem]);
    }
}

/// Scripts without blanks between words are cut into pairs of neighbouring characters.
#[test]
fn signs_without_blanks_give_pairs() {
    assert_eq!(all("用户登录"), ["用户", "户登", "登录"]);
    assert_eq!(all("验"), ["验"]);
    assert_eq!(all("auth认证v2"), ["auth", "认证", "v2"]);
    assert_eq!(all("ログイン"), ["ログ", "グイ", "イン"]);
    assert_eq!(all("로그인 처리"), ["로그", "그인", "처리"]);
}

/// Encoded data has no words, so it must not fill the index.
#[test]
fn encoded_data_is_left_out() {
    assert!(all(&"a".repeat(101)).is_empty());
    assert!(all(&"aB3".repeat(1_000)).is_empty());
    assert_eq!(all(&"a".repeat(100)).len(), 1);
    assert!(all(&"ab_".repeat(100)).len() <= MOST_PARTS);
}

#[test]
fn the_whole_is_the_last_token() {
    assert_eq!(whole("parse_query"), "parsequeri");
    assert_eq!(whole("query"), "queri");
    assert_eq!(whole("+"), "");
}

proptest! {
    /// Tokens have no white space and no punctuation, so that they can be put into a query of the database without
    /// quotes.
    #[test]
    fn no_token_needs_quoting(text in "\\PC{0,200}") {
        tokens(&text, |token| {
            assert!(!token.is_empty() && token.len() <= 2 * LONGEST);
            assert!(!token.contains(|sign: char| sign.is_whitespace() || sign.is_ascii_punctuation() || sign == '\0'));
        });
    }

    /// A token is stable: it has no tokens except itself or its stem.
    #[test]
    fn tokens_of_a_token_are_itself_or_its_stem(word in "[a-z]{1,12}") {
        let once = all(&word);
        prop_assert!(once.len() <= 1);
    }

    /// A text has the tokens of its lines, so that it can be read line by line.
    #[test]
    fn a_text_is_the_sum_of_its_lines(lines in proptest::collection::vec("[a-zA-Z_0-9 用户\\.]{0,20}", 0..6)) {
        let together = all(&lines.join("\n"));
        let apart: Vec<_> = lines.iter().flat_map(|line| all(line)).collect();
        prop_assert_eq!(together, apart);
    }
}
