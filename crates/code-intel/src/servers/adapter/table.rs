//! The servers that are known.

use serde_json::{Value, json};

use super::{Adapter, CheckCommand, RecheckTrigger, Role, SettleSignal};
use crate::CheckFormat;

pub(super) fn standard() -> Vec<Adapter> {
    vec![rust_analyzer(), typescript(), basedpyright(), pyright(), gopls(), clangd(), ruff()]
}

fn rust_analyzer() -> Adapter {
    // Caches are not primed, because that takes every processor for seconds, for completions that nobody asks for. It
    // has a target folder of its own, because its check and tests that run at the same time would otherwise wait for
    // each other's lock.
    let options = json!({
        "cachePriming": { "enable": false },
        "cargo": { "targetDir": true },
        "checkOnSave": true,
        "check": { "command": "check" },
        "files": { "watcher": "client" },
        "notifications": { "cargoTomlNotFound": false },
    });
    Adapter {
        settling: SettleSignal::Status,
        nudges: vec![RecheckTrigger::Save],
        settings: [("rust-analyzer".to_owned(), options.clone())].into(),
        options,
        check: Some(check(
            "cargo",
            &["check", "--workspace", "--all-targets", "--keep-going", "--message-format=json"],
            CheckFormat::Cargo,
        )),
        ..adapter(
            "rust-analyzer",
            "rust-analyzer",
            &[],
            &[("rs", "rust")],
            &["Cargo.toml", "rust-project.json"],
            "rustup component add rust-analyzer",
        )
    }
}

fn typescript() -> Adapter {
    let languages = [
        ("ts", "typescript"),
        ("mts", "typescript"),
        ("cts", "typescript"),
        ("tsx", "typescriptreact"),
        ("js", "javascript"),
        ("mjs", "javascript"),
        ("cjs", "javascript"),
        ("jsx", "javascriptreact"),
    ];
    Adapter {
        settling: SettleSignal::Tsserver,
        // It must not fetch types from the network while somebody waits.
        options: json!({ "disableAutomaticTypingAcquisition": true, "preferences": { "allowRenameOfImportPath": true, "providePrefixAndSuffixTextForRename": false } }),
        check: Some(check("tsc", &["--noEmit", "--pretty", "false"], CheckFormat::Tsc)),
        ..adapter(
            "typescript-language-server",
            "typescript-language-server",
            &["--stdio"],
            &languages,
            &["tsconfig.json", "jsconfig.json", "package.json"],
            "npm install -g typescript-language-server typescript",
        )
    }
}

const PYTHON: [(&str, &str); 2] = [("py", "python"), ("pyi", "python")];
const PYTHON_ROOTS: [&str; 5] =
    ["pyrightconfig.json", "pyproject.toml", "setup.py", "setup.cfg", "requirements.txt"];

fn pyright() -> Adapter {
    Adapter {
        settling: SettleSignal::Versions,
        settings: python_settings("python"),
        check: Some(check("pyright", &["--outputjson"], CheckFormat::Pyright)),
        ..adapter(
            "pyright",
            "pyright-langserver",
            &["--stdio"],
            &PYTHON,
            &PYTHON_ROOTS,
            "npm install -g pyright",
        )
    }
}

fn basedpyright() -> Adapter {
    Adapter {
        settling: SettleSignal::Versions,
        settings: python_settings("basedpyright"),
        check: Some(check("basedpyright", &["--outputjson"], CheckFormat::Pyright)),
        ..adapter(
            "basedpyright",
            "basedpyright-langserver",
            &["--stdio"],
            &PYTHON,
            &PYTHON_ROOTS,
            "pip install basedpyright",
        )
    }
}

fn python_settings(section: &str) -> std::collections::BTreeMap<String, Value> {
    let analysis =
        json!({ "diagnosticMode": "openFilesOnly", "autoSearchPaths": true, "useLibraryCodeForTypes": true });
    let whole = json!({ "analysis": analysis });
    [(section.to_owned(), whole), (format!("{section}.analysis"), analysis)].into()
}

fn gopls() -> Adapter {
    // By default it checks other packages only a second after the last edit, and does not report when it is done.
    let options = json!({ "diagnosticsDelay": "0s", "verboseWorkDoneProgress": true });
    Adapter {
        settling: SettleSignal::Progress,
        settings: [("gopls".to_owned(), options.clone())].into(),
        options,
        check: Some(check("go", &["vet", "-json", "./..."], CheckFormat::GoVet)),
        ..adapter(
            "gopls",
            "gopls",
            &["serve"],
            &[("go", "go")],
            &["go.work", "go.mod"],
            "go install golang.org/x/tools/gopls@latest",
        )
    }
}

fn clangd() -> Adapter {
    let languages = [
        ("c", "c"),
        ("h", "c"),
        ("cc", "cpp"),
        ("cpp", "cpp"),
        ("cxx", "cpp"),
        ("hh", "cpp"),
        ("hpp", "cpp"),
        ("hxx", "cpp"),
        ("m", "objective-c"),
        ("mm", "objective-cpp"),
        ("cu", "cuda-cpp"),
    ];
    Adapter {
        settling: SettleSignal::FileStatus,
        nudges: vec![RecheckTrigger::ResendOpen, RecheckTrigger::Save],
        options: json!({ "clangdFileStatus": true }),
        ..adapter(
            "clangd",
            "clangd",
            &["--background-index=0"],
            &languages,
            &["compile_commands.json", "compile_flags.txt", ".clangd"],
            "apt install clangd",
        )
    }
}

fn ruff() -> Adapter {
    Adapter {
        role: Role::Linter,
        settling: SettleSignal::Versions,
        check: Some(check("ruff", &["check", "--no-cache", "--output-format", "json"], CheckFormat::Ruff)),
        ..adapter(
            "ruff",
            "ruff",
            &["server"],
            &PYTHON,
            &["ruff.toml", ".ruff.toml", "pyproject.toml"],
            "pip install ruff",
        )
    }
}

fn adapter(
    name: &str,
    command: &str,
    args: &[&str],
    languages: &[(&str, &str)],
    roots: &[&str],
    install: &str,
) -> Adapter {
    let owned = |names: &[&str]| names.iter().map(ToString::to_string).collect();
    Adapter {
        name: name.to_owned(),
        command: command.to_owned(),
        args: owned(args),
        environment: [].into(),
        languages: languages
            .iter()
            .map(|(ending, language)| (ending.to_string(), language.to_string()))
            .collect(),
        root_markers: owned(roots),
        role: Role::Language,
        settling: SettleSignal::Silence,
        nudges: Vec::new(),
        options: json!({}),
        settings: [].into(),
        install: install.to_owned(),
        check: None,
    }
}

fn check(command: &str, args: &[&str], format: CheckFormat) -> CheckCommand {
    let args = args.iter().map(ToString::to_string).collect();
    CheckCommand { command: command.to_owned(), args, format }
}
