import { AgentError } from "../../../errors.ts";
import type { EndStatus, Status } from "../objects.ts";

/** The status of one object, which moves from created over in_progress to one end and never back. */
export class Lifecycle {
  readonly #subject: string;
  #status: Status | undefined;

  constructor(subject: string) {
    this.#subject = subject;
  }

  get isOpen(): boolean {
    return this.#status === "in_progress";
  }

  get hasEnded(): boolean {
    return this.#status !== undefined && this.#status !== "created" && this.#status !== "in_progress";
  }

  create(): void {
    if (this.#status !== undefined) throw this.#refuse("was created before");
    this.#status = "created";
  }

  begin(): void {
    if (this.#status !== undefined && this.#status !== "created") throw this.#refuse("has begun before");
    this.#status = "in_progress";
  }

  end(status: EndStatus): void {
    if (this.hasEnded) throw this.#refuse(`has already ended as ${this.#status ?? ""}`);
    // Work that is refused has not begun.
    if (!this.isOpen && status !== "rejected") throw this.#refuse("has not begun; call inProgress first");
    this.#status = status;
  }

  /** Throws unless the object has begun and not ended. */
  checkOpen(): void {
    if (this.hasEnded) throw this.#refuse(`has already ended as ${this.#status ?? ""}`);
    if (!this.isOpen) throw this.#refuse("has not begun; call inProgress first");
  }

  #refuse(fact: string): AgentError {
    return new AgentError("conflict", `${this.#subject} ${fact}`);
  }
}
