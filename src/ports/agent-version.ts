/** A version of an agent, and whose turns it continues besides its own. */
export interface AgentVersion {
  /** Absent if nothing tells it from other code with the same name. */
  readonly version?: string;
  /** The other versions whose turns it can continue. */
  readonly compatible?: readonly string[];
}

/** Whether code says that it continues the turns of a version: its own, or one that it is compatible with. */
export function isFor({ version, compatible = [] }: AgentVersion, before: string | undefined): boolean {
  return before === version || (before !== undefined && compatible.includes(before));
}

/**
 * Whether code may be tried with a turn that began under a version. Versions that their author has not named say only that
 * something has changed; whether the code fits, a replay shows.
 */
export function mayContinue(version: AgentVersion, before: string | undefined): boolean {
  return isFor(version, before) || (isUnnamed(before) && isUnnamed(version.version));
}

/** The version of code whose author has named none, by the digest of its files. */
export function toDigestVersion(digest: string): string {
  return `${DIGEST}${digest.slice(0, DIGEST_CHARACTERS)}`;
}

const DIGEST = "sha256:";
const DIGEST_CHARACTERS = 16;

function isUnnamed(version: string | undefined): boolean {
  return version === undefined || version.startsWith(DIGEST);
}
