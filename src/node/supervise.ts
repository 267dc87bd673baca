import type { FaultFacts, Telemetry } from "../ports/telemetry.ts";
import type { Runtime } from "../runtime/api.ts";
import { errorMessage } from "../runtime/agent/error-message.ts";
import { currentTurn } from "./environment.ts";

/** What `superviseProcess` takes. */
export interface SuperviseOptions {
  /** Gets every fault with all details. */
  readonly telemetry: Pick<Telemetry, "fault">;
  /** Maximum time for running turns when the process must end. Default 1 s. */
  readonly drainMs?: number;
  /** Ends the process. Default `process.exit`. */
  readonly exit?: (code: number) => void;
}

/**
 * Limits the damage of an uncaught error: if it comes from the code of a turn, only that turn ends; otherwise
 * the state is unknown and the process ends. Returns a function that removes the handlers.
 */
export function superviseProcess(
  runtime: Runtime,
  { telemetry, drainMs = 1_000, exit = (code) => process.exit(code) }: SuperviseOptions,
): () => void {
  let isEnding = false;
  const report = (message: string, thrown?: unknown, facts?: FaultFacts): void => {
    try {
      telemetry.fault(message, thrown, facts);
    } catch {
      // An error here would end the process. The error and the logger are user code.
    }
  };
  const react = (thrown: unknown): void => {
    const turn = currentTurn();
    if (turn !== undefined) {
      report(`code of request ${turn.requestId} failed outside any call`, thrown, {
        run_id: turn.runId,
        request_id: turn.requestId,
      });
      runtime.crash(turn, errorMessage(thrown));
      return;
    }
    report("uncaught error; the process ends", thrown);
    if (isEnding) return;
    isEnding = true;
    const tooLong = setTimeout(() => exit(SOFTWARE_ERROR), drainMs * 2);
    void Promise.allSettled([runtime.close({ drainMs, isFailure: true })]).then(() => {
      clearTimeout(tooLong);
      exit(SOFTWARE_ERROR);
    });
  };
  for (const event of EVENTS) process.on(event, react);
  return () => {
    for (const event of EVENTS) process.off(event, react);
  };
}

const EVENTS = ["uncaughtException", "unhandledRejection"] as const;
const SOFTWARE_ERROR = 70;
