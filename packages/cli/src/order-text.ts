import { isObject, type Json, type JsonObject, member, objectsOf } from './json.ts'
import { duration, fields, section, short, table } from './text.ts'

/** An order as an operator reads it: what it is, how it came there, and where the money is. */
export function orderText(order: Json): string {
  const members = isObject(order) ? Object.entries(order) : []
  const plain = members.filter(([name, value]) => !isNested(value) && name !== 'id' && name !== 'status')
  const nested = members.filter(([, value]) => isNested(value))
  return [
    `Order ${text(order, 'id')}\n${text(order, 'status')}`,
    fields(Object.fromEntries(plain)),
    ...nested.map(([name, value]) => section(title(name), body(name, value))),
  ].join('\n\n')
}

const isNested = (value: Json): boolean => typeof value === 'object' && value !== null

const title = (name: string): string => name.charAt(0).toUpperCase() + name.slice(1).replaceAll('_', ' ')

function body(name: string, value: Json): string {
  if (isObject(value)) return fields(value)
  const rows = objectsOf(value)
  switch (name) {
    case 'statuses':
      return table(rows.map(withDuration))
    case 'attempts':
      return table(rows.map(({ offer_id: _offer, ...row }) => shortened(row)))
    case 'ledger':
      return table(rows.flatMap(entries))
    case 'timeline':
      return table(rows.map(({ data, ...row }) => ({ ...row, data: gist(data) })))
    default:
      return table(rows.map(shortened))
  }
}

/** In a table there is no room for a whole key; `--json` has it. */
const shortened = (row: JsonObject): JsonObject =>
  Object.fromEntries(Object.entries(row).map(([name, value]) => [name, typeof value === 'string' ? shortHex(value) : value]))

const shortHex = (value: string): string => value.replace(/[0-9a-f]{40,}/g, short)

/** How long the order stayed in each status. */
function withDuration(row: JsonObject, index: number, rows: readonly JsonObject[]): JsonObject {
  const [from, to] = [when(row), when(rows[index + 1])]
  return { ...row, lasted: from === undefined || to === undefined ? '' : duration(to - from) }
}

/** A posting's entries under each other; only the first says which posting it is. */
const entries = ({ entries: all, ...posting }: JsonObject): readonly JsonObject[] =>
  objectsOf(all).map((entry, index) => ({
    at: index === 0 ? (posting['at'] ?? '') : ' ',
    posting: index === 0 ? (posting['posting'] ?? '') : ' ',
    account: member(entry, 'account'),
    amount_msat: member(entry, 'amountMsat'),
  }))

const GIST = 90

/** What a fact says, as far as it fits on the line. */
function gist(data: Json | undefined): string {
  if (!isObject(data)) return ''
  const parts = Object.entries(data).map(
    ([name, value]) => `${name} ${typeof value === 'string' ? shortHex(value) : JSON.stringify(value)}`,
  )
  const line = shortHex(parts.join(', '))
  return line.length > GIST ? `${line.slice(0, GIST - 1)}…` : line
}

function when(row: JsonObject | undefined): number | undefined {
  const at = member(row, 'at')
  const ms = typeof at === 'number' || typeof at === 'string' ? new Date(at).getTime() : Number.NaN
  return Number.isNaN(ms) ? undefined : ms
}

function text(value: Json, name: string): string {
  const found = member(value, name)
  return typeof found === 'string' ? found : '-'
}
