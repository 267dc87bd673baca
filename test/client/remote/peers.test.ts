import { createRuntime, defineAgent } from "troupe";
import type { Agent, Event, Principal, Runtime } from "troupe";
import { anyOf, peers, sharedToken } from "troupe/auth";
import { remoteAgent } from "troupe/client";
import { createApp } from "troupe/http";
import { expect, onTestFinished, test } from "vitest";
import { z } from "zod";
import { signClaim } from "../../../src/shared/peer-claim.ts";

const KEY = "0123456789abcdef0123456789abcdef";
const OLD = "fedcba9876543210fedcba9876543210";
const TOKEN = "a-token-of-the-far-server";
const ANN: Principal = { id: "ann", owner: "acme", roles: ["user"], name: "Ann" };
const FAY: Principal = { id: "fay", owner: "acme", roles: ["user", "finance"] };
const BOB: Principal = { id: "bob", owner: "bolt", roles: ["user"] };

const payer = defineAgent({
  name: "payer",
  purpose: "Asks finance.",
  async chat(input, turn) {
    if (input !== "ask") return input;
    const approved = z.object({ approved: z.boolean().describe("Pay?") });
    return String((await turn.waitForInput(approved, { approvers: ["finance"] })).approved);
  },
});

function start(agents: readonly Agent[]): Runtime {
  const runtime = createRuntime({ agents: [...agents] });
  onTestFinished(() => runtime.close());
  return runtime;
}

/** Two servers; the near one calls the agent of the far one with these keys. */
function startBoth(peerKeys: string): { readonly far: Runtime; readonly near: Runtime } {
  const far = start([payer]);
  const app = createApp(far, { authenticate: anyOf(peers(`${KEY},${OLD}`), sharedToken(TOKEN)) });
  const fetch = (async (input, init) => app.fetch(new Request(input, init))) as typeof globalThis.fetch;
  const agent = remoteAgent("http://localhost/payer", { fetch, token: TOKEN, peerKeys });
  return { far, near: start([agent]) };
}

async function chat(runtime: Runtime, principal: Principal, input: string, id: string): Promise<Event> {
  const own = runtime.as(principal);
  const receipt = await own.process("payer", { type: "ChatRequest", input, request_id: id });
  let last = "{}";
  for await (const { events } of (await own.answers(receipt)).pages) last = events.at(-1) ?? last;
  return JSON.parse(last) as Event;
}

async function runsOf(runtime: Runtime, principal: Principal): Promise<number> {
  return (await runtime.as(principal).runs({ limit: 10 })).runs.length;
}

test.each([KEY, `${OLD}, ${KEY}`])(
  "an agent of a peer works for the principal of its caller: %s",
  async (keys) => {
    const { far, near } = startBoth(keys);
    const end = await chat(near, ANN, "hello", "r-1");
    expect(end).toMatchObject({ finish_reason: "success", result: "hello" });
    expect([await runsOf(far, ANN), await runsOf(far, BOB)]).toEqual([1, 0]);
    const { entries } = await far.audit.list({ limit: 5 });
    expect(entries).toMatchObject([{ action: "process", owner: "acme", by: { id: "ann", name: "Ann" } }]);
  },
);

test("its questions are answered here, by who may, and a cancel reaches it", async () => {
  const { far, near } = startBoth(KEY);
  const question = { question: "Pay?", approvers: ["finance"] };
  expect(await chat(near, ANN, "ask", "r-1")).toMatchObject(question);
  const answer = { type: "ResumeWithInput", request_id: "r-1", request_keys: { approved: true } } as const;
  const refused = near.as(ANN).process("payer", answer);
  await expect(refused).rejects.toMatchObject({ code: "not_an_approver" });
  const receipt = await near.as(FAY).process("payer", answer);
  const end = await near.as(FAY).acknowledgement(receipt, { until: "completed", timeoutMs: 60_000 });
  expect(JSON.parse(end ?? "{}")).toMatchObject({ result: "true" });

  await chat(near, ANN, "ask", "r-2");
  const open = async (): Promise<number> => (await far.as(ANN).waits({ limit: 5 })).events.length;
  expect(await open()).toBe(1);
  await near.as(ANN).process("payer", { type: "CancelRequest", request_id: "r-2" });
  await expect.poll(open, { timeout: 60_000 }).toBe(0);
});

test("without keys it works for the owner of its token", async () => {
  const { far, near } = startBoth("");
  expect(await chat(near, ANN, "hello", "r-1")).toMatchObject({ finish_reason: "success" });
  expect(await runsOf(far, ANN)).toBe(0);
});

test("a claim with another key, one of another time, and one for the shared owner are of nobody", async () => {
  const whoOf = async (key: string, owner: string, ageMs: number): Promise<unknown> => {
    const token = await signClaim([key], { id: "ann", owner }, Date.now() - ageMs);
    const headers = { authorization: `Bearer ${token}` };
    return peers(KEY)(new Request("http://localhost/", { headers }), { address: "" });
  };
  expect(await whoOf(KEY, "acme", 0)).toMatchObject({ owner: "acme", roles: ["user", "peer"] });
  expect(await whoOf(OLD, "acme", 0)).toBeUndefined();
  expect(await whoOf(KEY, "acme", 300_000)).toBeUndefined();
  expect(await whoOf(KEY, "acme", -300_000)).toBeUndefined();
  expect(await whoOf(KEY, "shared", 0)).toBeUndefined();
});

test("keys that are too weak are refused at once", () => {
  expect(() => peers("short")).toThrow("peer keys must be 32 to 256");
  const weak = { peerKeys: `${KEY},` };
  expect(() => remoteAgent("http://localhost/payer", weak)).toThrow("agent payer: peer keys must be");
});
