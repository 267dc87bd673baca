import { createRuntime, memoryLog } from "troupe";
import { collect } from "troupe/testing";
import { afterAll, describe, expect, test } from "vitest";
import { order } from "../../../agents/order.ts";
import { ofType, requestOf, textsOf, theOne } from "../events.ts";

const runtime = createRuntime({ agents: [order], log: memoryLog() });
afterAll(() => runtime.close());

describe("order", () => {
  test("shows its states, and writes a delivery note through another agent while it packs", async () => {
    const input = { item: "a lamp" };
    const booked = await collect(runtime, "order", { type: "OperationRequest", operation: "book", input });
    expect(await runtime.status(requestOf(booked))).toMatchObject({
      status: "waiting",
      state: "booked",
      accepts: ["abort"],
    });
    const shipped = await collect(runtime, "order", {
      type: "ResumeWithInput",
      request_id: requestOf(booked),
      request_keys: { confirmed: true },
    });
    expect(theOne(shipped, "ToolCall")).toMatchObject({
      function_name: "note",
      callee: { kind: "agent", name: "pdf-writer" },
    });
    expect(theOne(shipped, "ArtifactGenerated")).toMatchObject({ name: "Delivery note.pdf", depth: 1 });
    const states = ofType(shipped, "StateChanged").map(({ value }) => value);
    expect(states[0]).toEqual({ packing: { box: "filling", note: "writing" } });
    expect(states.at(-1)).toBe("shipped");
  });

  test("is aborted while it waits for a person, and refuses what it does not take", async () => {
    const booked = await collect(runtime, "order", {
      type: "OperationRequest",
      operation: "book",
      input: {},
    });
    const run_id = booked[0]?.run_id ?? "";
    const again = { type: "OperationRequest", operation: "book", input: {}, run_id } as const;
    await expect(runtime.process("order", again)).rejects.toMatchObject({
      code: "not_accepted",
      details: { facts: { accepts: ["abort"] } },
    });
    await runtime.process("order", { type: "OperationRequest", operation: "abort", input: {}, run_id });
    const events = await collect(runtime, "order", {
      type: "ResumeWithInput",
      request_id: requestOf(booked),
      request_keys: { confirmed: true },
    }).catch((error: unknown) => error);
    expect(events).toMatchObject({ code: "conflict" });
    const { pages } = await runtime.follow(await runtime.resolve(requestOf(booked)), { after: 0 });
    const texts: string[] = [];
    for await (const page of pages) texts.push(...page.events.map(String));
    expect(JSON.parse(texts.at(-1) ?? "")).toMatchObject({
      finish_reason: "success",
      result: "Booked your order.\nCanceled your order.\n",
    });
  });

  test("books an item and ships it after a confirmation", async () => {
    const booked = await collect(runtime, "order", {
      type: "OperationRequest",
      operation: "book",
      input: { item: "a lamp" },
    });
    expect(textsOf(booked)).toEqual(["Booked a lamp.\n"]);
    expect(booked.at(-1)).toMatchObject({
      type: "WaitForInput",
      request_keys: { confirmed: "Ship it?" },
    });

    const shipped = await collect(runtime, "order", {
      type: "ResumeWithInput",
      request_id: requestOf(booked),
      request_keys: { confirmed: true },
    });
    expect(textsOf(shipped)).toEqual(["Shipped a lamp.\n"]);
    expect(shipped.at(-1)).toMatchObject({
      type: "RequestCompleted",
      finish_reason: "success",
      result: "Booked a lamp.\nShipped a lamp.\n",
      output: { item: "a lamp", shipped: true },
    });
  });

  test("ships nothing without a confirmation", async () => {
    const booked = await collect(runtime, "order", {
      type: "OperationRequest",
      operation: "book",
      input: { item: "a lamp" },
    });
    const canceled = await collect(runtime, "order", {
      type: "ResumeWithInput",
      request_id: requestOf(booked),
      request_keys: { confirmed: false },
    });
    expect(textsOf(canceled)).toEqual(["Canceled a lamp.\n"]);
    expect(canceled.at(-1)).toMatchObject({ finish_reason: "success", output: { shipped: false } });
  });

  test("keeps waiting when the answer is not a boolean", async () => {
    const booked = await collect(runtime, "order", { type: "ChatRequest", input: "book" });
    const request_id = requestOf(booked);
    const answered = runtime.process("order", {
      type: "ResumeWithInput",
      request_id,
      request_keys: { confirmed: "yes" },
    });
    await expect(answered).rejects.toMatchObject({ code: "unprocessable" });
    expect(await runtime.status(request_id)).toMatchObject({ status: "waiting" });
  });

  test.each([
    ["book", "Booked your order.\n"],
    ["book a chair", "Booked a chair.\n"],
    ["a chair", "Booked a chair.\n"],
    ["", "Booked your order.\n"],
  ])("accepts %j in a chat", async (input, text) => {
    const events = await collect(runtime, "order", { type: "ChatRequest", input });
    expect(textsOf(events)).toEqual([text]);
    expect(events.at(-1)).toMatchObject({ type: "WaitForInput" });
  });
});
