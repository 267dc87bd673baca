import { Command, InvalidArgumentError } from "./vendor/commander.ts";
import type { Fields } from "../protocol/json.ts";
import { isObject } from "../protocol/json.ts";
import { addConnectionOptions, connectWire, talk } from "./connect.ts";
import type { ConnectionOptions } from "./connect.ts";
import { gather } from "./serve/server-options.ts";
import { printTable } from "./print/table.ts";
import { stderr, stdout } from "./print/terminal.ts";
import { toDuration } from "./print/text.ts";

/** `troupe keys`: the API keys of a server. */
export function keysCommand(): Command {
  return new Command("keys")
    .description("Makes, lists and revokes API keys of a server; TROUPE_TOKEN must be an admin's.")
    .addCommand(createCommand())
    .addCommand(listCommand())
    .addCommand(revokeCommand())
    .addHelpText("after", "\nExample: troupe keys list");
}

interface CreateOptions extends ConnectionOptions {
  readonly owner?: string;
  readonly role: readonly string[];
  readonly expiresDays?: number;
}

function createCommand(): Command {
  return addConnectionOptions(new Command("create"))
    .description("Makes a key and prints it. It is shown this once: the server has only a hash of it.")
    .argument("<name>", "what the key is for")
    .option("--owner <name>", "whose runs and files its bearer works with; default: default")
    .option("--role <name>", "a role of its bearer; repeatable; default: user", gather, [])
    .option("--expires-days <number>", "days until it stops working; default: never", parseDays)
    .addHelpText("after", "\nExample: troupe keys create support-desk --owner acme --role user")
    .action(async (name: string, { owner, role, expiresDays, ...options }: CreateOptions) => {
      const wire = connectWire(options);
      const body = {
        name,
        ...(owner !== undefined && { owner }),
        ...(role.length > 0 && { roles: role }),
        ...(expiresDays !== undefined && {
          expires_at: new Date(Date.now() + expiresDays * DAY_MS).toISOString(),
        }),
      };
      const { json } = await talk(wire, () => wire.ask("POST", "/keys", { body }));
      const { id, key } = toFields(json);
      stdout.line(String(key));
      stderr.line(
        `the key ${String(id)} is shown this once; clients send it as TROUPE_TOKEN or bearer token`,
      );
    });
}

function listCommand(): Command {
  return addConnectionOptions(new Command("list"))
    .description("Lists the keys, the newest first, also those that no longer work.")
    .option("--json", "print one key a line as JSON", false)
    .addHelpText("after", "\nExample: troupe keys list")
    .action(async ({ json: asJson, ...options }: ConnectionOptions & { readonly json: boolean }) => {
      const wire = connectWire(options);
      const { json } = await talk(wire, () => wire.ask("GET", "/keys"));
      const keys = Array.isArray(json) ? json.map(toFields) : [];
      if (asJson) {
        for (const key of keys) stdout.json(key);
        return;
      }
      if (keys.length === 0) stderr.line("there is no key");
      printTable(["ID", "NAME", "OWNER", "ROLES", "STATE", "LAST USED"], keys.map(toRow));
    });
}

function revokeCommand(): Command {
  return addConnectionOptions(new Command("revoke"))
    .description("Ends a key, and within 5 s the streams that were opened with it.")
    .argument("<id>", "the id of the key")
    .addHelpText("after", "\nExample: troupe keys revoke 3f9c2e6b1a0d4c58")
    .action(async (id: string, options: ConnectionOptions) => {
      const wire = connectWire(options);
      await talk(wire, () => wire.ask("DELETE", `/keys/${encodeURIComponent(id)}`));
      stderr.line(`the key ${id} is revoked`);
    });
}

const DAY_MS = 86_400_000;

function parseDays(text: string): number {
  const days = Number(text);
  if (text.trim() !== "" && days > 0 && days <= 36_500) return days;
  throw new InvalidArgumentError("The days must be a number above 0.");
}

function toFields(value: unknown): Fields {
  return isObject(value) ? value : {};
}

function toRow(key: Fields): readonly string[] {
  const text = (name: string): string => (typeof key[name] === "string" ? key[name] : "");
  const roles = Array.isArray(key["roles"]) ? key["roles"].join(",") : "";
  const used = text("last_used_at");
  return [
    text("id"),
    text("name"),
    text("owner"),
    roles,
    stateOf(text("revoked_at"), text("expires_at")),
    used === "" ? "never" : `${toDuration(Date.now() - Date.parse(used))} ago`,
  ];
}

function stateOf(revokedAt: string, expiresAt: string): string {
  if (revokedAt !== "") return "revoked";
  if (expiresAt === "") return "works";
  const left = Date.parse(expiresAt) - Date.now();
  return left <= 0 ? "expired" : `works for ${toDuration(left)}`;
}
