// The lists of a server: open waits, and the stream of runs.
import { createClient } from "troupe/client";
import type { RunChange } from "troupe/client";
import type { Event } from "troupe/protocol";
import { expect, test } from "vitest";
import { echo } from "../../agents/echo.ts";
import { payments } from "../../agents/payments.ts";
import { event, json, open, startHostile } from "./hostile-server.ts";
import type { Handler } from "./hostile-server.ts";
import { start } from "./servers.ts";

test("the open waits of all runs are answered from their list", async () => {
  await using server = await start({ agents: [echo, payments] });
  const client = createClient(server.url);
  const calls = ["bob", "eve"].map((to) => client.agent("payments").call("pay", { to, amount: 3 }));
  for (const call of calls) await expect(call).rejects.toMatchObject({ code: "waiting" });
  const page = await client.waits();
  expect(page?.waits.map(({ questions, agent }) => [agent, questions])).toEqual([
    ["payments", { approved: "Pay 3 to bob?" }],
    ["payments", { approved: "Pay 3 to eve?" }],
  ]);
  await page?.waits[0]?.answer({ approved: true });
  expect(await calls[0]).toEqual({ receipt: "bob:3" });
  expect((await client.waits())?.waits.map(({ requestId }) => requestId)).toEqual([calls[1]?.requestId]);
  expect((await client.waits({ agent: "echo" }))?.waits).toEqual([]);
  expect((await client.waits({ askedBy: "payments", approver: "manager" }))?.waits).toHaveLength(1);
  expect((await client.waits({ askedBy: "echo" }))?.waits).toEqual([]);
});

test("an open wait is read as the server has it in its log", async () => {
  const asked = { request_keys: { ok: "Really?" }, wait_id: 7, call_id: "c1.2", expires_at: "2026-01-02" };
  await using far = await startHostile({
    waits: json([event(7, "WaitForInput", asked)]),
    request: json({ request_id: "req_1", run_id: "run_1", agent: "asker" }),
  });
  const page = await createClient(far.url).waits();
  expect(page?.waits).toMatchObject([
    { waitId: 7, requestId: "req_1", runId: "run_1", questions: { ok: "Really?" }, expiresAt: "2026-01-02" },
  ]);
  await page?.waits[0]?.answer({ ok: true }).catch(() => {});
  expect(far.asked.at(-1)).toContain("POST /fiend/asker/process");
});

test("a list whose next page is always the same one ends with an error", async () => {
  const again =
    (items: readonly object[], next: string): Handler =>
    (response, request) => {
      response.setHeader("link", `<?${next}>; rel="next"`);
      json(items)(response, request);
    };
  await using far = await startHostile({
    getevents: again([event(1, "RequestStarted")], "since=1"),
    runs: again([{ run_id: "run_1" }], "cursor=abc"),
    waits: again([], "cursor=abc"),
  });
  const client = createClient(far.url);
  const fault = {
    code: "call_failed",
    message: expect.stringContaining("names a next page that was read before") as string,
  };
  const read: Event[] = [];
  await expect(
    (async () => {
      for await (const event of client.run("run_1").events({ soFar: true })) read.push(event);
    })(),
  ).rejects.toMatchObject(fault);
  expect(read).toHaveLength(1);

  const { next = "" } = await client.runs();
  await expect(client.runs({ cursor: next })).rejects.toMatchObject(fault);
  await expect(client.waits({ cursor: next })).rejects.toMatchObject(fault);
});

test("a list whose pages point at each other ends with an error, and one that is read twice does not", async () => {
  const pages: Handler = (response, request) => {
    const { searchParams: query, pathname } = new URL(request.url ?? "", "http://far");
    const cursor = query.get("cursor") ?? query.get("since") ?? "0";
    const isEnd = query.get("q") === "ends" && cursor === "3";
    const next = cursor === "3" ? "1" : String(Number(cursor) + 1);
    const name = pathname.includes("getevents") ? "since" : "cursor";
    if (!isEnd) response.setHeader("link", `<?${name}=${next}>; rel="next"`);
    json([])(response, request);
  };
  await using far = await startHostile({ getevents: pages, runs: pages, waits: pages });
  const client = createClient(far.url);
  const all = async (ask: (cursor: object) => Promise<{ readonly next?: string } | undefined>) => {
    let cursor = {};
    for (;;) {
      const next = (await ask(cursor))?.next;
      if (next === undefined) return;
      cursor = { cursor: next };
    }
  };
  const fault = { code: "call_failed", message: expect.stringContaining("read before") as string };
  await expect(all((cursor) => client.runs(cursor))).rejects.toMatchObject(fault);
  await expect(all((cursor) => client.waits(cursor))).rejects.toMatchObject(fault);
  const events = async (): Promise<void> => {
    for await (const _ of client.run("run_1").events({ soFar: true }));
  };
  await expect(events()).rejects.toMatchObject(fault);
  for (let times = 0; times < 2; times += 1) await all((cursor) => client.runs({ ...cursor, q: "ends" }));
  expect(far.asked.filter((asked) => asked.includes("q=ends"))).toHaveLength(8);
});

test("the stream of runs begins again with the first page when the connection breaks", async () => {
  let connections = 0;
  const row = (id: string): string => `data: {"run_id":"${id}","updated_at":"2026"}\n\n`;
  await using far = await startHostile({
    runs: (response) => {
      connections += 1;
      const stream = open(response);
      stream.write("retry: 1000\n\n");
      if (connections === 1) stream.end(row("run_1") + row("run_2"));
      else stream.write(`${row("run_1")}: heartbeat\n\ndata: {"run_id":"run_2","removed":true}\n\n`);
    },
  });
  const changes: RunChange[] = [];
  for await (const change of createClient(far.url).watchRuns()) {
    changes.push(change);
    if ("removed" in change) break;
  }
  expect(changes.map((change) => [change.run_id, "removed" in change])).toEqual([
    ["run_1", false],
    ["run_2", false],
    ["run_1", false],
    ["run_2", true],
  ]);
});
