import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { systemClock } from '@penstock/adapters/system/clock.ts'
import { openLogger } from '@penstock/runtime/observability/log.ts'
import express from 'express'
import { expect, onTestFinished, test } from 'vitest'
import { observeRequests } from './observe.ts'
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
