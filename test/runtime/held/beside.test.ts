import { createRuntime, defineAgent, memoryLog } from "troupe";
import type { Agent, Turn } from "troupe";
import { expect, test } from "vitest";
import { TestHost, asked, chat } from "../test-host.ts";

type Handler = (turn: Turn) => Promise<string>;

function order(
  handler: Handler,
  options: { readonly version?: string; readonly compatible?: readonly string[] } = {},
): Agent {
  return defineAgent({
    name: "order",
    purpose: "Takes an order.",
    ...options,
    chat: async (_input, turn) => handler(turn),
  });
}

/** Asks a question after a text, and then another one. */
function asking(text: string): Handler {
  return async (turn) => {
    await turn.text(text);
    const { ok } = await turn.waitForInput({ ok: "Is it right?" });
    const { sure } = await turn.waitForInput({ sure: "Are you sure?" });
    return `${text} ${JSON.stringify([ok, sure])}`;
  };
}

const one = order(asking("One."), { version: "1" });
const two = order(asking("Two."), { version: "2" });

/** What is logged of the request, without what it asks. */
async function typesOf(host: TestHost): Promise<readonly string[]> {
  return (await host.events(asked)).map(({ type }) => type);
}

async function answer(
  host: TestHost,
  values: { readonly ok: true } | { readonly sure: true },
): Promise<void> {
  await host.ask("order", { type: "ResumeWithInput", request_id: asked, request_keys: values });
}

test("the first of several versions takes new requests, and another one continues the turns that it began", async () => {
  const host = new TestHost({ agents: [one] });
  await host.ask("order", chat);
  await host.restart([two, one]);
  await host.ask("order", { type: "ChatRequest", input: "", request_id: "later" });
  expect((await host.events("later"))[0]).toMatchObject({ type: "RequestStarted", agent_version: "2" });
  expect(host.runtime.describe("order")).toMatchObject({ version: "2" });
  expect(host.runtime.agents).toEqual(["order"]);

  await answer(host, { ok: true });
  await host.restart();
  await answer(host, { sure: true });
  expect(await host.runtime.status(asked)).toMatchObject({ result: "One. [true,true]" });
  expect(await typesOf(host)).not.toContain("RequestHeld");
  expect(host.faults).toEqual([]);
});

test("an open turn is continued by the first version that it fits: others are tried without effects", async () => {
  const tries: string[] = [];
  const tried = (text: string): Handler => {
    return async (turn) => {
      tries.push(text);
      return asking(text)(turn);
    };
  };
  const host = new TestHost({ agents: [one] });
  await host.ask("order", chat);
  await host.restart([
    order(tried("Three."), { version: "3", compatible: ["1", "2"] }),
    order(tried("Two."), { version: "2", compatible: ["1"] }),
    order(tried("One."), { version: "1" }),
  ]);
  expect(tries).toEqual([]);
  await answer(host, { ok: true });
  expect(tries).toEqual(["Three.", "Two.", "One."]);
  expect(await host.runtime.status(asked)).toMatchObject({
    status: "waiting",
    request_keys: { sure: "Are you sure?" },
  });
  await answer(host, { sure: true });
  expect(await host.runtime.status(asked)).toMatchObject({ result: "One. [true,true]" });
  expect(await typesOf(host)).not.toContain("RequestHeld");
});

test("a turn that fits none of several versions is held with the reason of the first, and continues with one that fits", async () => {
  const host = new TestHost({ agents: [one] });
  await host.ask("order", chat);
  await host.restart([order(asking("Three."), { version: "3", compatible: ["1"] }), two]);
  await answer(host, { ok: true });
  expect(await host.runtime.status(asked)).toMatchObject({
    status: "held",
    held: { code: "nondeterministic", found: 'text "Three."' },
  });
  await host.restart([order(asking("Three."), { version: "3", compatible: ["1"] }), two, one]);
  expect(await host.runtime.status(asked)).toMatchObject({ status: "waiting" });
  await answer(host, { sure: true });
  expect(await host.runtime.status(asked)).toMatchObject({ result: "One. [true,true]" });
  expect((await typesOf(host)).filter((type) => /Held|Continued/.test(type))).toEqual([
    "RequestHeld",
    "RequestContinued",
  ]);
});

test("a turn that sleeps is woken by the version that it fits", async () => {
  const sleeping = (text: string): Handler => {
    return async (turn) => {
      await turn.text(text);
      await turn.sleep(60_000);
      return text;
    };
  };
  const before = order(sleeping("One."), { version: "1" });
  const host = new TestHost({ agents: [before] });
  await host.ask("order", chat);
  await host.restart([order(sleeping("Two."), { version: "2", compatible: ["1"] }), before]);
  await host.environment.advance(60_000);
  expect(await host.runtime.status(asked)).toMatchObject({ finish_reason: "success", result: "One." });
  expect(await typesOf(host)).not.toContain("RequestHeld");
});

test("a process that dies while versions are tried does not count against the turn", async () => {
  const host = new TestHost({ agents: [one] });
  await host.ask("order", chat);
  const agents = [order(asking("Two."), { version: "2", compatible: ["1"] }), one];
  for (let start = 0; start < 6; start += 1) {
    await host.restart(agents);
    const resume = { type: "ResumeWithInput", request_id: asked, request_keys: { ok: true } } as const;
    host.planFault({ kind: "crash", written: false });
    host.runtime.process("order", resume).catch(() => {});
    await host.environment.idle();
  }
  await host.restart(agents);
  await answer(host, { ok: true });
  await answer(host, { sure: true });
  expect(await host.runtime.status(asked)).toMatchObject({ result: "One. [true,true]" });
});

test("two agents with one name and the same version are refused at the start", () => {
  const serve = (agents: readonly Agent[]): unknown => createRuntime({ agents, log: memoryLog() });
  expect(() => serve([one, two, order(asking("One."), { version: "1" })])).toThrow(
    'two agents have the name order and the version "1"',
  );
  expect(() => serve([order(asking("One.")), order(asking("Two."))])).toThrow(
    "two agents have the name order and no version",
  );
});
