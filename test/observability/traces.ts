import assert from 'node:assert/strict'
import type { CollectedSpan } from './collector.ts'
import { traceOf } from '@penstock/runtime/trace.ts'

/** The trace of one order, as it was collected. */
export const traceOfOrder = (spans: readonly CollectedSpan[], orderId: string): readonly CollectedSpan[] =>
  spans.filter(({ trace }) => trace === traceOf(orderId))

/** From the outermost to this one. */
function wayTo(spans: readonly CollectedSpan[], span: CollectedSpan): readonly string[] {
  const parent = spans.find(({ id }) => id === span.parent)
  return [...(parent ? wayTo(spans, parent) : []), span.name]
}

/** What a purchase leads to by itself: each of these happened because of the one before. */
const PURCHASE = [
  'POST /graphql',
  'send RequestQuote',
  'handle RequestQuote',
  'send PlaceOrder',
  'handle PlaceOrder',
  'send IssueHold',
  'handle IssueHold',
  'effect issue',
  'handle RecordIssued',
  'append HoldIssued',
  'relay HoldIssued',
  'react HoldIssued',
  'handle RecordHoldIssued',
  'append HoldIssued',
  'relay HoldIssued',
  'project orders HoldIssued',
]
/**
 * The wish, the proof, the word, the payment taken and noted. A look of the guard, which a block or the clock wakes, may be
 * ahead of what the wish leads to, with the word or with the note; then that is where its way begins.
 */
const SETTLED: readonly (readonly [before: string, what: string])[] = [
  ['handle SettleHold', 'effect prove'],
  ['effect prove', 'handle Guard'],
  ['handle Guard', 'effect settle'],
  ['effect settle', 'handle RecordSettled'],
  ['handle RecordSettled', 'append HoldSettled'],
]
const BY_GUARD: ReadonlySet<string> = new Set(['handle Guard', 'handle RecordSettled'])

/** Spans whose parents are not there. */
const orphansOf = (trace: readonly CollectedSpan[]): readonly string[] => {
  const ids = new Set(trace.map(({ id }) => id))
  return trace.filter(({ parent }) => parent !== undefined && !ids.has(parent)).map(({ name }) => name)
}

/** Every process sends what it has within a second or two: the last of a paid sale is there, and nothing is missing before it. */
export const isWhole = (trace: readonly CollectedSpan[]): boolean =>
  trace.some(({ name }) => name === 'project orders PayoutSucceeded') && orphansOf(trace).length === 0

/** Whether it stands below what led to it, or begins where the guard may begin. */
const isThere = (ways: readonly string[], [before, what]: (typeof SETTLED)[number]): boolean =>
  ways.some((way) => way.endsWith(`${before} > ${what}`) || (way === what && BY_GUARD.has(what)))

/** The whole path of a sale, every span below the one that caused it; and nothing that could tell a secret. */
export function assertWholePath(trace: readonly CollectedSpan[], orderId: string): void {
  const ids = new Set(trace.map(({ id }) => id))
  assert.equal(ids.size, trace.length, 'no span id comes twice')
  assert.deepEqual(orphansOf(trace), [], 'every parent is there')
  const ways = trace.map((span) => wayTo(trace, span).join(' > '))
  assert.ok(ways.includes(PURCHASE.join(' > ')), `no purchase among\n${ways.join('\n')}`)
  const settling = ways.filter((way) => /Settle|prove|Guard/.test(way)).join('\n')
  for (const link of SETTLED) assert.ok(isThere(ways, link), `no ${link.join(' > ')} among\n${settling}`)
  for (const name of ['effect pay', 'append PayoutSucceeded', 'relay PayoutSucceeded', 'send Accept'])
    assert.ok(
      trace.some((span) => span.name === name),
      name,
    )
  for (const { name, attributes } of trace)
    if (!name.startsWith('POST ')) assert.equal(attributes['penstock.order'], orderId, name)
}
