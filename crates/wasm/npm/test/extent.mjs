// How much is tried: `cargo xtask wasm-test --dev` runs over a module that is built quickly and runs slowly.
export const quick = process.env.HEADSTART_TRIAL === "dev";
