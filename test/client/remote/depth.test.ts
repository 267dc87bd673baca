// Agents that call each other over HTTP have the same limits as on one server, and end together.
import { defineAgent } from "troupe";
import type { Agent } from "troupe";
import { createClient, remoteAgent } from "troupe/client";
import type { Event, RequestId } from "troupe/protocol";
import { collect } from "troupe/testing";
import { expect, test } from "vitest";
import { ofType } from "../../agents/events.ts";
import { completed, event, startHostile, stream } from "../hostile-server.ts";
import { start } from "../servers.ts";
import type { Served } from "../servers.ts";

const chat = { type: "ChatRequest", input: "go" } as const;

/** The addresses of servers that are started later, by the agents' names for them. */
class Addresses {
  readonly #urls = new Map<string, string>();
  /** Calls a server by its name. */
  readonly fetch: typeof fetch = (url, init) => {
    const { host, href } = new URL(url instanceof Request ? url.url : url);
    return fetch(href.replace(`http://${host}`, this.#urls.get(host) ?? ""), init);
  };

  async start(name: string, agents: readonly Agent[], depth?: number): Promise<Served> {
    const served = await start({ agents, ...(depth !== undefined && { limits: { depth } }) });
    this.#urls.set(name, served.url);
    return served;
  }
}

/** An agent that calls another twice in sequence and reports the results. */
function caller(name: string, callee: Agent): Agent {
  return defineAgent({
    name,
    purpose: "Calls another agent.",
    tools: [callee],
    async chat(_input, turn) {
      for (const input of ["first", "second"]) await turn.call(callee, "chat", { input }).catch(() => {});
    },
  });
}

async function runsOf({ runtime }: Served): Promise<readonly { agent: string; status: string }[]> {
  return (await runtime.runs({ limit: 1_000 })).runs;
}

function refusals(events: readonly Event[]): readonly string[] {
  return ofType(events, "ToolError").map(({ code, content }) => `${code}: ${content}`);
}

test("an agent that reaches itself over HTTP has the same self-call limit as a local one", async () => {
  const addresses = new Addresses();
  const itself = remoteAgent("http://near/loop", { fetch: addresses.fetch, name: "itself" });
  await using near = await addresses.start("near", [caller("loop", itself)]);
  const events = await collect(near.runtime, "loop", chat);
  expect(events.at(-1)).toMatchObject({ finish_reason: "success" });
  // One turn, with two calls each on four more levels.
  expect(await runsOf(near)).toHaveLength(31);
  const tooDeep = refusals(events).filter((text) =>
    /^too_deep: .*loop calls itself more than 4 deep/.test(text),
  );
  expect(tooDeep).toHaveLength(32);
});

test(
  "agents of two servers that call each other reach the depth limit of both",
  { tags: "long" },
  async () => {
    const addresses = new Addresses();
    const pong = remoteAgent("http://right/pong", { fetch: addresses.fetch });
    const ping = remoteAgent("http://left/ping", { fetch: addresses.fetch });
    await using left = await addresses.start("left", [caller("ping", pong)], 3);
    await using right = await addresses.start("right", [caller("pong", ping)], 3);
    const events = await collect(left.runtime, "ping", chat);
    expect(events.at(-1)).toMatchObject({ finish_reason: "success" });
    expect([(await runsOf(left)).length, (await runsOf(right)).length]).toEqual([1 + 4, 2 + 8]);
    expect(Math.max(...events.map(({ depth }) => depth))).toBe(3);
    for (const refusal of refusals(events))
      expect(refusal).toMatch(/^too_deep: .*agent calls are nested more than 3 deep/);
  },
);

test("agents that only forward to each other end where one of them would call itself too deep", async () => {
  const addresses = new Addresses();
  await using left = await addresses.start("left", [
    remoteAgent("http://right/echo", { fetch: addresses.fetch }),
  ]);
  await using right = await addresses.start("right", [
    remoteAgent("http://left/echo", { fetch: addresses.fetch }),
  ]);
  const events = await collect(left.runtime, "echo", chat);
  expect(events.at(-1)).toMatchObject({
    finish_reason: "error",
    error: { message: expect.stringContaining("echo calls itself more than 4 deep") as string },
  });
  expect([(await runsOf(left)).length, (await runsOf(right)).length]).toEqual([5, 5]);
});

test("a cancel reaches every server of a chain", { tags: "long" }, async () => {
  const addresses = new Addresses();
  const reached = Promise.withResolvers<void>();
  const last = defineAgent({
    name: "last",
    purpose: "Works until it is stopped.",
    async chat(_input, turn) {
      await turn.text("reached");
      reached.resolve();
      const { promise, reject } = Promise.withResolvers<void>();
      turn.signal.addEventListener("abort", reject);
      await promise;
    },
  });
  const far = (url: string): Agent => remoteAgent(url, { fetch: addresses.fetch });
  const second = caller("second", far("http://left/third"));
  await using left = await addresses.start("left", [
    caller("first", far("http://right/second")),
    caller("third", far("http://right/last")),
  ]);
  await using right = await addresses.start("right", [second, last]);
  const call = createClient(left.url).agent("first").chat(chat.input);
  await reached.promise;
  await call.cancel();
  await expect(call).rejects.toMatchObject({ code: "canceled" });
  for (const { runtime } of [left, right]) {
    await expect
      .poll(async () => (await runtime.runs({ limit: 10 })).runs.map(({ status }) => status))
      .toEqual(["idle", "idle"]);
    for (const { run_id } of (await runtime.runs({ limit: 10 })).runs) {
      const { events } = await runtime.read(await runtime.resolve(run_id), { after: 0 });
      expect(events.at(-1)).toContain('"finish_reason":"canceled"');
    }
  }
});

test(
  "a cancel ends all turns of an agent that calls itself over HTTP again and again",
  { tags: "long" },
  async () => {
    const addresses = new Addresses();
    const itself = remoteAgent("http://near/loop", { fetch: addresses.fetch, name: "itself" });
    const loop = defineAgent({
      name: "loop",
      purpose: "Calls itself twice at once, and never ends by itself.",
      tools: [itself],
      async chat(input, turn) {
        const calls = [0, 1].map(() => turn.call(itself, "chat", { input }).catch(() => {}));
        await Promise.all(calls);
        await turn.sleep(3_600_000);
      },
    });
    await using near = await addresses.start("near", [loop]);
    const call = createClient(near.url).agent("loop").chat(chat.input);
    await expect.poll(async () => (await runsOf(near)).length).toBeGreaterThan(3);
    await call.cancel();
    await expect.poll(async () => (await runsOf(near)).filter(({ status }) => status !== "idle")).toEqual([]);
    expect((await runsOf(near)).length).toBeLessThanOrEqual(31);
  },
);

test("a server gets the chain of its callers and its depth, and may ignore both", async () => {
  await using far = await startHostile({ getevents: stream(event(1, "RequestStarted"), completed(2)) });
  await using near = await start({ agents: [caller("boss", remoteAgent(far.url))] });
  const before = { server: "https://third.example", run_id: "run_third", request_id: "req_third" };
  const request_id = "req_mine" as RequestId;
  const events = await collect(near.runtime, "boss", {
    ...chat,
    request_id,
    caller: [before],
    depth: 2,
  });
  expect(events.at(-1)).toMatchObject({ finish_reason: "success" });
  const [body = ""] = far.asked.filter((line) => line.startsWith("POST")).map((line) => line.split(" ")[2]);
  expect(JSON.parse(body)).toMatchObject({
    caller: [before, { run_id: events[0]?.run_id, request_id }],
    depth: 3,
  });
});

test("a call with more callers than a request can name fails alone", async () => {
  await using far = await startHostile({});
  await using near = await start({ agents: [caller("boss", remoteAgent(far.url))] });
  const before = { run_id: "run_far", request_id: "req_far" };
  const events = await collect(near.runtime, "boss", {
    ...chat,
    caller: Array.from({ length: 32 }, () => before),
  });
  expect(refusals(events)[0]).toMatch(/^too_deep: .*more than 32 callers/);
  expect(far.asked.filter((line) => line.startsWith("POST"))).toEqual([]);
});
