import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { expect, test, vi } from "vitest";
import { createListener } from "../../src/node/request-listener.ts";
import { RawClient } from "./raw-client.ts";

type Fetch = Parameters<typeof createListener>[0];

const HANDLERS: readonly (readonly [string, Fetch])[] = [
  ["throws a text", () => thrown("odd")],
  ["throws undefined", () => thrown(undefined)],
  ["rejects", () => Promise.reject(new Error("late"))],
  ["gives no answer", () => undefined as unknown as Response],
  ["gives null", async () => null as unknown as Response],
  ["gives a status that does not exist", () => ({ status: 9_999, headers: {}, body: null }) as Response],
  ["gives a body that fails at once", () => new Response(failing())],
  ["gives a body whose reader is taken", () => taken(new Response("text"))],
  [
    "throws after the head of its answer",
    (_, { outgoing }) => {
      outgoing.writeHead(200, { "content-length": 5 });
      outgoing.flushHeaders();
      throw new Error("too late");
    },
  ],
  [
    "throws after its answer",
    (_, { outgoing }) => {
      outgoing.end();
      throw new Error("too late");
    },
  ],
];

test.each(
  ["HEAD", "GET", "POST"].flatMap((method) => HANDLERS.map((handler) => [method, ...handler] as const)),
)("a %s whose handler %s has an end, and no rejection is left", async (method, _, fetch) => {
  // The adapter prints an error that breaks the body of an answer.
  const printed = vi.spyOn(console, "error").mockImplementation(() => {});
  const server = createServer(
    { rejectNonStandardBodyWrites: true },
    createListener(fetch, () => {}),
  );
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  await using client = new RawClient(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
  client.send(`${method} / HTTP/1.1`, "Host: localhost", "Connection: close");
  await client.closed();
  // At most one answer: if the adapter fails in the middle, the connection is cut.
  expect(client.text).toMatch(/^(?:HTTP\/1\.1 (?:200|500) (?![^]*HTTP\/1\.1)|$)/);
  server.close();
  printed.mockRestore();
});

test("an error of a handler is reported, and its text is not sent", async () => {
  const reported: unknown[] = [];
  const cause = new Error("secret");
  const server = createServer(
    createListener(
      () => Promise.reject(cause),
      (...fault) => void reported.push(fault),
    ),
  );
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const answer = await fetch(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
  expect(answer.status).toBe(500);
  expect(answer.headers.get("content-type")).toBe("application/problem+json");
  expect(await answer.json()).toMatchObject({ code: "internal", detail: "an unexpected error occurred" });
  expect(reported).toEqual([["GET failed", cause]]);
  server.close();
});

function thrown(value: unknown): never {
  // oxlint-disable-next-line typescript/only-throw-error -- handlers may throw anything
  throw value;
}

function failing(): ReadableStream {
  return new ReadableStream({ start: (controller) => controller.error(new Error("no body")) });
}

function taken(response: Response): Response {
  response.body?.getReader();
  return response;
}
