import { patternValues, goldenValues } from './golden-values.ts'

/** The part of JSON Schema that zod writes for messages. */
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

/**
 * `choice`: an option. Every enum or union that has this option uses it; all others use their first option. `isSparse`:
 * nullable values are null, and optional keys are omitted.
 */
type SampleRequest = { readonly choice: string; readonly isSparse: boolean }

const SPARSE = 'sparse'

/** @returns the variants of a shape: '' has all keys and every first option; each further option, and `sparse`, has its own */
export function listVariants(schema: JsonSchema): readonly string[] {
  const members = listMembers(schema)
  const plain = members.length > 1 ? members.map(nameMember) : ['']
  const furtherChoices = listChoices(schema).flatMap((words) => words.slice(1))
  return [...new Set([...plain, ...furtherChoices, ...(canBeSparse(schema) ? [SPARSE] : [])])]
}

/** @throws Error if golden-values.ts has no realistic value for a field */
export const createSample = (schema: JsonSchema, variant: string): unknown =>
  sampleSchema(schema, { choice: variant, isSparse: variant === SPARSE })

/** @returns every key of the shape, as `terms.buyer.key` and `htlcs[].peer` */
export function listSchemaKeys(schema: JsonSchema, at = ''): readonly string[] {
  const inner = listProperties(schema).flatMap(([key, member]) => [`${at}${key}`, ...listSchemaKeys(member, `${at}${key}.`)])
  return [
    ...inner,
    ...listMembers(schema).flatMap((m) => listSchemaKeys(m, at)),
    ...listItems(schema).flatMap((m) => listSchemaKeys(m, `${at}[].`)),
  ]
}

/** @returns every key of a value, in the notation of `listSchemaKeys` */
export function listValueKeys(value: unknown, at = ''): readonly string[] {
  if (Array.isArray(value)) return value.flatMap((item) => listValueKeys(item, `${at}[].`))
  if (typeof value !== 'object' || value === null) return []
  return Object.entries(value).flatMap(([key, inner]) => [`${at}${key}`, ...listValueKeys(inner, `${at}${key}.`)])
}

const listProperties = ({ properties = {} }: JsonSchema): readonly (readonly [string, JsonSchema])[] => Object.entries(properties)
const listItems = ({ items, prefixItems }: JsonSchema): readonly JsonSchema[] => prefixItems ?? (items ? [items] : [])
/** Lists the members of a union except null. */
const listMembers = ({ anyOf, oneOf }: JsonSchema): readonly JsonSchema[] =>
  (anyOf ?? oneOf ?? []).filter(({ type }) => type !== 'null')

const isNullable = ({ anyOf, oneOf, type }: JsonSchema): boolean =>
  (anyOf ?? oneOf ?? []).some((member) => member.type === 'null') || (Array.isArray(type) && type.includes('null'))
const listOptionalKeys = (schema: JsonSchema): readonly string[] =>
  listProperties(schema).flatMap(([key]) => (schema.required?.includes(key) ? [] : [key]))
const listParts = (schema: JsonSchema): readonly JsonSchema[] => [
  ...listProperties(schema).map(([, member]) => member),
  ...listMembers(schema),
  ...listItems(schema),
]
const canBeSparse = (schema: JsonSchema): boolean =>
  isNullable(schema) || listOptionalKeys(schema).length > 0 || listParts(schema).some(canBeSparse)

/** @returns the values of every enum, and the names of the members of every union */
const listChoices = (schema: JsonSchema): readonly (readonly string[])[] => [
  (schema.enum ?? listMembers(schema).map(nameMember)).map(String),
  ...listParts(schema).flatMap(listChoices),
]

/** Names a member of a union by its constant field. */
const nameMember = (member: JsonSchema, index: number): string =>
  String(listProperties(member).find(([, property]) => property.const !== undefined)?.[1].const ?? index + 1)

function sampleSchema(schema: JsonSchema, request: SampleRequest, name = '', position = 0): unknown {
  if (request.isSparse && isNullable(schema)) return null
  const members = listMembers(schema)
  const member =
    members.find((one, index) => nameMember(one, index) === request.choice || hasChoice(one, request.choice)) ?? members[0]
  if (member) return sampleSchema(member, request, name, position)
  if (schema.const !== undefined) return schema.const
  if (schema.enum) return schema.enum.includes(request.choice) ? request.choice : schema.enum[position % schema.enum.length]
  switch (Array.isArray(schema.type) ? schema.type[0] : schema.type) {
    case 'object':
      return sampleObject(schema, request)
    case 'array':
      return sampleArray(schema, request, name)
    case 'boolean':
      return !request.isSparse
    default:
      return findPlainValue(schema, name, position)
  }
}

const hasChoice = (schema: JsonSchema, choice: string): boolean => listChoices(schema).flat().includes(choice)

function sampleObject(schema: JsonSchema, request: SampleRequest, position = 0): object {
  const omitted = request.isSparse ? listOptionalKeys(schema) : []
  const included = listProperties(schema).filter(([key]) => !omitted.includes(key))
  return Object.fromEntries(included.map(([key, member]) => [key, sampleSchema(member, request, key, position)]))
}

function sampleArray({ items, prefixItems, minItems = 0 }: JsonSchema, request: SampleRequest, name: string): readonly unknown[] {
  if (prefixItems) return prefixItems.map((member, position) => sampleSchema(member, request, name, position))
  const length = request.isSparse ? minItems : Math.max(minItems, 1)
  if (!items) return []
  return Array.from({ length }, (_, position) =>
    items.type === 'object' ? sampleObject(items, request, position) : sampleSchema(items, request, name, position),
  )
}

/** @throws Error if neither the name nor the pattern gives a value, which then has to be added to golden-values.ts */
function findPlainValue(schema: JsonSchema, name: string, position: number): unknown {
  const known = goldenValues[name]
  const named = typeof known === 'object' ? known[position % known.length] : known
  const expectedType = schema.type === 'integer' || schema.type === 'number' ? 'number' : 'string'
  const fits = (value: string | number | undefined): boolean =>
    typeof value === expectedType && (!schema.pattern || new RegExp(schema.pattern).test(String(value)))
  // Free text has no pattern, so only a name can give a realistic value.
  const found = [named, ...(schema.pattern ? patternValues.map((createValue) => createValue(name)) : [])].find(fits)
  if (found === undefined) throw new Error(`tools/golden-values.ts has no value for "${name}" ${JSON.stringify(schema)}`)
  // The entries of a posting add up to 0, so every second amount that may be negative is negative.
  return schema.pattern?.startsWith('^-?') && position % 2 === 1 ? `-${found}` : found
}
