import { clusterRouter } from "troupe";
import { httpTransport, nodeEnvironment } from "troupe/node";
import { postgresLog, shardedPostgresLog } from "troupe/postgres";
import { findFreeUrl } from "../../machine/free-port.ts";
import { NODE_LEASE_MS } from "../servers/setting.ts";
import { serveTurns } from "../servers/turn-server.ts";

const { DATA: url = "", LISTEN: listenUrl, NODES: isNode } = process.env;
const urls = url.split(" ");
const log =
  urls.length > 1
    ? await shardedPostgresLog({ databases: urls.map((one) => ({ url: one })) })
    : await postgresLog({ url, ...(listenUrl !== undefined && { listenUrl }) });
if (isNode === undefined) {
  await serveTurns(log);
} else {
  const transport = httpTransport({ url: await findFreeUrl() });
  const environment = nodeEnvironment();
  await serveTurns(log, clusterRouter({ log, transport, environment, deadAfterMs: NODE_LEASE_MS }));
}
