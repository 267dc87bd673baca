import fc from "fast-check";
import { createRuntime, memoryLog } from "troupe";
import { collect } from "troupe/testing";
import { afterAll, describe, expect, test } from "vitest";
import { echo } from "../../agents/echo.ts";
import { ofType, textsOf } from "./events.ts";

const runtime = createRuntime({ agents: [echo], log: memoryLog() });
afterAll(() => runtime.close());

describe("echo", () => {
  test("sends each word as its own text, with the space after it", async () => {
    const events = await collect(runtime, "echo", { type: "ChatRequest", input: "to be or not" });
    expect(textsOf(events)).toEqual(["to ", "be ", "or ", "not"]);
    expect(events.at(-1)).toMatchObject({
      type: "RequestCompleted",
      finish_reason: "success",
      result: "to be or not",
    });
  });

  test.each([
    ["nothing", "", []],
    ["only space", " \n\t ", [" \n\t "]],
    ["space before the first word", "  to  be", ["  to  ", "be"]],
    ["space after the last word", "to\n\nbe\n", ["to\n\n", "be\n"]],
    [
      "space of all kinds",
      "to\u00a0be\u2003or\r\nnot\u3000",
      ["to\u00a0", "be\u2003", "or\r\n", "not\u3000"],
    ],
    ["signs beyond the first plane", "😀 👨‍👩‍👧", ["😀 ", "👨‍👩‍👧"]],
  ])("keeps %s unchanged", async (_, input, texts) => {
    const events = await collect(runtime, "echo", { type: "ChatRequest", input });
    expect(textsOf(events)).toEqual(texts);
    expect(events.at(-1)).toMatchObject({ finish_reason: "success", result: input });
  });

  test("sends one text per word; the joined texts equal the input", async () => {
    const words = fc.string({
      unit: fc.constantFrom("a", "ß", "😀", "'", " ", "\n", "\t", "\u2028"),
      maxLength: 40,
    });
    await fc.assert(
      fc.asyncProperty(words, async (input) => {
        const texts = textsOf(await collect(runtime, "echo", { type: "ChatRequest", input }));
        expect(texts.join("")).toBe(input);
        expect(texts.map((text) => text.trim()).filter((word) => word !== "")).toEqual(
          input.match(/\S+/g) ?? [],
        );
      }),
    );
  });

  test("repeats a text the requested number of times", async () => {
    const events = await collect(runtime, "echo", {
      type: "OperationRequest",
      operation: "repeat",
      input: { text: "ha", times: 1000 },
    });
    expect(textsOf(events)).toEqual(Array.from({ length: 1000 }, () => "ha"));
    expect(ofType(events, "RequestCompleted")).toMatchObject([
      { finish_reason: "success", output: { text: "ha".repeat(1000) } },
    ]);
  });

  test.each([0, 1001, 1.5, "2"])("does not repeat a text %j times", async (times) => {
    const asked = runtime.process("echo", {
      type: "OperationRequest",
      operation: "repeat",
      input: { text: "ha", times },
    });
    await expect(asked).rejects.toMatchObject({ code: "unprocessable" });
  });
});
