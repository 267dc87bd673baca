import { existsSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { resolve } from "node:path";
import { pathToFileURL } from "node:url";
import type { Adapter } from "../../http/adapter.ts";
import type { Encryption } from "../../ports/encryption.ts";
import type { PriceTable } from "../../ports/prices.ts";
import type { Authenticate } from "../../ports/principal.ts";
import type { Authorize } from "../../runtime/access/authorize.ts";
import type { Redact } from "../../runtime/commands/redaction.ts";
import type { LimitsOfOwner } from "../../runtime/owners/owner-limits.ts";
import type { PushOptions, WebhookOptions } from "../../webhooks/create-webhooks.ts";
import { AgentError, messageOf } from "../../errors.ts";
import { parsePrices } from "../../runtime/model/prices.ts";
import { isObject } from "../../protocol/json.ts";
import { EXIT, Exit } from "../exit.ts";
import { toThrownText } from "../thrown-text.ts";

/** What a server takes from its configuration file, by the names of its exports. */
export interface ServerConfig {
  /** The agent of requests that name none; by default `echo`, else the first one by its file. */
  readonly defaultAgent?: string;
  /** Who may use the server, besides those with TROUPE_TOKEN or an API key. */
  readonly authenticate?: Authenticate;
  /** What principals may do, beside what their roles say. */
  readonly authorize?: Authorize;
  readonly redact?: Redact;
  /** Prices of models, before those that the package knows. */
  readonly prices?: PriceTable;
  /** The keys with which the data of owners is encrypted. */
  readonly encryption?: Encryption;
  /** What each owner may use. */
  readonly owners?: LimitsOfOwner;
  /** The receivers outside to which events are sent; without a list there are no webhooks. */
  readonly webhooks?: readonly WebhookOptions[];
  /** Where receivers may be that clients of wires name. */
  readonly push?: PushOptions;
  /** What is served besides the wires of the command line, for example what foreign senders send. */
  readonly adapters: readonly Adapter[];
}

/** The file that is read if the command line names none. */
const USUAL = "troupe.config.ts";

/** Imports the configuration file of a server; without one everything has its default. */
export async function loadServerConfig(path: string | undefined): Promise<ServerConfig> {
  if (path === undefined && !existsSync(USUAL)) return { adapters: [] };
  const file = path ?? USUAL;
  let exported: Readonly<Record<string, unknown>>;
  try {
    exported = (await import(pathToFileURL(resolve(file)).href)) as Readonly<Record<string, unknown>>;
  } catch (thrown) {
    throw new Exit(EXIT.refused, `${file} does not load`, toThrownText(thrown));
  }
  const {
    authenticate,
    authorize,
    defaultAgent,
    encryption,
    owners,
    prices,
    redact,
    webhooks,
    push,
    adapters = [],
    ...rest
  } = exported;
  const [unknown] = Object.keys(rest);
  if (unknown !== undefined) {
    throw new Exit(EXIT.refused, `${file} exports ${unknown}, which a server does not know`, KNOWN);
  }
  for (const [name, value] of Object.entries({ authenticate, authorize, owners, redact })) {
    if (value === undefined || typeof value === "function") continue;
    throw new Exit(EXIT.refused, `${file} exports ${name}, which is no function`, KNOWN);
  }
  if (defaultAgent !== undefined && typeof defaultAgent !== "string") {
    throw new Exit(EXIT.refused, `${file} exports defaultAgent, which is no name`, KNOWN);
  }
  if ((webhooks !== undefined && !Array.isArray(webhooks)) || !Array.isArray(adapters)) {
    throw new Exit(EXIT.refused, `${file} exports webhooks or adapters that are no list`, KNOWN);
  }
  if (push !== undefined && !isObject(push)) {
    throw new Exit(EXIT.refused, `${file} exports push, which is no object`, KNOWN);
  }
  if (encryption !== undefined && !isEncryption(encryption)) {
    throw new Exit(EXIT.refused, `${file} exports encryption without a function keyFor`, KNOWN);
  }
  return {
    ...(webhooks !== undefined && { webhooks: webhooks as readonly WebhookOptions[] }),
    ...(push !== undefined && { push }),
    adapters: adapters as readonly Adapter[],
    ...(authenticate !== undefined && { authenticate: authenticate as Authenticate }),
    ...(authorize !== undefined && { authorize: authorize as Authorize }),
    ...(defaultAgent !== undefined && { defaultAgent }),
    ...(encryption !== undefined && { encryption }),
    ...(prices !== undefined && { prices: toPrices(prices, file) }),
    ...(redact !== undefined && { redact: redact as Redact }),
    ...(owners !== undefined && { owners: owners as LimitsOfOwner }),
  };
}

/** The table of prices of a file, which the runtime would refuse without its name. */
function toPrices(given: unknown, file: string): PriceTable {
  try {
    return parsePrices(given);
  } catch (thrown) {
    if (!(thrown instanceof AgentError)) throw thrown;
    throw new Exit(EXIT.refused, `${file}: ${thrown.message}`, thrown.details.hint);
  }
}

/** The prices in the JSON file that `TROUPE_PRICES` names, then those of the configuration: the first that fits counts. */
export async function findPrices({ prices }: Pick<ServerConfig, "prices">): Promise<PriceTable | undefined> {
  const { TROUPE_PRICES: path = "" } = process.env;
  if (path === "") return prices;
  const own = await loadPrices(path);
  // The first one gives the order of the entries, the last one the entries that both have.
  return { ...own, ...prices, ...own };
}

async function loadPrices(path: string): Promise<PriceTable> {
  let given: unknown;
  try {
    given = JSON.parse(await readFile(path, "utf8"));
  } catch (thrown) {
    throw new Exit(EXIT.refused, `the prices in ${path} cannot be read: ${messageOf(thrown)}`, PRICES_HINT);
  }
  return toPrices(given, path);
}

const PRICES_HINT = "TROUPE_PRICES is the path of a JSON file with the prices of models by their names";

function isEncryption(value: unknown): value is Encryption {
  return (
    typeof value === "object" && value !== null && "keyFor" in value && typeof value.keyFor === "function"
  );
}

const KNOWN =
  'the exports are authenticate (of "troupe/auth"), authorize, defaultAgent, encryption, owners, prices, redact, webhooks, push and adapters (of "troupe/webhooks"); see docs/guide/users.md';
