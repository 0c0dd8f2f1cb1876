import { isObject, type Json, type JsonObject, getMember, filterObjects } from './json.ts'
import { formatDuration, formatFields, formatSection, shortenHex, formatTable } from './text-format.ts'

/** Formats an order for an operator: its fields, its history and its money. */
export function formatOrder(order: Json): string {
  const members = isObject(order) ? Object.entries(order) : []
  const plain = members.filter(([name, value]) => !isNested(value) && name !== 'id' && name !== 'status')
  const nested = members.filter(([, value]) => isNested(value))
  return [
    `Order ${readText(order, 'id')}\n${readText(order, 'status')}`,
    formatFields(Object.fromEntries(plain)),
    ...nested.map(([name, value]) => formatSection(formatTitle(name), formatBody(name, value))),
  ].join('\n\n')
}

const isNested = (value: Json): boolean => typeof value === 'object' && value !== null

const formatTitle = (name: string): string => name.charAt(0).toUpperCase() + name.slice(1).replaceAll('_', ' ')

function formatBody(name: string, value: Json): string {
  if (isObject(value)) return formatFields(value)
  const rows = filterObjects(value)
  switch (name) {
    case 'statuses':
      return formatTable(rows.map(addDuration))
    case 'attempts':
      return formatTable(rows.map(({ offer_id: _offer, ...row }) => shortenValues(row)))
    case 'ledger':
      return formatTable(rows.flatMap(listEntries))
    case 'timeline':
      return formatTable(rows.map(({ data, ...row }) => ({ ...row, data: summarize(data) })))
    default:
      return formatTable(rows.map(shortenValues))
  }
}

/** Shortens keys, because a table has no room for them; `--json` prints them whole. */
const shortenValues = (row: JsonObject): JsonObject =>
  Object.fromEntries(
    Object.entries(row).map(([name, value]) => [name, typeof value === 'string' ? shortenHexWithin(value) : value]),
  )

const shortenHexWithin = (value: string): string => value.replace(/[0-9a-f]{40,}/g, shortenHex)

/** Adds the time for which the order stayed in the status. */
function addDuration(row: JsonObject, index: number, rows: readonly JsonObject[]): JsonObject {
  const [from, to] = [readInstant(row), readInstant(rows[index + 1])]
  return { ...row, lasted: from === undefined || to === undefined ? '' : formatDuration(to - from) }
}

/** One row per entry of a posting. Only the first row names the posting. */
const listEntries = ({ entries: all, ...posting }: JsonObject): readonly JsonObject[] =>
  filterObjects(all).map((entry, index) => ({
    at: index === 0 ? (posting['at'] ?? '') : ' ',
    posting: index === 0 ? (posting['posting'] ?? '') : ' ',
    account: getMember(entry, 'account'),
    amount_msat: getMember(entry, 'amountMsat'),
  }))

const MAX_SUMMARY_LENGTH = 90

/** The data of a fact on one line, shortened to fit. */
function summarize(data: Json | undefined): string {
  if (!isObject(data)) return ''
  const parts = Object.entries(data).map(
    ([name, value]) => `${name} ${typeof value === 'string' ? shortenHexWithin(value) : JSON.stringify(value)}`,
  )
  const line = shortenHexWithin(parts.join(', '))
  return line.length > MAX_SUMMARY_LENGTH ? `${line.slice(0, MAX_SUMMARY_LENGTH - 1)}…` : line
}

function readInstant(row: JsonObject | undefined): number | undefined {
  const at = getMember(row, 'at')
  const ms = typeof at === 'number' || typeof at === 'string' ? new Date(at).getTime() : Number.NaN
  return Number.isNaN(ms) ? undefined : ms
}

function readText(value: Json, name: string): string {
  const found = getMember(value, name)
  return typeof found === 'string' ? found : '-'
}
