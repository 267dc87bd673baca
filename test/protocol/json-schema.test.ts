import fc from "fast-check";
import { expect, test } from "vitest";
import * as z from "zod";
import { createSpeaker, encodeEvent } from "../../src/protocol/events/encode.ts";
import { eventTypes } from "../../src/protocol/events/events.ts";
import { components, schemas } from "../../src/protocol/schema/json-schema.ts";
import type { Request } from "../../src/protocol/requests/requests.ts";
import { addressFor, bodies, event, requests } from "./arbitrary.ts";

type JsonSchema = Parameters<typeof z.fromJSONSchema>[0];

/** A validator made only from the published text of a schema. */
function validator(name: string): z.ZodType {
  return z.fromJSONSchema(JSON.parse(JSON.stringify(schemas[name])) as JsonSchema);
}

const requestTypes = Object.keys(requests) as Request["type"][];

test("every request, event and answer has a schema", () => {
  const answers = ["AgentEntry", "AgentDescriptor", "Accepted", "RequestStatus", "RunSummary", "RunStatus"];
  const others = [
    "UploadedArtifact",
    "ConfigureCompleted",
    "Problem",
    "CancelRequestEvent",
    "ResumeWithInputEvent",
  ];
  const names = ["Request", "Event", ...requestTypes, ...eventTypes, ...answers, ...others];
  expect(Object.keys(schemas).sort()).toEqual([...new Set(names)].sort());
  for (const schema of Object.values(schemas)) {
    expect(schema).toHaveProperty("$schema", "https://json-schema.org/draft/2020-12/schema");
  }
});

test.each(requestTypes)("the published schemas accept every %s", (type) => {
  const [one, any] = [validator(type), validator("Request")];
  fc.assert(
    fc.property(requests[type], (request) => {
      expect(one.safeParse(request).error).toBeUndefined();
      expect(any.safeParse(request).error).toBeUndefined();
    }),
  );
});

test("a published schema refuses a request of another type", () => {
  for (const type of requestTypes) {
    const [request] = fc.sample(requests[type], 1);
    const takers = requestTypes.filter((name) => validator(name).safeParse(request).success);
    expect(takers).toEqual([type]);
  }
});

test("the published schema of a resume requires a request, a run or a key", () => {
  const resume = { type: "ResumeWithInput", request_keys: {} };
  expect(schemas["ResumeWithInput"]).toMatchObject({
    anyOf: [{ required: ["request_id"] }, { required: ["run_id"] }, { required: ["key"] }],
  });
  expect(validator("ResumeWithInput").safeParse({ ...resume, run_id: "run_1" }).success).toBe(true);
});

test("the published schemas accept every event", () => {
  const any = validator("Event");
  fc.assert(
    fc.property(
      event.chain((given) => addressFor(given.body.type).map((address) => ({ ...given, address }))),
      ({ address, id, ts, body }) => {
        const text = encodeEvent(createSpeaker(address), id, ts, body);
        expect(any.safeParse(JSON.parse(text)).error).toBeUndefined();
      },
    ),
  );
});

test("an OpenAPI document contains every schema that it refers to", () => {
  const refs = JSON.stringify(components).match(/"#\/components\/schemas\/[^"]+"/g) ?? [];
  const names = refs.map((ref) => ref.slice('"#/components/schemas/'.length, -1));
  expect(names).toHaveLength(requestTypes.length + eventTypes.length);
  expect(Object.keys(components)).toEqual(expect.arrayContaining(names));
  expect(Object.keys(bodies)).toHaveLength(eventTypes.length);
});
