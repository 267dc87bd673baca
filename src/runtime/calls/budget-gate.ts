import { ModelError } from "../../ports/model.ts";
import { ownerOf } from "../../ports/principal.ts";
import { toTimestamp } from "../../protocol/events/encode.ts";
import type { Budget } from "../../protocol/events/event-body.ts";
import type { CallId } from "../../protocol/ids.ts";
import type { JsonObject } from "../../protocol/json.ts";
import { handwrittenSchema } from "../agent/definition/handwritten-schema.ts";
import type { OwnerAccounts } from "../owners/accounts.ts";
import type { Schema } from "../agent/agent.ts";
import { hasBudget } from "../owners/owner-limits.ts";
import { OpenCall } from "../scheduler/call-tree.ts";
import type { LiveWait } from "../scheduler/call-tree.ts";
import type { ActorContext } from "../turn/actor-context.ts";
import { addWait, expireWait, recordWait } from "../turn/turn-waits.ts";

/** Who may raise a budget if its owner's limits do not say. */
const APPROVERS: readonly string[] = ["operator"];

const DAY_MS = 86_400_000;

/**
 * Lets a completion begin when the budget of its owner has room; `undefined` if it may begin at once. Over budget it asks those who may
 * raise it, and waits; the end of the day ends the question too. Throws a ModelError if the budget is not raised. `asking` is
 * called before each question.
 */
export function admitCompletion(
  caller: ActorContext,
  open: OpenCall,
  asking: () => void,
): Promise<void> | undefined {
  const { context, accepted } = caller.turn;
  const { owners } = context;
  if (owners === undefined || context.isRehearsal) return undefined;
  const account = owners.of(ownerOf(accepted));
  if (owners.isFresh(account) && account.fault === undefined && !hasBudget(account.limits)) return undefined;
  return admit(caller, open, owners, asking);
}

async function admit(
  caller: ActorContext,
  open: OpenCall,
  owners: OwnerAccounts,
  asking: () => void,
): Promise<void> {
  const { journal, recorder } = caller.turn;
  let isDeclined = false;
  for (let count = 1; open.open; count += 1) {
    const callId = `${open.callId}.${count}` as CallId;
    const { wait: known, outcome } = journal.calls.get(callId) ?? {};
    if (known !== undefined && outcome !== undefined) {
      isDeclined = outcome.ok && isRefusal(outcome.value as JsonObject | null);
      continue;
    }
    const over = known?.budget ?? (await findOver(caller, owners));
    if (over === undefined || !open.open) return;
    const { unit, day, limit } = over;
    if (isDeclined)
      throw new ModelError(`the budget of ${limit} ${unit} for ${day} is used up, and was not raised`);
    asking();
    isDeclined = await ask(caller, open, callId, over, owners);
    // What was raised counts from its commit on. A failed commit is reported to the run, which closes its calls.
    await recorder.committed().catch(() => {});
  }
}

/** The budget that is used up; `undefined` if there is room. */
async function findOver({ turn }: ActorContext, owners: OwnerAccounts): Promise<Budget | undefined> {
  const { environment, log } = turn.context;
  const owner = ownerOf(turn.accepted);
  const { limits } = await owners.ready(owner);
  if (!hasBudget(limits)) return undefined;
  const day = Math.floor(environment.now() / DAY_MS);
  const spent = await log.spent(owner, day);
  const { tokensPerDay = Infinity, costPerDay = Infinity } = limits;
  const named = new Date(day * DAY_MS).toISOString().slice(0, 10);
  const tokens = tokensPerDay + spent.raisedTokens;
  if (spent.tokens >= tokens) return { unit: "tokens", day: named, limit: tokens, spent: spent.tokens };
  const cost = costPerDay + spent.raisedCost;
  return spent.cost >= cost ? { unit: "cost", day: named, limit: cost, spent: spent.cost } : undefined;
}

/** Asks by how much the budget is raised. Resolves when the question is closed, with whether it is not raised. */
function ask(
  { speaker, turn }: ActorContext,
  parent: OpenCall,
  callId: CallId,
  over: Budget,
  owners: OwnerAccounts,
): Promise<boolean> {
  const { environment } = turn.context;
  const { unit, day, limit, spent } = over;
  const owner = ownerOf(turn.accepted);
  const known = turn.journal.calls.get(callId)?.wait;
  const questions = {
    raise: `${owner} has used ${spent} of ${limit} ${unit} on ${day}. By how much more today? 0 ends the completion.`,
  };
  const { budgetApprovers = APPROVERS } = owners.of(owner).limits;
  // The approvers that the log has are those that people were shown.
  const approvers = known === undefined ? budgetApprovers : known.approvers;
  const expiresAt = known?.expiresAt ?? Date.parse(day) + DAY_MS;
  const call = new OpenCall({ callId, kind: "wait", name: "budget", speaker, parent });
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
            maximum: MOST,
            description: questions.raise,
          },
        },
        required: ["raise"],
      },
      ...(approvers && { approvers }),
      budget: over,
      expires_at: toTimestamp(expiresAt),
      call_id: callId,
    });
  const { promise, resolve } = Promise.withResolvers<boolean>();
  let isDeclined = false;
  const live: LiveWait = {
    call,
    callId,
    waitId,
    questions,
    schema: unit === "tokens" ? TOKENS : COST,
    ...(approvers && { approvers }),
    budget: over,
    expiresAt,
    expire: () => expireWait(turn, live),
    answered(values) {
      isDeclined = isRefusal(values);
      const raise = Number(values["raise"]);
      turn.recorder.spend(unit === "tokens" ? { raisedTokens: raise } : { raisedCost: raise });
    },
  };
  addWait(turn, live);
  call.whenClosed(() => resolve(isDeclined));
  if (!turn.ended) call.whenClosed(environment.alarm(expiresAt, () => expireWait(turn, live)));
  return promise;
}

/** The most by which one answer raises a budget, so that sums stay exact. */
const MOST = 1e12;

const TOKENS = toAnswerSchema(Number.isSafeInteger, "a whole number");
const COST = toAnswerSchema(Number.isFinite, "a number");

function toAnswerSchema(isUnit: (value: unknown) => boolean, what: string): Schema<unknown> {
  return handwrittenSchema(async (values) => {
    const { raise, ...more } = values as JsonObject;
    const fits = isUnit(raise) && Number(raise) >= 0 && Number(raise) <= MOST;
    if (fits && Object.keys(more).length === 0) return { value: values };
    return {
      issues: [{ path: ["raise"], message: `must be ${what} from 0 to ${MOST}, and the only value` }],
    };
  });
}

/** Whether an answer does not raise the budget. */
function isRefusal(values: JsonObject | null): boolean {
  return values !== null && values["raise"] === 0;
}
