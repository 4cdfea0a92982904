// A program for servers. It prints its outcome or, if the module is not loaded by itself, the error that says so.
import * as headstart from "headstart";
import { scenario } from "../../../scenario.mjs";

scenario(headstart).then((outcome) => console.log(JSON.stringify(outcome)));
