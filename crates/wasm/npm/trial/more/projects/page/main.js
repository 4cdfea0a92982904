// A page for bundlers that handle `new URL("…", import.meta.url)` by themselves or by a plugin.
import * as headstart from "headstart";
import { scenario } from "../../../scenario.mjs";

headstart
  .init()
  .then(() => scenario(headstart))
  .catch((error) => ({ failed: String(error?.stack ?? error) }))
  .then((outcome) => (globalThis.outcome = outcome));
