import { byPattern, values } from './golden-values.ts'

/** As much of JSON Schema as zod writes for messages. */
export type JsonSchema = {
  readonly type?: string | readonly string[]
  readonly properties?: Readonly<Record<string, JsonSchema>>
  readonly required?: readonly string[]
  readonly items?: JsonSchema | false
  readonly prefixItems?: readonly JsonSchema[]
  readonly minItems?: number
  readonly anyOf?: readonly JsonSchema[]
  readonly oneOf?: readonly JsonSchema[]
  readonly enum?: readonly (string | number)[]
  readonly const?: string | number
  readonly pattern?: string
}

/** Sparse: what may be null is null, what may be missing is missing. `word`: taken by every choice that knows it; others take their first. */
type Wish = { readonly word: string; readonly sparse: boolean }

const SPARSE = 'sparse'

/** @returns which samples a shape needs: '' has everything and the first of every choice, each further word of a choice has its own */
export function variants(schema: JsonSchema): readonly string[] {
  const members = membersOf(schema)
  const plain = members.length > 1 ? members.map(memberName) : ['']
  const further = choices(schema).flatMap((words) => words.slice(1))
  return [...new Set([...plain, ...further, ...(canBeSparse(schema) ? [SPARSE] : [])])]
}

/** @throws Error where golden-values.ts knows no realistic value */
export const sampleOf = (schema: JsonSchema, variant: string): unknown =>
  sample(schema, { word: variant, sparse: variant === SPARSE })

/** @returns every key of the shape, as `terms.buyer.key` and `htlcs[].peer` */
export function keysOf(schema: JsonSchema, at = ''): readonly string[] {
  const inner = entriesOf(schema).flatMap(([key, member]) => [`${at}${key}`, ...keysOf(member, `${at}${key}.`)])
  return [...inner, ...membersOf(schema).flatMap((m) => keysOf(m, at)), ...itemsOf(schema).flatMap((m) => keysOf(m, `${at}[].`))]
}

/** @returns every key of a value, in the same words as `keysOf` */
export function keysIn(value: unknown, at = ''): readonly string[] {
  if (Array.isArray(value)) return value.flatMap((item) => keysIn(item, `${at}[].`))
  if (typeof value !== 'object' || value === null) return []
  return Object.entries(value).flatMap(([key, inner]) => [`${at}${key}`, ...keysIn(inner, `${at}${key}.`)])
}

const entriesOf = ({ properties = {} }: JsonSchema): readonly (readonly [string, JsonSchema])[] => Object.entries(properties)
const itemsOf = ({ items, prefixItems }: JsonSchema): readonly JsonSchema[] => prefixItems ?? (items ? [items] : [])
/** The members of a union that are not null. */
const membersOf = ({ anyOf, oneOf }: JsonSchema): readonly JsonSchema[] =>
  (anyOf ?? oneOf ?? []).filter(({ type }) => type !== 'null')

const isNullable = ({ anyOf, oneOf, type }: JsonSchema): boolean =>
  (anyOf ?? oneOf ?? []).some((member) => member.type === 'null') || (Array.isArray(type) && type.includes('null'))
const optionalKeys = (schema: JsonSchema): readonly string[] =>
  entriesOf(schema).flatMap(([key]) => (schema.required?.includes(key) ? [] : [key]))
const parts = (schema: JsonSchema): readonly JsonSchema[] => [
  ...entriesOf(schema).map(([, member]) => member),
  ...membersOf(schema),
  ...itemsOf(schema),
]
const canBeSparse = (schema: JsonSchema): boolean =>
  isNullable(schema) || optionalKeys(schema).length > 0 || parts(schema).some(canBeSparse)

/** @returns the words of every enum and the names of the members of every union */
const choices = (schema: JsonSchema): readonly (readonly string[])[] => [
  (schema.enum ?? membersOf(schema).map(memberName)).map(String),
  ...parts(schema).flatMap(choices),
]

/** A member of a union is known by its constant field. */
const memberName = (member: JsonSchema, index: number): string =>
  String(entriesOf(member).find(([, property]) => property.const !== undefined)?.[1].const ?? index + 1)

function sample(schema: JsonSchema, wish: Wish, name = '', place = 0): unknown {
  if (wish.sparse && isNullable(schema)) return null
  const members = membersOf(schema)
  const member = members.find((one, index) => memberName(one, index) === wish.word || mentions(one, wish.word)) ?? members[0]
  if (member) return sample(member, wish, name, place)
  if (schema.const !== undefined) return schema.const
  if (schema.enum) return schema.enum.includes(wish.word) ? wish.word : schema.enum[place % schema.enum.length]
  switch (Array.isArray(schema.type) ? schema.type[0] : schema.type) {
    case 'object':
      return sampleObject(schema, wish)
    case 'array':
      return sampleArray(schema, wish, name)
    case 'boolean':
      return !wish.sparse
    default:
      return plainValue(schema, name, place)
  }
}

const mentions = (schema: JsonSchema, word: string): boolean => choices(schema).flat().includes(word)

function sampleObject(schema: JsonSchema, wish: Wish, place = 0): object {
  const left = wish.sparse ? optionalKeys(schema) : []
  const kept = entriesOf(schema).filter(([key]) => !left.includes(key))
  return Object.fromEntries(kept.map(([key, member]) => [key, sample(member, wish, key, place)]))
}

function sampleArray({ items, prefixItems, minItems = 0 }: JsonSchema, wish: Wish, name: string): readonly unknown[] {
  if (prefixItems) return prefixItems.map((member, place) => sample(member, wish, name, place))
  const length = wish.sparse ? minItems : Math.max(minItems, 1)
  if (!items) return []
  return Array.from({ length }, (_, place) =>
    items.type === 'object' ? sampleObject(items, wish, place) : sample(items, wish, name, place),
  )
}

/** @throws Error where neither the name nor the pattern gives a value: then it belongs into golden-values.ts */
function plainValue(schema: JsonSchema, name: string, place: number): unknown {
  const known = values[name]
  const named = typeof known === 'object' ? known[place % known.length] : known
  const wanted = schema.type === 'integer' || schema.type === 'number' ? 'number' : 'string'
  const fits = (value: string | number | undefined): boolean =>
    typeof value === wanted && (!schema.pattern || new RegExp(schema.pattern).test(String(value)))
  // Free text has no pattern: there only a name tells what is realistic.
  const found = [named, ...(schema.pattern ? byPattern.map((of) => of(name)) : [])].find(fits)
  if (found === undefined) throw new Error(`tools/golden-values.ts has no value for "${name}" ${JSON.stringify(schema)}`)
  // The entries of a posting add up to nothing: every second amount that may be negative is.
  return schema.pattern?.startsWith('^-?') && place % 2 === 1 ? `-${found}` : found
}
