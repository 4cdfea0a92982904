import * as headstart from "headstart";
import { scenario } from "../../../scenario.mjs";

headstart
  .init()
  .then(() => scenario(headstart))
  .then(postMessage, (error) => postMessage({ failed: String(error?.stack ?? error) }));
