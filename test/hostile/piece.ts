/**
 * A value as text, since much of what is tried here no JSON writer would write: `json` in bodies and variables,
 * `literal` in a GraphQL document. `kinds` says which generators made it.
 */
export type Piece = { readonly json: string; readonly literal: string; readonly kinds: readonly string[] }

export const RIGHT = 'right value'

/** @param value written as JSON; a text is a GraphQL literal as well */
export const piece = (kind: string, value: unknown, literal?: string): Piece => {
  const json = jsonOf(value)
  return { json, literal: literal ?? json, kinds: [kind] }
}

/** Text that is sent as it is, JSON or not. */
export const raw = (kind: string, text: string): Piece => ({ json: text, literal: text, kinds: [kind] })

/** Fields in this order, repeated ones too; undefined is left out. */
export function object(fields: readonly (readonly [string, Piece | undefined])[]): Piece {
  const kept = fields.flatMap(([name, value]) => (value === undefined ? [] : [[name, value] as const]))
  return {
    json: `{${kept.map(([name, { json }]) => `${jsonOf(name)}:${json}`).join(',')}}`,
    literal: `{${kept.map(([name, { literal }]) => `${name}:${literal}`).join(',')}}`,
    kinds: [...kept.flatMap(([, { kinds }]) => kinds), ...(kept.length < fields.length ? ['missing field'] : [])],
  }
}

export const list = (pieces: readonly Piece[]): Piece => ({
  json: `[${pieces.map(({ json }) => json).join(',')}]`,
  literal: `[${pieces.map(({ literal }) => literal).join(',')}]`,
  kinds: pieces.flatMap(({ kinds }) => kinds),
})

export const jsonOf = (value: unknown): string => JSON.stringify(value) ?? 'null'
