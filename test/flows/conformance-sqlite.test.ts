/** @module-tag long */
import { afterAll, beforeAll } from "vitest";
import { testProtocol } from "../../src/testing/protocol/register.ts";
import { ServerProcess } from "./server.ts";

let server: ServerProcess;
beforeAll(async () => {
  server = await ServerProcess.create();
});
afterAll(() => server[Symbol.asyncDispose]());

testProtocol({
  baseUrl: () => server.start(),
  restart: () => server.restart(),
});
