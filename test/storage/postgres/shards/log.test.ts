/** @module-tag long */
import type { EventLog } from "../../../../src/ports/event-log.ts";
import { testEventLog } from "../../../../src/testing/event-log/test-event-log.ts";
import { needsPostgres, postgresUrl } from "../../../machine/postgres.ts";
import { openProxy } from "../logs.ts";
import type { Proxy } from "../proxy.ts";
import { openSchemas, reusedSchemas, schemasOf } from "./shards.ts";

needsPostgres();

const proxies = new WeakMap<EventLog, Proxy>();

for (const count of [2, 4]) {
  const schemas = reusedSchemas(count);
  testEventLog({
    name: `PostgreSQL in ${count} databases`,
    open: async () => openSchemas(await schemas()),
    async reopen(log) {
      await log.close();
      return openSchemas(schemasOf(log));
    },
    async join(log) {
      const proxy = await openProxy(await postgresUrl());
      const joined = await openSchemas(schemasOf(log), { listenUrl: proxy.url });
      proxies.set(joined, proxy);
      return joined;
    },
    async loseHints(log) {
      proxies.get(log)?.loseNotifications();
    },
  });
}
