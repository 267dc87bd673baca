import type { Json } from "../../protocol/json.ts";

/**
 * Whether a name looks like that of a secret, in any spelling (`openai_key`, `connectionString`, `DB_PWD`). A name that
 * matches by mistake costs little: its value is stored with the secrets, and the agent gets it unchanged.
 */
export function isSecretName(name: string): boolean {
  return SECRET_NAME.test(name);
}

/** Whether a text contains a secret itself: the password of a URL, a parameter with a secret name, a bearer token. */
export function hasSecret(value: Json): boolean {
  if (typeof value !== "string") return false;
  if (USER_OF_URL.test(value) || BEARER.test(value)) return true;
  for (const [, name = ""] of value.matchAll(PARAMETER)) if (isSecretName(name.trim())) return true;
  return false;
}

const SECRET_NAME = new RegExp(
  [
    "secret|token|credential|bearer|jwt|cookie|dsn",
    "passw|passphrase|passcode|pass$|pwd",
    // Not the author and the authority.
    "auth(?!or(?!i[sz]))",
    "conn(?:ection)?[-_ ]?str",
    "(?:api|access|private|signing|encryption)[-_ ]?key",
    "keys?$",
  ].join("|"),
  "iu",
);

// The parts of these patterns exclude what begins their next match, so that a search takes linear time.
const USER_OF_URL = /:\/\/[^\s/?#@]+@/u;
const BEARER = /\bBearer\s+\S/iu;
const PARAMETER = /(?:^|[?&;])([^=?&;]+)=/gu;
