import type { Model } from "../ports/model.ts";
import type { Tool } from "../runtime/agent/agent.ts";
import type { Turn } from "../runtime/agent/turn-api.ts";
import type { NamedTools, ToolSet } from "./tool-set.ts";

/** What a turn of an agent works with. */
export interface Kit {
  readonly model: Model;
  readonly tools: ToolSet;
}

/** The parts of a kit, or the functions that choose them for a turn. */
export interface KitSource {
  readonly model: Model | ((turn: Turn) => Promise<Model>);
  readonly tools: NamedTools | ((turn: Turn) => Promise<NamedTools>);
  /** The tools as the model sees them. */
  toToolSet(tools: NamedTools, turn: Turn): ToolSet;
}

/**
 * The kit of a turn. What functions have chosen is logged by name: a turn that continues keeps to those tools, and gets no
 * others that the functions would give it now.
 */
export async function toKit({ model, tools, toToolSet }: KitSource, turn: Turn): Promise<Kit> {
  if (typeof model !== "function" && typeof tools !== "function")
    return { model, tools: toToolSet(tools, turn) };
  const chosen = typeof model === "function" ? await model(turn) : model;
  const given = typeof tools === "function" ? await tools(turn) : tools;
  const names = await turn.effect(
    CHOICE,
    (): Choice => ({
      ...(typeof model === "function" && { model: chosen.name }),
      ...(typeof tools === "function" && { tools: given.tools.map(({ name }) => name) }),
    }),
    { effect: "idempotent" },
  );
  const isChosen = ({ name }: Tool): boolean => names.tools?.includes(name) ?? true;
  return { model: chosen, tools: toToolSet({ ...given, tools: given.tools.filter(isChosen) }, turn) };
}

/** What functions have chosen, by name. */
type Choice = { readonly model?: string; readonly tools?: readonly string[] };

/** The name of the effect that logs a choice. */
const CHOICE = "model_and_tools";
