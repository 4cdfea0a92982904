use proptest::prelude::*;

use super::*;

fn parse(text: &str) -> Query {
    Query::parse(text, |path| ["src/auth", "src"].contains(&path.to_string().as_str()))
}

fn terms(text: &str) -> Vec<String> {
    parse(text).terms().map(str::to_owned).collect()
}

#[test]
fn words_become_terms_and_stop_words_do_not() {
    assert_eq!(terms("where is the retry of requests?"), ["retri", "request"]);
    assert_eq!(terms("retry retries RETRY"), ["retri"]);
    assert_eq!(terms("to be or not to be"), ["not"]);
    assert_eq!(terms("why and when are these retried?"), ["retri"]);
    // Neighbours are also the name that they would be together.
    assert_eq!(
        terms("register type-adapter factories"),
        ["regist", "type", "adapt", "factori", "registertyp", "typeadapt", "adapterfactori"]
    );
    // If there are no other words, stop words count.
    assert_eq!(terms("where is it"), ["where", "is", "it"]);
    assert!(terms("").is_empty());
    assert!(terms("?? -- ((").is_empty());
}

#[test]
fn code_and_scopes_count_more() {
    let weight = |text: &str, term: &str| {
        let query = parse(text);
        query.terms.iter().find(|(known, _)| known == term).map(|(_, weight)| *weight).unwrap()
    };
    let close = |one: f32, other: f32| (one - other).abs() < 1e-6;
    assert!(close(weight("fix parse_query", "parsequeri"), 1.2));
    assert!(close(weight("fix parse_query", "pars"), 1.0));
    assert!(close(weight("fix `parse`", "pars"), 1.8));
    assert!(close(weight("parser: fix it", "parser"), 1.5));
    assert!(close(weight("fix(parser): leak", "parser"), 1.5));
    assert!(close(weight("a note: parser", "parser"), 1.0));
}

#[test]
fn names_are_told_from_words() {
    let cases: [(&str, &[&str], bool); 26] = [
        ("where is parse_query defined?", &["parse_query"], true),
        ("how does the HttpClient class work", &["HttpClient"], true),
        ("`run`", &["run"], true),
        ("tokenizer", &["tokenizer"], true),
        ("fix the leak in HttpClient", &["HttpClient"], false),
        ("parse the API", &[], false),
        ("TODO list", &[], false),
        ("MAX_SIZE", &["MAX_SIZE"], true),
        ("show me `a` and `b`", &["a", "b"], true),
        ("Retry twice", &[], false),
        ("用户登录", &[], false),
        ("one two three", &[], false),
        ("Makefile", &["Makefile"], true),
        ("where is Empty defined?", &["Empty"], true),
        ("how does the RECORD function work", &["RECORD"], true),
        ("the function that is retried on errors", &[], false),
        ("class", &["class"], true),
        ("where is the function", &[], false),
        ("def load", &["load"], true),
        ("fn load", &["load"], true),
        ("class Tree", &["Tree"], true),
        ("function send", &["send"], true),
        ("pub fn load<T>(tree: &Tree) -> T {", &["load"], true),
        ("async def load(tree, leaf):", &["load"], true),
        ("class Tree extends Plant {", &[], false),
        ("type of the errors that are raised", &[], false),
    ];
    for (text, names, only) in cases {
        let query = parse(text);
        assert_eq!(query.names().collect::<Vec<_>>(), names, "{text}");
        assert_eq!(query.only_names, only, "{text}");
    }
}

/// A name may be written with what it is in. A dot in a sentence is the end of a sentence or of a file's name.
#[test]
fn a_name_may_say_what_it_is_in() {
    type Case = (&'static str, &'static [(&'static str, Option<&'static str>)], bool);
    let cases: [Case; 10] = [
        ("Session::check", &[("check", Some("Session"))], true),
        ("where is auth::Session::check defined?", &[("check", Some("Session"))], true),
        ("Session.check()", &[("check", Some("Session"))], true),
        ("`session.check`", &[("check", Some("session"))], true),
        ("Session#check", &[("check", Some("Session"))], true),
        ("View.prototype.render", &[("render", Some("View"))], true),
        ("session->check", &[("check", Some("session"))], true),
        ("where is run() called", &[("run", None)], false),
        ("the session.check it all", &[], false),
        ("fix it, e.g. in auth.rs", &[], false),
    ];
    for (text, names, only) in cases {
        let query = parse(text);
        let found: Vec<_> = query.names.iter().map(|it| (it.text.as_str(), it.within.as_deref())).collect();
        assert_eq!((&found[..], query.only_names), (names, only), "{text}");
    }
}

/// A folder in a query only restricts the search if the project has that folder. Otherwise its words are searched.
#[test]
fn a_place_is_one_only_where_it_is_there() {
    let cases = [
        ("login in src/auth", Some("src/auth"), None),
        ("login in `src/auth/`?", Some("src/auth"), None),
        ("login in the tests", None, None),
        ("login in src/other", None, None),
        ("login in ../../etc", None, None),
        ("login in /etc", None, None),
        ("*.rs files about login", None, Some("rs")),
        ("all .tsx files in src", Some("src"), Some("tsx")),
        ("read files", None, None),
        ("在src/auth目录中查找登录", Some("src/auth"), None),
    ];
    for (text, folder, ending) in cases {
        let query = parse(text);
        assert_eq!(query.folder.as_ref().map(ToString::to_string).as_deref(), folder, "{text}");
        assert_eq!(query.ending.as_deref(), ending, "{text}");
    }
    assert_eq!(terms("login in src/auth"), ["login"]);
}

/// No query is an error: operators and endless words are read as words, control characters are left out, and the number
/// of terms is limited.
#[test]
fn hostile_queries_are_read_as_words() {
    assert_eq!(
        terms("\"foo\" AND (bar OR *) NOT col:x^2 NEAR(a b)"),
        ["foo", "bar", "not", "col", "near", "notcol"]
    );
    let long = "wordy ".repeat(20_000);
    assert_eq!(terms(&long), ["wordi"]);
    let many = (0..10_000).map(|n| format!("w{n}x")).collect::<Vec<_>>().join(" ");
    assert_eq!(terms(&many).len(), MOST_READ);
    assert_eq!(terms(&"用".repeat(100_000)), ["用用"]);
    assert!(terms(&"`".repeat(100_000)).is_empty());
    assert!(terms("\0\u{202e}\u{feff}").is_empty());
    // What is too long together is no name.
    let half = "ab_".repeat(70);
    assert_eq!(terms(&format!("{half} {}", half.replace('a', "c"))), ["ab", "cb"]);
    assert_eq!(terms("parse x"), ["pars"]);
}

proptest! {
    #[test]
    fn every_text_is_a_query(text in "\\PC{0,300}") {
        let query = parse(&text);
        prop_assert!(query.terms.len() <= MOST_READ && query.names.len() <= MOST_NAMES);
        prop_assert!(query.terms.iter().all(|(term, weight)| !term.is_empty() && 0.0 < *weight));
    }
}
