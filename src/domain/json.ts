// Plain JSON values: the only shape that may be stored, sent or hashed.

export type Json = null | boolean | number | string | readonly Json[] | JsonObject
export type JsonObject = { readonly [key: string]: Json }
