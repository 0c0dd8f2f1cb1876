import assert from 'node:assert/strict'
import express from 'express'
import { afterEach, test } from 'vitest'
import { listen, type Listening } from '../listen.ts'
import { slowAnswer } from './slow-answer.ts'

let server: Listening | undefined
afterEach(() => server?.close(0))

/** What comes of work that is done when `end` says so. */
async function asked(make: () => Promise<unknown>, beatMs: number) {
  const app = express()
  app.get('/', slowAnswer(make, beatMs))
  app.use((error: Error, _: express.Request, response: express.Response, _next: express.NextFunction) => {
    response.status(422).json({ error: error.message })
  })
  server = await listen(app, { host: '127.0.0.1', port: 0 })
  return fetch(`http://127.0.0.1:${server.port}/`)
}

test('what is quick is answered as ever, with its status', async () => {
  const good = await asked(() => Promise.resolve({ streams: 1 }), 60_000)
  assert.deepEqual([good.status, await good.text()], [200, '{"streams":1}'])
  await server?.close(0)
  const bad = await asked(() => Promise.reject(new Error('no')), 60_000)
  assert.deepEqual([bad.status, await bad.json()], [422, { error: 'no' }])
})

test('what takes long is begun at once, kept alive, and is JSON in the end', async () => {
  const work = Promise.withResolvers<object>()
  const response = await asked(() => work.promise, 10)
  // The headers are here although the work is not done.
  assert.equal(response.status, 200)
  work.resolve({ divergences: 0 })
  const text = await response.text()
  assert.match(text, /^ +\{/)
  assert.deepEqual(JSON.parse(text), { divergences: 0 })
})

test('what goes wrong late is told in the body', async () => {
  const work = Promise.withResolvers<object>()
  const response = await asked(() => work.promise, 10)
  work.reject(new Error('the store is gone'))
  assert.deepEqual(await response.json(), { error: 'the store is gone' })
})
