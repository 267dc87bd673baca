import { HttpAgent } from "@ag-ui/client";
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { defineAgent } from "troupe";
import { findEncoding } from "../../../src/adapters/ag-ui/encoding.ts";
import type { AgUiEvent } from "../../../src/adapters/ag-ui/event.ts";
import { interviewer } from "../../../agents/interviewer.ts";
import { AgUiServer } from "./server.ts";

const BINARY = "application/vnd.ag-ui.event+proto";

const poet = defineAgent({
  name: "poet",
  purpose: "Says signs that take several bytes.",
  async chat(_, turn) {
    for (const text of ["Grüße, ", "世界 ", "🎭", "x".repeat(20_000)]) await turn.text(text);
  },
});

let server: AgUiServer;
beforeAll(async () => {
  server = await AgUiServer.start([poet, interviewer]);
});
afterAll(() => server[Symbol.asyncDispose]());

/** The unmodified client of the protocol, which is asked to accept a type and decodes what it gets. */
async function run(
  agent: string,
  accept: string,
): Promise<{ readonly type: string; readonly events: readonly AgUiEvent[] }> {
  let type = "";
  const client = new HttpAgent({
    url: `${server.url}/ag-ui/${agent}`,
    threadId: crypto.randomUUID(),
    fetch: async (url, init) => {
      const headers = new Headers(init?.headers);
      headers.set("accept", accept);
      const response = await fetch(url, { ...init, headers });
      type = response.headers.get("content-type") ?? "";
      return response;
    },
  });
  client.messages.push({ id: "1", role: "user", content: "go" });
  const events: AgUiEvent[] = [];
  await client.runAgent({}, { onEvent: ({ event }) => void events.push(event as unknown as AgUiEvent) });
  return { type, events };
}

/** What does not differ between two runs. */
function comparable(events: readonly AgUiEvent[]): readonly unknown[] {
  return events.map((event) => [event.type, "delta" in event ? event.delta : undefined]);
}

test.each(["poet", "interviewer"])(
  "the events of %s are the same in the binary form, by the client's own decoder",
  async (agent) => {
    const text = await run(agent, "text/event-stream");
    const binary = await run(agent, BINARY);
    expect([text.type, binary.type]).toEqual(["text/event-stream", BINARY]);
    expect(comparable(binary.events)).toEqual(comparable(text.events));
    expect(binary.events.at(-1)).toMatchObject({ type: "RUN_FINISHED" });
  },
);

test("the client chooses the form by what it prefers", async () => {
  const typeOf = async (accept: string | undefined): Promise<string | undefined> =>
    (await findEncoding(accept))?.type;
  expect(await typeOf(undefined)).toBe("text/event-stream");
  expect(await typeOf("*/*")).toBe("text/event-stream");
  expect(await typeOf(`${BINARY};q=0.5, text/event-stream`)).toBe("text/event-stream");
  expect(await typeOf(`${BINARY}, text/event-stream;q=0.9`)).toBe(BINARY);
  expect(await typeOf(`${BINARY};q=0, image/png`)).toBe(undefined);
});

test("without the package there is no binary form", async () => {
  vi.resetModules();
  vi.doMock("@ag-ui/encoder", () => {
    throw new Error("Cannot find package");
  });
  const { findEncoding } = await import("../../../src/adapters/ag-ui/encoding.ts");
  expect(await findEncoding(BINARY)).toBe(undefined);
  expect((await findEncoding(`${BINARY}, text/event-stream;q=0.1`))?.isBinary).toBe(false);
  vi.doUnmock("@ag-ui/encoder");
});
