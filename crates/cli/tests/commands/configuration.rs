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
    insta::assert_snapshot!(transcript(&[of_user, of_project, of_endpoint]));
}

#[test]
fn a_mistake_in_the_environment_is_usage() {
    let session = Session::new().variable("HEADSTART_MODE", "fast");
    let mode = session.run(&["chat"]);
    let session = Session::new().variable("HEADSTART_SPECULATE", "never");
    let switch = session.run(&["chat"]);
    let session = Session::new().variable("HEADSTART_MODEL", "google:pro");
    let model = session.run(&["chat"]);
    insta::assert_snapshot!(transcript(&[mode, switch, model]));
}
