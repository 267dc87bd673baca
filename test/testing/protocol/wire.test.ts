import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { expect, onTestFinished, test } from "vitest";
import { Wire } from "../../../src/testing/protocol/wire.ts";

test("the token goes only to the server under test, not to other hosts that it names", async () => {
  const seen: (string | undefined)[] = [];
  const [tested, other] = [await listen(seen), await listen(seen)];
  const wire = new Wire(tested, { timeoutMs: 10_000, token: "secret" });
  await wire.ask("GET", "/artifacts/art_1");
  await wire.ask("GET", wire.resolve("/artifacts/art_1"));
  await wire.ask("GET", wire.resolve(`${other}/artifacts/art_1`));
  expect(seen).toEqual(["Bearer secret", "Bearer secret", undefined]);
});

/** A server that remembers the authorization of each request. */
async function listen(seen: (string | undefined)[]): Promise<string> {
  const server = createServer((request, response) => {
    seen.push(request.headers.authorization);
    response.end("{}");
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}
