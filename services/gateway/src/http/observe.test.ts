import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { systemClock } from '@penstock/adapters/system/clock.ts'
import { registry } from '@penstock/runtime/observability/metrics.ts'
import { openLogger } from '@penstock/runtime/observability/log.ts'
import express from 'express'
import { expect, onTestFinished, test } from 'vitest'
import { forbidden, marketBusy, outcomeUnknown } from '../errors.ts'
import { countErrors, observeRequests } from './observe.ts'
import { assignRequestId } from './security.ts'

test('each request is logged at debug with its id, and without the values in its URL', async () => {
  const lines: Record<string, unknown>[] = []
  const log = { ...openLogger('silent'), debug: (fields: object, text: string) => void lines.push({ ...fields, text }) }
  const app = express()
  app.use(assignRequestId, observeRequests({ clock: systemClock, log }))
  app.get('/orders/:token', (_, response) => void response.status(410).send('over'))
  const server = app.listen(0, '127.0.0.1')
  onTestFinished(() => void server.close())
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo // the server listens on TCP

  const answer = await fetch(`http://127.0.0.1:${port}/orders/secret-token?cart=42`, {
    headers: { 'x-request-id': 'shop-00042' },
  })
  expect(answer.headers.get('x-request-id')).toBe('shop-00042')
  await answer.text()
  await expect.poll(() => lines).toHaveLength(1)
  const [{ took_ms: took, ...line } = {}] = lines
  expect(took).toBeGreaterThanOrEqual(0)
  expect(line).toEqual({
    request: 'shop-00042',
    method: 'GET',
    route: '/orders/:token',
    status: '410',
    text: 'a request was answered',
  })
})

test('the refusals of a busy market are counted apart from faults', async () => {
  const read = async (): Promise<ReadonlyMap<unknown, number>> => {
    const metric = await registry.getSingleMetric('penstock_graphql_errors_total')?.get()
    return new Map(metric?.values.map(({ labels, value }) => [labels['code'], value]))
  }
  const before = await read()
  countErrors([marketBusy(7), marketBusy(60), outcomeUnknown('The order cannot be read just now; try again.'), forbidden('No.')])
  const after = await read()
  const countOf = (code: string): number => (after.get(code) ?? 0) - (before.get(code) ?? 0)
  expect(['MARKET_BUSY', 'INTERNAL_SERVER_ERROR', 'FORBIDDEN'].map(countOf)).toEqual([2, 1, 1])
})
