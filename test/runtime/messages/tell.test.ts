import { defineAgent } from "troupe";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { ofType, textsOf } from "../../agents/events.ts";
import { list } from "../actors/agents.ts";
import { TestHost, asked } from "../test-host.ts";

const board = defineAgent({
  name: "board",
  purpose: "Says the notes that it receives.",
  messages: { note: z.string() },
  async chat(_input, turn) {
    for (let note = await turn.receive("note"); note !== "end"; note = await turn.receive("note"))
      await turn.text(`${note} `);
  },
});

const teller = defineAgent({
  name: "teller",
  purpose: "Tells a board the words of its input.",
  async chat(input, turn) {
    const actor = turn.actor(board, "room");
    for (const word of input.split(" ")) await turn.tell(actor, "note", word);
    return "told";
  },
});

const wrong = defineAgent({
  name: "wrong",
  purpose: "Tells what a board does not take.",
  async chat(input, turn) {
    const actor = turn.actor(board, "room");
    if (input === "ask") await turn.ask(actor as never, "note" as never, "x");
    if (input === "body") await turn.tell(actor, "note", 5 as never);
    await turn.tell(actor, "other" as "note", "x");
  },
});

const agents = [board, teller, wrong, list];
const chat = (input: string) => ({ type: "ChatRequest", input, request_id: asked }) as const;
const listen = { type: "ChatRequest", input: "", key: "room", request_id: "listening" } as const;

describe("a tell of a message", () => {
  test("reaches the running turn of the other actor, in order, with its sender", async () => {
    const host = new TestHost({ agents });
    await host.ask("board", listen);
    const { runId } = await host.ask("teller", chat("a b c end"));
    const events = await host.events("listening");
    expect(textsOf(events)).toEqual(["a ", "b ", "c "]);
    const [first] = ofType(events, "MessageReceived");
    expect(first).toMatchObject({ name: "note", body: "a", sender: { agent: "teller", run_id: runId } });
    expect((await host.events(asked)).at(-1)).toMatchObject({ result: "told" });
    const [told] = ofType(await host.events(asked), "ToolResult");
    expect(told?.result).toEqual({ run_id: first?.run_id, request_id: first?.message_id });
  });

  test("creates the actor, and starts no turn of it", async () => {
    const host = new TestHost({ agents });
    await host.ask("teller", chat("a end"));
    const runId = (await host.runtime.find("board", "room")) ?? "";
    expect(await host.runtime.run(runId)).toMatchObject({ status: "idle", turns: 0 });
    await host.ask("board", listen);
    expect(textsOf(await host.events("listening"))).toEqual(["a "]);
  });

  test.each(Array.from({ length: 14 }, (_, commit) => commit))(
    "arrives once and in order if the process dies at commit %i",
    async (after) => {
      for (const written of [false, true]) {
        const host = new TestHost({ agents });
        await host.ask("board", listen);
        host.planFault({ kind: "crash", written, after });
        const send = chat("a b c end");
        host.runtime.process("teller", send).catch(() => {});
        await host.environment.advance(5_000);
        if (host.crashed) await host.restart();
        await host.environment.advance(5_000);
        // A client that got no answer sends its request again.
        await host.ask("teller", send);
        await host.environment.advance(5_000);
        expect(textsOf(await host.events("listening"))).toEqual(["a ", "b ", "c "]);
        expect((await host.runtime.status("listening")).finish_reason).toBe("success");
        expect((await host.runtime.status(asked)).result).toBe("told");
      }
    },
  );

  test("fails if the actor does not take it", async () => {
    for (const [input, message] of [
      ["name", /has no operation other/],
      ["body", /message note of board does not fit/],
      ["ask", /has no operation note/],
    ] as const) {
      const host = new TestHost({ agents });
      await host.ask("wrong", chat(input));
      const [error] = ofType(await host.events(asked), "ToolError");
      expect(error?.content).toMatch(message);
    }
  });

  test("waits for room in a full inbox, and then fails", async () => {
    const host = new TestHost({ agents, limits: { unreadMessages: 2 } });
    await host.ask("teller", chat("a b c"));
    await host.environment.advance(10_000);
    expect((await host.runtime.status(asked)).status).toBe("running");
    await host.ask("board", listen);
    await host.environment.advance(2_000);
    expect((await host.runtime.status(asked)).result).toBe("told");
    expect(textsOf(await host.events("listening"))).toEqual(["a ", "b ", "c "]);

    const full = new TestHost({ agents, limits: { unreadMessages: 2 } });
    await full.ask("teller", chat("a b c"));
    await full.environment.advance(61_000);
    expect(ofType(await full.events(asked), "ToolError")[0]).toMatchObject({ code: "overloaded" });
  });
});

test("code outside of turns sends messages to an actor", async () => {
  const host = new TestHost({ agents });
  const room = host.runtime.actor(board, "room");
  for (const note of ["a", "end"]) {
    const told = room.tell("note", note, { requestId: `told-${note}` });
    await host.environment.idle();
    expect(await told).toMatchObject({ kind: "message", requestId: `told-${note}` });
  }
  await host.ask("board", listen);
  expect(textsOf(await host.events("listening"))).toEqual(["a "]);
});

describe("runtime.ask", () => {
  test("gives the output of an operation, in a new run, by key, and by run id", async () => {
    const { runtime } = new TestHost({ agents });
    expect(await runtime.ask(list, "add", { item: "lost" })).toBe(1);
    expect(await runtime.ask(list, "add", { item: "a" }, { key: "shop" })).toBe(1);
    const runId = (await runtime.find("list", "shop")) ?? "";
    expect(await runtime.ask(list, "add", { item: "b" }, { runId })).toBe(2);
    expect(await runtime.ask(list, "all", {}, { key: "shop" })).toEqual({ items: ["a", "b"] });
    expect(await runtime.ask(teller, "chat", { input: "x" })).toEqual({ output: "told" });
  });

  test("throws the error of the turn, a refusal, and timeout, which leaves the turn alone", async () => {
    const host = new TestHost({ agents });
    const { runtime } = host;
    await expect(runtime.ask(list, "fail", {})).rejects.toMatchObject({
      code: "call_failed",
      message: "the list is broken",
    });
    await expect(runtime.ask(list, "add", {} as never)).rejects.toMatchObject({ code: "unprocessable" });
    const late = runtime.ask(list, "hold", {}, { requestId: "held", timeoutMs: 1_000 });
    late.catch(() => {});
    await host.environment.idle();
    await host.environment.advance(1_000);
    await expect(late).rejects.toMatchObject({ code: "timeout" });
    expect((await runtime.status("held")).status).toBe("waiting");
  });
});
