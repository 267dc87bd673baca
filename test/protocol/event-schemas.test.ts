import fc from "fast-check";
import { expect, test } from "vitest";
import type * as z from "zod";
import { createSpeaker, encodeEvent } from "../../src/protocol/events/encode.ts";
import type { SpeakerAddress } from "../../src/protocol/events/encode.ts";
import { configureCompletedSchema, eventSchemas, eventTypes } from "../../src/protocol/events/events.ts";
import type { EventBody } from "../../src/protocol/events/event-body.ts";
import { schemas } from "../../src/protocol/schema/json-schema.ts";
import { addressFor, bodies, requestId, runId } from "./arbitrary.ts";

const TS = "2026-01-31T12:00:00.000Z";

test("there is a schema for every type of event", () => {
  expect([...eventTypes].sort()).toEqual(Object.keys(bodies).sort());
});

test.each(eventTypes)("the schema of %s accepts the encoded event and knows all its fields", (type) => {
  fc.assert(
    fc.property(addressFor(type), fc.integer({ min: 1 }), bodies[type], (place, id, body) => {
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
    fc.property(addressFor(type), bodies[type], fc.constantFrom(...required), (place, body, gone) => {
      const event = JSON.parse(encodeEvent(createSpeaker(place), 1, TS, body)) as Record<string, unknown>;
      const { [gone]: _, ...rest } = event;
      expect(schema.safeParse(rest).error?.issues.map(({ path }) => path)).toEqual([[gone]]);
    }),
  );
});

test("only events of the run itself, and messages, can have no request", () => {
  const alone = eventTypes.filter((type) => {
    const [place, body] = fc.sample(fc.tuple(addressFor(type), bodies[type]), 1)[0] as [
      SpeakerAddress,
      EventBody,
    ];
    const text = encodeEvent(createSpeaker({ ...place, request_id: null }), 1, TS, body);
    const schema: z.ZodType = eventSchemas[type];
    return schema.safeParse(JSON.parse(text)).success;
  });
  expect(alone.sort()).toEqual(["ArtifactUploaded", "MessageReceived", "Renewed", "RunCreated"]);
});

test("fields of a later version are accepted", () => {
  const speaker = createSpeaker({ run_id: "run_1", request_id: null, agent: "echo", depth: 0 });
  const event: unknown = JSON.parse(
    encodeEvent(speaker, 1, TS, { type: "RunCreated", input: 1, metadata: {} }),
  );
  expect(eventSchemas.RunCreated.safeParse({ ...Object(event), mood: "fine" }).success).toBe(true);
});

test("the answer to a configuration has the id 0 and may have no run", () => {
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
