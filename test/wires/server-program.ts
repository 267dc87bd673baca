// Serves all wires with a durable log in the directory given as its only argument, and prints both addresses.
import { ticker } from "../../agents/ticker.ts";
import { serveWires } from "./serve-wires.ts";

const [, , directory = "."] = process.argv;
const { url, aip } = await serveWires(directory, [ticker]);
console.log(`${url} ${aip}`);
