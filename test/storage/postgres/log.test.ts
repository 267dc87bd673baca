/** @module-tag long */
import type { EventLog } from "../../../src/ports/event-log.ts";
import { testEventLog } from "../../../src/testing/event-log/test-event-log.ts";
import { needsPostgres, postgresUrl } from "../../machine/postgres.ts";
import { openEmpty, openProxy, openSchema, schemaOf } from "./logs.ts";
import type { Proxy } from "./proxy.ts";

needsPostgres();

const proxies = new WeakMap<EventLog, Proxy>();

testEventLog({
  name: "PostgreSQL",
  open: () => openEmpty(),
  async reopen(log) {
    await log.close();
    return openSchema(schemaOf(log));
  },
  async join(log) {
    const proxy = await openProxy(await postgresUrl());
    const joined = await openSchema(schemaOf(log), { listenUrl: proxy.url });
    proxies.set(joined, proxy);
    return joined;
  },
  async loseHints(log) {
    proxies.get(log)?.loseNotifications();
  },
});
