import fc from "fast-check";
import { expect, onTestFinished, test } from "vitest";
import { servers } from "./server.ts";
import { runsLong, shortened } from "../machine/long.ts";

const chat = fc.record({
  agent: fc.constantFrom("echo", "calculator", "team"),
  input: fc.oneof(fc.string({ maxLength: 60 }), fc.constantFrom("6 * 7", "1 / 0", "the moon")),
});

test.each(shortened(servers, 1))(
  "on %s, reading from any cursor and in any way gives the same history",
  async (_, start) => {
    const server = await start();
    onTestFinished(() => server.close());
    await fc.assert(
      fc.asyncProperty(
        chat,
        fc.array(fc.string({ maxLength: 60 }), { maxLength: 3 }),
        fc.array(fc.nat(30), { minLength: 1, maxLength: 8 }),
        async ({ agent, input }, more, cursors) => {
          const runId = await say(server.url, agent, input);
          for (const next of more) await say(server.url, agent, next, runId);
          const whole = await readTexts(server.url, `/getevents/${runId}?since=0`);
          expect(whole.map(idOf)).toEqual(whole.map((_, index) => index + 1));
          for (const cursor of cursors) {
            const wanted = whole.slice(cursor);
            // Without a cursor a stream starts with the latest turn; 0 is not an event id.
            const since = cursor === 0 ? "&since=0" : "";
            // A reader cannot have got an event that the run does not have.
            const headers = { "last-event-id": String(Math.min(cursor, whole.length)) };
            const ways = await Promise.all([
              readTexts(server.url, `/events/${runId}?since=${cursor}`),
              readTexts(server.url, `/${agent}/getevents?run_id=${runId}&since=${cursor}&stream=true`),
              readTexts(server.url, `/getevents/${runId}?stream=true${since}`, headers),
            ]);
            expect(ways).toEqual([wanted, wanted, wanted]);
          }
        },
      ),
      { numRuns: runsLong ? 40 : 10 },
    );
  },
);

/** Sends a request to an agent and returns the run. */
async function say(url: string, agent: string, input: string, runId?: string): Promise<string> {
  const response = await fetch(`${url}/${agent}/process?wait=completed`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ type: "ChatRequest", input, ...(runId !== undefined && { run_id: runId }) }),
  });
  const { type, run_id } = (await response.json()) as { type: string; run_id: string };
  expect(type).toBe("RequestCompleted");
  return run_id;
}

/** The events of a page or of a whole stream, as texts. */
async function readTexts(url: string, path: string, headers: Record<string, string> = {}): Promise<string[]> {
  const response = await fetch(url + path, { headers });
  const body = await response.text();
  if (response.headers.get("content-type")?.startsWith("text/event-stream") === true) {
    return Array.from(body.matchAll(/^data: (.*)$/gm), ([, data = ""]) => data);
  }
  return body === "" ? [] : (JSON.parse(body) as unknown[]).map((event) => JSON.stringify(event));
}

function idOf(text: string): number {
  return (JSON.parse(text) as { id: number }).id;
}
