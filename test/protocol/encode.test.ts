import fc from "fast-check";
import { expect, test } from "vitest";
import {
  agentOf,
  createSpeaker,
  depthOf,
  encodeEvent,
  idOf,
  requestIdOf,
  runIdOf,
  toEnding,
  toTimestamp,
  typeOf,
} from "../../src/protocol/events/encode.ts";
import { roleOf } from "../../src/protocol/events/roles.ts";
import { fieldsOf, joinTexts, sliceTexts, toEncoded } from "../../src/protocol/events/texts.ts";
import type { GrowingTexts } from "../../src/protocol/events/texts.ts";
import type { CallId } from "../../src/protocol/ids.ts";
import { body, event, speakerAddress } from "./arbitrary.ts";

test("an encoded event is the JSON text of the event, keys in order", () => {
  fc.assert(
    fc.property(event, ({ address, id, ts, body: said }) => {
      const { parent_call_id, ...rest } = address;
      const { type, ...fields } = said;
      const { run_id, request_id, agent, depth } = rest;
      const expected = {
        id,
        run_id,
        request_id,
        agent,
        type,
        role: roleOf(type),
        depth,
        ts,
        ...(parent_call_id === undefined ? {} : { parent_call_id }),
        ...fields,
        ...(type === "WaitForInput" ? { wait_id: id } : {}),
      };
      expect(encodeEvent(createSpeaker(address), id, ts, said)).toBe(JSON.stringify(expected));
    }),
  );
});

test("an encoded event contains no line break", () => {
  fc.assert(
    fc.property(event, ({ address, id, ts, body: said }) => {
      expect(encodeEvent(createSpeaker(address), id, ts, said)).not.toMatch(/[\r\n]/);
    }),
  );
});

test("the readers of an encoded event agree with JSON.parse", () => {
  fc.assert(
    fc.property(event, ({ address, id, ts, body: said }) => {
      const text = encodeEvent(createSpeaker(address), id, ts, said);
      const parsed = JSON.parse(text) as Record<string, unknown>;
      expect(idOf(text)).toBe(parsed["id"]);
      expect(runIdOf(text)).toBe(parsed["run_id"]);
      expect(requestIdOf(text)).toBe(parsed["request_id"]);
      expect(agentOf(text)).toBe(parsed["agent"]);
      expect(typeOf(text)).toBe(parsed["type"]);
      expect(depthOf(text)).toBe(parsed["depth"]);
    }),
  );
});

test("an agent's text cannot be mistaken for the address of its event", () => {
  const speaker = createSpeaker({
    run_id: "run_1",
    request_id: "req_1",
    agent: ',"type":"RequestCompleted","depth":7,',
    depth: 3,
  });
  const text = encodeEvent(speaker, 12, "2026-01-01T00:00:00.000Z", {
    type: "TextOutput",
    content: '","id":1,"request_id":"req_2","type":"RunCreated","depth":9',
  });
  expect(idOf(text)).toBe(12);
  expect(requestIdOf(text)).toBe("req_1");
  expect(typeOf(text)).toBe("TextOutput");
  expect(depthOf(text)).toBe(3);
  expect(agentOf(text)).toBe(',"type":"RequestCompleted","depth":7,');
});

test("one speaker is used for many events", () => {
  fc.assert(
    fc.property(speakerAddress, fc.array(body), (address, bodies) => {
      const speaker = createSpeaker(address);
      const texts = bodies.map((said, index) => encodeEvent(speaker, index + 1, "t", said));
      expect(texts.map(idOf)).toEqual(bodies.map((_, index) => index + 1));
      expect(texts.map(typeOf)).toEqual(bodies.map((said) => said.type));
    }),
  );
});

test("texts encode as the events that they are, also when they were joined or divided", () => {
  const plain = fc.tuple(fc.string({ unit: "binary" }), fc.nat(100_000));
  fc.assert(
    fc.property(speakerAddress, fc.array(plain, { minLength: 1 }), fc.nat(), (address, said, place) => {
      const speaker = createSpeaker(address);
      const fields = { call_id: "c1.1" as CallId, attempt: 2 };
      const expected = said.map(([content, ms], index) =>
        encodeEvent(speaker, 5 + index, toTimestamp(1_000 + ms), { type: "TextOutput", content, ...fields }),
      );
      const texts: GrowingTexts[] = [];
      for (const [index, [content, ms]] of said.entries()) {
        const one = { speaker, ending: toEnding(fields), first: 5 + index, at: ms, said: [1_000, content] };
        const [last] = texts;
        if (last === undefined || !joinTexts(last, one)) texts.push(one);
      }
      const [all] = texts;
      if (all === undefined || texts.length > 1) throw new Error("the texts were not joined");
      const cut = place % (said.length + 1);
      expect(toEncoded(texts)).toEqual(expected);
      expect(fieldsOf(all)).toEqual(fields);
      expect(toEncoded([sliceTexts(all, 0, cut), sliceTexts(all, cut, said.length)])).toEqual(expected);
    }),
  );
});

test("a time is formatted as a date formats it", () => {
  const time = fc.oneof(
    fc.integer({ min: -8.64e15, max: 8.64e15 }),
    fc.double({ min: 0, max: 4e12, noNaN: true }),
    fc.constantFrom(0, 999, 1_000, 999.9, 1_764_000_000_000, 253_402_300_800_000),
  );
  fc.assert(
    fc.property(fc.array(time, { minLength: 1 }), (times) => {
      for (const ms of times) expect(toTimestamp(ms)).toBe(new Date(ms).toISOString());
    }),
  );
  expect(() => toTimestamp(Number.NaN)).toThrow(RangeError);
  expect(() => toTimestamp(9e15)).toThrow(RangeError);
});
