import fc from "fast-check";
import { expect, test } from "vitest";
import { createSpeaker, encodeEvent, EventDecoder } from "../../src/protocol/events/encode.ts";
import type { Speaker } from "../../src/protocol/events/encode.ts";
import type { EventBody } from "../../src/protocol/events/event-body.ts";

// Decoding events gives what JSON.parse gives, whatever they have in common with the event before.

const content = fc.oneof(
  fc.string({ unit: "grapheme" }),
  fc.constantFrom('","', '"}', '\\","', '","content":"', ""),
);
const extra = fc.constantFrom({}, { branch: "b" }, { call_id: "c1.1", attempt: 1 });
const body: fc.Arbitrary<EventBody> = fc.oneof(
  { weight: 4, arbitrary: content.map((content) => ({ type: "TextOutput" as const, content })) },
  fc.tuple(content, extra).map(([content, more]) => ({ type: "TextOutput" as const, content, ...more })),
  content.map((content) => ({ type: "ToolTextOutput" as const, content, tool_call_id: "c1.1" })),
);
const speakers = [
  { run_id: "run_1", request_id: "req_1", agent: "a", depth: 0 },
  { run_id: "run_1", request_id: "req_2", agent: "a", depth: 0 },
  { run_id: "run_1", request_id: "req_1", agent: 'the "b"', depth: 0 },
  { run_id: "run_1", request_id: "req_1", agent: "a", depth: 1, parent_call_id: "c1.1" },
].map((address) => createSpeaker(address));
const times = ["2026-01-01T00:00:00.000Z", "2026-01-01T00:00:00.001Z"];

test("an event is decoded as JSON.parse does", () => {
  fc.assert(
    fc.property(fc.array(fc.tuple(fc.nat({ max: 3 }), fc.nat({ max: 1 }), body)), (events) => {
      const decoder = new EventDecoder();
      for (const [index, [speaker, time, said]] of events.entries()) {
        const text = encodeEvent(speakers[speaker % 4] as Speaker, index + 1, times[time] ?? "", said);
        expect(decoder.decode(text)).toEqual(JSON.parse(text));
      }
    }),
    { numRuns: 500 },
  );
});
