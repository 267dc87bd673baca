/** A value that JSON can carry. */
export type Json = null | boolean | number | string | readonly Json[] | JsonObject;

/** An object that JSON can carry. */
export type JsonObject = { readonly [key: string]: Json };
