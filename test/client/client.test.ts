import { AgentError } from "troupe";
import { createClient } from "troupe/client";
import type { Event } from "troupe/protocol";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { echo } from "../../agents/echo.ts";
import { notebook } from "../../agents/notebook.ts";
import { payments } from "../../agents/payments.ts";
import { pdfWriter } from "../../agents/pdf-writer.ts";
import { ticker } from "../../agents/ticker.ts";
import { completed, event, json, startHostile, stream } from "./hostile-server.ts";
import { start } from "./servers.ts";
import type { Served } from "./servers.ts";

let server: Served;
beforeAll(async () => {
  server = await start({ agents: [echo, notebook, payments, pdfWriter, ticker] });
});
afterAll(() => server[Symbol.asyncDispose]());

const client = () => createClient(server.url);

describe("agents", () => {
  test("are listed", async () => {
    const agents = await client().agents();
    expect(agents.map(({ name }) => name)).toEqual(["echo", "notebook", "payments", "pdf-writer", "ticker"]);
  });

  test("describe themselves", async () => {
    const { name, operations } = await client().agent("echo").describe();
    expect(name).toBe("echo");
    expect(operations.map((operation) => operation.name)).toEqual(["chat", "repeat"]);
  });

  test("without a name are the server's default agent, or the one of the address", async () => {
    expect((await client().agent().describe()).name).toBe("echo");
    expect((await createClient(`${server.url}/ticker`).agent().describe()).name).toBe("ticker");
    expect(await createClient(`${server.url}/notebook`).agent().chat("milk")).toBe("1. milk");
  });

  test("are configured", async () => {
    await expect(client().agent("echo").configure({})).resolves.toBeUndefined();
    const unknown = client().agent("echo").configure({}, { runId: "run_none" });
    await expect(unknown).rejects.toMatchObject({ code: "not_found" });
  });
});

describe("runs", () => {
  test("are listed in pages", async () => {
    for (let index = 0; index < 3; index += 1) await client().agent("echo").chat("hello");
    const first = await client().runs({ limit: 2, agent: "echo" });
    expect(first.runs).toHaveLength(2);
    const second = await client().runs({ limit: 2, agent: "echo", cursor: first.next ?? "" });
    expect(second.runs[0]?.run_id).not.toBe(first.runs[1]?.run_id);
  });

  test("are found by their keys", async () => {
    const call = client().agent("notebook").chat("milk", { key: "groceries" });
    await call;
    const { runs } = await client().runs({ agent: "notebook", key: "groceries" });
    expect(runs.map(({ run_id }) => run_id)).toEqual([await call.runId]);
    expect(await client().agent("notebook").chat("bread", { key: "groceries" })).toBe("1. milk\n2. bread");
  });

  test("are read, viewed, forked and removed", async () => {
    const call = client().agent("notebook").chat("milk");
    await call;
    const run = client().run(await call.runId);
    await client().agent("notebook").chat("bread", { runId: run.id });
    const events = await all(run.events());
    expect(events.map(({ id }) => id)).toEqual([1, 2, 3, 4, 5, 6]);
    expect(await all(run.events({ after: 4 }))).toEqual(events.slice(4));
    expect((await run.view()).turns.map(({ result }) => result)).toEqual(["1. milk", "1. milk\n2. bread"]);

    const before = await run.fork({ after: 3 });
    expect(await client().agent("notebook").chat("salt", { runId: before.id })).toBe("1. milk\n2. salt");
    const whole = await run.fork();
    expect((await whole.view()).turns).toHaveLength(2);

    await run.remove();
    await expect(run.view()).rejects.toMatchObject({ code: "gone" });
    expect((await whole.view()).turns).toHaveLength(2);
  });

  test("are removed also if the answer is lost, or if they were removed before", async () => {
    const call = client().agent("echo").chat("hello");
    await call;
    const statuses: number[] = [];
    const lossy: typeof fetch = async (url, init) => {
      const response = await fetch(url, init);
      statuses.push(response.status);
      if (statuses.length === 1) throw new TypeError("the connection broke");
      return response;
    };
    const run = createClient(server.url, { fetch: lossy }).run(await call.runId);
    await expect(run.remove()).resolves.toBeUndefined();
    expect(statuses).toEqual([204, 410]);
    await expect(run.remove()).resolves.toBeUndefined();
    await expect(client().run("nothing").remove()).rejects.toMatchObject({ code: "not_found" });
  });

  test("stay open across turns on request, until the signal aborts", async () => {
    const call = client().agent("notebook").chat("milk");
    await call;
    const runId = await call.runId;
    const stop = new AbortController();
    const seen: string[] = [];
    const following = (async () => {
      for await (const { type } of client().run(runId).events({ follow: true, signal: stop.signal })) {
        seen.push(type);
        if (seen.length === 3) await client().agent("notebook").chat("bread", { runId });
        if (seen.length === 6) stop.abort();
      }
    })();
    await expect(following).rejects.toMatchObject({ name: "AbortError" });
    expect(seen.filter((type) => type === "RequestCompleted")).toHaveLength(2);
  });

  test("of an unknown id are refused", async () => {
    await expect(all(client().run("nothing").events())).rejects.toMatchObject({ code: "not_found" });
    await expect(client().run("nothing").view()).rejects.toMatchObject({ code: "not_found" });
  });
});

test("files are uploaded and downloaded", async () => {
  const { artifactId, url } = await client().upload({ name: "a.txt", mimeType: "text/plain", data: "hello" });
  expect(await (await client().artifact(url)).text()).toBe("hello");
  expect(await (await client().artifact(artifactId)).text()).toBe("hello");
  const attached = client()
    .agent("echo")
    .chat("hi", { attachments: [artifactId] });
  await attached;
  expect((await attached.view()).turns[0]?.attachments).toEqual([artifactId]);

  const written = client().agent("pdf-writer").chat("Moon: far");
  await written;
  const [published] = (await written.view()).files;
  const file = await client().artifact(published?.url ?? "");
  expect(new TextDecoder().decode((await file.bytes()).subarray(0, 5))).toBe("%PDF-");
});

test("the health of a server says whether it takes requests", async () => {
  expect(await client().health()).toMatchObject({ ready: true, details: { status: "ok" } });
});

test("a token is sent to its server and to no other", async () => {
  await using guarded = await start({ agents: [echo] }, { token: "s3cret" });
  const shown: (string | null)[] = [];
  const spy: typeof fetch = (url, init) => {
    shown.push(new Headers(init?.headers).get("authorization"));
    return fetch(url, init);
  };
  const refused = createClient(guarded.url).agent("echo").describe();
  await expect(refused).rejects.toMatchObject({ code: "unauthorized" });
  const admitted = createClient(guarded.url, { token: "s3cret", fetch: spy });
  expect((await admitted.agent("echo").describe()).name).toBe("echo");
  await admitted.artifact(`${server.url}/artifacts/none`).catch(() => {});
  expect(shown).toEqual(["Bearer s3cret", null]);
});

test.each(["", "ftp://example.org", "not an address", "http://a:b@127.0.0.1/"])(
  "%j is not a valid URL",
  (url) => {
    expect(() => createClient(url)).toThrow(AgentError);
  },
);

describe("a server of the protocol's draft", () => {
  test("is called like any other", async () => {
    await using literal = await startHostile({
      process: (response, request) => {
        const wait = new URL(request.url ?? "", "http://far").searchParams.get("wait");
        const isKnown = wait === null || wait === "true";
        json(
          isKnown ? event(1, "RequestStarted") : { detail: "wait must be true or false" },
          isKnown ? 200 : 422,
        )(response, request);
      },
    });
    const call = createClient(literal.url).agent().chat("hello");
    await call;
    expect((await all(call)).map(({ type }) => type)).toEqual(["RequestStarted", "RequestCompleted"]);
  });

  test("may use the file's id as the id of its event", async () => {
    const artifact = { id: "file-7", name: "a.txt", url: "/a.txt", mime_type: "text/plain" };
    await using drafted = await startHostile({
      getevents: stream(event(1, "RequestStarted"), event(2, "ArtifactGenerated", artifact), completed(3)),
    });
    const events = await all(createClient(drafted.url).agent().chat("hello"));
    expect(events.map(({ id, type }) => [id, type])).toEqual([
      [1, "RequestStarted"],
      [2, "ArtifactGenerated"],
      [3, "RequestCompleted"],
    ]);
    expect(events[1]).toMatchObject({ artifact_id: "file-7", url: "/a.txt" });
  });

  test.for([{ run_id: "run_7", expected: "run_7" }, { expected: "call_failed" }])(
    "may tell the end of a request without its events, with the run or without ($expected)",
    async ({ expected, ...told }) => {
      await using drafted = await startHostile({
        process: (response) => void response.writeHead(202).end(),
        getevents: (response) => void response.writeHead(204).end(),
        request: json({ ...told, status: "completed", finish_reason: "success", result: "hi" }),
      });
      const call = createClient(drafted.url).agent().chat("hello");
      expect(await call).toBe("hi");
      await expect(call.runId.catch((thrown: AgentError) => thrown.code)).resolves.toBe(expected);
    },
  );

  test("has no list of waits and no stream of runs", async () => {
    await using drafted = await startHostile({
      file: json({ detail: "no such route" }, 404),
      runs: json([]),
    });
    const far = createClient(drafted.url);
    expect(await far.waits()).toBeUndefined();
    await expect(far.watchRuns().next()).rejects.toMatchObject({
      code: "not_found",
      message: expect.stringContaining("has no stream of runs") as string,
    });
  });
});

async function all(events: AsyncIterable<Event>): Promise<readonly Event[]> {
  const seen: Event[] = [];
  for await (const one of events) seen.push(one);
  return seen;
}
