/** An answer of the service. With `--json` a command prints it unchanged; the text output reads some of its members. */
export type Json = null | boolean | number | string | readonly Json[] | JsonObject
export type JsonObject = { readonly [key: string]: Json }

export const isObject = (value: Json | undefined): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

export const isList = (value: Json | undefined): value is readonly Json[] => Array.isArray(value)

/** @returns the member of an object; null if there is no such member or the value is no object */
export const getMember = (value: Json | undefined, name: string): Json => (isObject(value) ? (value[name] ?? null) : null)

/** @returns the objects of a list; an empty list if the value is no list */
export const filterObjects = (value: Json | undefined): readonly JsonObject[] => (isList(value) ? value.filter(isObject) : [])
