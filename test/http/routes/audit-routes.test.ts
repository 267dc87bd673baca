import type { Principal } from "troupe";
import { expect, test } from "vitest";
import { bodyOf, post, startApp } from "../server.ts";
import type { App } from "../server.ts";

const PEOPLE: Readonly<Record<string, Principal>> = {
  ann: { id: "ann", owner: "acme", roles: ["user"], name: "Ann" },
  fin: { id: "fin", owner: "acme", roles: ["user", "finance"], name: "Finn" },
  ops: { id: "ops", owner: "default", roles: ["operator"] },
  root: { id: "root", owner: "default", roles: ["admin"] },
};

const authenticate = ({ headers }: Request): Principal | undefined =>
  PEOPLE[(headers.get("authorization") ?? "").replace("Bearer ", "")];

const as = (who: string): Readonly<Record<string, string>> => ({ authorization: `Bearer ${who}` });

async function trail(app: App, query = ""): Promise<readonly Record<string, unknown>[]> {
  const answer = await app.request(`/audit${query}`, { headers: as("ops") });
  expect(answer.status).toBe(200);
  return (await answer.json()) as Record<string, unknown>[];
}

test("the audit trail says who paid, who approved, who configured, forked and removed, for operators alone", async () => {
  await using server = await startApp({ authenticate });
  const { app } = server;
  const body = { type: "ChatRequest", input: "pay 300 to bob", request_id: "order-1" };
  const asked = await bodyOf(await post(app, "/payments/process?wait=completed", body, as("ann")));
  const { run_id: run, id: wait } = asked as { run_id: string; id: number };
  const answer = { type: "ResumeWithInput", request_id: "order-1", request_keys: { approved: true } };
  const answered = await bodyOf(await post(app, "/payments/process?wait=completed", answer, as("fin")));
  const { id: end } = answered as { id: number };
  await post(app, "/echo/configure", { args: {}, run_id: run }, as("ann"));
  const config = await post(app, "/echo/configure?wait=true", { args: { suffix: "!" } }, as("root"));
  expect(config.status).toBe(200);
  expect((await post(app, `/runs/${run}/fork`, { after: end }, as("ops"))).status).toBe(201);
  expect((await app.request(`/runs/${run}`, { method: "DELETE", headers: as("fin") })).status).toBe(204);

  const ann = { id: "ann", name: "Ann" };
  const fin = { id: "fin", name: "Finn" };
  const of = { owner: "acme", run_id: run };
  expect(await trail(app, `?run_id=${run}`)).toEqual([
    expect.objectContaining({ ...of, by: fin, action: "remove" }),
    expect.objectContaining({ ...of, by: fin, action: "answer", request_id: "order-1", event: wait + 1 }),
    expect.objectContaining({ ...of, by: ann, action: "process", request_id: "order-1" }),
  ]);
  expect(await trail(app, "?action=configure")).toEqual([
    expect.objectContaining({ by: { id: "root" }, owner: "default" }),
  ]);
  expect(await trail(app, "?action=fork&owner=acme")).toEqual([
    expect.objectContaining({ by: { id: "ops" }, agent: "payments", detail: `from ${run}` }),
  ]);

  // Its pages have a link to the next one, and all of them are the whole.
  const first = await app.request("/audit?limit=2", { headers: as("ops") });
  const [, next = ""] = /<(.*)>; rel="next"/.exec(first.headers.get("link") ?? "") ?? [];
  const rest = await app.request(`${next}&limit=1000`.replace("limit=2&", ""), { headers: as("ops") });
  const pages = [...((await first.json()) as unknown[]), ...((await rest.json()) as unknown[])];
  expect(pages).toEqual(await trail(app));
  expect((await app.request("/audit", { headers: as("ann") })).status).toBe(403);
  expect((await app.request("/audit?action=nothing", { headers: as("ops") })).status).toBe(400);
  expect((await app.request("/audit?from=yesterday", { headers: as("ops") })).status).toBe(400);
  expect((await app.request("/audit?cursor=x", { headers: as("ops") })).status).toBe(400);
  expect(await trail(app, "?from=2100-01-01")).toEqual([]);
});

test("a refused request is in the trail without its body, and the same ones together", async () => {
  await using server = await startApp({ authenticate });
  const { app } = server;
  for (let times = 0; times < 3; times += 1)
    expect((await post(app, "/erase", { owner: "canary-1" }, as("ann"))).status).toBe(403);
  expect((await app.request("/metrics", { headers: as("ann") })).status).toBe(403);
  expect((await post(app, "/echo/configure", { args: { a: "canary-2" } }, as("ann"))).status).toBe(403);
  const refused = await trail(app, "?action=refuse");
  expect(refused).toHaveLength(3);
  expect(refused).toContainEqual(
    expect.objectContaining({ by: { id: "ann", name: "Ann" }, owner: "acme", count: 3 }),
  );
  expect(JSON.stringify(refused)).not.toContain("canary");
});

test("a server without authentication has an empty trail", async () => {
  await using server = await startApp();
  await post(server.app, "/echo/process?wait=completed", { type: "ChatRequest", input: "hi" });
  expect((await server.runtime.audit.list({ limit: 10 })).entries).toEqual([]);
});
