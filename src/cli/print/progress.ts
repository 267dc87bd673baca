import type { RunView } from "../../view/run-view.ts";
import type { Event } from "../../protocol/events/events.ts";
import { stderr, stdout, styled } from "./terminal.ts";
import type { Terminal } from "./terminal.ts";
import { toDuration, toLine } from "./text.ts";

/** Shows a turn while it runs: the agent's text as it comes, calls as dim lines. */
export class TurnPrinter {
  /** What the text of the agent itself goes to, and what each of its lines begins with. */
  readonly #text: Terminal;
  readonly #margin: string;
  #isInLine = false;

  constructor(text: Terminal = stderr, margin = "  ") {
    this.#text = text;
    this.#margin = margin;
  }

  /** The text of a chat is its answer, so it goes to standard output, unless events go there. */
  static ofChat(isJson: boolean): TurnPrinter {
    return new TurnPrinter(isJson ? stderr : stdout, "");
  }

  event(event: Event): void {
    if (event.depth > 0) return;
    switch (event.type) {
      case "TextOutput":
        this.#write(event.content);
        break;
      case "ToolCall":
        this.note(`→ ${event.function_name} ${JSON.stringify(event.args)}`);
        break;
      case "ToolError":
        this.note(`✕ ${event.function_name} ${event.code}: ${event.content}`);
        break;
      case "CompletionRetry":
        this.note(`◇ ${event.error}${toNextTry(event)}`);
        break;
      case "RequestHeld":
        this.note(`‖ held: ${event.message}${event.at === undefined ? "" : ` at ${event.at}`}`);
        break;
      case "RequestCanceling":
        this.note(`↩ ${event.finish_reason === "canceled" ? "canceled" : "failed"}: its cleanup steps run`);
        break;
      case "RequestRestarted":
        this.note(`↻ restarted: ${event.error.message}`);
        break;
      case "ActorStopped":
        this.note(`■ the actor is stopped: ${event.error.message}`);
        break;
      case "ActorResumed":
        this.note("▶ the actor takes requests again");
        break;
      case "RequestContinued":
        this.note("‖ it continues");
        break;
      case "ArtifactGenerated":
        this.note(`file ${event.name} ${event.url}`);
        break;
      default:
    }
  }

  /** Prints a dim line of its own. */
  note(text: string): void {
    this.endLine();
    stderr.cutLine(styled("dim", `  ${toLine(text)}`));
  }

  /** Prints a line that does not belong to the turn. In a file or a pipe the text continues in its line. */
  aside(text: string): void {
    if (this.#text === stderr || this.#text.isTTY) this.note(text);
    else stderr.line(text);
  }

  /** Ends the line of a text. */
  endLine(): void {
    if (this.#isInLine) this.#text.write("\n");
    this.#isInLine = false;
  }

  #write(content: string): void {
    for (const [index, line] of content.split("\n").entries()) {
      if (index > 0) this.#text.write("\n");
      if (index > 0) this.#isInLine = false;
      if (line === "") continue;
      this.#text.content(this.#isInLine ? line : `${this.#margin}${line}`);
      this.#isInLine = true;
    }
  }
}

function toNextTry({ ts, until }: Event & { readonly type: "CompletionRetry" }): string {
  return until === undefined ? "" : `; next try in ${toDuration(Date.parse(until) - Date.parse(ts))}`;
}

/** How long the newest turn of a run worked, waited and slept. */
export function toTimes({ turns }: RunView): string {
  const times = turns.at(-1)?.times;
  if (times === undefined) return "";
  const parts = [`worked ${toDuration(times.workedMs)}`];
  if (times.waitedMs > 0) parts.push(`waited ${toDuration(times.waitedMs)}`);
  if (times.sleptMs > 0) parts.push(`slept ${toDuration(times.sleptMs)}`);
  return parts.join(" · ");
}
