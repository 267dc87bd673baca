import { beforeAll, describe, test } from "vitest";
import { runCase } from "./conformance.ts";
import type { CaseInfo } from "./conformance.ts";
import { suite } from "./suite.ts";
import { createTarget } from "./target.ts";
import type { Target, TargetOptions } from "./target.ts";

/** The options of `runConformance`, except that the address can be determined later. */
export interface TestProtocolOptions extends Omit<TargetOptions, "baseUrl"> {
  /** The address of the server, or a function that starts it and returns the address. */
  readonly baseUrl: string | (() => string | Promise<string>);
  /** Selects the cases to register; default all. */
  readonly filter?: (candidate: CaseInfo) => boolean;
}

/**
 * Registers the cases of the protocol as vitest tests of one server. Call it in a test file:
 * `testProtocol({ baseUrl: "http://127.0.0.1:4100" })`.
 */
export function testProtocol({ baseUrl, filter = () => true, ...options }: TestProtocolOptions): void {
  describe("the protocol", () => {
    let target: Target;
    beforeAll(async () => {
      const url = typeof baseUrl === "string" ? baseUrl : await baseUrl();
      target = await createTarget({ ...options, baseUrl: url });
    });
    for (const { name: theme, cases } of suite) {
      for (const candidate of cases) {
        const { id, title } = candidate;
        if (!filter({ id, theme, title })) continue;
        // oxlint-disable-next-line vitest/expect-expect -- a case checks by itself, and says why it failed
        test(`${theme}: ${id} ${title}`, { timeout: CASE_TIMEOUT_MS }, async (context) => {
          const { outcome, reason = "" } = await runCase(candidate, target);
          if (outcome === "skipped") context.skip(reason);
          if (outcome === "failed") throw new Error(reason);
        });
      }
    }
  });
}

// Single waits have much shorter limits; this one is for cases with many repetitions.
const CASE_TIMEOUT_MS = 1_800_000;
