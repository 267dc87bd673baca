/** How the names of what the server keeps to know its clients begin: API keys, and keys to sign with. They are never swept. */
export const AUTH = "auth/";

/** How the names of what is being erased begin, which must not be in the log. They are never swept. */
export const ERASURES = "erasure/";

/** How the names of API keys begin, and those of when each was used. */
export const API_KEYS: string = `${AUTH}key/`;
export const API_KEY_USES: string = `${AUTH}used/`;
