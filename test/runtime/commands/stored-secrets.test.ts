import { memoryLog } from "troupe";
import { manualEnvironment } from "troupe/testing";
import { expect, test } from "vitest";
import { StoredSecrets } from "../../../src/runtime/secrets/stored-secrets.ts";
import type { StoredSecretsOptions } from "../../../src/runtime/secrets/stored-secrets.ts";
import { noTelemetry } from "../../../src/runtime/options.ts";
import type { EventLog } from "../../../src/ports/event-log.ts";
import { memorySecrets } from "../../../src/storage/memory/secrets.ts";
import { row } from "../../../src/testing/event-log/subject.ts";

test("a value that another process sweeps before the log refers to it is stored again", async () => {
  const log = memoryLog();
  const secrets = memorySecrets();
  const agents = { secrets: [] } as unknown as StoredSecretsOptions["agents"];
  const environment = manualEnvironment();
  const options = { log, secrets, agents, telemetry: noTelemetry, environment };
  const [here, there] = [new StoredSecrets(options), new StoredSecrets(options)];

  await here.store({ token: "value" }, async () => {
    await there.sweep();
    expect(await secrets.get("token")).toBeUndefined();
    await refer(log, "token");
  });

  expect(await secrets.get("token")).toBe("value");
  await there.sweep();
  expect(await secrets.get("token")).toBe("value");
});

test("the next start removes a value of a process that died after another one had taken over and swept", async () => {
  const log = memoryLog();
  const secrets = memorySecrets();
  const agents = { secrets: [] } as unknown as StoredSecretsOptions["agents"];
  const environment = manualEnvironment();
  const start = (): StoredSecrets =>
    new StoredSecrets({ log, secrets, agents, telemetry: noTelemetry, environment });
  const replaced = start();
  await start().sweep();

  await new Promise<void>((died) => {
    void replaced.store({ token: "value" }, () => {
      died();
      return new Promise(() => {});
    });
  });
  expect(await secrets.get("token")).toBe("value");

  await start().sweep();
  expect(await secrets.get("token")).toBeUndefined();
});

test("with several nodes, a sweep keeps a value whose node dies just after the log refers to it", async () => {
  const log = memoryLog();
  const secrets = memorySecrets();
  const environment = manualEnvironment();
  const agents = { secrets: [] } as unknown as StoredSecretsOptions["agents"];
  const start = (node: string): StoredSecrets =>
    new StoredSecrets({ log: log.openNode(node), secrets, agents, telemetry: noTelemetry, environment });
  const [here, there] = [start("a"), start("b")];
  await new Promise<void>((died) => {
    void here.store({ token: "value", unused: "value" }, async () => {
      await there.sweep();
      await refer(log, "token");
      died();
      return new Promise(() => {});
    });
  });
  expect(await secrets.names()).toEqual(["token", "unused"]);
  await environment.advance(70_000);
  expect(await secrets.names()).toEqual(["token"]);
});

/** Creates a run that refers to a value. */
async function refer(log: EventLog, thing: string): Promise<void> {
  const { cursor } = await log.claim("run");
  await log.append(cursor, { events: [], records: [], run: row(), references: [{ thing }] });
}
