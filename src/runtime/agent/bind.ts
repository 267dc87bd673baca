import type { Agent, Collaborators, Operations } from "./agent.ts";
import type { OperationInput, OperationOutput } from "./turn-api.ts";

/**
 * What the option `bind` must be for these agents: each name is one under which an agent uses another, and its replacement has
 * the operations of that one.
 */
export type FittingBind<Agents extends readonly Agent[], Bind extends Collaborators> = {
  readonly [Name in keyof Bind]: string extends Name
    ? unknown
    : Name extends UsedName<AllOf<Agents[number]>>
      ? FittingAgent<Name & string, UsedAs<Name, AllOf<Agents[number]>>, Bind[Name]>
      : `no agent uses another one as ${Name & string}`;
};

/** Agents, those that they use, and those that these use. What is used further below is not looked at. */
type AllOf<Used extends Agent> = Used | BelowOf<Used> | BelowOf<BelowOf<Used>>;

/** The agents that agents use. */
type BelowOf<Used extends Agent> = Used extends Agent ? Used["uses"][KnownName<Used["uses"]>] : never;

/** The names under which agents use others; any name if their types do not say them all. */
type UsedName<Used extends Agent> =
  | (Used extends Agent ? keyof Used["uses"] : never)
  | ([BelowOf<BelowOf<Used>>] extends [never] ? never : string);

/** The agents that are used under a name; never if their types are not known. */
type UsedAs<Name, Used extends Agent> = Used extends Agent
  ? Name extends KnownName<Used["uses"]>
    ? Used["uses"][Name]
    : never
  : never;

/** The names of collaborators that their type says one by one. */
type KnownName<Uses extends Collaborators> = keyof {
  [Name in keyof Uses as string extends Name ? never : Name]: true;
} &
  keyof Uses;

type FittingAgent<Name extends string, Own extends Agent, Bound extends Agent> = {
  [Used in keyof Own["operations"] & string]: MisfitOf<Name, Used, Own["operations"], Bound["operations"]>;
}[keyof Own["operations"] & string] extends infer Misfit
  ? [Misfit] extends [never]
    ? unknown
    : Misfit
  : never;

/** The fault of a replacement in one operation, in words; never if there is none. */
type MisfitOf<
  Name extends string,
  Used extends string,
  Own extends Operations,
  Bound extends Operations,
> = Used extends keyof Bound
  ? OperationInput<Own[Used]> extends OperationInput<Bound[Used]>
    ? unknown extends OperationOutput<Bound[Used]>
      ? never
      : OperationOutput<Bound[Used]> extends OperationOutput<Own[Used]>
        ? never
        : `${Name}: its operation ${Used} has another output`
    : `${Name}: its operation ${Used} takes another input`
  : string extends Used
    ? never
    : `${Name}: it has no operation ${Used}`;
