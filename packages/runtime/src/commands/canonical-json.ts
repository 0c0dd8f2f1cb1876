import { Bug } from '@penstock/kernel/result.ts'

/**
 * Writes a value as its only canonical text: sorted keys, no spaces, bigints as decimal strings, undefined omitted. Hashes
 * cover this text, so that the order in which a state was built does not matter.
 * @throws Bug for a value that JSON would lose silently (Map, Set, functions, NaN)
 */
export function toCanonicalJson(value: unknown): string {
  switch (typeof value) {
    case 'string':
      return quoteText(value)
    case 'boolean':
      return value ? 'true' : 'false'
    case 'number':
      if (!Number.isFinite(value)) throw new Bug(`${value} has no canonical form`)
      return `${value}` // The same text as JSON.stringify, but faster
    case 'bigint':
      return `"${value}"`
    case 'object':
      return value === null ? 'null' : objectToJson(value)
    default:
      throw new Bug(`a ${typeof value} has no canonical form`)
  }
}

const PLAIN = /^[ !#-[\]-~]*$/
/** Most strings need no escapes, and this test is cheaper than JSON.stringify. */
const quoteText = (text: string): string => (PLAIN.test(text) ? `"${text}"` : JSON.stringify(text))

function objectToJson(value: object): string {
  if (Array.isArray(value)) return arrayToJson(value)
  // A plain object's keys are strings; sorting makes the text independent of the order of insertion.
  const record = value as Record<string, unknown>
  const members = sortKeys(Object.keys(record))
  if (members.length === 0 && (value instanceof Map || value instanceof Set)) throw new Bug('a Map or Set has no canonical form')
  let text = ''
  // A plain loop, because this runs for every state of every stream, and iterators would take a third of the time.
  for (let index = 0; index < members.length; index++) {
    const { key, opening, following } = members[index]!
    const member = record[key]
    if (member !== undefined) text += (text === '' ? opening : following) + toCanonicalJson(member)
  }
  return `{${text}}`
}

function arrayToJson(items: readonly unknown[]): string {
  let text = ''
  for (let index = 0; index < items.length; index++) text += (index === 0 ? '' : ',') + toCanonicalJson(items[index] ?? null)
  return `[${text}]`
}

/** A key, and the text before its value: `opening` if the member is the first, `following` if another member precedes it. */
type Member = { readonly key: string; readonly opening: string; readonly following: string }
/** The keys of an object in their own order, and sorted. */
type KeyShape = { readonly keys: readonly string[]; readonly sorted: readonly Member[] }

/** Room for several times the kinds of objects. The bound keeps objects with ids as keys from filling the memory. */
const MAX_SHAPES = 512
const MAX_SHAPES_PER_KEY = 16
const MAX_KEYS = 64
/**
 * The cached shapes by their first key. Objects of a few kinds are hashed repeatedly, and sorting and quoting their keys
 * would cost more than the rest of the work.
 */
const shapesByFirstKey = new Map<string, KeyShape[]>()

function sortKeys(keys: readonly string[]): KeyShape['sorted'] {
  const [first] = keys
  if (first === undefined) return []
  const alike = shapesByFirstKey.get(first) ?? []
  for (const known of alike) if (isSame(known.keys, keys)) return known.sorted
  const sorted = keys.toSorted().map((key) => {
    const opening = `${JSON.stringify(key)}:`
    return { key, opening, following: `,${opening}` }
  })
  if (keys.length > MAX_KEYS || alike.length >= MAX_SHAPES_PER_KEY) return sorted
  if (shapesByFirstKey.size >= MAX_SHAPES) shapesByFirstKey.clear()
  shapesByFirstKey.set(first, [...alike, { keys, sorted }])
  return sorted
}

function isSame(a: readonly string[], b: readonly string[]): boolean {
  if (a.length !== b.length) return false
  for (let index = 0; index < a.length; index++) if (a[index] !== b[index]) return false
  return true
}
