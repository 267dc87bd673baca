import { createServer } from "node:http";
import type { ServerResponse } from "node:http";
import { text } from "node:stream/consumers";
import { callsTool, DELTAS, GATHER_MS, PORT, obeySignals, tick, toContent } from "./setting.ts";

/** How a server writes the frames of an answer. */
export interface Frames {
  write(frames: string): void;
  end(): void;
}

/**
 * Serves turns with Node alone: one JSON text per event, and one write per event or per `GATHER_MS`. Nothing is
 * stored, and no event can be read again.
 */
export function streamTurns(open: (response: ServerResponse) => Frames): void {
  let runs = 0;
  const server = createServer((request, response) => {
    void text(request).then(async (body) => {
      const { input, request_id } = JSON.parse(body) as {
        readonly input: string;
        readonly request_id: string;
      };
      runs += 1;
      const address = { run_id: runs, agent: "bench", depth: 0 };
      let id = 0;
      const encode = (event: object): string => {
        id += 1;
        return `id: ${id}\ndata: ${JSON.stringify({ id, ...address, ...event })}\n\n`;
      };
      response.writeHead(200, { "content-type": "text/event-stream", "cache-control": "no-cache" });
      const frames = open(response);
      frames.write(encode({ type: "RequestStarted", role: "system", request_id }));
      const texts = GATHER_MS > 0 ? gather(frames) : frames;
      for (let index = 0; index < DELTAS; index += 1) {
        await tick(input);
        if (callsTool(index)) {
          texts.write(
            encode({ type: "ToolCall", role: "assistant", tool_call_id: id, name: "lookup", args: {} }),
          );
          texts.write(encode({ type: "ToolResult", role: "tool", tool_call_id: id, result: "found" }));
        }
        texts.write(encode({ type: "TextOutput", role: "assistant", content: toContent(input, index) }));
      }
      texts.write(encode({ type: "RequestCompleted", role: "system", request_id, finish_reason: "success" }));
      texts.end();
    });
  });
  obeySignals();
  server.listen(PORT, "127.0.0.1", () => console.log("READY"));
}

/** Writes the frames of `GATHER_MS` together. */
function gather(to: Frames): Frames {
  let pending = "";
  let timer: NodeJS.Timeout | undefined;
  const flush = (): void => {
    timer = undefined;
    to.write(pending);
    pending = "";
  };
  return {
    write(frames) {
      pending += frames;
      timer ??= setTimeout(flush, GATHER_MS);
    },
    end() {
      clearTimeout(timer);
      flush();
      to.end();
    },
  };
}
