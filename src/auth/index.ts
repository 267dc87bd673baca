export { sharedToken } from "../http/guards/shared-token.ts";
export type {
  Access,
  Authenticate,
  Authenticated,
  Authenticator,
  Principal,
  RequestSource,
  Visit,
} from "../ports/principal.ts";
export { anyOf } from "./any-of.ts";
export { apiKeys } from "./api-keys.ts";
export type { ApiKey, ApiKeys, ApiKeysOptions, NewApiKey } from "./api-keys.ts";
export type { IdentityOptions } from "./identity.ts";
export { jwt } from "./jwt.ts";
export type { JwtOptions } from "./jwt.ts";
export { oidc } from "./oidc.ts";
export type { OidcOptions } from "./oidc.ts";
export { peers } from "./peers.ts";
export { trustedHeader } from "./trusted-header.ts";
export type { TrustedHeaderOptions } from "./trusted-header.ts";
