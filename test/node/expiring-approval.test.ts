/** @module-tag long */
import { createRuntime } from "troupe";
import { serve } from "troupe/node";
import { expect, onTestFinished, test } from "vitest";
import { sqliteLog } from "../../src/storage/sqlite/index.ts";
import { payments } from "../../agents/payments.ts";
import { temporaryDirectory } from "../storage/directories.ts";

type Fields = Readonly<Record<string, unknown>>;

async function ask(url: string, body?: Fields): Promise<{ readonly status: number; readonly json: unknown }> {
  const answer = await fetch(url, {
    ...(body && {
      method: "POST",
      body: JSON.stringify(body),
      headers: { "content-type": "application/json" },
    }),
  });
  return { status: answer.status, json: await answer.json() };
}

test("an approval that expires in two seconds is waiting with its deadline, then expires, and the turn ends", async () => {
  const runtime = createRuntime({ agents: [payments], log: sqliteLog(temporaryDirectory()) });
  const server = await serve(runtime, { port: 0 });
  onTestFinished(async () => {
    await server.close();
    await runtime.close();
  });
  const { url } = server;
  const pay = { operation: "pay", input: { to: "bob", amount: 30, within_s: 2 }, request_id: "pay-bob" };
  const { json: wait } = await ask(`${url}/payments/process?wait=completed`, {
    type: "OperationRequest",
    ...pay,
  });
  const { wait_id: waitId, expires_at: expiresAt } = wait as Fields;
  expect(wait).toMatchObject({ type: "WaitForInput", expires_at: expect.any(String) as string });
  const status = `${url}/request/pay-bob`;
  expect((await ask(status)).json).toMatchObject({
    status: "waiting",
    request_keys: { approved: "Pay 30 to bob?" },
    waiting_for: { kind: "input", wait_id: waitId, expires_at: expiresAt },
  });
  expect((await ask(`${url}/waits`)).json).toEqual([wait]);
  expect((await ask(`${url}/payments/waits?limit=1`)).json).toEqual([wait]);
  expect((await ask(`${url}/waits?limit=0`)).status).toBe(400);
  expect((await ask(`${url}/waits?cursor=x`)).status).toBe(400);

  const events = (await ask(`${url}/payments/events/pay-bob?since=${String(waitId)}&timeout=10000`)).json;
  expect((events as readonly Fields[])[0]).toMatchObject({ type: "WaitExpired", wait_id: waitId });
  expect((await ask(`${url}/waits`)).json).toEqual([]);
  const late = { type: "ResumeWithInput", request_id: "pay-bob", request_keys: { approved: true } };
  expect(await ask(`${url}/payments/process`, late)).toMatchObject({
    status: 409,
    json: { detail: `wait ${String(waitId)} of request pay-bob has expired` },
  });
  await expect.poll(async () => (await ask(status)).json).toMatchObject({ status: "completed", output: {} });
});
