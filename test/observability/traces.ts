import assert from 'node:assert/strict'
import type { CollectedSpan } from './collector.ts'
import { deriveTraceId } from '@penstock/runtime/observability/trace-ids.ts'

/** Selects the collected spans of one order's trace. */
export const selectTraceOfOrder = (spans: readonly CollectedSpan[], orderId: string): readonly CollectedSpan[] =>
  spans.filter(({ trace }) => trace === deriveTraceId(orderId))

/** Lists the names of the spans from the root span to this span. */
function pathTo(spans: readonly CollectedSpan[], span: CollectedSpan): readonly string[] {
  const parent = spans.find(({ id }) => id === span.parent)
  return [...(parent ? pathTo(spans, parent) : []), span.name]
}

/** The spans of a purchase, each caused by the previous one. */
const PURCHASE_PATH = [
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
  'append HoldIssuedRecorded',
  'relay HoldIssuedRecorded',
  'project orders HoldIssuedRecorded',
]
/**
 * The links of a settlement: the request, the proof, the guard's decision, the settlement at the node and its fact. A new block
 * or the clock may also start a round of the guard, which decides or records first. Then the path begins at that step.
 */
const SETTLEMENT_LINKS: readonly (readonly [cause: string, effect: string])[] = [
  ['handle SettleHold', 'effect prove'],
  ['effect prove', 'handle Guard'],
  ['handle Guard', 'effect settle'],
  ['effect settle', 'handle RecordSettled'],
  ['handle RecordSettled', 'append HoldSettled'],
]
const GUARD_STARTS: ReadonlySet<string> = new Set(['handle Guard', 'handle RecordSettled'])

/** Lists spans whose parents are missing. */
const findOrphans = (trace: readonly CollectedSpan[]): readonly string[] => {
  const ids = new Set(trace.map(({ id }) => id))
  return trace.filter(({ parent }) => parent !== undefined && !ids.has(parent)).map(({ name }) => name)
}

/** True if the last span of a paid sale is present and no parent is missing. Processes export spans within two seconds. */
export const isTraceComplete = (trace: readonly CollectedSpan[]): boolean =>
  trace.some(({ name }) => name === 'project orders PayoutSucceeded') && findOrphans(trace).length === 0

/** True if a path contains the child below its parent, or begins with a child that a round of the guard may start. */
const hasLink = (paths: readonly string[], [parent, child]: (typeof SETTLEMENT_LINKS)[number]): boolean =>
  paths.some((path) => path.endsWith(`${parent} > ${child}`) || (path === child && GUARD_STARTS.has(child)))

/** Asserts that the trace has every step of a sale below its cause, and the order's id on all spans except requests. */
export function assertWholePath(trace: readonly CollectedSpan[], orderId: string): void {
  const ids = new Set(trace.map(({ id }) => id))
  assert.equal(ids.size, trace.length, 'span ids are unique')
  assert.deepEqual(findOrphans(trace), [], 'every parent is present')
  const paths = trace.map((span) => pathTo(trace, span).join(' > '))
  assert.ok(paths.includes(PURCHASE_PATH.join(' > ')), `no purchase among\n${paths.join('\n')}`)
  const settling = paths.filter((path) => /Settle|prove|Guard/.test(path)).join('\n')
  for (const link of SETTLEMENT_LINKS) assert.ok(hasLink(paths, link), `no ${link.join(' > ')} among\n${settling}`)
  for (const name of ['effect pay', 'append PayoutSucceeded', 'relay PayoutSucceeded', 'send Accept'])
    assert.ok(
      trace.some((span) => span.name === name),
      name,
    )
  for (const { name, attributes } of trace)
    if (!name.startsWith('POST ')) assert.equal(attributes['penstock.order'], orderId, name)
}
