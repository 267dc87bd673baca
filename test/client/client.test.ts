import assert from "node:assert/strict";
import { AgentError } from "troupe";
import { createClient } from "troupe/client";
import type { Event, RequestId } from "troupe/protocol";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { echo } from "../../agents/echo.ts";
import { interviewer } from "../../agents/interviewer.ts";
import { notebook } from "../../agents/notebook.ts";
import { payments } from "../../agents/payments.ts";
import { pdfWriter } from "../../agents/pdf-writer.ts";
import { ticker } from "../../agents/ticker.ts";
import { completed, event, json, startHostile, stream } from "./hostile-server.ts";
import { start } from "./servers.ts";
import type { Served } from "./servers.ts";

let server: Served;
beforeAll(async () => {
  server = await start({ agents: [echo, notebook, payments, interviewer, pdfWriter, ticker] });
});
afterAll(() => server[Symbol.asyncDispose]());

const client = (agent: string) => createClient(`${server.url}/${agent}`);
const hello = { type: "ChatRequest", input: "hello there" } as const;
const pay = { type: "OperationRequest", operation: "pay", input: { to: "bob", amount: 3 } } as const;

describe("the description", () => {
  test("is the agent's description", async () => {
    const { name, operations } = await client("echo").describe();
    expect(name).toBe("echo");
    expect(operations.map((operation) => operation.name)).toEqual(["chat", "repeat"]);
  });

  test("at a server's own address is that of its default agent", async () => {
    expect((await createClient(server.url).describe()).name).toBe("echo");
  });
});

describe("process", () => {
  test("without a wait returns the ids of request and run", async () => {
    const answer = await client("echo").process(hello);
    expect(answer).toEqual({
      requestId: expect.stringMatching(/^req_/) as string,
      runId: expect.stringMatching(/^run_/) as string,
      replayed: false,
    });
  });

  test("returns the event that was waited for", async () => {
    expect((await client("echo").process(hello, { wait: "acknowledged" })).event?.type).toBe(
      "RequestStarted",
    );
    const { event } = await client("echo").process(hello, { wait: "completed" });
    expect(event).toMatchObject({ type: "RequestCompleted", result: "hello there" });
    const asked = await client("payments").process(pay, { wait: "completed" });
    expect(asked.event).toMatchObject({ type: "WaitForInput" });
  });

  test("returns no event after the time limit", async () => {
    const slow = { type: "ChatRequest", input: "2 60000" } as const;
    const answer = await client("ticker").process(slow, { wait: "completed", waitMs: 20 });
    expect(answer.event).toBeUndefined();
    await client("ticker").cancel(answer.requestId);
  });

  test("reports a repeated request", async () => {
    const request = { ...hello, request_id: "once" as RequestId };
    const first = await client("echo").process(request, { wait: "completed" });
    const second = await client("echo").process(request, { wait: "completed" });
    expect([first.replayed, second.replayed]).toEqual([false, true]);
    expect(second.event).toEqual(first.event);
  });

  test("configures an agent, with an answer that belongs to no run", async () => {
    const answer = await client("echo").process(
      { type: "ConfigureRequest", args: {} },
      { wait: "acknowledged" },
    );
    expect(answer).toMatchObject({ runId: null, event: { type: "RequestCompleted" } });
  });

  test("throws a refusal with its code, issues and hint", async () => {
    const request = { type: "OperationRequest", operation: "repeat", input: { text: 1 } } as const;
    const error = await client("echo")
      .process(request)
      .catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(AgentError);
    expect(error).toMatchObject({
      code: "unprocessable",
      details: { issues: [{ path: "text" }, { path: "times" }] },
    });
    await expect(client("nobody").process(hello)).rejects.toMatchObject({ code: "not_found" });
  });
});

describe("stream", () => {
  test("returns the events of a new request up to its end", async () => {
    const events = await all(client("echo").stream(hello));
    expect(events.map(({ type }) => type)).toEqual([
      "RequestStarted",
      "TextOutput",
      "TextOutput",
      "RequestCompleted",
    ]);
  });

  test("returns only the new request's events in an existing run", async () => {
    const { runId } = await client("notebook").process(
      { type: "ChatRequest", input: "milk" },
      { wait: "completed" },
    );
    const second = { type: "ChatRequest", input: "bread", ...(runId && { run_id: runId }) } as const;
    const events = await all(client("notebook").stream(second));
    expect(events.map(({ id, type }) => [id, type])).toEqual([
      [4, "RequestStarted"],
      [5, "TextOutput"],
      [6, "RequestCompleted"],
    ]);
  });

  test("ends where the agent asks, and continues with the answer", async () => {
    const asked = await all(client("payments").stream(pay));
    expect(asked.at(-1)?.type).toBe("WaitForInput");
    const resume = {
      type: "ResumeWithInput",
      request_id: asked[0]?.request_id as RequestId,
      request_keys: { approved: true },
    } as const;
    expect((await all(client("payments").stream(resume))).map(({ type }) => type)).toEqual([
      "ResumeWithInput",
      "TextOutput",
      "RequestCompleted",
    ]);
  });

  test("ends after the first of two answers, when the other one is still missing", async () => {
    const asked = await all(client("interviewer").stream(hello));
    const [, first] = asked.filter(({ type }) => type === "WaitForInput");
    const resume = {
      type: "ResumeWithInput",
      request_id: asked[0]?.request_id as RequestId,
      wait_id: first?.id as number,
      request_keys: { colour: "blue" },
    } as const;
    const answered = await all(client("interviewer").stream(resume));
    expect(answered.map(({ type }) => type)).toEqual(["ResumeWithInput"]);
  });

  test("reads a request or a run again from any position", async () => {
    const { requestId, runId } = await client("echo").process(hello, { wait: "completed" });
    assert(runId !== null);
    const whole = await all(client("echo").stream(requestId, { after: 0 }));
    expect(await all(client("echo").stream(requestId, { after: 2 }))).toEqual(whole.slice(2));
    expect(await all(client("echo").stream(runId, { after: 0 }))).toEqual(whole);
  });

  test("stays open across turns on request, until its signal aborts", async () => {
    const { runId } = await client("notebook").process(
      { type: "ChatRequest", input: "milk" },
      { wait: "completed" },
    );
    const stop = new AbortController();
    const seen: string[] = [];
    const following = (async () => {
      const options = { after: 0, forever: true, signal: stop.signal };
      for await (const { type } of client("notebook").stream(
        runId as RequestId | (typeof runId & {}),
        options,
      )) {
        seen.push(type);
        if (seen.length === 3)
          await client("notebook").process({
            type: "ChatRequest",
            input: "bread",
            ...(runId && { run_id: runId }),
          });
        if (seen.length === 6) stop.abort();
      }
    })();
    await expect(following).rejects.toMatchObject({ name: "AbortError" });
    expect(seen.filter((type) => type === "RequestCompleted")).toHaveLength(2);
  });

  test("of an unknown id is refused", async () => {
    await expect(all(client("echo").stream("nothing"))).rejects.toMatchObject({
      code: "not_found",
    });
  });
});

test("resume, cancel and status work", async () => {
  const { requestId } = await client("payments").process(pay, { wait: "completed" });
  expect(await client("payments").status(requestId)).toMatchObject({ status: "waiting" });
  await expect(client("payments").resume(requestId, {})).rejects.toMatchObject({ code: "unprocessable" });
  const answer = await client("payments").resume(requestId, { approved: true }, { wait: "completed" });
  expect(answer.event).toMatchObject({ output: { receipt: "bob:3" } });

  const { requestId: other } = await client("payments").process(pay, { wait: "completed" });
  const canceled = await client("payments").cancel(other);
  expect(canceled.event).toMatchObject({ finish_reason: "canceled" });
});

test("runs are listed in pages", async () => {
  for (let index = 0; index < 3; index += 1) await client("echo").process(hello, { wait: "completed" });
  const first = await client("echo").runs({ limit: 2 });
  expect(first.runs).toHaveLength(2);
  expect(first.next).toBeDefined();
  const second = await client("echo").runs({ limit: 2, cursor: first.next ?? "" });
  expect(second.runs[0]?.run_id).not.toBe(first.runs[1]?.run_id);
});

test("files are uploaded and downloaded", async () => {
  const { artifactId, url } = await client("echo").upload({
    name: "a.txt",
    mimeType: "text/plain",
    data: "hello",
  });
  expect(await (await client("echo").artifact(url)).text()).toBe("hello");
  const attached = await client("echo").process(
    { ...hello, attachments: [artifactId] },
    { wait: "acknowledged" },
  );
  expect(attached.event).toMatchObject({ attachments: [artifactId] });

  const events = await all(client("pdf-writer").stream({ type: "ChatRequest", input: "Moon: far" }));
  const published = events.find((event) => event.type === "ArtifactGenerated");
  const file = await client("pdf-writer").artifact(published?.url ?? "");
  expect(new TextDecoder().decode((await file.bytes()).subarray(0, 5))).toBe("%PDF-");
});

test("a token is sent to its server and to no other", async () => {
  await using guarded = await start({ agents: [echo] }, { token: "s3cret" });
  const shown: (string | null)[] = [];
  const spy: typeof fetch = (url, init) => {
    shown.push(new Headers(init?.headers).get("authorization"));
    return fetch(url, init);
  };
  await expect(createClient(`${guarded.url}/echo`).describe()).rejects.toMatchObject({
    code: "unauthorized",
  });
  const admitted = createClient(`${guarded.url}/echo`, { token: "s3cret", fetch: spy });
  expect((await admitted.describe()).name).toBe("echo");
  await admitted.artifact(`${server.url}/artifacts/none`).catch(() => {});
  expect(shown).toEqual(["Bearer s3cret", null]);
});

test.each(["", "ftp://example.org", "not an address", "http://a:b@127.0.0.1/"])(
  "%j is not a valid URL",
  (url) => {
    expect(() => createClient(url)).toThrow(AgentError);
  },
);

async function all(stream: AsyncIterable<Event>): Promise<readonly Event[]> {
  const events: Event[] = [];
  for await (const event of stream) events.push(event);
  return events;
}

test("a server that only knows wait=true gets that value", async () => {
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
  const events = await all(createClient(literal.url).stream(hello));
  expect(events.map(({ type }) => type)).toEqual(["RequestStarted", "RequestCompleted"]);
});

test("an ArtifactGenerated of the draft, whose id is the file's, keeps its position among the events", async () => {
  const artifact = { id: "file-7", name: "a.txt", url: "/a.txt", mime_type: "text/plain" };
  await using drafted = await startHostile({
    getevents: stream(event(1, "RequestStarted"), event(2, "ArtifactGenerated", artifact), completed(3)),
  });
  const events = await all(createClient(drafted.url).stream(hello));
  expect(events.map(({ id, type }) => [id, type])).toEqual([
    [1, "RequestStarted"],
    [2, "ArtifactGenerated"],
    [3, "RequestCompleted"],
  ]);
  expect(events[1]).toMatchObject({ artifact_id: "file-7", url: "/a.txt" });
});
