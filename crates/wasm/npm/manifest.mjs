// The manifest of the package as it is published: what each entry loads where, and where the project lives.

/**
 * The code of an entry by where it runs; `browser` is for whatever is not Node, `bundled` for bundles that run in Node. `parts` are those of its module,
 * where a page fetches it in two.
 */
export function filesOf({ name }) {
  const suffix = name === "headstart" ? "" : `-${name}`;
  return { browser: name === "headstart" ? "index.js" : `${name}.js`, node: `node${suffix}`, bundled: `bundled${suffix}.js`, parts: { start: `${name}-start.wasm`, rest: `${name}-rest.wasm` } };
}

/** `manifest` is the one of the source, `plain` are the entries without a module, `home` is the address of the repository, if it has one yet. */
export function published({ devDependencies, scripts, ...manifest }, entries, plain, home) {
  const exports = {};
  for (const entry of entries) exports[entry.name === "headstart" ? "." : `./${entry.name}`] = conditions(entry);
  for (const entry of plain) exports[`./${entry.name}`] = plainConditions(entry);
  for (const { name } of entries) exports[`./${name}.wasm`] = typed("packaged", `./${name}.wasm`, `./${name}.wasm`);
  exports["./package.json"] = "./package.json";
  return { ...manifest, ...(home && places(home)), exports, main: "./node.cjs", types: "./types/index.d.cts" };
}

function conditions(entry) {
  const { browser, node, bundled } = filesOf(entry);
  const types = entry.source.replace(".ts", "");
  const inCode = { types: `./types/${types}.d.ts`, default: `./${bundled}` };
  return {
    // Without a file to be read Deno needs no permission, and what Bun bundles runs anywhere.
    deno: inCode,
    bun: inCode,
    node: {
      // Bundlers know it, Node does not.
      module: inCode,
      ...typed(types, `./${node}.js`, `./${node}.cjs`),
    },
    // Bundlers take an ES module for `require`, too.
    types: `./types/${types}.d.ts`,
    default: `./${browser}`,
  };
}

function plainConditions(entry) {
  const { browser, node } = filesOf(entry);
  const types = entry.source.replace(".ts", "");
  return { node: typed(types, `./${node}.js`, `./${node}.cjs`), ...typed(types, `./${browser}`, `./${node}.cjs`) };
}

function typed(types, imported, required) {
  return {
    import: { types: `./types/${types}.d.ts`, default: imported },
    require: { types: `./types/${types}.d.cts`, default: required },
  };
}

function places(home) {
  const address = home.replace(/\/$/, "").replace(/\.git$/, "");
  return {
    repository: { type: "git", url: `git+${address}.git`, directory: "crates/wasm/npm" },
    homepage: `${address}#readme`,
    bugs: { url: `${address}/issues` },
  };
}
