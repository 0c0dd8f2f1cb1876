import type { BusMessage } from '@penstock/ports/bus.ts'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { fromCloudEvent, toCloudEvent } from './cloud-events.ts'

const trace = '4bf92f3577b34da6a3ce929d0e0e4736'
const base: BusMessage = { id: 'message-1', key: '42', headers: {}, body: '{}' }

test('a message without a type header gets the type `penstock.<kind>`, or `penstock.message` without a kind', () => {
  expect(toCloudEvent({ ...base, headers: { kind: 'outcome' } }, '/order', 0)).toMatchObject({
    ce_type: 'penstock.outcome',
    ce_kind: 'outcome',
    ce_time: '1970-01-01T00:00:00.000Z',
  })
  expect(toCloudEvent(base, '/order', 0)).toMatchObject({ ce_type: 'penstock.message' })
})

test('the trace header becomes a W3C `traceparent`, unless the publisher has set a `traceparent` of its own', () => {
  const derived = toCloudEvent({ ...base, headers: { trace } }, '/order', 0)
  expect(derived['traceparent']).toMatch(new RegExp(`^00-${trace}-[0-9a-f]{16}-01$`))
  const ownTraceParent = `00-${trace}-00f067aa0ba902b7-01`
  const headers = { trace, traceparent: ownTraceParent, tracestate: 'a=b' }
  const event = toCloudEvent({ ...base, headers }, '/order', 0)
  expect(event).toMatchObject({ traceparent: ownTraceParent, tracestate: 'a=b' })
  expect(fromCloudEvent(event)).toEqual({ id: base.id, headers })
})

test('decoding restores every encoded header and ignores headers that the broker added', () => {
  const name = fc.constantFrom('kind', 'stream', 'type', 'revision', 'previous', 'position', 'trace', 'traceparent')
  const value = fc.oneof(fc.constant(trace), fc.stringMatching(/^[\w-]{0,20}$/))
  fc.assert(
    fc.property(fc.dictionary(name, value), fc.uuid(), (headers, id) => {
      const event = toCloudEvent({ ...base, id, headers }, '/order', 1)
      const asBytes = Object.fromEntries(Object.entries(event).map(([header, text]) => [header, Buffer.from(text)]))
      expect(fromCloudEvent({ ...asBytes, other: Buffer.from('x') })).toEqual({ id, headers })
    }),
  )
})
