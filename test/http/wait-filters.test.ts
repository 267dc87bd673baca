import { createRuntime, defineAgent, memoryLog } from "troupe";
import type { EventLog } from "troupe";
import { createApp } from "troupe/http";
import { collect } from "troupe/testing";
import { expect, onTestFinished, test } from "vitest";
import { z } from "zod";
import { nodeEnvironment } from "../../src/node/environment.ts";
import { startApp } from "./server.ts";
import type { App } from "./server.ts";

const clerk = defineAgent({
  name: "clerk",
  purpose: "Asks managers and owners.",
  async chat(input, turn) {
    const question = z.object({ agreed: z.boolean().describe(input) });
    return String((await turn.waitForInput(question, { approvers: ["manager", "owner"] })).agreed);
  },
});

const shop = defineAgent({
  name: "shop",
  purpose: "Asks anyone, or has the clerk ask.",
  tools: [clerk],
  async chat(input, turn) {
    if (input.startsWith("clerk ")) await turn.call(clerk, "chat", { input });
    else await turn.waitForInput(z.object({ size: z.string().describe(input) }));
    return "";
  },
});

test("open waits are selected by who asks and who may answer, page by page, and counted", async () => {
  // Each question at a time of its own: those of the same millisecond have no order of their own.
  let time = Date.now();
  const environment = { ...nodeEnvironment(), now: () => (time += 1) };
  await using server = await startApp({}, [clerk, shop], environment);
  for (const [agent, input] of [
    ["shop", "first"],
    ["clerk", "second"],
    ["shop", "clerk third"],
    ["shop", "fourth"],
    ["shop", "clerk fifth"],
  ] as const)
    await collect(server.runtime, agent, { type: "ChatRequest", input });
  const { app } = server;

  expect(await asked(app, "")).toEqual(["first", "second", "clerk third", "fourth", "clerk fifth"]);
  expect(await asked(app, "agent=shop")).toEqual(["first", "clerk third", "fourth", "clerk fifth"]);
  expect(await asked(app, "asked_by=clerk")).toEqual(["second", "clerk third", "clerk fifth"]);
  expect(await asked(app, "agent=shop&asked_by=clerk")).toEqual(["clerk third", "clerk fifth"]);
  expect(await asked(app, "approver=manager&agent=clerk")).toEqual(["second"]);
  // What everybody may answer is for each role.
  expect(await asked(app, "approver=clown")).toEqual(["first", "fourth"]);
  expect(await asked(app, "approver=clown&asked_by=clerk")).toEqual([]);
  for (const [path, total] of [
    ["/waits?limit=1&total=true", "5"],
    ["/waits?limit=1&total=all", "5"],
    ["/shop/waits?limit=1&total=true", "4"],
    ["/waits?limit=1", null],
    ["/waits?total=true&asked_by=clerk", null],
  ] as const)
    expect((await app.request(path)).headers.get("total-count")).toBe(total);
  for (const wrong of ["total=some", "asked_by=", `approver=${"x".repeat(129)}`])
    expect((await app.request(`/waits?${wrong}`)).status).toBe(400);
});

test("a page of waits that are searched has at most 1 MiB, and the next one the rest", async () => {
  await using server = await startApp({}, [clerk, shop]);
  // An event has it twice: as the question, and in the schema.
  const long = (name: string): string => `${name}${"x".repeat(120_000)}`;
  for (const input of [long("a"), "between", ...["b", "c", "d", "e"].map(long)])
    await collect(server.runtime, input === "between" ? "shop" : "clerk", { type: "ChatRequest", input });
  const pages: string[] = [];
  let path = "/waits?asked_by=clerk";
  for (;;) {
    const response = await server.app.request(path);
    pages.push((await questionsOf(response)).map((text) => text[0]).join(""));
    const next = nextOf(response);
    if (next === undefined) break;
    path = next;
  }
  expect(pages).toEqual(["abcd", "e"]);
});

test("a page looks at 10,000 waits at most for one that is searched", async () => {
  let looked = 0;
  const log = memoryLog();
  const watched: EventLog = {
    ...log,
    async waits(query) {
      const { waits } = await log.waits({ limit: 1 });
      const page = Array.from({ length: query.limit }, () => waits[0]).filter((wait) => wait !== undefined);
      looked += page.length;
      return { waits: page, next: `${looked}.1.run_x` };
    },
  };
  const runtime = createRuntime({ agents: [clerk], log: watched });
  onTestFinished(() => runtime.close());
  await collect(runtime, "clerk", { type: "ChatRequest", input: "again and again" });
  looked = 0;
  const response = await createApp(runtime, {}).request("/waits?asked_by=shop");
  expect(await questionsOf(response)).toEqual([]);
  expect(looked).toBe(10_000);
  expect(nextOf(response)).toContain("cursor=10000.1.run_x");
});

/** What the selected waits ask, read in pages of each size. */
async function asked(app: App, query: string): Promise<readonly string[]> {
  const all = await questionsOf(await app.request(`/waits?${query}`));
  for (const limit of [1, 2]) {
    const found: string[] = [];
    for (let path: string | undefined = `/waits?limit=${limit}&${query}`; path !== undefined;) {
      const response: Response = await app.request(path);
      const page = await questionsOf(response);
      expect(page.length).toBeLessThanOrEqual(limit);
      found.push(...page);
      path = nextOf(response);
    }
    expect(found).toEqual(all);
  }
  return all;
}

async function questionsOf(response: Response): Promise<readonly string[]> {
  expect(response.status).toBe(200);
  const waits = (await response.json()) as readonly { readonly request_keys: Record<string, string> }[];
  return waits.map(({ request_keys: keys }) => Object.values(keys).join(" "));
}

function nextOf(response: Response): string | undefined {
  return /<([^>]+)>; rel="next"/.exec(response.headers.get("link") ?? "")?.[1];
}
