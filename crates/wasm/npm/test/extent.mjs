// Whether tests try less. `cargo xtask wasm-test --dev` sets this, because its module is built quickly and runs slowly.
export const quick = process.env.HEADSTART_TRIAL === "dev";
