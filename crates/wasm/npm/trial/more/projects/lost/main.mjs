// A program in a bundle whose tool was told conditions of its own and so knows no `module`: the error says what to do, and does it.
import { readFileSync } from "node:fs";
import * as headstart from "headstart";
import { scenario } from "../../../scenario.mjs";

let told;
try {
  headstart.judge({ name: "ls", args: {} });
} catch ({ code, message }) {
  told = { code, message };
}
headstart.initSync(readFileSync(process.argv[2]));
scenario(headstart).then((outcome) => console.log(JSON.stringify({ told, outcome })));
