use std::fs;
use std::time::Duration;

use headstart_forked_query::{Priority, RetryPolicy, Timeouts};

use super::*;

/// Loads with a user's file, a project's file and variables; errors with their folders cut off.
struct Case {
    folder: tempfile::TempDir,
    variables: Vec<(&'static str, &'static str)>,
    flags: Flags,
}

impl Case {
    fn new(user: &str, project: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        for (path, text) in
            [("user/headstart/config.toml", user), ("project/.headstart/config.toml", project)]
        {
            let path = folder.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        Self { folder, variables: Vec::new(), flags: Flags::default() }
    }

    fn variable(mut self, name: &'static str, value: &'static str) -> Self {
        self.variables.push((name, value));
        self
    }

    fn load(&self) -> Result<Config, String> {
        let root = self.folder.path();
        let environment = self
            .variables
            .iter()
            .map(|(name, value)| ((*name).into(), (*value).into()))
            .chain([("XDG_CONFIG_HOME".into(), root.join("user").into())])
            .collect();
        let short = |error: CliError| error.to_string().replace(&format!("{}/", root.display()), "");
        Config::load(&environment, &self.flags, &root.join("project")).map_err(short)
    }
}

#[test]
fn later_layers_win() {
    let user = "model = 'openai:a'\nmode = 'auto-edit'\nbase_url = 'http://u/v1/'\ndeny = ['*.pem']\n[limits]\nturns = 9\ntokens = 10";
    let project = "model = 'openai:b'\nmode = 'default'\ndeny = ['secrets/']\n[limits]\nturns = 3";
    let mut case = Case::new(user, project);
    let config = case.load().unwrap();
    assert_eq!(config.model, Some("openai:b".parse().unwrap()));
    assert_eq!(config.mode, ApprovalMode::Default);
    assert_eq!(config.base_url.as_deref(), Some("http://u/v1"));
    assert_eq!(config.deny, [DenyRule("*.pem".into()), DenyRule("secrets/".into())]);
    assert_eq!((config.limits.turns, config.limits.tokens, config.limits.messages), (3, 10, 100));

    case = case.variable("HEADSTART_MODEL", "ollama:c").variable("HEADSTART_MODE", "yolo");
    let config = case.load().unwrap();
    assert_eq!(config.model, Some("ollama:c".parse().unwrap()));
    assert_eq!(config.mode, ApprovalMode::Yolo);

    case.flags.model = Some("replay:d.json".parse().unwrap());
    case.flags.mode = Some(ApprovalMode::Plan);
    let config = case.load().unwrap();
    assert_eq!(config.model, Some(ModelSpec::Replay("d.json".into())));
    assert_eq!(config.mode, ApprovalMode::Plan);
}

#[test]
fn background_work_is_off_as_soon_as_a_file_says_so_and_the_user_has_the_last_word() {
    assert!(Case::new("", "").load().unwrap().speculation);
    assert!(!Case::new("speculation = false", "speculation = true").load().unwrap().speculation);
    let case = Case::new("", "speculation = false\nsuggestions = false");
    assert!(!case.load().unwrap().speculation && !case.load().unwrap().suggestions);
    assert!(case.variable("HEADSTART_SPECULATE", "on").load().unwrap().speculation);
    assert!(!Case::new("", "").variable("HEADSTART_SUGGEST", "off").load().unwrap().suggestions);
}

#[test]
fn a_project_cannot_loosen_what_the_user_set() {
    let cases = [
        ("", "mode = 'auto-edit'", "1: mode: a project cannot raise"),
        ("mode = 'plan'", "\nmode = 'default'", "2: mode: a project cannot raise"),
        ("", "base_url = 'http://evil/v1'", "1: base_url: a project cannot choose where"),
        ("", "model = 'openai:x'", "1: model: a project can only choose a model of the provider that you"),
        ("model = 'ollama:x'", "model = 'openai:x'", "and yours is ollama:x"),
        ("model = 'replay:x'", "model = 'replay:x'", "1: model: a project can only choose"),
        ("model = 'ollama:x'", "fast_model = 'openai:x'", "1: fast_model: a project can only choose"),
        ("", "[limits]\nturns = 21", "2: limits.turns: a project can only lower a limit, and yours is 20"),
        (
            "",
            "[requests]\nretries = 99",
            "2: requests.retries: a project cannot say how your provider is asked",
        ),
        ("", "deny = ['!*.pem']", "1: deny: deny rule \"!*.pem\": a rule cannot take back"),
    ];
    for (user, project, expected) in cases {
        let error = Case::new(user, project).load().unwrap_err();
        assert!(error.starts_with("project/.headstart/config.toml:"), "{project:?}: {error}");
        assert!(error.contains(expected), "{project:?}: {error}");
    }
    let case = Case::new("", "mode = 'yolo'\nmodel = 'openai:x'");
    assert!(case.variable("HEADSTART_MODE", "plan").variable("HEADSTART_MODEL", "ollama:x").load().is_ok());
}

#[test]
fn a_mistake_is_named_by_file_line_and_field() {
    let cases = [
        ("modle = 'x'", "1: unknown field `modle`"),
        ("\n\nmode = 'fast'", "3: mode: \"fast\" is no approval mode"),
        ("mode = 3", "1: invalid type: integer `3`, expected a string, in `mode = 3`"),
        ("[limits]\nturns = 'many'", "2: invalid type: string \"many\", expected u32, in `turns = 'many'`"),
        ("[limits]\nturns = 0", "2: limits.turns: must be at least 1"),
        ("[requests]\nidle_seconds = 0", "2: requests.idle_seconds: must be at least 1"),
        ("[requests]\nretry = 0", "2: unknown field `retry`"),
        ("[limits]\nturns = -1", "2: invalid value: integer `-1`, expected u32"),
        ("base_url = 'localhost:8000'", "1: base_url: \"localhost:8000\" is no base URL"),
        ("deny = ['a', '']", "1: deny: deny rule \"\": it is empty"),
        ("model = 'gpt'", "1: model: \"gpt\" does not say whose model it is"),
        ("model = ", "1: "),
    ];
    for (text, expected) in cases {
        let error = Case::new(text, "").load().unwrap_err();
        assert!(error.starts_with(&format!("user/headstart/config.toml:{expected}")), "{text:?}: {error}");
    }
    let error = Case::new("", "").variable("HEADSTART_MODE", "fast").load().unwrap_err();
    assert!(error.starts_with("HEADSTART_MODE: \"fast\" is no approval mode"), "{error}");
}

#[test]
fn a_file_that_is_no_file_is_refused_without_waiting_for_it() {
    let case = Case::new("", "");
    let path = case.folder.path().join("project/.headstart/config.toml");
    fs::remove_file(&path).unwrap();
    fs::create_dir(&path).unwrap();
    assert!(case.load().unwrap_err().ends_with("is not a regular file"));
    fs::remove_dir(&path).unwrap();
    assert!(case.load().is_ok());
    fs::write(&path, vec![b'#'; 1024 * 1024 + 1]).unwrap();
    assert!(case.load().unwrap_err().ends_with("is larger than 1 MiB"));
    fs::write(&path, b"# \xff").unwrap();
    assert!(case.load().unwrap_err().ends_with("is not UTF-8"));
}

#[test]
fn the_user_says_how_long_a_provider_is_waited_for() {
    let defaults = Case::new("", "").load().unwrap().requests;
    assert_eq!((defaults.retries, defaults.timeouts), (None, Timeouts::default()));
    let text = "[requests]\nretries = 0\nconnect_seconds = 1\nfirst_byte_seconds = 2\nidle_seconds = 3";
    let requests = Case::new(text, "").load().unwrap().requests;
    let [connect, first_byte, idle] = [1, 2, 3].map(Duration::from_secs);
    assert_eq!(requests.timeouts, Timeouts { connect, first_byte, idle });
    for priority in [Priority::Foreground, Priority::Background] {
        assert_eq!(requests.retry_policy(priority).retries, 0);
        assert_eq!(defaults.retry_policy(priority), RetryPolicy::of(priority));
    }
}

#[test]
fn a_recording_named_in_the_users_file_lies_beside_it() {
    let case = Case::new("model = 'replay:r.json'", "");
    let expected = case.folder.path().join("user/headstart/r.json");
    assert_eq!(case.load().unwrap().model, Some(ModelSpec::Replay(expected)));
}
