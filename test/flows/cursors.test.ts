import fc from "fast-check";
import { afterAll, beforeAll, expect, test } from "vitest";
import { startServer } from "./server.ts";

let server: { url: string; close(): Promise<void> };
beforeAll(async () => {
  server = await startServer();
});
afterAll(() => server.close());

const chat = fc.record({
  agent: fc.constantFrom("echo", "calculator", "team"),
  input: fc.oneof(fc.string({ maxLength: 60 }), fc.constantFrom("6 * 7", "1 / 0", "the moon")),
});

test("reading from any cursor, in any way, gives the same history", { timeout: 120_000 }, async () => {
  await fc.assert(
    fc.asyncProperty(
      chat,
      fc.array(fc.string({ maxLength: 60 }), { maxLength: 3 }),
      fc.array(fc.nat(30), { minLength: 1, maxLength: 8 }),
      async ({ agent, input }, more, cursors) => {
        const runId = await say(agent, input);
        for (const next of more) await say(agent, next, runId);
        const whole = await readTexts(`/getevents/${runId}?since=0`);
        expect(whole.map(idOf)).toEqual(whole.map((_, index) => index + 1));
        for (const cursor of cursors) {
          const wanted = whole.slice(cursor);
          expect(await readTexts(`/events/${runId}?since=${cursor}`)).toEqual(wanted);
          expect(await readTexts(`/${agent}/getevents?run_id=${runId}&since=${cursor}&stream=true`)).toEqual(
            wanted,
          );
          const headers = { "last-event-id": String(cursor) };
          // Without a cursor a stream begins with the latest turn; 0 is no event's id.
          if (cursor > 0) expect(await readTexts(`/getevents/${runId}?stream=true`, headers)).toEqual(wanted);
        }
      },
    ),
    { numRuns: 40 },
  );
});

/** Lets an agent answer, and gives the run. */
async function say(agent: string, input: string, runId?: string): Promise<string> {
  const response = await fetch(`${server.url}/${agent}/process?wait=completed`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ type: "ChatRequest", input, ...(runId !== undefined && { run_id: runId }) }),
  });
  const { type, run_id } = (await response.json()) as { type: string; run_id: string };
  expect(type).toBe("RequestCompleted");
  return run_id;
}

/** The events of a page or of a whole stream, each as its text. */
async function readTexts(path: string, headers: Record<string, string> = {}): Promise<string[]> {
  const response = await fetch(server.url + path, { headers });
  const body = await response.text();
  if (response.headers.get("content-type")?.startsWith("text/event-stream") === true) {
    return Array.from(body.matchAll(/^data: (.*)$/gm), ([, data = ""]) => data);
  }
  return body === "" ? [] : (JSON.parse(body) as unknown[]).map((event) => JSON.stringify(event));
}

function idOf(text: string): number {
  return (JSON.parse(text) as { id: number }).id;
}
