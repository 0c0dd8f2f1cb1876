import { Bug } from '@penstock/kernel/result.ts'

/**
 * One text for one value: keys sorted, no spaces, bigints as decimal strings, undefined left out. What is hashed goes
 * through here, so that the order in which a state was built never matters.
 * @throws Bug for what JSON would lose in silence (Map, Set, functions, NaN)
 */
export function canonical(value: unknown): string {
  switch (typeof value) {
    case 'string':
      return quoted(value)
    case 'boolean':
      return value ? 'true' : 'false'
    case 'number':
      if (!Number.isFinite(value)) throw new Bug(`${value} has no canonical form`)
      return `${value}` // as JSON writes it, and faster
    case 'bigint':
      return `"${value}"`
    case 'object':
      return value === null ? 'null' : canonicalObject(value)
    default:
      throw new Bug(`a ${typeof value} has no canonical form`)
  }
}

const PLAIN = /^[ !#-[\]-~]*$/
/** Most texts need no escapes, and to see that is cheaper than to look for them. */
const quoted = (text: string): string => (PLAIN.test(text) ? `"${text}"` : JSON.stringify(text))

function canonicalObject(value: object): string {
  if (Array.isArray(value)) return canonicalArray(value)
  // A plain object's keys are strings; sorting makes the text independent of the order of insertion.
  const record = value as Record<string, unknown>
  const members = sortedKeys(Object.keys(record))
  if (members.length === 0 && (value instanceof Map || value instanceof Set)) throw new Bug('a Map or Set has no canonical form')
  let text = ''
  // Plain loops: every state of every stream goes through here, and iterators take a third of the time.
  for (let index = 0; index < members.length; index++) {
    const { key, opening, following } = members[index]!
    const member = record[key]
    if (member !== undefined) text += (text === '' ? opening : following) + canonical(member)
  }
  return `{${text}}`
}

function canonicalArray(items: readonly unknown[]): string {
  let text = ''
  for (let index = 0; index < items.length; index++) text += (index === 0 ? '' : ',') + canonical(items[index] ?? null)
  return `[${text}]`
}

/** A key, and the text that begins its member: as the first, and behind another. */
type Member = { readonly key: string; readonly opening: string; readonly following: string }
/** Keys as they came, and sorted. */
type Shape = { readonly keys: readonly string[]; readonly sorted: readonly Member[] }

/** Several times what there is of kinds. Objects that are keyed by ids come besides, and must not fill the memory. */
const SHAPES_KEPT = 512
const ALIKE_KEPT = 16
const MOST_KEYS = 64
/**
 * By their first key. Objects of a few kinds are hashed again and again: to sort and quote their keys costs more than all
 * the rest.
 */
const shapes = new Map<string, Shape[]>()

function sortedKeys(keys: readonly string[]): Shape['sorted'] {
  const [first] = keys
  if (first === undefined) return []
  const alike = shapes.get(first) ?? []
  for (const known of alike) if (isSame(known.keys, keys)) return known.sorted
  const sorted = keys.toSorted().map((key) => {
    const opening = `${JSON.stringify(key)}:`
    return { key, opening, following: `,${opening}` }
  })
  if (keys.length > MOST_KEYS || alike.length >= ALIKE_KEPT) return sorted
  if (shapes.size >= SHAPES_KEPT) shapes.clear()
  shapes.set(first, [...alike, { keys, sorted }])
  return sorted
}

function isSame(a: readonly string[], b: readonly string[]): boolean {
  if (a.length !== b.length) return false
  for (let index = 0; index < a.length; index++) if (a[index] !== b[index]) return false
  return true
}
