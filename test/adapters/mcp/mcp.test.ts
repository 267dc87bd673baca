import { defineAgent, operation } from "troupe";
import type { Agent } from "troupe";
import { mcp } from "troupe/adapters/mcp";
import type { ServeOptions } from "troupe/node";
import { describe, expect, onTestFinished, test } from "vitest";
import { z } from "zod";
import { echo } from "../../../agents/echo.ts";
import { interviewer } from "../../../agents/interviewer.ts";
import { payments } from "../../../agents/payments.ts";
import { RestartableServer } from "../restartable-server.ts";
import { connectNew, connectOld, idsOf, textOf } from "./clients.ts";
import type { Connect, Form } from "./clients.ts";
import { shortened } from "../../machine/long.ts";

const clients: readonly (readonly [name: string, connect: Connect])[] = [
  ["the client of 2026", connectNew],
  ["the client of 2025", connectOld],
];

async function start(
  agents: readonly Agent[],
  settings: ServeOptions = {},
  durable = false,
): Promise<RestartableServer> {
  const server = new RestartableServer(agents, { serve: { adapters: [mcp()], ...settings }, durable }, () =>
    mcp(),
  );
  await server.listen();
  onTestFinished(() => server[Symbol.asyncDispose]());
  return server;
}

/** The status of a request, over the native protocol. */
async function statusOf(
  { url }: { readonly url: string },
  requestId: string,
): Promise<{ readonly status: string; readonly finish_reason?: string; readonly result?: string }> {
  return (await (await fetch(`${url}/request/${requestId}`)).json()) as never;
}

const store = defineAgent({
  name: "store",
  purpose: "Counts and makes files.",
  operations: {
    stock: operation({
      description: "Tells how much is there.",
      read: true,
      input: z.object({ item: z.string() }),
      output: z.object({ item: z.string(), left: z.int() }),
      run: ({ item }) => ({ item, left: 3 }),
    }),
    double: operation({
      description: "Doubles.",
      input: z.number(),
      output: z.number(),
      run: (value) => value * 2,
    }),
    fail: operation({
      description: "Fails.",
      input: z.object({}),
      output: z.object({}),
      run() {
        throw new Error("out of stock");
      },
    }),
  },
  async chat(input, turn) {
    if (input === "report") {
      await turn.artifact({ name: "report.txt", mimeType: "text/plain", data: "all is well" });
      await turn.artifact({ name: "dot.png", mimeType: "image/png", data: new Uint8Array([1, 2, 3]) });
    }
    await turn.text(`got ${input}`);
  },
});

describe.each(shortened(clients, 1))("%s", (_name, connect) => {
  test("lists the chat and the operations of every agent with their schemas, and calls them", async () => {
    const server = await start([echo, store]);
    const client = await connect(server.url);
    const tools = await client.list();
    expect(tools.map(({ name }) => name)).toEqual(
      ["echo", "echo__repeat", "store", "store__stock", "store__double", "store__fail", "answer"].sort(
        (a, b) => tools.findIndex((tool) => tool.name === a) - tools.findIndex((tool) => tool.name === b),
      ),
    );
    const byName = new Map(tools.map((tool) => [tool.name, tool]));
    expect(byName.get("echo")).toMatchObject({
      description: "Repeats a text word by word.",
      inputSchema: {
        properties: { input: { type: "string" }, run_id: { type: "string" } },
        required: ["input"],
      },
    });
    expect(byName.get("store__stock")).toMatchObject({
      description: "Tells how much is there.",
      inputSchema: { properties: { item: { type: "string" }, run_id: {} }, required: ["item"] },
      outputSchema: { type: "object" },
      annotations: { readOnlyHint: true },
    });

    const said = await client.call("echo", { input: "hello big world" });
    expect(textOf(said)).toBe("hello big world");
    expect(await statusOf(server, idsOf(said).request_id)).toMatchObject({
      status: "completed",
      result: "hello big world",
    });
    expect((await client.call("echo__repeat", { text: "ab", times: 2 })).structuredContent).toEqual({
      text: "abab",
    });
    expect((await client.call("store__stock", { item: "nails" })).structuredContent).toEqual({
      item: "nails",
      left: 3,
    });
    const doubled = await client.call("store__double", { input: 21 });
    expect(doubled.structuredContent).toEqual(client.revision === "2026-07-28" ? 42 : { result: 42 });
  });

  test("goes on in a run, which is a resource with its events", async () => {
    const server = await start([echo]);
    const client = await connect(server.url);
    const first = idsOf(await client.call("echo", { input: "one" }));
    const second = idsOf(await client.call("echo", { input: "two", run_id: first.run_id }));
    expect(second.run_id).toBe(first.run_id);
    expect(second.request_id).not.toBe(first.request_id);
    const [run] = await client.resources();
    expect(run).toMatchObject({ uri: `run://${first.run_id}`, title: "echo: one" });
    const { text = "", mimeType } = await client.read(`run://${first.run_id}`);
    expect(mimeType).toBe("application/json");
    const events = JSON.parse(text) as readonly { readonly id: number; readonly type: string }[];
    expect(events.map(({ id }) => id)).toEqual(events.map((_, index) => index + 1));
    expect(events.filter(({ type }) => type === "RequestCompleted")).toHaveLength(2);
    const rest = await client.read(`run://${first.run_id}?after=2`);
    expect(JSON.parse(rest.text ?? "")).toEqual(events.slice(2));
  });

  test("reads the files of an agent by the links of its results", async () => {
    const server = await start([store]);
    const client = await connect(server.url);
    const { content } = await client.call("store", { input: "report" });
    const links = content.filter((part) => part.type === "resource_link");
    expect(links).toMatchObject([
      { name: "report.txt", mimeType: "text/plain", size: 11 },
      { name: "dot.png", mimeType: "image/png", size: 3 },
    ]);
    const [text, image] = links;
    expect(await (await fetch(text?.uri ?? "")).text()).toBe("all is well");
    expect(await client.read(text?.uri ?? "")).toMatchObject({ text: "all is well" });
    expect(await client.read(image?.uri ?? "")).toMatchObject({ blob: "AQID" });
    for (const uri of [
      `${server.url}/artifacts/art_none`,
      "run://run_none",
      "file:///etc/passwd",
      "run://../x",
    ])
      await expect(client.read(uri)).rejects.toMatchObject({ code: -32602 });
  });

  test("hears what the agent says while it works", async () => {
    const server = await start([echo]);
    const client = await connect(server.url);
    const heard: { readonly progress: number; readonly message?: string | undefined }[] = [];
    await client.call("echo", { input: "a b c" }, { onprogress: (progress) => heard.push(progress) });
    expect(heard.map(({ message = "" }) => message).join("")).toBe("a b c");
    expect(heard.map(({ progress }) => progress)).toEqual(heard.map((_, index) => index + 1));
  });

  test("gets faults as results that a model can read", async () => {
    const server = await start([echo, store]);
    const client = await connect(server.url);
    const misfit = await client.call("echo__repeat", { text: "ab", times: "many" });
    expect(misfit).toMatchObject({ isError: true });
    expect(textOf(misfit)).toContain("times");
    const failed = await client.call("store__fail", {});
    expect(failed.isError).toBe(true);
    expect(textOf(failed)).toContain("out of stock");
    expect(textOf(await client.call("echo", { input: "x", run_id: "run_none" }))).toContain("run_none");
    expect(textOf(await client.call("echo", { input: "x", run_id: 7 }))).toContain("run_id");
    await expect(client.call("nobody", {})).rejects.toMatchObject({ code: -32602 });
    await expect(client.call("echo__nothing", {})).rejects.toMatchObject({ code: -32602 });
  });

  test("gets the question of an agent as a result and answers it with the tool answer, also after a restart", async () => {
    const server = await start([payments], {}, true);
    const asked = await (await connect(server.url)).call("payments__pay", { to: "bob", amount: 3 });
    expect(textOf(asked)).toContain("Pay 3 to bob?");
    const { request_id } = idsOf(asked);
    expect(asked.structuredContent).toMatchObject({
      waiting: { request_id, waits: [{ request_keys: { approved: "Pay 3 to bob?" } }] },
    });
    await server.restart();
    const client = await connect(server.url);
    const misfit = await client.call("answer", { request_id, values: { approved: "perhaps" } });
    expect(misfit.isError).toBe(true);
    expect(textOf(misfit)).toContain("approved");
    expect(await statusOf(server, request_id)).toMatchObject({ status: "waiting" });
    const paid = await client.call("answer", { request_id, values: { approved: true } });
    expect(paid.structuredContent).toEqual({ receipt: "bob:3" });
    expect(textOf(await client.call("answer", { request_id, values: { approved: false } }))).toMatch(
      /different answer/,
    );
    expect((await client.call("answer", { request_id })).structuredContent).toEqual({ receipt: "bob:3" });
  });

  test("answers two questions one after the other, in any order", async () => {
    const server = await start([interviewer]);
    const client = await connect(server.url);
    const asked = await client.call("interviewer", { input: "" });
    const { request_id } = idsOf(asked);
    const { waiting } = asked.structuredContent as {
      readonly waiting: {
        readonly waits: readonly { readonly wait_id: number; readonly request_keys: object }[];
      };
    };
    const colour = waiting.waits.find(({ request_keys: keys }) => "colour" in keys);
    const left = await client.call("answer", {
      request_id,
      wait_id: colour?.wait_id,
      values: { colour: "red" },
    });
    expect(textOf(left)).toContain("What is your name?");
    expect(textOf(left)).not.toContain("colour?");
    expect(textOf(await client.call("answer", { request_id, values: "Ada" }))).toBe("Ada likes red.");
  });

  test("cancels the request of a call that it gives up", async () => {
    const began = Promise.withResolvers<void>();
    const ended = Promise.withResolvers<unknown>();
    const sleeper = defineAgent({
      name: "sleeper",
      purpose: "Sleeps.",
      async chat(_input, turn) {
        await turn.text("sleeping");
        turn.signal.addEventListener("abort", () => ended.resolve(turn.signal.reason));
        began.resolve();
        await ended.promise;
        return "woken";
      },
    });
    const server = await start([sleeper]);
    const client = await connect(server.url);
    const giveUp = new AbortController();
    const requestId = "sleep";
    const call = client.call("sleeper", { input: "" }, { signal: giveUp.signal, requestId });
    await began.promise;
    // The old client says that it gives up on another connection, and leaves this one open.
    await (client.revision === "2026-07-28" ? giveUp.abort() : client.close());
    await expect(call).rejects.toThrow(/abort|closed/i);
    await ended.promise;
    const feed = await server.runtime.follow(await server.runtime.resolve(requestId), { after: 0 });
    for await (const { last } of feed.pages) if (last) break;
    expect(await statusOf(server, requestId)).toMatchObject({ finish_reason: "canceled" });
  });

  test("repeats a call with the same request id, and it is one turn", async () => {
    const server = await start([echo]);
    const client = await connect(server.url);
    const first = await client.call("echo", { input: "once" }, { requestId: "mine" });
    expect(idsOf(first).request_id).toBe("mine");
    expect(idsOf(await client.call("echo", { input: "once" }, { requestId: "mine" }))).toEqual(idsOf(first));
    const other = await client.call("echo", { input: "twice" }, { requestId: "mine" });
    expect(other).toMatchObject({ isError: true, _meta: { code: "conflict" } });
  });

  test("sees only the tools and runs of one agent at its own path", async () => {
    const server = await start([echo, payments]);
    const all = await connect(server.url);
    const { request_id, run_id } = idsOf(await all.call("payments", { input: "pay 3 to bob" }));
    const client = await connect(server.url, { path: "/mcp/echo" });
    expect((await client.list()).map(({ name }) => name).sort()).toEqual(["answer", "echo", "echo__repeat"]);
    await expect(client.call("payments", { input: "pay 3 to bob" })).rejects.toMatchObject({ code: -32602 });
    expect(await client.resources()).toEqual([]);
    await expect(client.read(`run://${run_id}`)).rejects.toMatchObject({ code: -32602 });
    expect(await client.call("answer", { request_id, values: { approved: true } })).toMatchObject({
      isError: true,
    });
    expect(await statusOf(server, request_id)).toMatchObject({ status: "waiting" });
  });
});

describe("a client with forms", () => {
  test("asks its user, and the call goes on", async () => {
    const server = await start([payments]);
    const forms: Form[] = [];
    const client = await connectNew(server.url, {
      elicit(form) {
        forms.push(form);
        return { action: "accept", content: { approved: true } };
      },
    });
    const paid = await client.call("payments__pay", { to: "bob", amount: 3 });
    expect(paid.structuredContent).toEqual({ receipt: "bob:3" });
    expect(forms).toMatchObject([
      {
        message: "Pay 3 to bob?",
        requestedSchema: { properties: { approved: { type: "boolean" } }, required: ["approved"] },
      },
    ]);
    const tool = (await client.list()).find(({ name }) => name === "payments__pay");
    expect(tool?.outputSchema).toMatchObject({ properties: { receipt: {} } });
  });

  test("shows two questions at once", async () => {
    const server = await start([interviewer]);
    const client = await connectNew(server.url, {
      elicit: ({ requestedSchema: { properties } }) => ({
        action: "accept",
        content: "name" in properties ? { name: "Ada" } : { colour: "red" },
      }),
    });
    expect(textOf(await client.call("interviewer", { input: "" }))).toBe("Ada likes red.");
  });

  test("goes on over another connection after a restart with the state that it has kept", async () => {
    const server = await start([payments], {}, true);
    const before = await connectNew(server.url, { elicit: () => ({ action: "cancel" }) });
    const params = { name: "payments__pay", arguments: { to: "bob", amount: 3 } };
    const asked = await before.client.callTool(params, { allowInputRequired: true });
    const { requestState, inputRequests } = asked as unknown as {
      readonly requestState: string;
      readonly inputRequests: object;
    };
    const [wait = ""] = Object.keys(inputRequests);
    await server.restart();
    const after = await connectNew(server.url, { elicit: () => ({ action: "cancel" }) });
    const inputResponses = { [wait]: { action: "accept", content: { approved: true } } };
    const paid = await after.client.callTool({ ...params, requestState, inputResponses } as never);
    expect(paid.structuredContent).toEqual({ receipt: "bob:3" });
    // The same answer again has the same result, and pays no second time.
    const again = await after.client.callTool({ ...params, requestState, inputResponses } as never);
    expect(again.structuredContent).toEqual({ receipt: "bob:3" });
    expect(idsOf(again)).toEqual(idsOf(paid));
    const forged = `${requestState.slice(0, -2)}AA`;
    await expect(
      after.client.callTool({ ...params, requestState: forged, inputResponses } as never),
    ).rejects.toMatchObject({
      code: -32602,
    });
  });

  test("declines: a yes or no is answered with no, anything else cancels the request", async () => {
    const server = await start([payments, interviewer]);
    const client = await connectNew(server.url, { elicit: () => ({ action: "decline" }) });
    expect(textOf(await client.call("payments", { input: "pay 3 to bob" }))).toBe("declined");
    const canceled = await client.call("interviewer", { input: "" });
    expect(canceled.isError).toBe(true);
    expect(await statusOf(server, idsOf(canceled).request_id)).toMatchObject({ finish_reason: "canceled" });
  });

  test("closes a form, and the question stays open", async () => {
    const server = await start([payments]);
    const client = await connectNew(server.url, { elicit: () => ({ action: "cancel" }) });
    const asked = await client.call("payments", { input: "pay 3 to bob" });
    expect(textOf(asked)).toContain("Pay 3 to bob?");
    const { request_id } = idsOf(asked);
    expect(await statusOf(server, request_id)).toMatchObject({ status: "waiting" });
    expect(textOf(await client.call("answer", { request_id, values: { approved: true } }))).toBe(
      "Paid 3 to bob.",
    );
  });

  test("types what a form has no field for as JSON", async () => {
    const planner = defineAgent({
      name: "planner",
      purpose: "Asks for a plan.",
      async chat(_input, turn) {
        const plan = await turn.waitForInput(
          z.object({
            size: z.enum(["small", "large"]).describe("How large?"),
            days: z.int().min(1).describe("How many days?"),
            stops: z.array(z.string()).describe("Where?"),
          }),
        );
        return JSON.stringify(plan);
      },
    });
    const server = await start([planner]);
    const forms: Form[] = [];
    const client = await connectNew(server.url, {
      elicit(form) {
        forms.push(form);
        return { action: "accept", content: { size: "small", days: 2, stops: '["Rome","Bari"]' } };
      },
    });
    const planned = await client.call("planner", { input: "" });
    expect(JSON.parse(textOf(planned))).toEqual({ size: "small", days: 2, stops: ["Rome", "Bari"] });
    expect(forms[0]?.requestedSchema.properties).toMatchObject({
      size: { type: "string", enum: ["small", "large"], description: "How large?" },
      days: { type: "integer", minimum: 1 },
      stops: { type: "string", description: "Where?, as JSON" },
    });
  });
});
