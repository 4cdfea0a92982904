mod intel;
#[cfg(unix)]
mod project_file;
mod shadow;
mod tool_servers;

use std::fs;
use std::time::Duration;

use headstart_providers::openai::OutputLimit;
use headstart_providers::{KeyHeader, Priority, RetryPolicy, Timeouts};

use super::*;
use headstart_terminal::{DiffForm, Markdown, Theme, ThemeChoice};

/// Loads with a user's file, a project's file and variables. Errors are returned without the paths of their folders.
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
fn a_project_can_only_have_less_staged_ahead_and_says_nothing_of_keys() {
    let ahead = |user: &str, project: &str| Case::new(user, project).load().map(|config| config.ahead_writes);
    assert_eq!(ahead("", ""), Ok(AheadWrites::Ask));
    assert_eq!(ahead("ahead_writes = 'boundary'", ""), Ok(AheadWrites::Boundary));
    assert_eq!(ahead("", "ahead_writes = 'boundary'"), Ok(AheadWrites::Boundary));
    assert_eq!(ahead("", "ahead_writes = 'ask'"), Ok(AheadWrites::Ask));
    let refused = ahead("ahead_writes = 'boundary'", "mode = 'default'\nahead_writes = 'ask'").unwrap_err();
    assert!(refused.starts_with("project/.headstart/config.toml:2: ahead_writes: "), "{refused}");
    let refused = ahead("ahead_writes = 'yes'", "").unwrap_err();
    assert!(
        refused.starts_with("user/headstart/config.toml:1: ahead_writes: \"yes\" is none of ask"),
        "{refused}"
    );
    let context = Case::new("", "").load().unwrap().gate_context("/w".into()).unwrap();
    assert_eq!(context.ahead_writes, AheadWrites::Ask);

    let matching = |user: &str, project: &str| Case::new(user, project).load().map(|config| config.matching);
    assert_eq!(matching("", ""), Ok(Matching::Meaning));
    assert_eq!(matching("match = 'exact'", ""), Ok(Matching::Exact));
    assert!(matching("", "match = 'off'").unwrap_err().contains("match: "));
    assert!(matching("match = 'some'", "").unwrap_err().contains("none of meaning"));
    let tab = |user: &str, project: &str| Case::new(user, project).load().map(|config| config.tab);
    assert_eq!((tab("", ""), tab("tab = 'insert'", "")), (Ok(TabKey::Take), Ok(TabKey::Insert)));
    let refused = tab("", "tab = 'take'").unwrap_err();
    assert!(refused.contains("a project cannot say what your keys do"), "{refused}");
    assert!(tab("tab = 'both'", "").unwrap_err().contains("none of take and insert"));

    let status =
        |user: &str, project: &str| Case::new(user, project).load().map(|config| config.screen.status);
    assert_eq!(status("status = ['cost', 'mode']", ""), Ok(vec![StatusPart::Cost, StatusPart::Mode]));
    assert_eq!(status("status = []", ""), Ok(Vec::new()));
    assert!(status("status = ['time']", "").unwrap_err().contains("none of mode, model, branch, context"));
    assert!(status("", "status = []").unwrap_err().contains("set it in your own file"));
    let markdown =
        |user: &str, project: &str| Case::new(user, project).load().map(|config| config.screen.markdown);
    assert_eq!(
        (markdown("", ""), markdown("markdown = 'raw'", "")),
        (Ok(Markdown::Rendered), Ok(Markdown::Raw))
    );
    let refused = markdown("", "markdown = 'raw'").unwrap_err();
    assert!(refused.contains("a project cannot say what your screen looks like"), "{refused}");
    assert!(markdown("markdown = 'html'", "").unwrap_err().contains("none of rendered and raw"));
    let screen = |user: &str| Case::new(user, "").load().map(|config| config.screen);
    let chosen = screen("theme = 'light'\nnotify = false\ntitle = false\nscreen_reader = true").unwrap();
    assert_eq!((chosen.theme, chosen.notify, chosen.title), (ThemeChoice::Fixed(Theme::Light), false, false));
    assert!(chosen.animations && !screen("animations = false").unwrap().animations);
    assert!(chosen.read_aloud.is_some_and(|by| by.contains("config.toml")));
    assert_eq!(screen("theme = 'auto'").unwrap().theme, ThemeChoice::Auto);
    assert!(
        screen("theme = 'pink'").unwrap_err().contains("none of terminal, dark, light, blue-orange and auto")
    );
    assert_eq!(screen("diff = 'words'").unwrap().diff, DiffForm::Words);
    assert!(screen("diff = 'side'").unwrap_err().contains("none of unified, words and names"));
    assert!(screen("editing = 'vi'").unwrap().vi && !screen("").unwrap().vi);
    assert!(screen("editing = 'ed'").unwrap_err().contains("none of emacs and vi"));
    for line in [
        "theme = 'dark'",
        "editing = 'vi'",
        "diff = 'names'",
        "notify = false",
        "title = false",
        "animations = false",
        "screen_reader = true",
    ] {
        let refused = Case::new("", line).load().unwrap_err();
        assert!(refused.contains("a project cannot say what your screen looks like"), "{refused}");
    }
}

#[test]
fn background_work_is_off_as_soon_as_a_file_says_so_and_the_user_has_the_last_word() {
    assert!(Case::new("", "").load().unwrap().speculation);
    assert!(!Case::new("speculation = false", "speculation = true").load().unwrap().speculation);
    let case = Case::new("", "speculation = false\nsuggestions = false");
    assert!(!case.load().unwrap().speculation && !case.load().unwrap().suggestions);
    assert!(case.variable("HEADSTART_SPECULATE", "on").load().unwrap().speculation);
    assert!(!Case::new("", "").variable("HEADSTART_SUGGEST", "off").load().unwrap().suggestions);
    // The project's rules can be turned off in the same way.
    assert!(Case::new("", "").load().unwrap().rules);
    assert!(!Case::new("rules = false", "rules = true").load().unwrap().rules);
    assert!(!Case::new("", "rules = false").load().unwrap().rules);
    assert!(!Case::new("", "").variable("HEADSTART_RULES", "off").load().unwrap().rules);
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
        (
            "",
            "\ndeny_defaults = false",
            "2: deny_defaults: a project cannot open files that hold secrets; true is allowed here",
        ),
        ("", "deny = ['!*.pem']", "1: deny: deny rule \"…\": a rule cannot take back"),
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
        ("modle = 'x'", "1: unknown field `modle`; did you mean `model`?"),
        ("limit = '$1 a day'", "1: unknown field `limit`; did you mean `limit` in [budget]?"),
        ("turns = 9", "1: unknown field `turns`; did you mean `turns` in [limits]?"),
        ("\n\nmode = 'fast'", "3: mode: \"fast\" is no approval mode"),
        ("mode = 3", "1: has to be a text in quotes, not 3, in `mode = 3`"),
        (
            "[limits]\nturns = 'many'",
            "2: has to be a whole number from 0 to 4294967295, not the text \"many\", in `turns = 'many'`",
        ),
        ("[limits]\nturns = 0", "2: limits.turns: must be at least 1"),
        ("[requests]\nidle_seconds = 0", "2: requests.idle_seconds: must be at least 1"),
        ("[requests]\nretry = 0", "2: unknown field `retry`"),
        ("[limits]\nturns = -1", "2: has to be a whole number from 0 to 4294967295, not -1, in `turns = -1`"),
        ("base_url = 'localhost:8000'", "1: base_url: \"localhost:8000\" is no base URL"),
        ("deny = ['a', '']", "1: deny: deny rule \"\": it is empty"),
        ("model = 'gpt'", "1: model: \"gpt\" does not say whose model it is"),
        ("deny_defaults = 'no'", "1: has to be true or false, not the text \"no\""),
        ("model = ", "1: the value is missing, in `model =`"),
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
    let text = "[requests]\nretries = 0\nconnect_seconds = 1\nfirst_byte_seconds = 2\nidle_seconds = 3\n\
                stalled_seconds = 4\ncache_seconds = 5";
    let requests = Case::new(text, "").load().unwrap().requests;
    let [connect, first_byte, idle] = [1, 2, 3].map(Duration::from_secs);
    assert_eq!(requests.timeouts, Timeouts { connect, first_byte, idle, stalled: Duration::from_secs(4) });
    assert_eq!(requests.cache_lifetime, Duration::from_secs(5));
    for priority in [Priority::Foreground, Priority::Background] {
        assert_eq!(requests.retry_policy(priority).retries, 0);
        assert_eq!(defaults.retry_policy(priority), RetryPolicy::of(priority));
    }
}

#[test]
fn how_many_suggestions_there_are_is_the_users_and_a_project_can_only_lower_it() {
    let counts = |user: &str, project: &str| Case::new(user, project).load().map(|config| config.candidates);
    assert_eq!((counts("", ""), counts("candidates = 1", "")), (Ok(3), Ok(1)));
    assert_eq!(Case::new("fork_entries = 12", "").load().map(|config| config.fork_entries), Ok(12));
    let compact_at =
        |user: &str, project: &str| Case::new(user, project).load().map(|config| config.compact_at);
    assert_eq!((compact_at("", ""), compact_at("compact_at = 60", "compact_at = 50")), (Ok(85), Ok(50)));
    assert_eq!(counts("", "candidates = 2"), Ok(2));
    let refused = [
        ("candidates = 0", "", "user/headstart/config.toml:1: candidates: must be from 1 to 3"),
        ("fork_entries = 3", "", "user/headstart/config.toml:1: fork_entries: must be from 4 to 10000"),
        ("compact_at = 99", "", "user/headstart/config.toml:1: compact_at: must be from 40 to 95"),
        (
            "",
            "compact_at = 90",
            "project/.headstart/config.toml:1: compact_at: a project can only lower this, and yours is 85",
        ),
        (
            "candidates = 1",
            "candidates = 2",
            "project/.headstart/config.toml:1: candidates: a project can only lower this, and yours is 1",
        ),
    ];
    for (user, project, expected) in refused {
        let error = counts(user, project).unwrap_err();
        assert!(error.starts_with(expected), "{error}");
    }
}

#[test]
fn a_recording_named_in_the_users_file_lies_beside_it() {
    let case = Case::new("model = 'replay:r.json'", "");
    let expected = case.folder.path().join("user/headstart/r.json");
    assert_eq!(case.load().unwrap().model, Some(ModelSpec::Replay(expected)));
}

#[test]
fn background_work_has_one_switch_a_budget_and_prices() {
    use headstart_budget::policy::Mode;
    use headstart_forked_query::Money;

    let user = "background = 'always'\nledger = 'prompts'\n[budget]\nlimit = '$2.5 a day'\nhour_is_worth = '$60'\n\
                show_from = 0\n[models.'openai:m'.prices]\ninput = 1.5\noutput = 6";
    let case = Case::new(user, "");
    let config = case.load().unwrap();
    assert_eq!((config.background.mode, config.ledger), (Mode::Always, LedgerDetail::Prompts));
    let money = |policy: &Policy| (policy.limit.units(), policy.hour_is_worth.units());
    assert_eq!((money(&config.background), config.background.show_from), ((2.5, 60.0), 0.0));
    let price = config.prices().get("openai:m").unwrap();
    assert_eq!((price.cached, price.output), (Money::new(1.5).unwrap(), Money::new(6.0).unwrap()));
    assert_eq!(Case::new("", "").load().unwrap().background.mode, Mode::Auto);

    // The project may have less done, and what the user sets for one run comes last.
    let case = Case::new(user, "background = 'off'\n[budget]\nshow_from = 0.5\nlimit = '$1 a day'");
    let config = case.load().unwrap();
    assert_eq!(config.background.mode, Mode::Off);
    assert_eq!((money(&config.background), config.background.show_from), ((1.0, 60.0), 0.5));
    for (value, mode) in [("off", Mode::Off), ("auto", Mode::Auto), ("always", Mode::Always)] {
        assert_eq!(
            Case::new("", "").variable("HEADSTART_BACKGROUND", value).load().unwrap().background.mode,
            mode
        );
        let project = Case::new("", "background = 'off'").variable("HEADSTART_BACKGROUND", value);
        assert_eq!(project.load().unwrap().background.mode, mode);
    }
}

#[test]
fn a_project_cannot_have_more_done_ahead() {
    let cases = [
        ("", "background = 'always'", "1: background: a project can only do less ahead, and yours is auto"),
        ("background = 'off'", "background = 'auto'", "and yours is off"),
        // What is known of a user's costs rests on the ledger.
        ("ledger = 'prompts'", "ledger = 'off'", "1: ledger: what is kept of the work ahead is yours alone"),
        ("", "sessions = false", "1: sessions: what is kept of your conversations is yours alone"),
        ("", "[models.m]\nfree = true", "1: models.\"m\": a project cannot say what models cost"),
        (
            "",
            "[budget]\nhour_is_worth = '$31'",
            "2: budget.hour_is_worth: a project can only lower this, and yours is $30",
        ),
        (
            "",
            "[budget]\nshow_from = 0.1",
            "2: budget.show_from: a project can only raise this, and yours is 0.2",
        ),
        (
            "[budget]\nlimit = '$0.5 a day'",
            "[budget]\nlimit = '$0.51 a day'",
            "2: budget.limit: a project can only lower this, and yours is $0.5 a day",
        ),
    ];
    for (user, project, expected) in cases {
        let error = Case::new(user, project).load().unwrap_err();
        assert!(error.starts_with("project/.headstart/config.toml:"), "{project:?}: {error}");
        assert!(error.contains(expected), "{project:?}: {error}");
    }
}

#[test]
fn a_mistake_in_a_budget_or_a_price_is_named() {
    let cases = [
        ("background = 'on'", "1: background: \"on\" is none of off, auto and always"),
        ("ledger = 'all'", "1: ledger: \"all\" is none of off, figures and prompts"),
        (
            "[budget]\nimpatience = 3",
            "2: budget.impatience: there is no such field; there are limit, hour_is_worth, show_from",
        ),
        ("[budget]\nlimit = 1", "2: budget.limit: must be an amount a day, as \"$1 a day\""),
        ("[budget]\n\nlimit = '$1'", "3: budget.limit: must be an amount a day, as \"$1 a day\""),
        ("[budget]\nlimit = '$-1 a day'", "2: budget.limit: must be an amount a day"),
        ("[budget]\nlimit = '$nan a day'", "2: budget.limit: must be an amount a day"),
        ("[budget]\nhour_is_worth = '30'", "2: budget.hour_is_worth: must be an amount, as \"$30\""),
        ("[budget]\nshow_from = 20", "2: budget.show_from: must be a number from 0 to 1"),
        ("[budget]\nshow_from = nan", "2: budget.show_from: must be a number from 0 to 1"),
        (
            "[models.m.prices]\ninput = 1\noutput = -1",
            "3: models.\"m\".prices.output: a price is a number from 0 to 1,000,000,000",
        ),
        ("[models.m.prices]\ninput = nan\noutput = 1", "2: models.\"m\".prices.input: a price is a number"),
        ("[models.m.prices]\ninput = 'one'\noutput = 1", "2: has to be a number, not the text \"one\""),
        ("[models.m]\nprices.input = 1", "missing field `output`"),
        (
            "[models.m.prices]\ninput = 1\noutput = 1\nwritten = 2",
            "4: unknown field `written`, expected one of",
        ),
        ("[models.m]\ncheap = true", "2: unknown field `cheap`; docs/formats.md has all names"),
        (
            "[models.m]\nfree = true\nprices = { input = 1, output = 2 }",
            "1: models.\"m\".free: a model that is free",
        ),
        (
            "\n[prices.m]\ninput = 1",
            "2: prices.\"m\": gone since 0.2; write the same fields into [models.\"m\".prices]",
        ),
    ];
    for (text, expected) in cases {
        let error = Case::new(text, "").load().unwrap_err();
        assert!(
            error.starts_with("user/headstart/config.toml:") && error.contains(expected),
            "{text:?}: {error}"
        );
    }
    let error = Case::new("", "").variable("HEADSTART_BACKGROUND", "0").load().unwrap_err();
    assert_eq!(error, "HEADSTART_BACKGROUND: \"0\" is none of off, auto and always");
}

#[test]
fn the_example_in_the_formats_is_a_configuration_and_says_what_is_so_without_it() {
    let page = include_str!("../../../../docs/formats.md");
    let example = page.split("```toml\n").find(|block| block.starts_with("background")).unwrap();
    let example = example.split("```").next().unwrap();
    let loaded = Case::new(example, "").load().unwrap();
    let silent = Case::new("", "").load().unwrap();
    assert_eq!(loaded.background, silent.background);
    assert_eq!(loaded.ledger, silent.ledger);
    assert!(loaded.prices().get("openai:NAME").is_some());
}

#[test]
fn a_project_may_take_less() {
    let load = |user: &str, project: &str| Case::new(user, project).load();
    let config =
        load("at_boundary = 'commit'\n[limits]\nturns = 3", "at_boundary = 'discard'\n[limits]\nturns = 2");
    let config = config.unwrap();
    assert_eq!((config.limits.turns, config.at_boundary), (2, AtBoundary::Discard));
    let config = load("", "").unwrap();
    assert_eq!((config.limits.turns, config.at_boundary), (20, AtBoundary::Commit));
    for (user, project, expected) in [
        ("", "[limits]\nturns = 21", "limits.turns: a project can only lower a limit, and yours is 20"),
        ("at_boundary = 'discard'", "at_boundary = 'commit'", "at_boundary: a project can only have less"),
        ("at_boundary = 'stop'", "", "at_boundary: \"stop\" is none of commit and discard"),
        ("after_decline = 'ask'", "", "after_decline: \"ask\" is none of continue"),
        ("", "after_decline = 'stop'", "after_decline: what becomes of a turn after your no is yours alone"),
    ] {
        let error = load(user, project).unwrap_err();
        assert!(error.contains(expected), "{error}");
    }
}

#[test]
fn what_is_said_of_a_model_is_known_by_its_name() {
    let user = "[models.'openai:m']\nkey_header = 'api-key'\nheaders = { x-team = 'blue', X-Gate = '$GATE' }\n\
                output_limit = 'max_completion_tokens'\nprompt_cache_key = 'team-blue'\ncontext_tokens = 131_072\n\
                [models.'llama3.3:70b']\ncontext_tokens = 65536\n[models.'anthropic:c']\nkey_header = 'Bearer'";
    let models = Case::new(user, "").load().unwrap().per_model;
    let dialect = models.get("openai:m").dialect;
    assert_eq!(dialect.key_header, Some(KeyHeader::Named("api-key")));
    assert_eq!(dialect.output_limit, Some(OutputLimit::MaxCompletionTokens));
    assert_eq!(dialect.prompt_cache_key.as_deref(), Some("team-blue"));
    assert_eq!(dialect.context_tokens, Some(131_072));
    assert_eq!(dialect.headers["x-team"], HeaderText::Plain("blue".into()));
    assert_eq!(dialect.headers["X-Gate"], HeaderText::Variable("GATE".into()));
    assert!(!format!("{dialect:?}").contains("blue\"}") && format!("{dialect:?}").contains("***"));
    // A name without a provider fits the model on any server, and no other model.
    assert_eq!(models.get("ollama:llama3.3:70b").dialect.context_tokens, Some(65_536));
    assert_eq!(models.get("anthropic:c").dialect.key_header, Some(KeyHeader::Bearer));
    assert_eq!(models.get("openai:other").dialect, Dialect::default());
}

#[test]
fn a_mistake_in_what_is_said_of_a_model_is_named() {
    let cases = [
        ("colour = 'red'", "2: unknown field `colour`; docs/formats.md has all names"),
        ("key_header = 3", "2: has to be a text in quotes, not 3, in `key_header = 3`"),
        (
            "key_header = 'cookie'",
            "2: models.\"openai:m\".key_header: \"cookie\" is none of bearer, x-api-key, api-key and x-goog-api-key",
        ),
        ("headers = ['a']", "2: has to be a table, not a list"),
        ("headers = { x = 3 }", "2: has to be a text in quotes, not 3"),
        (
            "headers = { 'x y' = 'a' }",
            "2: models.\"openai:m\".headers.\"x y\": is no name of a header; it has letters, digits and hyphens",
        ),
        (
            "headers = { Content-Length = '1' }",
            "2: models.\"openai:m\".headers.\"Content-Length\": is set by headstart itself; leave it out",
        ),
        ("headers = { x = '$' }", "headers.\"x\": what begins with $ names a variable"),
        ("headers = { x = '${A}' }", "headers.\"x\": what begins with $ names a variable"),
        ("headers = { x = \"a\\r\\nb\" }", "headers.\"x\": a value has visible characters"),
        (
            "output_limit = 'tokens'",
            "output_limit: \"tokens\" is none of max_tokens, max_completion_tokens and none",
        ),
        ("prompt_cache_key = ''", "prompt_cache_key: must be 1 to 64 visible characters"),
        ("context_tokens = 12", "context_tokens: must be a number from 1024 to 100000000"),
        ("thinking = 'much'", "thinking: must be true, false or a number of tokens from 1024 to 1000000"),
        ("thinking = 12", "thinking: must be true, false or a number of tokens"),
        ("effort = 'much'", "effort: \"much\" is none of none, minimal, low, medium, high, xhigh, max"),
        ("context_tokens = -1", "2: has to be a whole number from 0 to 4294967295, not -1"),
    ];
    for (line, expected) in cases {
        let error = Case::new(&format!("[models.'openai:m']\n{line}"), "").load().unwrap_err();
        assert!(error.starts_with("user/headstart/config.toml:2: "), "{line}: {error}");
        assert!(error.contains(expected), "{line}: {error}");
    }
    for (model, line, expected) in [
        (
            "anthropic:m",
            "output_limit = 'none'",
            "output_limit: means nothing to anthropic, but to openai, dashscope",
        ),
        ("responses:m", "thinking = true", "thinking: means nothing to responses, but to anthropic, gemini,"),
        ("dashscope:m", "effort = 'low'", "effort: means nothing to dashscope, but to anthropic, gemini,"),
        (
            "ollama:m",
            "prompt_cache_key = 'x'",
            "means nothing to ollama, but to openai, responses, dashscope",
        ),
    ] {
        let error = Case::new(&format!("[models.'{model}']\n{line}"), "").load().unwrap_err();
        assert!(error.contains(expected), "{error}");
    }
}

/// A repository must not send the key or the conversation through a header or to an address of its own choice.
#[test]
fn a_project_has_no_say_in_how_a_model_is_asked() {
    for line in [
        "headers = { x-collect = 'http://evil' }",
        "headers = { x-key = '$OPENAI_API_KEY' }",
        "key_header = 'x-api-key'",
        "output_limit = 'none'",
        "prompt_cache_key = 'x'",
        "context_tokens = 2048",
        "thinking = false",
        "effort = 'max'",
        "free = true",
        "",
    ] {
        let project = format!("[models.'openai:m']\n{line}");
        let error = Case::new("model = 'openai:m'", &project).load().unwrap_err();
        let expected = "project/.headstart/config.toml:1: models.\"openai:m\": a project cannot say what models cost or how they are asked";
        assert!(error.starts_with(expected), "{line}: {error}");
    }
}

#[test]
fn only_the_users_own_file_opens_what_holds_a_secret() {
    let closes = |user: &str, project: &str| {
        let config = Case::new(user, project).load().unwrap();
        config.gate_context("/ws".to_owned()).unwrap().deny.closes_secrets()
    };
    assert!(closes("", ""));
    assert!(closes("deny_defaults = true", ""));
    assert!(!closes("deny_defaults = false", ""));
    assert!(!closes("deny_defaults = false", "deny_defaults = false"), "it asks for no more than there is");
    assert!(closes("deny_defaults = false", "deny_defaults = true"), "a project may be stricter");
}
