import { expect, test } from "vitest";
import { notebook } from "../../../agents/notebook.ts";
import { readRunsPage } from "../../../src/http/routes/run-routes.ts";
import type { RunsPage, RunsQuery } from "../../../src/runtime/lists.ts";
import { bodyOf, post, startApp } from "../server.ts";

test("a run is forked at the end of a turn, and both runs continue independently", async () => {
  await using server = await startApp({}, [notebook]);
  const first = await bodyOf(await post(server.app, "/notebook/process?wait=completed", { input: "one" }));

  const answer = await post(server.app, `/runs/${String(first["run_id"])}/fork`, { after: first["id"] });
  expect(answer.status).toBe(201);
  const forked = await bodyOf(answer);
  expect(forked).toMatchObject({ forked_from: { run_id: first["run_id"], id: first["id"] } });
  expect(answer.headers.get("location")).toBe(`/events/${String(forked["run_id"])}`);

  const request = { input: "two", run_id: forked["run_id"] };
  const second = await bodyOf(await post(server.app, "/notebook/process?wait=completed", request));
  expect(second["result"]).toContain("one");
  expect(second["result"]).toContain("two");
});

test.each([{}, { after: -1 }, { after: 1.5 }, { after: "1" }, null])(
  "a fork needs a fork point (%j)",
  async (body) => {
    await using server = await startApp({}, [notebook]);
    const first = await bodyOf(await post(server.app, "/notebook/process?wait=completed", { input: "one" }));
    const answer = await post(server.app, `/runs/${String(first["run_id"])}/fork`, body);
    expect(answer.status).toBe(400);
    expect(await bodyOf(answer)).toMatchObject({ errors: [{ path: "after" }] });
  },
);

test("a page of the list of runs has at most 1 MiB, and the pages contain every run once", async () => {
  await using server = await startApp({}, [notebook]);
  const lengths = [100, 250_000, 250_000, 10, 250_000, 250_000, 250_000, 20, 250_000];
  const created: string[] = [];
  for (const length of lengths) {
    created.push(await server.runtime.createRun("notebook", { input: "é".repeat(length / 2) }));
  }

  const listed: unknown[] = [];
  let pages = 0;
  for (let path: string | undefined = "/runs?limit=50"; path !== undefined; pages += 1) {
    const answer: Response = await server.app.request(path);
    const body = await answer.text();
    expect(Buffer.byteLength(body)).toBeLessThanOrEqual(1_048_576);
    const runs = JSON.parse(body) as { readonly run_id: string }[];
    expect(runs).not.toEqual([]);
    listed.push(...runs.map((run) => run.run_id));
    path = /<(.*)>/.exec(answer.headers.get("link") ?? "")?.[1];
  }
  expect(pages).toBe(2);
  expect(listed).toHaveLength(created.length);
  expect(new Set(listed)).toEqual(new Set(created));
});

test("a page has the runs that fit into its bytes", async () => {
  await using server = await startApp({}, [notebook]);
  const input = "x".repeat(250_000);
  for (let run = 0; run < 10; run += 1) await server.runtime.createRun("notebook", { input });
  const counts: number[] = [];
  for (let path: string | undefined = "/runs"; path !== undefined;) {
    const answer: Response = await server.app.request(path);
    counts.push(((await answer.json()) as unknown[]).length);
    path = /<(.*)>/.exec(answer.headers.get("link") ?? "")?.[1];
  }
  expect(counts).toEqual([4, 4, 2]);
});

test("a run of an older log that is larger than a page gets its own page", async () => {
  await using server = await startApp({}, [notebook]);
  await server.runtime.createRun("notebook", { input: "small" });
  const { runs } = await server.runtime.runs({ limit: 1 });
  const [small] = runs;
  const large = small && { ...small, initial_input: "x".repeat(1_100_000) };
  const listed = [small, large, small].flatMap((run) => run ?? []);
  const older = {
    async runs({ limit, cursor = "0" }: RunsQuery): Promise<RunsPage> {
      const end = Number(cursor) + limit;
      return {
        runs: listed.slice(Number(cursor), end),
        ...(end < listed.length && { next: String(end) }),
      };
    },
  };
  const first = await readRunsPage(older, { limit: 100 });
  const second = await readRunsPage(older, { limit: 100, ...(first.next && { cursor: first.next }) });
  const third = await readRunsPage(older, { limit: 100, ...(second.next && { cursor: second.next }) });
  const counts = [first, second, third].map(({ json }) => (JSON.parse(json) as unknown[]).length);
  expect(counts).toEqual([1, 1, 1]);
  expect(third.next).toBeUndefined();
});

test("the limit of the list of runs must be at least one", async () => {
  await using server = await startApp();
  const answer = await server.app.request("/runs?limit=0");
  expect(answer.status).toBe(400);
  expect(await bodyOf(answer)).toMatchObject({ errors: [{ path: "limit" }] });
});

test("a run cannot be forked in the middle of a turn, nor an unknown run", async () => {
  await using server = await startApp({}, [notebook]);
  const first = await bodyOf(await post(server.app, "/notebook/process?wait=completed", { input: "one" }));
  expect((await post(server.app, `/runs/${String(first["run_id"])}/fork`, { after: 1 })).status).toBe(409);
  expect((await post(server.app, "/runs/run_unknown/fork", { after: 0 })).status).toBe(404);
});

test("a run is created, continued and listed by its key", async () => {
  await using server = await startApp();
  const body = { input: "hi", key: "user:ada@home" };
  const first = await bodyOf(await post(server.app, "/echo/process?wait=completed", body));
  const second = await bodyOf(
    await post(server.app, "/echo/process?wait=completed&key=user:ada@home", { input: "again" }),
  );
  expect(second["run_id"]).toBe(first["run_id"]);
  const list = async (path: string): Promise<unknown> => (await server.app.request(path)).json();
  const found = [
    expect.objectContaining({ run_id: first["run_id"], turns: 2, key: "user:ada@home" }) as unknown,
  ];
  expect(await list("/echo/runs?key=user:ada@home")).toEqual(found);
  expect(await list("/runs?agent=echo&key=user:ada@home")).toEqual(found);
  expect(await list("/payments/runs?key=user:ada@home")).toEqual([]);
  expect((await list("/echo/runs")) as object[]).not.toEqual([expect.objectContaining({ metadata: {} })]);
  expect((await server.app.request("/runs?key=a")).status).toBe(400);
  expect((await server.app.request("/echo/runs?key=a%20b")).status).toBe(400);
  const answer = { type: "ResumeWithInput", key: "unknown", request_keys: {} };
  expect((await post(server.app, "/payments/process", answer)).status).toBe(404);
  const wrong = await post(server.app, "/echo/process", { input: "", key: "a b" });
  expect(await bodyOf(wrong)).toMatchObject({ status: 400, errors: [{ path: "key" }] });
});
