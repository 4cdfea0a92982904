//! The bindings of a WebAssembly module, by wasm-bindgen's own library, so that no tool has to be installed.
//!
//! `xtask-bindgen MODULE FOLDER` writes `FOLDER/glue_bg.wasm`, its JavaScript `glue_bg.js` and types `glue.d.ts`.
//! `cargo xtask wasm` starts it; it is a package of its own because it takes longer to build than all other tasks.

use std::path::PathBuf;

use anyhow::Context;
use wasm_bindgen_cli_support::Bindgen;

fn main() -> anyhow::Result<()> {
    let arguments: Vec<PathBuf> = std::env::args_os().skip(1).map(PathBuf::from).collect();
    let [module, folder] = &arguments[..] else { anyhow::bail!("usage: xtask-bindgen MODULE FOLDER") };
    // For bundlers: the JavaScript is handed the instance (`__wbg_set_wasm`) and loads nothing by itself, which is
    // the package's own affair.
    Bindgen::new()
        .input_path(module)
        .out_name("glue")
        .bundler(true)?
        .typescript(true)
        .remove_producers_section(true)
        .generate(folder)
        .with_context(|| format!("the bindings of {}", module.display()))
}
