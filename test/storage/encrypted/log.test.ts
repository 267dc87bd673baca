/** @module-tag long */
import type { Encryption } from "../../../src/ports/encryption.ts";
import type { EventLog } from "../../../src/ports/event-log.ts";
import { encryptedStores } from "../../../src/storage/encrypted/encrypted-log.ts";
import { memoryArtifacts } from "../../../src/storage/memory/artifacts.ts";
import { memoryLog } from "../../../src/storage/memory/log.ts";
import type { MemoryLog } from "../../../src/storage/memory/log.ts";
import { sqliteLog } from "../../../src/storage/sqlite/index.ts";
import { testEventLog } from "../../../src/testing/event-log/test-event-log.ts";
import { temporaryDirectory } from "../directories.ts";
import { runsLong } from "../../machine/long.ts";

const encryption: Encryption = { keyFor: (owner) => new Uint8Array(32).fill(owner.length) };

/** The engines under the encrypted logs. */
const engines = new WeakMap<EventLog, EventLog>();
const directories = new WeakMap<EventLog, string>();

function encrypted(engine: EventLog): EventLog {
  const { log } = encryptedStores({ log: engine, artifacts: memoryArtifacts() }, encryption);
  engines.set(log, engine);
  return log;
}

function openIn(directory: string): EventLog {
  const log = encrypted(sqliteLog(directory));
  directories.set(log, directory);
  return log;
}

const engineOf = (log: EventLog): MemoryLog => engines.get(log) as MemoryLog;

testEventLog({
  name: "encrypted memory",
  open: async () => encrypted(memoryLog()),
  reopen: async (log) => encrypted(engineOf(log).reopen()),
  join: async (log) => encrypted(engineOf(log).openNode(crypto.randomUUID())),
});

if (runsLong)
  testEventLog({
    name: "encrypted SQLite",
    open: async () => openIn(temporaryDirectory()),
    async reopen(log) {
      await log.close();
      return openIn(directories.get(log) ?? "");
    },
  });
