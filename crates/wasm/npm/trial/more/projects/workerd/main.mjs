// A worker: it may not compile bytes, so the module comes compiled, as an import.
import * as headstart from "headstart";
import module from "headstart/headstart.wasm";
import { scenario } from "../../../scenario.mjs";

headstart.initSync(module);

export default {
  async fetch() {
    return Response.json(await scenario(headstart));
  },
};
