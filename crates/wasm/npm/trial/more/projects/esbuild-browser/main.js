// A classic script in a single file. The bytes of the module are in it, because esbuild has no assets.
import * as headstart from "headstart";
import bytes from "headstart/headstart.wasm";
import { scenario } from "../../../scenario.mjs";

async function main() {
  const unaided = await headstart.init().catch((error) => error.code);
  if (unaided !== "not_loaded") throw new Error(`without the bytes: ${unaided}`);
  await headstart.init(bytes);
  return scenario(headstart);
}

main().then(
  (outcome) => (globalThis.outcome = outcome),
  (error) => (globalThis.outcome = { failed: String(error?.stack ?? error) }),
);
