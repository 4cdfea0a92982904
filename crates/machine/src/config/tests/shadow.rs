//! What the files say about views.

use headstart_shadow::Tier;

use super::*;

#[test]
fn views_have_limits_and_a_project_can_only_lower_them() {
    let user = "[shadow]\ntime = '2m'\nviews = 8\nmemory = '2GiB'\nbytes = '64MiB'\nfiles = 1000\nprocesses = 64\nfresh = 'require'\n\
                show = ['/srv/data']\ntools = ['/srv/tools']\nbuild = ['gen/out']\nbuild_bytes = '1GiB'\nwarm = ['cargo check']\ncheck = 'make check'\nremote = ['ssh', 'builder']\n\
                copy_bytes = '2GiB'\ncpus = 2\nnetwork = 'allow'\n";
    let shadow = Case::new(user, "").load().unwrap().shadow;
    let expected = ShadowConfig {
        enabled: true,
        tier: Tier::Kernel,
        time: Duration::from_secs(120),
        views: 8,
        memory: 2 << 30,
        processes: 64,
        bytes: 64 << 20,
        files: 1_000,
        fresh: headstart_speculation::Freshness::Require,
        show: vec!["/srv/data".into()],
        tools: vec!["/srv/tools".into()],
        build: vec![headstart_overlay_fs::WorkspacePath::parse("gen/out").unwrap()],
        build_bytes: 1 << 30,
        warm: vec!["cargo check".into()],
        check: CheckSetting::Line("make check".to_owned()),
        remote: vec!["ssh".to_owned(), "builder".to_owned()],
        copy_bytes: 2 << 30,
        cpus: 2,
        allows_network: true,
    };
    assert_eq!(shadow, expected);
    let copy = Case::new("", "").variable("HEADSTART_SHADOW", "copy").load().unwrap();
    assert_eq!((copy.shadow.tier, copy.shadow.enabled), (Tier::Copy, true));
    let off = Case::new(user, "[shadow]\ncheck = 'off'\n").load().unwrap().shadow;
    assert_eq!(off.check, CheckSetting::Off);
    let denied = Case::new(user, "[shadow]\nnetwork = 'deny'\ncpus = 1\n").load().unwrap().shadow;
    assert_eq!((denied.allows_network, denied.cpus), (false, 1));
    let project = "[shadow]\nenabled = false\ntime = '90s'\nbytes = '1MiB'\n";
    let shadow = Case::new(user, project).load().unwrap().shadow;
    assert_eq!((shadow.enabled, shadow.time, shadow.bytes), (false, Duration::from_secs(90), 1 << 20));
    let off = Case::new("", "").variable("HEADSTART_SHADOW", "off").load().unwrap();
    assert!(!off.shadow.enabled && !off.gate_context("/w".into()).unwrap().views);
    assert!(Case::new("", "").load().unwrap().gate_context("/w".into()).unwrap().views);
}

#[test]
fn a_mistake_in_what_is_said_of_views_is_named() {
    let refused = [
        (
            "",
            "[shadow]\nviews = 65\n",
            "project/.headstart/config.toml:2: shadow.views: a project can only lower this, and yours is 64",
        ),
        (
            "",
            "[shadow]\n\ntime = '1h'\n",
            "project/.headstart/config.toml:3: shadow.time: a project can only lower this, and yours is 120",
        ),
        (
            "[shadow]\nenabled = false\n",
            "[shadow]\nenabled = true\n",
            "project/.headstart/config.toml:2: shadow.enabled: a project can only switch views off, and yours are off",
        ),
        (
            "[shadow]\nfresh = 'require'\n",
            "[shadow]\nfresh = 'tell'\n",
            "project/.headstart/config.toml:2: shadow.fresh: a project can only be stricter, and yours is require",
        ),
        (
            "",
            "[shadow]\nshow = ['/root']\n",
            "project/.headstart/config.toml:2: shadow.show: a project cannot open folders of yours; set it in your own file",
        ),
        (
            "",
            "[shadow]\ntools = ['/root/.ssh']\n",
            "project/.headstart/config.toml:2: shadow.tools: a project cannot open folders of yours; set it in your own file",
        ),
        (
            "",
            "[shadow]\nbuild = ['src']\n",
            "project/.headstart/config.toml:2: shadow.build: a project cannot leave out what commands write; set it in your own file",
        ),
        (
            "",
            "[shadow]\ncheck = 'make'\n",
            "project/.headstart/config.toml:2: shadow.check: a project can only switch it off; name a check in your own file",
        ),
        (
            "[shadow]\ncheck = ' '\n",
            "",
            "user/headstart/config.toml:2: shadow.check: is empty; write a command line, \"off\", or \"found\" for what the files tell",
        ),
        (
            "",
            "[shadow]\nwarm = ['make']\n",
            "project/.headstart/config.toml:2: shadow.warm: a project cannot have commands run; set it in your own file",
        ),
        (
            "",
            "[shadow]\nbuild_bytes = '9GiB'\n",
            "project/.headstart/config.toml:2: shadow.build_bytes: a project can only lower this, and yours is 8589934592",
        ),
        (
            "[shadow]\nremote = ['ssh', 'builder']\n",
            "[shadow]\nremote = ['ssh', 'elsewhere']\n",
            "project/.headstart/config.toml:2: shadow.remote: a project cannot choose where your files are sent; set it in your own file",
        ),
        (
            "[shadow]\nremote = ['', 'builder']\n",
            "",
            "user/headstart/config.toml:2: shadow.remote: names no program; write [\"ssh\", \"HOST\", \"headstart\", \"shadow\", \"serve\"], or leave it out",
        ),
        (
            "[shadow]\nbuild = ['.']\n",
            "",
            "user/headstart/config.toml:2: shadow.build: \".\" is no folder that a build tool could have for itself",
        ),
        (
            "[shadow]\nmemory = '4GB'\n",
            "",
            "user/headstart/config.toml:2: shadow.memory: \"4GB\" is no number of bytes; write it as 512MiB or 4GiB",
        ),
        (
            "[shadow]\ntime = 5\n",
            "",
            "user/headstart/config.toml:2: has to be a text in quotes, not 5, in `time = 5`",
        ),
        (
            "[shadow]\nprocesses = 0\n",
            "",
            "user/headstart/config.toml:2: shadow.processes: must be at least 1",
        ),
        (
            "[shadow]\nshow = ['data']\n",
            "",
            "user/headstart/config.toml:2: shadow.show: \"data\" is not absolute",
        ),
    ];
    for (user, project, error) in refused {
        assert_eq!(Case::new(user, project).load().unwrap_err(), error);
    }
}

#[test]
fn a_project_widens_neither_the_network_nor_the_processors() {
    let refused = [
        (
            "[shadow]\nnetwork = 'allow'\n",
            "[shadow]\n\nnetwork = 'allow'\n",
            "project/.headstart/config.toml:3: shadow.network: a project can only deny it; set it in your own file",
        ),
        (
            "[shadow]\nnetwork = 'loopback-host'\n",
            "",
            "user/headstart/config.toml:2: shadow.network: \"loopback-host\" is none of deny and allow",
        ),
        (
            "[shadow]\ncpus = 1\n",
            "[shadow]\ncpus = 2\n",
            "project/.headstart/config.toml:2: shadow.cpus: a project can only lower this, and yours is 1",
        ),
    ];
    for (user, project, error) in refused {
        assert_eq!(Case::new(user, project).load().unwrap_err(), error);
    }
}
