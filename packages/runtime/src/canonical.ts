import { Bug } from '@penstock/kernel/result.ts'

/**
 * One text for one value: keys sorted, no spaces, bigints as decimal strings, undefined left out. What is hashed goes
 * through here, so that the order in which a state was built never matters.
 * @throws Bug for what JSON would lose in silence (Map, Set, functions, NaN)
 */
export function canonical(value: unknown): string {
  switch (typeof value) {
    case 'string':
    case 'boolean':
      return JSON.stringify(value)
    case 'number':
      if (!Number.isFinite(value)) throw new Bug(`${value} has no canonical form`)
      return JSON.stringify(value)
    case 'bigint':
      return `"${value}"`
    case 'object':
      return value === null ? 'null' : canonicalObject(value)
    default:
      throw new Bug(`a ${typeof value} has no canonical form`)
  }
}

function canonicalObject(value: object): string {
  if (Array.isArray(value)) return `[${value.map((item) => canonical(item ?? null)).join(',')}]`
  if (value instanceof Map || value instanceof Set) throw new Bug('a Map or Set has no canonical form')
  const members: string[] = []
  // A plain object's keys are strings; sorting makes the text independent of the order of insertion.
  const record = value as Record<string, unknown>
  for (const key of Object.keys(record).sort()) {
    if (record[key] !== undefined) members.push(`${JSON.stringify(key)}:${canonical(record[key])}`)
  }
  return `{${members.join(',')}}`
}
