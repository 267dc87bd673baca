import fc from "fast-check";
import { expect, test } from "vitest";
import { createSpeaker } from "../../src/protocol/events/encode.ts";
import { toEncoded } from "../../src/protocol/events/texts.ts";
import type { LoggedEvents, Texts } from "../../src/protocol/events/texts.ts";
import type { RequestId, RunId } from "../../src/protocol/ids.ts";
import { EventList } from "../../src/storage/shared/event-list.ts";
import { TailCache } from "../../src/storage/shared/tail-cache.ts";
import { collectGarbage } from "../machine/garbage.ts";

const [run, request] = ["run" as RunId, "request" as RequestId];
const speakers = ["one", "two"].map((agent) =>
  createSpeaker({ run_id: run, request_id: request, agent, depth: 0 }),
);

/** Mostly single texts of one speaker, so that many are together; "event" is any other event. */
const said = fc.oneof(
  {
    weight: 12,
    arbitrary: fc.record({ by: fc.constant(0), contents: fc.tuple(fc.string({ unit: "binary" })) }),
  },
  { weight: 1, arbitrary: fc.record({ by: fc.nat(1), contents: fc.array(fc.string(), { minLength: 1 }) }) },
  { weight: 1, arbitrary: fc.constant("event" as const) },
);

test("events are read as they were added, however many texts are together, and a page that was read stays as it is", () => {
  fc.assert(
    fc.property(
      fc.array(said, { maxLength: 200, size: "max" }),
      fc.nat(),
      fc.nat(50),
      (all, start, limit) => {
        const list = new EventList(0);
        const expected: string[] = [];
        const pages: { readonly page: LoggedEvents; readonly was: readonly string[] }[] = [];
        for (const one of all) {
          const item = toItem(one, expected.length + 1);
          expected.push(...toEncoded([item]));
          list.add([item]);
          const after = start % (expected.length + 1);
          const page = list.read({ after, limit });
          pages.push({ page, was: expected.slice(after, after + limit) });
        }
        expect(list.head).toBe(expected.length);
        expect(toEncoded(list.read({ after: 0 }))).toEqual(expected);
        for (const { page, was } of pages) expect(toEncoded(page)).toEqual(was);

        const cache = new TailCache(10_000_000);
        cache.add(run, 1, list.all, 0);
        const after = start % (expected.length + 1);
        expect(toEncoded(cache.read(run, { after, limit }) ?? [])).toEqual(
          expected.slice(after, after + limit),
        );
      },
    ),
  );
});

test("a hundred texts that came one by one take less memory than a string for each", { tags: "long" }, () => {
  const keep = (count: number): EventList[] =>
    Array.from({ length: count }, (_, number) => {
      const list = new EventList(0);
      for (let index = 0; index < 100; index += 1)
        list.add([toItem({ by: 0, contents: [`text ${index} of ${number}`] }, index + 1)]);
      return list;
    });
  const before = heapBytes();
  const lists = keep(1_000);
  expect((heapBytes() - before) / lists.length).toBeLessThan(4_500);
});

function toItem(one: "event" | { by: number; contents: readonly string[] }, first: number): string | Texts {
  const [speaker] = speakers;
  if (one === "event" || speaker === undefined) return JSON.stringify({ id: first });
  const contents = one.contents.flatMap((content, index) => [index, content]);
  return { speaker: speakers[one.by] ?? speaker, ending: "", first, at: 1_000 + first, said: contents };
}

function heapBytes(): number {
  collectGarbage();
  return process.memoryUsage().heapUsed;
}
