/** What the service answers. The commands pass it on as it is; only the text for people looks inside. */
export type Json = null | boolean | number | string | readonly Json[] | JsonObject
export type JsonObject = { readonly [key: string]: Json }

export const isObject = (value: Json | undefined): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

export const isList = (value: Json | undefined): value is readonly Json[] => Array.isArray(value)

/** @returns the member of an object; null where there is none, or no object */
export const member = (value: Json | undefined, name: string): Json => (isObject(value) ? (value[name] ?? null) : null)

/** @returns the objects of a list; none where it is no list */
export const objectsOf = (value: Json | undefined): readonly JsonObject[] => (isList(value) ? value.filter(isObject) : [])
