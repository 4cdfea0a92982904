use super::*;

/// A token of a known shape. It is put together here so that no file of the project contains it.
fn token() -> String {
    format!("ghp_{}", "a1B2c3D4e5F6".repeat(3))
}

#[test]
fn the_example_in_the_docs_is_a_configuration() {
    let page = include_str!("../../../../../docs/tool-servers.md");
    let example = page.split("```toml\n").nth(1).and_then(|rest| rest.split("```").next()).unwrap();
    let others = Case::new(example, "").load().unwrap().external_tools;
    let [docs, github, issues] = &others.servers[..] else { panic!("{others:?}") };
    assert_eq!(github.transport, Transport::Command(vec!["npx".into(), "-y".into(), "some-server".into()]));
    assert_eq!(github.env["TOKEN"], EnvValue::Variable("GITHUB_TOKEN".into()));
    assert_eq!((github.trust, github.timeout), (TrustSetting::Ask, Duration::from_secs(20)));
    assert_eq!((docs.trust, docs.trust_network), (TrustSetting::ReadOnlyHints, true));
    assert_eq!(docs.bearer.as_deref(), Some("DOCS_TOKEN"));
    assert_eq!((&issues.bearer, &issues.oauth), (&None, &OAuthSetting::default()));
    assert_eq!(others.http_tools[0].name, "deploy_status");
    assert_eq!(others.http_tools[0].parameters["required"][0], "branch");
}

#[test]
fn a_login_may_say_more_than_its_server() {
    let text = "[mcp.x]\nurl = 'https://x'\noauth = { client_id = 'a', client_secret = 'env:B', scopes = ['c', 'd'] }\n";
    let servers = Case::new(text, "").load().unwrap().external_tools.servers;
    let expected = OAuthSetting {
        client_id: Some("a".into()),
        client_secret: Some("B".into()),
        scopes: vec!["c".into(), "d".into()],
    };
    assert_eq!(servers[0].oauth, expected);
}

#[test]
fn of_two_of_one_name_the_users_counts() {
    let case = Case::new(
        "[mcp.a]\ncommand = ['mine']\n",
        "[mcp.a]\ncommand = ['theirs']\n[mcp.b]\ncommand = ['b']\n",
    );
    let servers = case.load().unwrap().external_tools.servers;
    let known: Vec<_> = servers.iter().map(|server| (server.name.as_str(), server.origin)).collect();
    assert_eq!(known, [("a", PolicyOrigin::User), ("b", PolicyOrigin::Project)]);
    assert_eq!(servers[0].transport, Transport::Command(vec!["mine".into()]));
}

#[test]
fn a_project_names_no_server_like_one_of_its_user() {
    for (mine, theirs, is_taken) in [
        ("github", "GitHub", true),
        ("github", "g1thub", true),
        ("github", "git-hub", true),
        ("my_docs", "my-d0cs", true),
        ("modern", "modem", true),
        ("lists", "l1sts", true),
        ("github", "gitlab", false),
        ("docs", "docs2", false),
    ] {
        let user = format!("[mcp.{mine}]\ncommand = ['mine']\n");
        let project = format!("[mcp.{theirs}]\ncommand = ['theirs']\n");
        let loaded = Case::new(&user, &project).load();
        assert_eq!(loaded.is_err(), is_taken, "{mine} and {theirs}");
        let told = loaded.err().unwrap_or_default();
        assert_eq!(told.contains("looks like that of another server"), is_taken, "{told}");
        // Users may call their own servers as they like.
        let both = format!("{user}[mcp.{theirs}]\ncommand = ['other']\n");
        assert_eq!(Case::new(&both, "").load().unwrap().external_tools.servers.len(), 2);
    }
}

#[test]
fn a_policy_may_name_a_tool_behind_an_address() {
    let tool = "[http_tool.deploy]\nurl = 'https://x'\ndescription = ''\nparameters = {}\n";
    assert!(Case::new(&format!("{tool}[tools]\ndeploy = 'automatic'\n"), "").load().is_ok());
    assert!(Case::new(tool, "[tools]\ndeploy = 'exclude'\n").load().is_ok());
    assert!(Case::new("[tools]\ndeploy = 'automatic'\n", "").load().is_err());
}

#[test]
fn what_is_wrong_with_tools_of_others_is_named() {
    let users = [
        ("[mcp.x]\n", "mcp.x: does not say where the server is"),
        ("[mcp.x]\ncommand = ['a']\nurl = 'https://x'\n", "mcp.x: has both command and url"),
        ("[mcp.x]\ncommand = []\n", "mcp.x.command: name a program"),
        ("[mcp.x]\ncommand = 'a'\n", "mcp.x: has to be a list in brackets, not the text"),
        ("[mcp.x]\ncommand = ['a']\ncolour = 1\n", "mcp.x: unknown field `colour`"),
        ("[mcp.x__y]\ncommand = ['a']\n", "mcp.x__y: \"x__y\" is no name of a tool server"),
        (
            "[mcp.x]\ncommand = ['a']\nenv = { MY_TOKEN = 'plain' }\n",
            "mcp.x.env.MY_TOKEN: this looks like a secret",
        ),
        ("[mcp.x]\ncommand = ['a']\nenv = { A = 'env:1' }\n", "mcp.x.env.A: \"1\" is no name of a variable"),
        ("[mcp.x]\ncommand = ['a']\nbearer = 'env:A'\n", "mcp.x.bearer: only a server behind a url"),
        ("[mcp.x]\nurl = 'https://x'\nenv = { A = 'b' }\n", "mcp.x.env: only a program has an environment"),
        ("[mcp.x]\nurl = 'https://x'\nbearer = 'abc'\n", "mcp.x.bearer: a token looks like a secret"),
        (
            "[mcp.x]\nurl = 'http://far/x'\nbearer = 'env:A'\n",
            "mcp.x.bearer: the token would go over the network",
        ),
        ("[mcp.x]\ncommand = ['a']\noauth = {}\n", "mcp.x.oauth: is for a server behind a url"),
        (
            "[mcp.x]\nurl = 'https://x'\nbearer = 'env:A'\noauth = {}\n",
            "mcp.x.oauth: and bearer are two ways in",
        ),
        (
            "[mcp.x]\nurl = 'https://x'\noauth = { client_id = 'a', client_secret = 'b' }\n",
            "mcp.x.oauth.client_secret: a client's secret looks like a secret",
        ),
        (
            "[mcp.x]\nurl = 'https://x'\noauth = { client_secret = 'env:B' }\n",
            "mcp.x.oauth.client_secret: belongs to a client_id",
        ),
        ("[mcp.x]\nurl = 'https://x'\noauth = { client_id = '' }\n", "mcp.x.oauth.client_id: is the id"),
        (
            "[mcp.x]\nurl = 'https://x'\noauth = { scopes = ['a b'] }\n",
            "mcp.x.oauth.scopes: \"a b\" is no scope",
        ),
        ("[mcp.x]\nurl = 'https://u:p@x/y'\n", "mcp.x.url: what stands in the address looks like a secret"),
        (
            "[mcp.x]\nurl = 'https://x/?api-key=1'\n",
            "mcp.x.url: what stands in the address looks like a secret",
        ),
        ("[mcp.x]\nurl = 'file:///x'\n", "mcp.x.url: \"file:///x\" is no address"),
        ("[mcp.x]\ncommand = ['a']\ntrust = 'yes'\n", "mcp.x.trust: \"yes\" is none of ask"),
        (
            "[mcp.x]\ncommand = ['a']\ntrust_network = true\n",
            "mcp.x.trust_network: is for a server behind a url",
        ),
        ("[mcp.x]\ncommand = ['a']\ntimeout_seconds = 0\n", "mcp.x.timeout_seconds: must be from 1 to 3600"),
        ("[http_tool.x]\nurl = 'https://x'\n", "http_tool.x: missing field `description`"),
        ("[http_tool.Shell]\n", "http_tool.Shell: is no name of a tool"),
        ("[http_tool.mcp__a__b]\n", "http_tool.mcp__a__b: is no name of a tool"),
        ("[http_tool.shell]\n", "http_tool.shell: is the name of a tool that is built in"),
        ("[http_tool.multi_edit]\n", "http_tool.multi_edit: is the name of a tool that is built in"),
    ];
    for (text, problem) in users {
        let error = Case::new(text, "").load().unwrap_err();
        assert!(error.contains(&format!("config.toml:1: {problem}")), "{text}: {error}");
    }
    let with_token = [
        format!("[mcp.x]\ncommand = ['a', '--key={}']\n", token()),
        format!("[mcp.x]\ncommand = ['a']\nenv = {{ A = '{}' }}\n", token()),
        format!("[mcp.x]\nurl = 'https://x/{}'\n", token()),
    ];
    for text in with_token {
        let error = Case::new(&text, "").load().unwrap_err();
        assert!(error.contains("looks like a secret") && !error.contains(&token()), "{text}: {error}");
    }
    let projects = [
        ("[mcp.x]\ncommand = ['a']\ntrust = 'read-only-hints'\n", "mcp.x.trust: a project cannot"),
        ("[mcp.x]\nurl = 'https://x'\noauth = { client_id = 'a' }\n", "mcp.x.oauth: a project cannot"),
        ("[mcp.x]\nurl = 'https://x'\ntrust_network = true\n", "mcp.x.trust_network: a project cannot"),
        ("[mcp.x]\nurl = 'https://x'\ntrust_network = false\n", "mcp.x.trust_network: a project cannot"),
    ];
    for (text, problem) in projects {
        let error = Case::new("", text).load().unwrap_err();
        assert!(error.contains(problem), "{text}: {error}");
    }
}
