// A program for servers. It prints its outcome; where the module is not loaded by itself, how that was told.
import * as headstart from "headstart";
import { scenario } from "../../../scenario.mjs";

scenario(headstart).then((outcome) => console.log(JSON.stringify(outcome)));
