import type { EndpointFact } from '@penstock/contracts/payments/endpoint.ts'
import type { WebhookEndpointSettings } from '@penstock/ports/deliveries.ts'
import { uuidFor } from '@penstock/testkit/book-entries.ts'
import { expect, test } from 'vitest'
import { evolveSettings } from './endpoint-settings.ts'

const created: EndpointFact = {
  type: 'EndpointCreated',
  v: 1,
  data: { environmentId: uuidFor(1), teamId: uuidFor(2), urlRecord: uuidFor(3), secretRecord: 'first', filters: [] },
}
const rotated = (secretRecord: string, previousValidUntil: number): EndpointFact => ({
  type: 'SecretRotated',
  v: 1,
  data: { secretRecord, previousValidUntil },
})
const foldSettings = (...facts: readonly (readonly [at: number, fact: EndpointFact])[]) =>
  facts.reduce<WebhookEndpointSettings | undefined>(
    (settings, [at, fact]) => evolveSettings(settings, { id: 'e', at, fact }),
    undefined,
  )

test('a rotated secret stays valid until its overlap ends', () => {
  expect(foldSettings([0, created], [10, rotated('second', 110)])?.secrets).toEqual([
    { record: 'second', validUntil: null },
    { record: 'first', validUntil: 110 },
  ])
  expect(foldSettings([0, created], [10, rotated('second', 110)], [120, rotated('third', 220)])?.secrets).toEqual([
    { record: 'third', validUntil: null },
    { record: 'second', validUntil: 220 },
  ])
})

test('nine secrets that were replaced within a day stay valid beside the newest', () => {
  const rotations = Array.from({ length: 10 }, (_, n) => [n, rotated(`new ${n}`, 1000 + n)] as const)
  const recordsAfter = (count: number) =>
    foldSettings([0, created], ...rotations.slice(0, count))?.secrets.map(({ record }) => record)
  const newest = ['new 8', 'new 7', 'new 6', 'new 5', 'new 4', 'new 3', 'new 2', 'new 1', 'new 0']
  expect(recordsAfter(9)).toEqual([...newest, 'first'])
  expect(recordsAfter(10)).toEqual(['new 9', ...newest])
})

test('a deactivated endpoint is switched off until it is resumed, and a deleted one has no settings', () => {
  const deactivated: EndpointFact = { type: 'EndpointDeactivated', v: 1, data: { reason: 'GONE', since: 1, httpStatus: 410 } }
  const resumed: EndpointFact = { type: 'EndpointResumed', v: 1, data: {} }
  expect(foldSettings([0, created], [1, deactivated])?.active).toBe(false)
  expect(foldSettings([0, created], [1, deactivated], [2, resumed])?.active).toBe(true)
  expect(foldSettings([0, created], [1, { type: 'EndpointDeleted', v: 1, data: {} }])).toBeUndefined()
})
