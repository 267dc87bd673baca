/**
 * Makes src/runtime/model/prices.json from the prices that the package @pydantic/genai-prices has. Run it after an update of that
 * package: `node .ci/make-prices.ts`.
 */
import { readFileSync, writeFileSync } from "node:fs";
import { findProvider } from "@pydantic/genai-prices";
import type { MatchLogic, ModelInfo, ModelPrice } from "@pydantic/genai-prices";

/** The providers of the AI SDK, and their names in the package. */
const PROVIDERS: Readonly<Record<string, string>> = {
  openai: "openai",
  anthropic: "anthropic",
  google: "google",
  xai: "x-ai",
  mistral: "mistral",
  groq: "groq",
  deepseek: "deepseek",
  cohere: "cohere",
  "amazon-bedrock": "aws",
  azure: "azure",
  cerebras: "cerebras",
  fireworks: "fireworks",
  moonshotai: "moonshotai",
  perplexity: "perplexity",
};

/** What a price is of, and its name in the package. */
const FIELDS: Readonly<Record<string, string>> = {
  input: "input_mtok",
  cachedInput: "cache_read_mtok",
  cacheWrite: "cache_write_mtok",
  cacheWriteHour: "cache_write_1h_mtok",
  imageInput: "input_image_mtok",
  audioInput: "input_audio_mtok",
  output: "output_mtok",
  reasoning: "output_reasoning_mtok",
  imageOutput: "output_image_mtok",
  audioOutput: "output_audio_mtok",
  searches: "web_searches_kcount",
};

const root = new URL("..", import.meta.url);
const { version, license, homepage } = read("node_modules/@pydantic/genai-prices/package.json");
const made = new Date().toISOString().slice(0, 10);
const models = Object.entries(PROVIDERS).flatMap(([name, id]) =>
  (findProvider({ providerId: id })?.models ?? []).flatMap((model) => {
    const price = toPrice(pricesOn(made, model));
    return price === undefined
      ? []
      : [[`${name}/${model.id}`, { match: toPattern(model.match), ...(price as object) }]];
  }),
);
const lines = models.map(([name, entry]) => `    ${JSON.stringify(name)}: ${JSON.stringify(entry)}`);
const head = {
  made,
  source: `@pydantic/genai-prices ${String(version)}, ${String(homepage)}`,
  license: `${String(license)}, Copyright (c) Pydantic Services Inc. 2025 to present`,
};
writeFileSync(
  new URL("src/runtime/model/prices.json", root),
  `${JSON.stringify(head, null, 2).slice(0, -2)},\n  "models": {\n${lines.join(",\n")}\n  }\n}\n`,
);
console.log(`${models.length} prices as of ${made}`);

function read(path: string): Readonly<Record<string, unknown>> {
  return JSON.parse(readFileSync(new URL(path, root), "utf8")) as Readonly<Record<string, unknown>>;
}

/** The prices of a model on a day: the newest that had begun, without those of some hours only. */
function pricesOn(day: string, { prices }: ModelInfo): ModelPrice {
  if (!Array.isArray(prices)) return prices;
  const begun = prices.filter(
    ({ constraint }) =>
      constraint === undefined || (constraint.type === "start_date" && constraint.start_date <= day),
  );
  return begun.at(-1)?.prices ?? {};
}

/** The prices by our names; those of longer prompts in `longer`. `undefined` for a model without a price of tokens it reads and says. */
function toPrice(prices: ModelPrice): unknown {
  const given = Object.entries(FIELDS).flatMap(([field, name]) => {
    const price = prices[name];
    return price === undefined ? [] : [{ field, price }];
  });
  if (prices["input_mtok"] === undefined || prices["output_mtok"] === undefined) return undefined;
  const base = given.map(({ field, price }) => [field, typeof price === "number" ? price : price.base]);
  const tiers = given.flatMap(({ price }) => (typeof price === "number" ? [] : price.tiers));
  const longer = [...new Set(tiers.map(({ start }) => start))].sort((a, b) => a - b);
  return {
    ...Object.fromEntries(base),
    ...(longer.length > 0 && {
      longer: longer.map((above) => ({
        above,
        ...Object.fromEntries(
          given.flatMap(({ field, price }) => {
            const tier =
              typeof price === "number" ? undefined : price.tiers.findLast(({ start }) => start <= above);
            return tier === undefined ? [] : [[field, tier.price]];
          }),
        ),
      })),
    }),
  };
}

/** A regular expression for the ids that a rule matches. */
function toPattern(rule: MatchLogic): string {
  const equal = "or" in rule && rule.or.every((each) => "equals" in each) ? rule.or : undefined;
  if (equal) return `^(?:${equal.map((each) => escape(each.equals)).join("|")})$`;
  if ("or" in rule) return rule.or.map((each) => toPattern(each)).join("|");
  if ("and" in rule) return `^${rule.and.map((each) => `(?=.*?(?:${toPattern(each)}))`).join("")}`;
  if ("equals" in rule) return `^${escape(rule.equals)}$`;
  if ("starts_with" in rule) return `^${escape(rule.starts_with)}`;
  if ("ends_with" in rule) return `${escape(rule.ends_with)}$`;
  return "regex" in rule ? rule.regex : escape(rule.contains);
}

function escape(text: string): string {
  return text.replaceAll(/[.*+?^${}()|[\]\\]/g, String.raw`\$&`);
}
