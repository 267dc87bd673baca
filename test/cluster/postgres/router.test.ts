import { clusterRouter } from "troupe";
import { httpTransport, nodeEnvironment } from "troupe/node";
import type { EventLog } from "../../../src/ports/event-log.ts";
import type { RouterNode } from "../../../src/testing/router/subject.ts";
import { testRouter } from "../../../src/testing/router/test-router.ts";
import { onTestFinished } from "vitest";
import { findFreeUrl } from "../../machine/free-port.ts";
import { needsPostgres } from "../../machine/postgres.ts";
import { newSchema, openSchema, schemaOf } from "./logs.ts";

needsPostgres();

testRouter({
  name: "cluster router on PostgreSQL and HTTP, whose",
  open: async () => openNode(await openSchema(newSchema())),
  join: async ({ log }) => openNode(await openSchema(schemaOf(log as EventLog))),
});

async function openNode(log: EventLog): Promise<RouterNode> {
  const transport = httpTransport({ url: await findFreeUrl(), secret: "shared" });
  onTestFinished(() => log.close());
  return { router: clusterRouter({ log, transport, environment: nodeEnvironment() }), log };
}
