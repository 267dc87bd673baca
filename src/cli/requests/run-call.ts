import type { AgentCall, Answer, OpenWait } from "../../client/call-api.ts";
import type { Event } from "../../protocol/events/events.ts";
import { AgentError, isInstance } from "../../errors.ts";
import { EXIT, Exit } from "../exit.ts";
import { toTimes } from "../print/progress.ts";
import type { TurnPrinter } from "../print/progress.ts";
import { stderr, stdout, styled } from "../print/terminal.ts";
import { toLine, toWord } from "../print/text.ts";
import { askFields } from "../prompt/ask.ts";
import { canAsk } from "../prompt/prompts.ts";
import { toPromptFields } from "../prompt/questions.ts";

/** How a call is shown. */
export interface CallDisplay {
  /** One event a line on stdout, and nothing else there. */
  readonly json: boolean;
  readonly cancelOnExit: boolean;
  readonly progress: TurnPrinter;
}

/**
 * Follows a call to its end on the terminal: shows its events, asks its questions, and gives its output. Throws an Exit
 * for a turn that failed, was canceled, or waits for an answer and there is no terminal to ask on. Ctrl-C leaves the turn running.
 */
export async function runCall<Output>(
  call: AgentCall<Output>,
  { json, cancelOnExit, progress }: CallDisplay,
): Promise<Output> {
  const { promise: left, reject } = Promise.withResolvers<never>();
  left.catch(() => undefined);
  const leave = (): void => {
    if (cancelOnExit) void call.cancel().then(() => reject(canceled(call)), reject);
    else reject(leftRunning(call));
  };
  process.on("SIGINT", leave);
  try {
    return await Promise.race([show(call, json, progress), left]);
  } catch (thrown) {
    progress.endLine();
    throw await toExit(call, thrown);
  } finally {
    process.off("SIGINT", leave);
  }
}

/** Answers the questions of a call on the terminal; leaves them open where there is none. */
export async function answerHere(wait: OpenWait): Promise<Answer> {
  if (!canAsk() || wait.question !== undefined) return undefined;
  if (wait.depth > 0) stderr.line(styled("dim", `  ${toLine(wait.agent)} asks`));
  return askFields(toPromptFields(wait.schema, wait.questions));
}

async function show<Output>(call: AgentCall<Output>, json: boolean, progress: TurnPrinter): Promise<Output> {
  const events = (async () => {
    for await (const event of call) showEvent(event, json, progress);
  })();
  // If the call fails, what its events end with is the same failure.
  events.catch(() => {});
  const output = await call;
  await events;
  progress.endLine();
  if (!json) stderr.line(styled("green", `✓ ${toTimes(await call.view())}`));
  return output;
}

function showEvent(event: Event, json: boolean, progress: TurnPrinter): void {
  if (json) stdout.json(event);
  else progress.event(event);
}

async function toExit(call: AgentCall<unknown>, thrown: unknown): Promise<unknown> {
  if (isInstance(thrown, Exit) && thrown.code === EXIT.interrupted) return leftRunning(call);
  if (!isInstance(thrown, AgentError)) return thrown;
  if (thrown.code === "waiting") {
    const { requestId: id, waits } = call;
    const asked = waits.map(({ questions, question, approvers = [] }) =>
      question === undefined
        ? Object.values(questions).map(toLine).join(" · ")
        : `${toLine(question)} (for ${approvers.join(" or ")})`,
    );
    const values = Object.keys(waits[0]?.questions ?? {}).map((key) => `${toWord(key)}=…`);
    return new Exit(
      EXIT.waits,
      `${id} waits for an answer: ${asked.join("; ")}`,
      ["troupe resume", toWord(id), ...values].join(" "),
    );
  }
  if (thrown.code === "canceled") return canceled(call);
  const { turns } = await call.view();
  const ended = turns.at(-1)?.outcome === "error";
  if (!ended) return thrown;
  const fact = `the turn failed: ${thrown.code}: ${toLine(thrown.message)}`;
  return new Exit(EXIT.failed, fact, `troupe events ${toWord(call.requestId)} --tree`);
}

function canceled({ requestId }: AgentCall<unknown>): Exit {
  return new Exit(EXIT.canceled, `${requestId} was canceled`);
}

function leftRunning({ requestId }: AgentCall<unknown>): Exit {
  return new Exit(
    EXIT.interrupted,
    "The turn goes on.",
    `troupe events ${toWord(requestId)} --follow · troupe cancel ${toWord(requestId)}`,
  );
}
