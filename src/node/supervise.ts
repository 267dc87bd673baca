import type { Telemetry } from "../ports/telemetry.ts";
import type { Runtime } from "../runtime/api.ts";
import { errorMessage } from "../runtime/agent/error-message.ts";
import { currentTurn } from "./environment.ts";

/** What `superviseProcess` takes. */
export interface SuperviseOptions {
  /** Hears of every fault, with all that is known of it. */
  readonly telemetry: Pick<Telemetry, "fault">;
  /** How long running turns may take when the process has to end. Default 1 s. */
  readonly drainMs?: number;
  /** How the process ends. Default `process.exit`. */
  readonly exit?: (code: number) => void;
}

/**
 * Makes an error that nobody caught cost what it has to and no more: one turn, if the code of a turn left
 * it behind; else, because nobody can know what is broken, the process. Returns how to stop.
 */
export function superviseProcess(
  runtime: Runtime,
  { telemetry, drainMs = 1_000, exit = (code) => process.exit(code) }: SuperviseOptions,
): () => void {
  let isEnding = false;
  const report = (message: string, thrown?: unknown): void => {
    try {
      telemetry.fault(message, thrown);
    } catch {
      // An error that escapes from here would end the process. What is logged is user code, and so is the error.
    }
  };
  const react = (thrown: unknown): void => {
    const turn = currentTurn();
    if (turn !== undefined) {
      report(`code of request ${turn.requestId} failed out of any call`, thrown);
      runtime.crash(turn, errorMessage(thrown));
      return;
    }
    report("an error was caught by nobody; the process ends", thrown);
    if (isEnding) return;
    isEnding = true;
    const tooLong = setTimeout(() => exit(SOFTWARE_ERROR), drainMs * 2);
    void Promise.allSettled([runtime.close({ drainMs })]).then(() => {
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
