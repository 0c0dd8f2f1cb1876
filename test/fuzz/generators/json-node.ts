/**
 * A test value as text, because JSON.stringify cannot write many of these values. `json` is its form in bodies and variables,
 * `literal` its form in a GraphQL document. `kinds` names the kinds of values that it contains, which are counted.
 */
export type JsonNode = { readonly json: string; readonly literal: string; readonly kinds: readonly string[] }

export const VALID_VALUE = 'right value'

/** @param value is serialised as JSON, which is also the GraphQL literal unless `literal` is given */
export const createNode = (kind: string, value: unknown, literal?: string): JsonNode => {
  const json = toJson(value)
  return { json, literal: literal ?? json, kinds: [kind] }
}

/** Creates a node from text that is sent unchanged, even if it is not JSON. */
export const createRawNode = (kind: string, text: string): JsonNode => ({ json: text, literal: text, kinds: [kind] })

/** Creates an object with the fields in this order, including repeated fields. Fields with undefined values are omitted. */
export function createObjectNode(fields: readonly (readonly [string, JsonNode | undefined])[]): JsonNode {
  const presentFields = fields.flatMap(([name, value]) => (value === undefined ? [] : [[name, value] as const]))
  return {
    json: `{${presentFields.map(([name, { json }]) => `${toJson(name)}:${json}`).join(',')}}`,
    literal: `{${presentFields.map(([name, { literal }]) => `${name}:${literal}`).join(',')}}`,
    kinds: [
      ...presentFields.flatMap(([, { kinds }]) => kinds),
      ...(presentFields.length < fields.length ? ['missing field'] : []),
    ],
  }
}

export const createListNode = (nodes: readonly JsonNode[]): JsonNode => ({
  json: `[${nodes.map(({ json }) => json).join(',')}]`,
  literal: `[${nodes.map(({ literal }) => literal).join(',')}]`,
  kinds: nodes.flatMap(({ kinds }) => kinds),
})

export const toJson = (value: unknown): string => JSON.stringify(value) ?? 'null'
