import { expect, test } from "vitest";
import { echo } from "../../../agents/echo.ts";
import { aipGateway } from "../../../src/adapters/aip/listeners.ts";
import { serve } from "../../../src/node/serve.ts";
import type { Runtime } from "../../../src/runtime/api.ts";
import { createRuntime } from "../../../src/index.ts";

const token = "a-token-of-the-server";

test("AIP refuses to start beside a server that asks who makes a request", async () => {
  const runtime = createRuntime({ agents: [echo] });
  try {
    for (const access of [{ token }, { authenticate: () => undefined }]) {
      const refused = serve(runtime, { ...access, drain: false, listeners: [aipGateway()] });
      await expect(refused).rejects.toMatchObject({ code: "forbidden" });
    }
  } finally {
    await runtime.close({ drainMs: 0 });
  }
});

test("AIP that is open there works as a user of the owner default", async () => {
  const runtime = createRuntime({ agents: [echo] });
  const asked: unknown[] = [];
  const watched = new Proxy<Runtime>(runtime, {
    get(target, name) {
      const value: unknown = Reflect.get(target, name, target);
      if (typeof value !== "function") return value;
      return (...args: unknown[]) => {
        if (name === "as") asked.push(args[0]);
        return Reflect.apply(value, target, args) as unknown;
      };
    },
  });
  const report = (): void => {};
  try {
    const gateway = aipGateway({ open: true });
    const listening = await gateway.listen(watched, { report, authenticated: true });
    await listening.close({ graceMs: 0 });
    expect(asked).toEqual([{ id: "aip", owner: "default", roles: ["user"] }]);
  } finally {
    await runtime.close({ drainMs: 0 });
  }
});
