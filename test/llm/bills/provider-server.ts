import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";

/** What a provider sends: its events, and whether the connection then breaks. */
export interface Answer {
  readonly events: readonly object[];
  readonly breaks?: boolean;
}

/** A server that gives recorded answers of providers, one after the other, as server-sent events. */
export interface ProviderServer extends AsyncDisposable {
  readonly url: string;
  /** How many answers are left. */
  readonly left: number;
  answer(...answers: readonly Answer[]): void;
}

export async function providerServer(): Promise<ProviderServer> {
  const answers: Answer[] = [];
  const server = createServer((request, response) => {
    request.resume();
    request.on("end", () => {
      const { events, breaks = false } = answers.shift() ?? { events: [] };
      response.writeHead(200, { "content-type": "text/event-stream" });
      const sent = events.map((event) => `${toName(event)}data: ${JSON.stringify(event)}\n\n`).join("");
      if (!breaks) response.end(sent);
      else response.write(sent, () => setImmediate(() => response.destroy()));
    });
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    get left() {
      return answers.length;
    },
    answer: (...given) => void answers.push(...given),
    async [Symbol.asyncDispose]() {
      server.close();
      server.closeAllConnections();
      await once(server, "close");
    },
  };
}

/** Anthropic and the Responses API of OpenAI name their events. */
function toName(event: object): string {
  return "type" in event ? `event: ${String(event.type)}\n` : "";
}
