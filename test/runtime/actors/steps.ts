import type { TestHost } from "../test-host.ts";

/** Asks an operation of an actor. */
export function send(host: TestHost, agent: string, name: string, key: string, input = {}, id?: string) {
  const request = { type: "OperationRequest", operation: name, input, key } as const;
  return host.ask(agent, { ...request, ...(id !== undefined && { request_id: id }) });
}

/** Takes steps; one whose process has died is repeated by the next. Then lets time pass until everything has arrived. */
export async function stepOverDeaths(
  host: TestHost,
  steps: readonly (() => Promise<unknown>)[],
): Promise<void> {
  for (const step of steps) {
    step().catch(() => {});
    await host.environment.idle();
    if (!host.crashed) continue;
    await host.restart();
    await step();
  }
  for (let left = 10; left > 0; left -= 1) {
    if (host.crashed) await host.restart();
    await host.environment.advance(1_000);
  }
}
