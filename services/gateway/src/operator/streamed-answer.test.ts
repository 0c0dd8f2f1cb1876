import assert from 'node:assert/strict'
import express from 'express'
import { afterEach, test } from 'vitest'
import { startHttpServer, type ListeningServer } from '../http/http-server.ts'
import { streamAnswer } from './streamed-answer.ts'

let server: ListeningServer | undefined
afterEach(() => server?.close(0))

/** Serves `make` as a streamed answer on a new server. @returns the response to one request */
async function fetchAnswer(make: () => Promise<unknown>, keepaliveMs: number) {
  const app = express()
  app.get('/', streamAnswer(make, keepaliveMs))
  app.use((error: Error, _: express.Request, response: express.Response, _next: express.NextFunction) => {
    response.status(422).json({ error: error.message })
  })
  server = await startHttpServer(app, { host: '127.0.0.1', port: 0 })
  return fetch(`http://127.0.0.1:${server.port}/`)
}

test('a quick result is answered without a stream, with its status', async () => {
  const good = await fetchAnswer(() => Promise.resolve({ streams: 1 }), 60_000)
  assert.deepEqual([good.status, await good.text()], [200, '{"streams":1}'])
  await server?.close(0)
  const bad = await fetchAnswer(() => Promise.reject(new Error('no')), 60_000)
  assert.deepEqual([bad.status, await bad.json()], [422, { error: 'no' }])
})

test('a slow result begins its answer at once, keeps the connection alive, and ends as JSON', async () => {
  const work = Promise.withResolvers<object>()
  const response = await fetchAnswer(() => work.promise, 10)
  // The headers arrive before the work is done.
  assert.equal(response.status, 200)
  work.resolve({ divergences: 0 })
  const text = await response.text()
  assert.match(text, /^ +\{/)
  assert.deepEqual(JSON.parse(text), { divergences: 0 })
})

test('a late failure is reported in the body', async () => {
  const work = Promise.withResolvers<object>()
  const response = await fetchAnswer(() => work.promise, 10)
  work.reject(new Error('the store is gone'))
  assert.deepEqual(await response.json(), { error: 'the store is gone' })
})
