/** @module-tag long */
import type { EventLog } from "../../../../src/ports/event-log.ts";
import { testEventLog } from "../../../../src/testing/event-log/test-event-log.ts";
import { needsPostgres, postgresUrl } from "../../../machine/postgres.ts";
import { openProxy } from "../logs.ts";
import type { Proxy } from "../proxy.ts";
import { openSchemas, openSharded, schemasOf } from "./shards.ts";

needsPostgres();

const proxies = new WeakMap<EventLog, Proxy>();

for (const count of [2])
  testEventLog({
    name: `PostgreSQL in ${count} databases`,
    open: () => openSharded(count),
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
