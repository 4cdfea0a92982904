//! Makes the bindings of a WebAssembly module with wasm-bindgen's own library, so that no tool has to be installed.
//!
//! ```text
//! xtask-bindgen generate MODULE FOLDER  writes FOLDER/glue_bg.wasm, its JavaScript glue_bg.js and types glue.d.ts
//! xtask-bindgen test MODULE [FILTER]    runs the tests of `wasm-bindgen-test` in Node, as cargo's runner
//! ```
//!
//! `cargo xtask wasm` and `wasm-test` start this program. It is a package of its own because it takes longer to build
//! than all other tasks.

use std::path::Path;
use std::process::{Command, ExitCode};

use anyhow::Context;
use wasm_bindgen_cli_support::Bindgen;

fn main() -> anyhow::Result<ExitCode> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    // Cargo adds options for its own harness, such as `--quiet`.
    let arguments: Vec<&str> =
        arguments.iter().map(String::as_str).filter(|argument| !argument.starts_with('-')).collect();
    match arguments[..] {
        ["generate", module, folder] => generate(Path::new(module), Path::new(folder)),
        ["test", module] => test(Path::new(module), ""),
        ["test", module, filter] => test(Path::new(module), filter),
        _ => anyhow::bail!("usage: xtask-bindgen generate MODULE FOLDER | test MODULE [FILTER]"),
    }
}

fn generate(module: &Path, folder: &Path) -> anyhow::Result<ExitCode> {
    // The bindings are those for bundlers: the JavaScript is given the instance (`__wbg_set_wasm`) and loads nothing by
    // itself, because loading is left to the package.
    Bindgen::new()
        .input_path(module)
        .out_name("glue")
        .bundler(true)?
        .typescript(true)
        .remove_producers_section(true)
        .generate(folder)
        .with_context(|| format!("the bindings of {}", module.display()))?;
    Ok(ExitCode::SUCCESS)
}

/// Does the same as wasm-bindgen's own runner for Node. That runner would add a web server and two abandoned crates.
fn test(module: &Path, filter: &str) -> anyhow::Result<ExitCode> {
    const PREFIX: &str = "__wbgt_";
    let folder = module.with_extension("bindgen");
    let mut output = Bindgen::new()
        .input_path(module)
        .out_name("glue")
        .nodejs(true)?
        .debug(true)
        .export_wasm(true)
        .emit_start(false)
        .generate_output()
        .with_context(|| format!("the bindings of {}", module.display()))?;
    output.emit(&folder)?;
    let tests =
        output.wasm().exports.iter().map(|export| &export.name).filter(|name| name.starts_with(PREFIX));
    let (tests, others): (Vec<_>, Vec<_>) = tests.partition(|name| name.contains(filter));
    anyhow::ensure!(!tests.is_empty() || !others.is_empty(), "{} has no test", module.display());
    let run = folder.join("run.cjs");
    let script = include_str!("run.cjs")
        .replace("TESTS", &format!("{tests:?}"))
        .replace("FILTERED", &others.len().to_string());
    std::fs::write(&run, script)?;
    let status = Command::new("node").arg(&run).status().context("node could not be started")?;
    Ok(if status.success() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
