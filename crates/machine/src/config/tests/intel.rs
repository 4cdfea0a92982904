use super::*;

#[test]
fn language_servers_are_the_users_and_a_project_only_has_less() {
    let users = "[code-intel]\nmemory = '20%'\nidle = '5m'\nmax_servers = 2\nwithout = ['clangd']\n\
                 [code-intel.servers.pyright]\ncommand = 'other-pyright'\n\
                 [code-intel.servers.zls]\ncommand = 'zls'\nlanguages = { zig = 'zig' }\n";
    let case = Case::new(
        users,
        "[code-intel]\nmode = 'check'\nafter_edit = '0'\nidle = '1m'\nwithout = ['gopls']\n",
    );
    let intel = case.load().unwrap().intel;
    assert_eq!((intel.mode(), intel.servers, intel.after_edit), (IntelMode::Check, 2, Duration::ZERO));
    assert_eq!((intel.idle, intel.memory.bytes(Some(1000))), (Duration::from_secs(60), Some(200)));
    let named = |name: &str| intel.adapters.iter().find(|adapter| adapter.name == name);
    assert_eq!(intel.adapters[0].name, "zls");
    assert_eq!(named("pyright").map(|adapter| adapter.command.as_str()), Some("other-pyright"));
    assert!(named("pyright").unwrap().languages.contains_key("py"));
    assert!(named("clangd").is_none() && named("gopls").is_none());
}

#[test]
fn what_is_wrong_with_language_servers_is_named() {
    let cases = [
        (
            "[code-intel]\nmode = 'on'\n",
            "",
            "code-intel.mode: \"on\" is none of auto, servers, check and off",
        ),
        ("[code-intel]\nafter_edit = 'x'\n", "", "code-intel.after_edit: \"x\" is no length of time"),
        ("[code-intel]\nmemory = '101%'\n", "", "code-intel.memory: must be more than nothing"),
        ("[code-intel]\nmax_servers = 0\n", "", "code-intel.max_servers: must be from 1 to 32"),
        ("[code-intel]\nwithout = ['x']\n", "", "code-intel.without: \"x\" is no server; there are "),
        (
            "[code-intel]\n[code-intel.servers.x]\ncommand = 'x'\n",
            "",
            "code-intel.servers.x: missing field `languages`",
        ),
        ("[code-intel.servers.x]\ncommand = 'x'\nlanguages = { '.x' = 'x' }\n", "", "endings without a dot"),
        ("[code-intel.servers.ruff]\ncolour = 1\n", "", "code-intel.servers.ruff: unknown field `colour`"),
        (
            "[code-intel]\nmode = 'off'\n",
            "[code-intel]\nmode = 'servers'\n",
            "code-intel.mode: a project can only have less done, and yours is off",
        ),
        (
            "",
            "[code-intel]\nmode = 'servers'\n",
            "code-intel.mode: a project can only have less done, and yours is auto",
        ),
        ("", "[code-intel]\nafter_edit = '2s'\n", "code-intel.after_edit: a project can only have less"),
        (
            "",
            "[code-intel]\nmemory = '50%'\n",
            "code-intel.memory: a project can only have less done, and yours is 25%",
        ),
        (
            "",
            "[code-intel]\nmemory = '1KiB'\n",
            "code-intel.memory: a project can only have less done, and yours is 25%",
        ),
        (
            "[code-intel]\nstart = 'lazy'\n",
            "[code-intel]\nstart = 'session'\n",
            "code-intel.start: a project can only have less done, and yours is lazy",
        ),
        (
            "",
            "\n[code-intel.servers.ruff]\ncommand = './evil'\n",
            "code-intel.servers.ruff: a project cannot say which programs run",
        ),
    ];
    for (users, projects, expected) in cases {
        let error = Case::new(users, projects).load().unwrap_err();
        assert!(error.contains(expected), "{error}");
        assert!(error.contains("config.toml:2") || error.contains("config.toml:1"), "{error}");
    }
}
