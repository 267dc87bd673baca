import fc from "fast-check";
import { expect, test } from "vitest";
import type * as z from "zod";
import { createSpeaker, encodeEvent } from "../../src/protocol/encode.ts";
import { configureCompletedSchema, eventSchemas, eventTypes } from "../../src/protocol/event-schemas.ts";
import { schemas } from "../../src/protocol/json-schema.ts";
import type { RunId } from "../../src/protocol/ids.ts";
import { bodies, requestId, runId, speakerAddress } from "./arbitrary.ts";

const TS = "2026-01-31T12:00:00.000Z";
const address = speakerAddress.chain((place) => runId.map((run_id) => ({ ...place, run_id })));

test("there is a schema for every type of event", () => {
  expect([...eventTypes].sort()).toEqual(Object.keys(bodies).sort());
});

test.each(eventTypes)("the schema of %s takes what is encoded, and knows every field of it", (type) => {
  fc.assert(
    fc.property(address, fc.integer({ min: 1 }), bodies[type], (place, id, body) => {
      const event: unknown = JSON.parse(encodeEvent(createSpeaker(place), id, TS, body));
      expect(eventSchemas[type].parse(event)).toEqual(event);
    }),
  );
});

test.each(eventTypes)("the schema of %s refuses an event without one of its required fields", (type) => {
  const schema: z.ZodType = eventSchemas[type];
  const published = schemas[type === "CancelRequest" || type === "ResumeWithInput" ? `${type}Event` : type];
  const required = published?.["required"] as readonly string[];
  fc.assert(
    fc.property(address, bodies[type], fc.constantFrom(...required), (place, body, gone) => {
      const event = JSON.parse(encodeEvent(createSpeaker(place), 1, TS, body)) as Record<string, unknown>;
      const { [gone]: _, ...rest } = event;
      expect(schema.safeParse(rest).error?.issues.map(({ path }) => path)).toEqual([[gone]]);
    }),
  );
});

test("fields that a later version adds do no harm", () => {
  const speaker = createSpeaker({ run_id: "run_1" as RunId, request_id: null, agent: "echo", depth: 0 });
  const event: unknown = JSON.parse(
    encodeEvent(speaker, 1, TS, { type: "RunCreated", input: 1, metadata: {} }),
  );
  expect(eventSchemas.RunCreated.safeParse({ ...Object(event), mood: "fine" }).success).toBe(true);
});

test("the answer to a configuration has the id 0 and may be without a run", () => {
  fc.assert(
    fc.property(fc.option(runId), requestId, (run_id, request_id) => {
      const speaker = createSpeaker({ run_id, request_id, agent: "echo", depth: 0 });
      const answer: unknown = JSON.parse(
        encodeEvent(speaker, 0, TS, {
          type: "RequestCompleted",
          finish_reason: "success",
          result: null,
          output: null,
        }),
      );
      expect(configureCompletedSchema.parse(answer)).toEqual(answer);
      expect(eventSchemas.RequestCompleted.safeParse(answer).success).toBe(false);
    }),
  );
});
