/** @module-tag long */
import { afterAll } from "vitest";
import { testProtocol } from "../../src/testing/protocol/register.ts";
import { startServer } from "./server.ts";

let server: Awaited<ReturnType<typeof startServer>> | undefined;
afterAll(() => server?.close());

testProtocol({
  async baseUrl() {
    server = await startServer();
    return server.url;
  },
});
