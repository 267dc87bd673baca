/** How the names of what the server keeps to know its clients begin: API keys, and keys to sign with. They are never swept. */
export const AUTH = "auth/";
