// The cost of an event stream with Node alone: one JSON text and one write per event.
import { createServer } from "node:http";
import { text } from "node:stream/consumers";
import { DELTAS, PORT, obeySignals, tick } from "../setting.ts";

let runs = 0;
const server = createServer((request, response) => {
  void text(request).then(async (body) => {
    const { input, request_id } = JSON.parse(body) as { readonly input: string; readonly request_id: string };
    runs += 1;
    const address = { run_id: runs, agent: "bench", depth: 0 };
    let id = 0;
    const say = (event: object): void => {
      id += 1;
      response.write(`id: ${id}\ndata: ${JSON.stringify({ id, ...address, ...event })}\n\n`);
    };
    response.writeHead(200, { "content-type": "text/event-stream", "cache-control": "no-cache" });
    say({ type: "RequestStarted", role: "system", request_id });
    for (let index = 0; index < DELTAS; index += 1) {
      await tick();
      say({ type: "TextOutput", role: "assistant", content: `${input} ${index}` });
    }
    say({ type: "RequestCompleted", role: "system", request_id, finish_reason: "success" });
    response.end();
  });
});

obeySignals();
server.listen(PORT, "127.0.0.1", () => console.log("READY"));
