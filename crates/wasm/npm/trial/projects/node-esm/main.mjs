// There is no call of `init`, because in Node the module loads at its first use.
import * as headstart from "headstart";
import { scenario } from "../../scenario.mjs";

console.log(JSON.stringify(await scenario(headstart)));
