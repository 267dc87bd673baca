import { AgentError } from "../../errors.ts";
import type { PriceTable, TokenPrice } from "../../ports/prices.ts";
import { isObject } from "../../protocol/json.ts";
import table from "./prices.json" with { type: "json" };

/** A model whose price is looked for. */
export interface PricedModel {
  /** As the AI SDK has it, for example `openai.responses`. */
  readonly provider: string;
  readonly modelId: string;
  /** The name that is shown in events. */
  readonly name: string;
}

/** The price of a model: of an own table, else of `prices.json`. `undefined` if it is not known. */
export function findPrice(model: PricedModel, own: PriceTable | undefined): TokenPrice | undefined {
  const places = placesOf(model);
  if (own !== undefined) {
    const price = (Object.hasOwn(own, model.name) ? own[model.name] : undefined) ?? priceIn(own, places);
    if (price !== undefined) return price;
  }
  return priceIn(table.models, places);
}

/** Where a model can be in a table. */
interface Place {
  readonly provider: string;
  readonly id: string;
}

function placesOf({ provider, modelId: id }: PricedModel): readonly Place[] {
  const [first = "", second = ""] = provider.split(".");
  const slash = id.indexOf("/");
  // The name of a model at a gateway begins with that of its provider.
  if (first === "gateway") return [{ provider: id.slice(0, slash), id: id.slice(slash + 1) }];
  if (first === "vertex" && second === "anthropic") return [{ provider: second, id }];
  if (first === "azure" || first === "azure-openai")
    return [
      { provider: "azure", id },
      { provider: "openai", id },
    ];
  return [{ provider: first === "bedrock" ? "amazon-bedrock" : first, id }];
}

function priceIn(prices: PriceTable, places: readonly Place[]): TokenPrice | undefined {
  for (const { provider, id } of places) {
    const begin = `${provider}/`;
    const found = Object.entries(prices).find(
      ([name, { match }]) =>
        name.startsWith(begin) &&
        (match === undefined ? name.slice(begin.length) === id : new RegExp(match).test(id)),
    );
    if (found !== undefined) return found[1];
  }
  return undefined;
}

const PRICES: readonly string[] = [
  "input",
  "cachedInput",
  "cacheWrite",
  "cacheWriteHour",
  "imageInput",
  "audioInput",
  "output",
  "reasoning",
  "imageOutput",
  "audioOutput",
  "searches",
] satisfies readonly (keyof TokenPrice)[];

/** A table as code or a file gives it. Throws `invalid_request` with what is wrong in it. */
export function parsePrices(given: unknown): PriceTable {
  if (!isObject(given)) throw wrong("prices", "is no object with the prices of models by their names");
  for (const [name, entry] of Object.entries(given)) {
    const { match, ...price } = checkPrice(entry, `the price of ${name}`);
    if (match !== undefined && !isPattern(match))
      throw wrong(`match in the price of ${name}`, "is no regular expression");
    for (const field of Object.keys(price))
      if (!KNOWN.has(field))
        throw wrong(`${field} in the price of ${name}`, `is unknown; there are ${[...KNOWN].join(", ")}`);
  }
  return given as PriceTable;
}

const KNOWN: ReadonlySet<string> = new Set([...PRICES, "longer", "services"]);

function checkPrice(price: unknown, place: string): Readonly<Record<string, unknown>> {
  if (!isObject(price)) throw wrong(place, "is no object");
  for (const field of ["input", "output"])
    if (price[field] === undefined) throw wrong(place, `has no ${field}, the price of a million tokens`);
  checkNumbers(price, PRICES, place);
  const { longer = [], services = {} } = price;
  if (!Array.isArray(longer) || !longer.every(isObject))
    throw wrong(`longer in ${place}`, "is no list of objects");
  for (const tier of longer) {
    checkNumbers(tier, [...PRICES, "above"], `longer in ${place}`);
    if (tier["above"] === undefined) throw wrong(`longer in ${place}`, "has no above, a number of tokens");
  }
  if (!isObject(services)) throw wrong(`services in ${place}`, "is no object");
  for (const [level, each] of Object.entries(services)) checkPrice(each, `${level} of services in ${place}`);
  return price;
}

function checkNumbers(
  price: Readonly<Record<string, unknown>>,
  fields: readonly string[],
  place: string,
): void {
  for (const field of fields) {
    const value = price[field];
    if (value !== undefined && !(typeof value === "number" && value >= 0 && value < Infinity))
      throw wrong(`${field} in ${place}`, "is not a number of 0 or more");
  }
}

function isPattern(match: unknown): boolean {
  try {
    return typeof match === "string" && new RegExp(match) instanceof RegExp;
  } catch {
    return false;
  }
}

function wrong(what: string, fact: string): AgentError {
  return new AgentError("invalid_request", `${what} ${fact}`, {
    hint: 'for example { "openai/gpt-5-mini": { "input": 0.25, "cachedInput": 0.025, "output": 2 } }',
  });
}
