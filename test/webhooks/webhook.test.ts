import { createHmac } from "node:crypto";
import { createRuntime, defineAgent, operation } from "troupe";
import type { Agent } from "troupe";
import { serve } from "troupe/node";
import { sqliteLog } from "troupe/storage/sqlite";
import { hmacSignature, webhook } from "troupe/webhooks";
import { expect, test } from "vitest";
import * as z from "zod";
import { runsLong } from "../machine/long.ts";
import { temporaryDirectory } from "../storage/directories.ts";

/** How many deliveries come twice. */
const COUNT = runsLong ? 500 : 50;

const SECRET = "the secret of the sender";

const triage: Agent = defineAgent({
  name: "triage",
  purpose: "Looks at new issues.",
  operations: {
    opened: operation({
      description: "A new issue.",
      input: z.object({ title: z.string() }),
      run: async ({ title }, turn) => turn.text(title),
    }),
  },
});

/** As GitHub sends them. */
const github = webhook({
  name: "github",
  agent: "triage",
  limitBytes: 10_000,
  verify: hmacSignature({ header: "x-hub-signature-256", prefix: "sha256=", secret: SECRET }),
  toRequest({ headers, body }) {
    const { title } = JSON.parse(body) as { readonly title?: string };
    if (title === undefined) return undefined;
    return { id: headers.get("x-github-delivery") ?? "", operation: "opened", input: { title } };
  },
});

async function start(directory: string) {
  const runtime = createRuntime({ agents: [triage], log: sqliteLog(directory) });
  await runtime.ready();
  const server = await serve(runtime, {
    token: "an-admin-token-of-a-test",
    drain: false,
    adapters: [github],
  });
  const send = async (
    id: string,
    body: string,
    secret = SECRET,
  ): Promise<[number, Record<string, unknown>]> => {
    const signature = `sha256=${createHmac("sha256", secret).update(body).digest("hex")}`;
    const answer = await fetch(`${server.url}/webhooks/github`, {
      method: "POST",
      headers: {
        "x-hub-signature-256": signature,
        "x-github-delivery": id,
        "content-type": "application/json",
      },
      body,
    });
    return [answer.status, (await answer.json()) as Record<string, unknown>];
  };
  return {
    runtime,
    send,
    url: server.url,
    async [Symbol.asyncDispose]() {
      await server.close({ graceMs: 0 });
      await runtime.close();
    },
  };
}

test("a delivery that is repeated is one turn, also at the same time and after a restart", async () => {
  const directory = temporaryDirectory();
  const body = (id: string): string => JSON.stringify({ title: `issue ${id}` });
  const ids = Array.from({ length: COUNT }, (_, at) => `delivery-${at}`);
  {
    await using server = await start(directory);
    const sent = await Promise.all([...ids, ...ids].map((id) => server.send(id, body(id))));
    expect(new Set(sent.map(([status]) => status))).toEqual(new Set([202]));
    expect(sent.filter(([, answer]) => answer["replayed"] === false)).toHaveLength(COUNT);
  }
  await using server = await start(directory);
  for (const id of ids.slice(0, 5))
    expect(await server.send(id, body(id))).toMatchObject([202, { replayed: true }]);
  const { runs, total } = await server.runtime.runs({ agent: "triage", limit: COUNT, total: true });
  expect([total, runs.reduce((sum, { turns }) => sum + turns, 0)]).toEqual([COUNT, COUNT]);
});

test("what is not from the sender is refused, and nothing else is open", async () => {
  await using server = await start(temporaryDirectory());
  const body = JSON.stringify({ title: "hello" });
  expect((await server.send("1", body, "another secret"))[0]).toBe(401);
  expect((await server.send("2", JSON.stringify({ title: "x".repeat(20_000) })))[0]).toBe(413);
  expect((await server.send("3", "no JSON"))[0]).toBe(422);
  expect((await server.send("4", JSON.stringify({ title: 5 })))[0]).toBe(422);
  expect(await server.send("5", "{}")).toEqual([200, { ignored: true }]);
  const bare = await fetch(`${server.url}/webhooks/github`, { method: "POST", body });
  expect(bare.status).toBe(401);
  expect((await fetch(`${server.url}/webhooks/other`, { method: "POST", body })).status).toBe(401);
  expect((await fetch(`${server.url}/runs`)).status).toBe(401);
  expect((await server.runtime.runs({ limit: 1, total: true })).total).toBe(0);
});

test("a signature without a secret is refused before anything is served", () => {
  expect(() => hmacSignature({ header: "x-signature", secret: "" })).toThrow(
    "the secret of the signature in x-signature is empty",
  );
});
