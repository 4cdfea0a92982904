use std::fs;

use super::Case;

/// What an error says of a project's file reaches models and other programs, and the file may be a link to any other.
#[test]
fn no_error_repeats_the_text_of_a_projects_file() {
    let secret = "AWS_SECRET_ACCESS_KEY=k3y\n[budget]\nk3y = 1";
    for text in [secret, "k3y = 1", "mode = 'default'\nk3y = 'x", "model = [1, 'k3y']", "[limits]\nk3y = 1"] {
        let error = Case::new("", text).load().unwrap_err();
        assert!(error.starts_with("project/.headstart/config.toml:") && !error.contains("k3y"), "{error}");
        let error = Case::new(text, "").load().unwrap_err();
        assert!(error.contains("k3y") || error.contains("AWS"), "the user's own file is repeated: {error}");
    }
    // The same of a value that is read as text, and is none of those that are allowed.
    for text in [
        "mode = 'k3y'",
        "model = 'k3y'",
        "fast_model = 'k3y:'",
        "deny = ['!k3y']",
        "deny = ['[k3y']",
        "base_url = 'k3y'",
        "ahead_writes = 'k3y'",
        "at_boundary = 'k3y'",
        "tab = 'k3y'",
        "ledger = 'k3y'",
        "background = 'k3y'",
        "[shadow]\ntier = 'k3y'",
        "[shadow]\nbuild = ['/k3y']",
        "[index]\nembedder = 'k3y'",
        "[tools]\nshell = 'k3y'",
        "[tools]\nrule = [{ k3y = 1 }]",
        "[shadow]\nread = ['k3y']",
        "[shadow]\ncpu_time = 'k3y\"k3y'",
        "[mcp.x]\nk3y = 1",
        "[mcp.x]\ncommand = ['a']\ntrust = 'k3y\\'",
        "[mcp.x]\ncommand = ['a']\nenv = { A = 'env:k3y-' }",
        "[mcp.x]\nurl = 'k3y'",
        "[code-intel]\nwithout = ['k3y']",
    ] {
        let error = Case::new("", text).load().unwrap_err();
        assert!(
            error.starts_with("project/.headstart/config.toml:") && !error.contains("k3y"),
            "{text}: {error}"
        );
    }
    let many = format!("deny = [{}]", "'a*b*c',".repeat(2_000));
    let error = Case::new("", &many).load().unwrap_err();
    assert!(error.contains("deny: there are more than 1000 patterns"), "{error}");
    let links = [
        ("project/.headstart/config.toml", "user/headstart/secret"),
        ("project/.headstart/config.toml", "project/.env"),
        ("project/.headstart", "user/headstart"),
    ];
    for (link, target) in links {
        let case = Case::new("", "");
        let root = case.folder.path();
        for file in ["user/headstart/secret", "project/.env"] {
            fs::write(root.join(file), secret).unwrap();
        }
        let link = root.join(link);
        if link.is_dir() {
            fs::remove_dir_all(&link).unwrap();
        } else {
            fs::remove_file(&link).unwrap();
        }
        std::os::unix::fs::symlink(root.join(target), link).unwrap();
        let error = case.load().unwrap_err();
        assert!(
            error.contains("is a link; the configuration of a project has to be a file in it"),
            "{error}"
        );
        assert!(!error.contains("k3y"), "{error}");
    }
}
