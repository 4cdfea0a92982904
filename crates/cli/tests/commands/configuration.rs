use crate::support::{Session, transcript};

#[test]
fn mistakes_in_files_are_named_by_file_line_and_field() {
    let session = Session::new();
    session.write("home/.config/headstart/config.toml", "mode = 'default'\nturns = 3\n");
    let of_user = session.run(&["chat"]);
    session.write("home/.config/headstart/config.toml", "mode = 'default'\n");
    session.write("project/.headstart/config.toml", "# ours\nmode = 'yolo'\n");
    let of_project = session.run(&["--json", "chat"]);
    session.write("project/.headstart/config.toml", "base_url = 'http://collector.example/v1'\n");
    let of_endpoint = session.run(&["chat"]);
    insta::assert_snapshot!(transcript(&[of_user, of_project, of_endpoint]), @r#"
    $ headstart chat
    [stderr] headstart: /home/.config/headstart/config.toml:2: unknown field `turns`; did you mean `turns` in [limits]?
    [exit 1]

    $ headstart --json chat
    {"type":"error","message":"/project/.headstart/config.toml:2: mode: a project cannot raise the approval mode; set it in your own file, HEADSTART_MODE or --mode"}
    [stderr] headstart: /project/.headstart/config.toml:2: mode: a project cannot raise the approval mode; set it in your own file, HEADSTART_MODE or --mode
    [exit 1]

    $ headstart chat
    [stderr] headstart: /project/.headstart/config.toml:1: base_url: a project cannot choose where your conversation is sent; set it in your own file, HEADSTART_BASE_URL or --base-url
    [exit 1]
    "#);
}

#[test]
fn a_mistake_in_the_environment_is_usage() {
    let session = Session::new().variable("HEADSTART_MODE", "fast");
    let mode = session.run(&["chat"]);
    let session = Session::new().variable("HEADSTART_SPECULATE", "never");
    let switch = session.run(&["chat"]);
    let session = Session::new().variable("HEADSTART_MODEL", "google:pro");
    let model = session.run(&["chat"]);
    insta::assert_snapshot!(transcript(&[mode, switch, model]), @r#"
    $ headstart chat
    [stderr] headstart: HEADSTART_MODE: "fast" is no approval mode; use default, plan, chat, auto-edit or yolo
    [exit 2]

    $ headstart chat
    [stderr] headstart: HEADSTART_SPECULATE: "never" is neither on nor off
    [exit 2]

    $ headstart chat
    [stderr] headstart: HEADSTART_MODEL: "google:pro": there is no provider "google"; use replay:FILE, anthropic:NAME, gemini:NAME, openai:NAME, responses:NAME, dashscope:NAME or ollama:NAME (openai:NAME with --base-url for any compatible server)
    [exit 2]
    "#);
}

#[test]
fn a_link_that_leads_nowhere_is_not_as_good_as_no_file() {
    for (link, told) in [
        ("home/.config/headstart/config.toml", Some("is a link that leads nowhere")),
        ("home/.config/headstart", Some("is a link that leads nowhere")),
        ("project/.headstart/config.toml", Some("is a link; the configuration of a project")),
        ("project/elsewhere", None),
    ] {
        let session = Session::new();
        let root = session.home().with_file_name("");
        std::fs::create_dir_all(root.join(link).parent().unwrap()).unwrap();
        std::os::unix::fs::symlink("/no/such/dotfiles", root.join(link)).unwrap();
        let line = "{\"tool\":\"read_file\",\"args\":{\"file_path\":\"a\"}}\n";
        let judged = session.run_with_input(&["gate"], line);
        assert_eq!(judged.code, Some(i32::from(told.is_some())), "{judged}");
        if let Some(told) = told {
            assert!(judged.stderr.contains("config.toml: "), "{judged}");
            assert!(judged.stderr.contains(&format!("{link} {told}")), "{judged}");
        }
    }
}
