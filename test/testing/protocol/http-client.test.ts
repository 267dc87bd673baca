import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { expect, onTestFinished, test } from "vitest";
import { HttpClient } from "../../../src/testing/protocol/http-client.ts";

test("the token goes only to the server under test, not to other hosts that it names", async () => {
  const seen: (string | undefined)[] = [];
  const [tested, other] = [await listen(seen), await listen(seen)];
  const http = new HttpClient(tested, { timeoutMs: 10_000, token: "secret" });
  await http.ask("GET", "/artifacts/art_1");
  await http.ask("GET", http.resolve("/artifacts/art_1"));
  await http.ask("GET", http.resolve(`${other}/artifacts/art_1`));
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
