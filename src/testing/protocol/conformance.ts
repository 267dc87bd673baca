import type { Case, Need } from "./case.ts";
import { Context } from "./context.ts";
import { Mismatch } from "./mismatch.ts";
import { suite } from "./suite.ts";
import { createTarget } from "./target.ts";
import type { Target, TargetOptions } from "./target.ts";

/** Which server is checked, and how. */
export interface ConformanceOptions extends TargetOptions {
  /** Selects the cases to run; default all. */
  readonly filter?: (candidate: CaseInfo) => boolean;
  /** Called after each case. */
  readonly onResult?: (result: CaseResult) => void;
}

/** Identifies a case. */
export interface CaseInfo {
  readonly id: string;
  readonly theme: string;
  readonly title: string;
}

/** The result of a case. */
export interface CaseResult extends CaseInfo {
  readonly outcome: "passed" | "failed" | "skipped";
  /** Why it failed or was skipped. */
  readonly reason?: string;
  readonly elapsedMs: number;
}

/** The results of all cases. */
export interface Report {
  readonly passed: number;
  readonly failed: number;
  readonly skipped: number;
  readonly results: readonly CaseResult[];
}

/**
 * Checks a server against the protocol, over its socket, one case after the other. The server can be written
 * in any language; it should have no other load. Throws only if no server answers at all.
 */
export async function runConformance({
  filter = () => true,
  onResult = () => {},
  ...options
}: ConformanceOptions): Promise<Report> {
  const target = await createTarget(options);
  const results: CaseResult[] = [];
  for (const { name: theme, cases } of suite) {
    for (const candidate of cases) {
      const info: CaseInfo = { id: candidate.id, theme, title: candidate.title };
      if (!filter(info)) continue;
      const result = { ...info, ...(await runCase(candidate, target)) };
      results.push(result);
      onResult(result);
    }
  }
  const count = (outcome: CaseResult["outcome"]): number =>
    results.filter((result) => result.outcome === outcome).length;
  return { passed: count("passed"), failed: count("failed"), skipped: count("skipped"), results };
}

/** Runs one case; never throws. */
export async function runCase(
  { id, needs, run }: Case,
  target: Target,
): Promise<Omit<CaseResult, keyof CaseInfo>> {
  const start = performance.now();
  const elapsedMs = (): number => Math.round(performance.now() - start);
  const missing = lacking(needs, target);
  if (missing !== undefined) return { outcome: "skipped", reason: missing, elapsedMs: 0 };
  const context = new Context(target.http, target);
  try {
    await run(context);
    return { outcome: "passed", elapsedMs: elapsedMs() };
  } catch (thrown) {
    return { outcome: "failed", reason: `case ${id}: ${toReason(thrown)}`, elapsedMs: elapsedMs() };
  } finally {
    await context.close();
  }
}

function lacking(needs: readonly Need[], target: Target): string | undefined {
  for (const need of needs) {
    if (need === "restart") {
      if (!target.canRestart) return "needs a way to kill and restart the server (option restart)";
    } else if (need === "thorough") {
      if (!target.thorough) return "is slow; runs only with the option thorough";
    } else if (!target.has(need)) {
      return `needs an agent "${target.nameOf(need)}", which the server does not list`;
    }
  }
  return undefined;
}

function toReason(thrown: unknown): string {
  if (thrown instanceof Mismatch) return thrown.message;
  // Any other error is a fault of the suite, whose stack is useful.
  return thrown instanceof Error ? (thrown.stack ?? thrown.message) : String(thrown);
}
