import { ModelError } from "../../ports/model.ts";
import { ownerOf } from "../../ports/principal.ts";
import { toTimestamp } from "../../protocol/events/encode.ts";
import type { Budget } from "../../protocol/events/event-body.ts";
import type { CallId } from "../../protocol/ids.ts";
import type { JsonObject } from "../../protocol/json.ts";
import { handwrittenSchema } from "../agent/definition/handwritten-schema.ts";
import type { OwnerAccounts } from "../owners/accounts.ts";
import {
  DAY_MS,
  MOST_RAISE,
  budgetsFor,
  checkRaise,
  dayOf,
  isSameBudget,
  overIn,
} from "../owners/budgets.ts";
import type { NeededBudget, Spender } from "../owners/budgets.ts";
import { OpenCall } from "../scheduler/call-tree.ts";
import type { LiveWait } from "../scheduler/call-tree.ts";
import type { ActorContext } from "../turn/actor-context.ts";
import { addWait, expireWait, recordWait } from "../turn/turn-waits.ts";

/** Who may raise a budget if its owner's limits do not say. */
const APPROVERS: readonly string[] = ["operator"];

/**
 * Lets the attempts of one completion begin when the budgets of its run, its agent and its owner have room. Over budget it asks those
 * who may raise it, and waits; the question is closed without an answer when there is room again, and at the end of the day.
 */
export class BudgetGate {
  readonly #caller: ActorContext;
  readonly #open: OpenCall;
  readonly #owner: string;
  readonly #spender: Spender;
  /** The questions of the completion so far. */
  #asked = 0;

  constructor(caller: ActorContext, open: OpenCall) {
    this.#caller = caller;
    this.#open = open;
    const { accepted } = caller.turn;
    this.#owner = ownerOf(accepted);
    this.#spender = { agent: caller.agent.name, runAgent: accepted.agent };
  }

  /**
   * Lets an attempt begin; `undefined` if it may at once. Throws a ModelError if a budget is not raised. `asking` is called before
   * each question.
   */
  admit(asking: () => void): Promise<void> | undefined {
    const { owners, isRehearsal } = this.#caller.turn.context;
    if (owners === undefined || isRehearsal) return undefined;
    const account = owners.of(this.#owner);
    const isKnown = owners.isFresh(account) && account.fault === undefined;
    if (isKnown && budgetsFor(account.limits, this.#spender).length === 0) return undefined;
    return this.#admit(owners, asking);
  }

  async #admit(owners: OwnerAccounts, asking: () => void): Promise<void> {
    const open = this.#open;
    const { turn } = this.#caller;
    const { journal, recorder } = turn;
    let isDeclined = false;
    while (open.open) {
      const callId = `${open.callId}.${this.#asked + 1}` as CallId;
      const { wait: known, outcome } = journal.calls.get(callId) ?? {};
      if (known?.budget !== undefined && outcome !== undefined) {
        this.#asked += 1;
        const values = outcome.ok ? (outcome.value as JsonObject) : undefined;
        isDeclined = values !== undefined && isRefusal(values);
        // The process may have died before the others heard of it.
        if (values !== undefined && !isDeclined) this.#announce(known.budget);
        continue;
      }
      const over = known?.budget ?? (await this.#findOver(owners));
      if (over === undefined || !open.open) return;
      if (isDeclined) throw new ModelError(`${toWhose(over)} is used up, and was not raised`);
      this.#asked += 1;
      asking();
      const raised = await this.#ask(callId, over, owners);
      isDeclined = raised === 0;
      // What was raised counts from its commit on. A failed commit is reported to the run, which closes its calls.
      const isCommitted = await recorder.committed().then(
        () => true,
        () => false,
      );
      if (isCommitted && raised !== undefined && raised > 0) {
        this.#announce(over);
        turn.parkedCalls.look();
      }
    }
  }

  /** Has the other runs hear of a raise; those of this turn are told apart. */
  #announce(budget: Budget): void {
    if (budget.day !== undefined) void this.#caller.turn.context.mail.raised(this.#owner, budget);
  }

  /** The first budget that is used up; `undefined` if all have room. */
  async #findOver(owners: OwnerAccounts): Promise<Budget | undefined> {
    const { limits } = await owners.ready(this.#owner);
    for (const needed of budgetsFor(limits, this.#spender)) {
      // oxlint-disable-next-line no-await-in-loop -- mostly there is one
      const over = await this.#overIn(needed);
      if (over !== undefined) return over;
    }
    return undefined;
  }

  async #overIn(needed: NeededBudget): Promise<Budget | undefined> {
    const { turn } = this.#caller;
    if (needed.of === "run") return overIn(needed, turn.spentInRun);
    const { environment, log } = turn.context;
    const day = dayOf(environment.now());
    const agent = needed.of === "agent" && { agent: this.#spender.agent };
    const over = overIn(needed, await log.spending.on({ owner: this.#owner, day, ...agent }));
    return over && { ...over, day: new Date(day * DAY_MS).toISOString().slice(0, 10), ...agent };
  }

  /** Asks by how much the budget is raised. Resolves when the question is closed; with `undefined` without an answer. */
  #ask(callId: CallId, over: Budget, owners: OwnerAccounts): Promise<number | undefined> {
    const { speaker, turn } = this.#caller;
    const { environment } = turn.context;
    const { unit, day } = over;
    const known = turn.journal.calls.get(callId)?.wait;
    const questions = { raise: toQuestion(over, this.#owner) };
    const { budgetApprovers = APPROVERS } = owners.of(this.#owner).limits;
    // The approvers that the log has are those that people were shown.
    const approvers = known === undefined ? budgetApprovers : known.approvers;
    const expiresAt = known?.expiresAt ?? (day === undefined ? undefined : Date.parse(day) + DAY_MS);
    const call = new OpenCall({ callId, kind: "wait", name: "budget", speaker, parent: this.#open });
    turn.calls.opened(call);
    const waitId =
      known?.waitId ??
      recordWait(turn, speaker, {
        type: "WaitForInput",
        request_keys: questions,
        schema: {
          type: "object",
          properties: {
            raise: {
              type: unit === "tokens" ? "integer" : "number",
              minimum: 0,
              maximum: MOST_RAISE,
              description: questions.raise,
            },
          },
          required: ["raise"],
        },
        ...(approvers && { approvers }),
        budget: over,
        ...(expiresAt !== undefined && { expires_at: toTimestamp(expiresAt) }),
        call_id: callId,
      });
    const { promise, resolve } = Promise.withResolvers<number | undefined>();
    let raised: number | undefined;
    let isEnded = false;
    const expire = (): void => {
      isEnded = true;
      expireWait(turn, live);
    };
    const look = (): void => {
      this.#findOver(owners).then(
        (still) => {
          // Another budget that is used up by now has a question of its own, which a raise of it finds.
          if (isEnded || (still !== undefined && isSameBudget(still, over))) return;
          if (call.open) expire();
          // The run has left memory meanwhile, with the question open: what has come to know of the room is gone.
          else this.#announce(over);
        },
        // The next answer, or the end of the day, has it looked at again.
        () => {},
      );
    };
    const live: LiveWait = {
      call,
      callId,
      waitId,
      questions,
      schema: handwrittenSchema((values) => {
        checkRaise(over, values as JsonObject);
        return { value: values };
      }),
      ...(approvers && { approvers }),
      budget: over,
      ...(expiresAt !== undefined && { expiresAt }),
      expire,
      look,
      answered(values) {
        isEnded = true;
        raised = checkRaise(over, values);
        turn.listener.raised(over, raised);
      },
    };
    addWait(turn, live);
    call.whenClosed(() => resolve(raised));
    if (!turn.ended && expiresAt !== undefined) call.whenClosed(environment.alarm(expiresAt, expire));
    // A raise between the reading of the budget and the commit of this question did not see the question.
    if (known !== undefined) look();
    else turn.recorder.committed().then(look, () => {});
    return promise;
  }
}

/** Whose budget is used up, in words. */
function toWhose({ unit, day, agent, limit }: Budget): string {
  if (day === undefined) return `the budget of ${limit} ${unit} of the run`;
  const whose = agent === undefined ? "" : ` of agent ${agent}`;
  return `the budget of ${limit} ${unit}${whose} for ${day}`;
}

function toQuestion({ unit, day, agent, limit, spent }: Budget, owner: string): string {
  const whose = day === undefined ? "This run" : agent === undefined ? owner : `Agent ${agent} of ${owner}`;
  const [on, today] = day === undefined ? ["", ""] : [` on ${day}`, " today"];
  return `${whose} has used ${spent} of ${limit} ${unit}${on}. By how much more${today}? 0 ends the completion.`;
}

/** Whether an answer does not raise the budget. */
function isRefusal(values: JsonObject): boolean {
  return values["raise"] === 0;
}
