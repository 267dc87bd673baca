import type { Invocation } from "../agent/resolve-operation.ts";

/** What a handler returns to end its turn and have the next one of its request begin. */
export class Continuation {
  readonly asked: Invocation;

  constructor(asked: Invocation) {
    this.asked = asked;
  }
}
