import { once } from "node:events";
import { createServer } from "node:net";
import { Readable, Writable } from "node:stream";
import { serveAcp } from "troupe/adapters/acp";
import { obeySignals, PORT, SERVER_URL } from "../setting.ts";

// Does for each connection what the command `troupe acp` does: it is a client of a server in another process.
const server = createServer((socket) => {
  const input = Readable.toWeb(socket) as ReadableStream<Uint8Array>;
  void serveAcp({ url: SERVER_URL, agent: "bench", cwd: "/" }, { output: Writable.toWeb(socket), input });
});
server.listen(PORT, "127.0.0.1");
await once(server, "listening");
obeySignals();
console.log("READY");
