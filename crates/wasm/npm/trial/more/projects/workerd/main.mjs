// A worker. It may not compile bytes, so it imports the module in compiled form.
import * as headstart from "headstart";
import module from "headstart/headstart.wasm";
import { scenario } from "../../../scenario.mjs";

headstart.initSync(module);

export default {
  async fetch() {
    return Response.json(await scenario(headstart));
  },
};
