/** @module-tag long */
import { createServer } from "node:http";
import type { RequestListener } from "node:http";
import { afterEach, describe, expect, test } from "vitest";
import { runConformance } from "../../../src/testing/protocol/conformance.ts";
import type { Report } from "../../../src/testing/protocol/conformance.ts";
import { ROLES } from "../../../src/testing/protocol/roles.ts";
import { suite } from "../../../src/testing/protocol/suite.ts";
import { listen, serveTiny } from "./tiny-server.ts";
import type { Fault } from "./tiny-server.ts";

const cases = suite.flatMap((theme) => theme.cases.map(({ id }) => id));

const open: { close(): void }[] = [];
afterEach(() => {
  for (const server of open.splice(0)) server.close();
});

/** The cases that a correct tiny server would pass. */
const TINY = "1 2 3 4 5 5a 6 6b 8 10 16 9 13 13c 14 17 18a 19 20 21 22a 28 26b 25 25a 56a".split(" ");

describe("a tiny server", () => {
  test("that is correct passes", async () => {
    const report = await holdTiny();
    expect(idsOf(report, "passed")).toEqual(TINY);
  });

  test.each<[Fault, string[]]>([
    ["gap in the ids", ["19"]],
    ["two ends", ["17"]],
    ["no end", ["17"]],
    ["end comes first", ["6", "17"]],
    ["named frames", ["21"]],
    ["two data lines", ["21"]],
    ["later readers miss an event", ["22a"]],
    ["spaces are lost", ["20"]],
    ["since is ignored", ["25"]],
    ["negative since is taken", ["25a"]],
    ["one run for all", ["10"]],
    ["unknown ids are internal errors", ["9"]],
    ["malformed bodies are internal errors", ["9"]],
    ["no time", ["18a"]],
    ["another agent's name", ["18a"]],
    ["runs twice", ["13"]],
    ["another body is taken", ["14"]],
    ["metadata is said", ["16"]],
  ])("with this fault fails: %s", async (fault, ids) => {
    const report = await holdTiny(fault);
    expect(idsOf(report, "failed")).toEqual(expect.arrayContaining(ids));
  });
});

describe("a server with one answer for everything passes no other case:", () => {
  const list = JSON.stringify(ROLES.map((name) => ({ name, path: `/${name}` })));
  const json = { "content-type": "application/json" };
  const sse = { "content-type": "text/event-stream" };

  /** How long a case waits for a server that says nothing, and for one that answers at once. */
  const SILENCE_MS = 2_000;
  const PATIENCE_MS = 60_000;

  test.each<[string, RequestListener, number?]>([
    ["an empty object", (_, response) => response.writeHead(200, json).end("{}")],
    ["an empty list", (_, response) => response.writeHead(200, json).end("[]")],
    ["an internal error", (_, response) => response.writeHead(500, json).end('{"error":"no"}')],
    ["nothing at all", (request) => request.socket.destroy()],
    ["silence", () => {}, SILENCE_MS],
    [
      "a stream that says nothing",
      (_, response) => response.writeHead(200, sse).write(": hello\n\n"),
      SILENCE_MS,
    ],
    [
      "a stream that has only heartbeats",
      (_, response) => {
        response.writeHead(200, sse);
        const beats = setInterval(() => response.write(":\n\n"), 500);
        response.on("close", () => clearInterval(beats));
      },
      SILENCE_MS,
    ],
    ["a stream that ends at once", (_, response) => response.writeHead(200, sse).end()],
    ["a stream of no events", (_, response) => response.writeHead(200, sse).end("data: [DONE]\n\n")],
    [
      "a stream that ends in the middle of an event",
      (_, response) => response.writeHead(200, sse).end('id: 1\ndata: {"id":1,"type":"RequestSt'),
    ],
  ])("%s", async (_, answer, timeoutMs = PATIENCE_MS) => {
    const server = await listen(
      createServer((request, response) => {
        if (request.url === "/") response.writeHead(200, json).end(list);
        else answer(request, response);
      }),
    );
    open.push(server);
    // All cases at once, because each of them waits for a silent server.
    const restart = async (): Promise<string> => server.url;
    const reports = await Promise.all(
      cases.map((id) =>
        runConformance({
          baseUrl: server.url,
          timeoutMs,
          restart,
          filter: (candidate) => candidate.id === id,
        }),
      ),
    );
    const results = reports.flatMap((report) => report.results).filter(({ id }) => !HARMLESS.has(id));
    expect(results.filter(({ outcome }) => outcome === "passed")).toEqual([]);
    expect(results.map(({ reason }) => reason).filter((reason) => !READABLE.test(reason ?? ""))).toEqual([]);
  });
});

test("each case has a unique id", () => {
  expect(new Set(cases).size).toBe(cases.length);
});

test("a case whose agent is missing is skipped and reported", async () => {
  const report = await holdTiny();
  const skipped = report.results.find(({ id }) => id === "35");
  expect(skipped?.outcome).toBe("skipped");
  expect(skipped?.reason).toContain('an agent "payments"');
  expect(report.passed + report.failed + report.skipped).toBe(report.results.length);
});

test("an agent of another name can fill a role", async () => {
  const { url } = await openTiny();
  const agents = { notebook: "echo" };
  const report = await runConformance({ baseUrl: url, agents, filter: ({ id }) => id === "11" });
  expect(report.results).toEqual([expect.objectContaining({ id: "11", outcome: "failed" })]);
});

test("the suite throws if no server answers", async () => {
  const { url, close } = await openTiny();
  close();
  await expect(runConformance({ baseUrl: url })).rejects.toThrow("expected an answer on GET /");
});

/**
 * The list of agents is correct, and a server that answers everything with 200 also passes the health case.
 */
const HARMLESS = new Set(["1", "5c"]);

/** Why a case was skipped, or which case failed with expected and actual values. */
const READABLE = /^needs |^is slow|^case \w+: expected .+; came /;

async function openTiny(fault?: Fault): Promise<{ url: string; close(): void }> {
  const server = await serveTiny(fault);
  open.push(server);
  return server;
}

async function holdTiny(fault?: Fault): Promise<Report> {
  const { url } = await openTiny(fault);
  return runConformance({ baseUrl: url, timeoutMs: fault === undefined ? 60_000 : 2_000 });
}

function idsOf({ results }: Report, outcome: string): string[] {
  return results.filter((result) => result.outcome === outcome).map(({ id }) => id);
}
