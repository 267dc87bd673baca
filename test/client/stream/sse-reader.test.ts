import * as fc from "fast-check";
import { expect, test } from "vitest";
import { SseReader } from "../../../src/client/stream/sse-reader.ts";
import type { SseFrame } from "../../../src/client/stream/sse-reader.ts";

test("frames are parsed as in the standard", () => {
  const stream = [
    "id: 7\ndata: one\n\n",
    "data:two\ndata:  three\n\n",
    ": a comment\n",
    "id: 9\n\n",
    "retry: 250\n\n",
    "event: custom\ndata\nid\n\n",
    "data: not finished",
  ].join("");
  expect(new SseReader(1_000).push(stream)).toEqual([
    { id: "7", data: "one" },
    { data: "two\n three" },
    {},
    { id: "9" },
    { retryMs: 250 },
    { data: "", id: "" },
  ]);
});

test("unknown fields are ignored", () => {
  const stream = "retry: soon\nid: a\0b\nnonsense: 1\ndata: x\n\n";
  expect(new SseReader(1_000).push(stream)).toEqual([{ data: "x" }]);
});

test("the frames are the same for any chunks and line ends", () => {
  const line = fc.constantFrom("data: a", "data: ", "id: 1", ": x", "", "retry: 5", "event: e");
  const lines = fc.array(line, { maxLength: 30 });
  const cuts = fc.array(fc.nat(200), { maxLength: 20 });
  fc.assert(
    fc.property(lines, fc.constantFrom("\n", "\r", "\r\n"), cuts, (lines, end, cuts) => {
      const stream = lines.map((text) => text + end).join("");
      const places = [
        0,
        ...cuts.filter((cut) => cut < stream.length).toSorted((a, b) => a - b),
        stream.length,
      ];
      const pieces = places.slice(1).map((place, index) => stream.slice(places[index], place));
      expect(read(pieces)).toEqual(read([lines.map((text) => `${text}\n`).join("")]));
    }),
  );
});

test.each(["data: xxxxxxxxxx", "data: x\ndata: x\ndata: x\n"])(
  "a frame above the limit is refused: %j",
  (text) => {
    const frames = new SseReader(15);
    expect(() => {
      for (const piece of text) frames.push(piece);
    }).toThrow("larger than 15 bytes");
  },
);

test("many small frames and comments are below any limit", () => {
  const frames = new SseReader(15);
  expect(frames.push(": hello\n".repeat(100))).toHaveLength(100);
  expect(frames.push("data: hello\n\n".repeat(100))).toHaveLength(100);
});

function read(pieces: readonly string[]): SseFrame[] {
  const frames = new SseReader(1_000);
  return pieces.flatMap((piece) => frames.push(piece));
}
