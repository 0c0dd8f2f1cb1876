import { once } from 'node:events'
import { createServer } from 'node:net'
import { expect, onTestFinished, test } from 'vitest'
import { freePort, portFault } from './free-port.ts'

test('those who ask for ports get another one each, whoever asks at once', async () => {
  const ports = await Promise.all(Array.from({ length: 200 }, freePort))
  expect(new Set(ports).size).toBe(200)
})

test('a port that somebody listens on is taken, also where it is shared', async () => {
  const port = await freePort()
  expect(await portFault(port)).toBeUndefined()
  const server = createServer()
  onTestFinished(() => void server.close())
  await once(server.listen({ port, host: '127.0.0.1', reusePort: true }), 'listening')
  expect(await portFault(port)).toBe('EADDRINUSE')
  expect(await portFault(port, '0.0.0.0')).toBe('EADDRINUSE')
})
