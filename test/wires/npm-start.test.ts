/** @module-tag long */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { startProgram } from "../cli/command.ts";
import type { Server } from "../flows/server.ts";
import { testClients } from "./clients.ts";

/** `npm start` of the repository, without a key and without a network that leads out. */
async function startNpm(): Promise<Server> {
  const data = await mkdtemp(join(tmpdir(), "troupe-npm-start-"));
  // An own environment, so that no key of this machine is in it.
  const { PATH = "", HOME = "" } = process.env;
  const options = ["--port=0", `--data=${data}`, "--aip=127.0.0.1:0"];
  const server = startProgram("npm", ["start", "--silent", "--", ...options], {
    cwd: resolve(import.meta.dirname, "../.."),
    env: { ...Object.fromEntries(Object.keys(process.env).map((name) => [name, undefined])), PATH, HOME },
    hasGroup: true,
    atEnd: () => {},
  });
  const [url] = await server.match(/http:\/\/127\.0\.0\.1:\d+/);
  const [, aip = ""] = await server.match(/^aip +(127\.0\.0\.1:\d+)$/m);
  await server.match(/^wires/m);
  return {
    url,
    aip,
    async close() {
      server.kill("SIGTERM");
      await server.exited;
      await rm(data, { recursive: true, force: true });
    },
  };
}

testClients(startNpm);
