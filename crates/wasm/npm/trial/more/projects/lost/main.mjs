// A program in a bundle whose tool has its own conditions and so does not find the module. The error says what to do,
// and the program does it.
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
